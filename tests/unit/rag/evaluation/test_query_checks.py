import pytest

from locales.language import Language
from rag.evaluation.datasets import JudgedQuery
from rag.evaluation.query_checks import check_queries

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH


def asked(question: str, language: Language = ITALIAN, *gold: str, query_id: str = "1") -> JudgedQuery:
    return JudgedQuery(query_id=query_id, language=language, question=question, gold=frozenset(gold or {"a"}), set_name="uno")


def kinds(*queries: JudgedQuery) -> list[str]:
    return [problem.kind for problem in check_queries(queries, {"a", "b"}, set(Language))[1]]


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Che cosa si può prendere per il mal di testa?", ITALIAN),
        ("¿Qué puedo tomar para el dolor de cabeza?", SPANISH),
        ("Helicobacter pylori", ITALIAN),
        ("morbo di Crohn", ITALIAN),
        ("covid-19", SPANISH),
        ("fiebre", SPANISH),
        ("b12", ITALIAN),
    ],
)
def test_an_ordinary_question_is_not_odd(question: str, language: Language) -> None:
    assert kinds(asked(question, language)) == []


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("", "empty_question"),
        (" \n", "empty_question"),
        ("\u200b\u2060", "invisible_question"),
        ("\x00\x07", "invisible_question"),
        ("…!", "no_words"),
        ("¿Qué puedo tomar para el dolor de cabeza?", "other_language"),
        ("What should I do about a headache since yesterday?", "other_language"),
        ("что делать при головной боли", "other_language"),
        ("mi fa male la pancia da ieri. Me duele mucho la barriga", "mixed_languages"),
        ("febbre alta da ieri " * 600, "long_question"),
    ],
)
def test_an_odd_question_is_named_and_measured(question: str, kind: str) -> None:
    measurable, problems = check_queries([asked(question)], {"a"}, {ITALIAN})
    assert [problem.kind for problem in problems] == [kind]
    assert len(measurable) == 1


def test_only_right_documents_that_can_be_found_count() -> None:
    measurable, (problem,) = check_queries([asked("febbre", ITALIAN, "a", "lost")], {"a"}, {ITALIAN})
    assert measurable[0].gold == {"a"}
    assert (problem.kind, problem.is_left_out) == ("unknown_gold", False)


def test_a_question_without_any_right_document_is_left_out() -> None:
    lost = asked("febbre", ITALIAN, *(f"lost{number}" for number in range(9)))
    measurable, (problem,) = check_queries([lost], {"a"}, {ITALIAN})
    assert measurable == []
    assert problem.is_left_out
    assert problem.detail == "no such document: lost0, lost1, lost2, lost3, lost4 and 4 more"


def test_no_problem_repeats_what_a_question_says() -> None:
    question = "What about mysecretword since yesterday?"
    _, problems = check_queries([asked(question), asked(question)], {"a"}, {SPANISH})
    assert {problem.kind for problem in problems} == {"other_language", "duplicate_id", "no_documents"}
    assert "mysecretword" not in str([problem.as_row() for problem in problems])
