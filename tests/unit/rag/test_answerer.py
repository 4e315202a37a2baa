from rag.composer import joinable
from tests import builders


def test_a_list_is_quoted_and_not_given_to_the_generator_to_join() -> None:
    whole_list, after = (
        builders.evidence("Chiami il medico se: " + "; ".join(f"segno numero {n} che dura" for n in range(8)) + "."),
        builders.evidence("Beva spesso."),
    )

    assert joinable([whole_list, after]) == [after]


def test_only_sentences_of_one_section_are_joined_and_the_opening_is_none_of_them() -> None:
    items = [builders.evidence(text, chunk_id=section) for text, section in (("A.", "a"), ("B.", "b"), ("C.", "c"), ("D.", "b"))]

    assert joinable(items[1:]) == [items[1], items[3]]
    assert joinable([items[2], items[1], items[3]]) == [items[1], items[3]]
    assert joinable(items[:3]) == [items[0]]
