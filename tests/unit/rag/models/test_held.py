from rag.models.held import Held


def holding(prefix: str, tokens: list[int]) -> Held:
    held = Held(active=True)
    held.take(prefix, tokens)
    return held


def test_a_body_that_begins_alike_is_shared_up_to_where_it_differs() -> None:
    held = holding("score", [1, 2, 3])
    held.add(4)

    assert held.shared_with("score", [1, 2, 3, 4, 9]) == 4
    assert held.shared_with("score", [1, 7, 3, 4]) == 1


def test_the_last_token_is_always_evaluated_again() -> None:
    assert holding("score", [1, 2, 3]).shared_with("score", [1, 2, 3]) == 2


def test_nothing_is_shared_behind_another_prefix() -> None:
    assert holding("score", [1, 2, 3]).shared_with("write", [1, 2, 3, 4]) == 0


def test_nothing_is_kept_unless_an_answer_holds_it() -> None:
    held = Held()
    held.take("score", [1, 2, 3])
    held.add(4)

    assert held.shared_with("score", [1, 2, 3, 4]) == 0


def test_what_is_forgotten_is_shared_no_more_and_repr_shows_none_of_it() -> None:
    held = holding("score", [4711, 2])

    assert "4711" not in repr(held)
    held.forget()
    assert held.shared_with("score", [4711, 2, 3]) == 0
