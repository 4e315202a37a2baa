import pytest

from rag.disease_tree import Branch, DiseaseTree, Facet


def branch(heading: str, *leaves: str, below: tuple[Branch, ...] = (), facet: Facet | None = None, level: int = 2) -> Branch:
    return Branch(heading=heading, level=level, leaves=leaves, branches=below, facet=facet)


def tree(*branches: Branch, leaves: tuple[str, ...] = ("Viene con il freddo.",)) -> DiseaseTree:
    return DiseaseTree(root=Branch(heading="Influenza", level=0, leaves=leaves, branches=branches))


CHILDREN = branch("Nei bambini", "Può dare vomito.", level=3)
SYMPTOMS = branch("Sintomi", "Dà febbre. Dà tosse.", below=(CHILDREN,), facet=Facet.SYMPTOMS)
CURE = branch("Cura", "Riposi.")
CARE = branch("Quando andare dal medico?", "Vada se dura:\n- dieci giorni\n- di più", facet=Facet.CARE)


def test_tree_is_walked_in_the_order_of_the_page_with_the_headings_that_lead_to_each_branch() -> None:
    assert [(path, each.heading) for path, each in tree(SYMPTOMS, CURE).walk()] == [
        ((), "Influenza"),
        (("Sintomi",), "Sintomi"),
        (("Sintomi", "Nei bambini"), "Nei bambini"),
        (("Cura",), "Cura"),
    ]


def test_mark_covers_all_below_it_and_nothing_beside_it() -> None:
    text = tree(CURE, SYMPTOMS).diagnosis_text(100)

    assert text == "Sintomi:\nDà febbre. Dà tosse.\nNei bambini:\nPuò dare vomito."


def test_symptoms_come_first_wherever_they_stand() -> None:
    page = tree(CARE, CURE, SYMPTOMS)

    assert [each.heading for each in page.diagnostic()] == ["Sintomi", "Quando andare dal medico?"]
    assert page.diagnosis_text(100).endswith("Quando andare dal medico?\nVada se dura:\n- dieci giorni\n- di più")


def test_mark_within_a_marked_branch_is_not_told_twice() -> None:
    nested = branch("Sintomi", "Tosse.", below=(branch("Esami", "Tampone.", facet=Facet.EXAMINATIONS),), facet=Facet.SYMPTOMS)

    assert tree(nested).diagnostic() == (nested,)
    assert tree(nested).diagnosis_text(100) == "Sintomi:\nTosse.\nEsami:\nTampone."


def test_marked_branch_below_an_unmarked_one_is_found() -> None:
    assert tree(branch("Per i genitori", "Altro.", below=(CARE,))).diagnostic() == (CARE,)


def test_page_without_a_marked_heading_says_so_and_gives_its_whole_text() -> None:
    page = tree(CURE)

    assert not page.is_marked
    assert page.diagnosis_text(100) == "Viene con il freddo.\nCura:\nRiposi."
    assert tree(CURE, SYMPTOMS).is_marked


def test_page_without_text_has_no_diagnosis_text() -> None:
    assert tree(leaves=()).diagnosis_text(100) == ""


@pytest.mark.parametrize(
    ("max_words", "text"),
    [
        (9, "Sintomi:\nDà febbre. Dà tosse."),  # the heading whose text does not fit is left out too
        (4, "Sintomi:\nDà febbre."),
        (2, "Sintomi: Dà"),  # not even one sentence fits
        (0, ""),
    ],
)
def test_long_text_is_cut_after_a_sentence(max_words: int, text: str) -> None:
    cut = tree(
        branch("Sintomi", "Dà febbre. Dà tosse.", below=(branch("Nei bambini", "Può dare anche vomito."),), facet=Facet.SYMPTOMS)
    )

    assert cut.diagnosis_text(max_words) == text


def test_list_is_cut_after_an_item() -> None:
    assert tree(CARE).diagnosis_text(10) == "Quando andare dal medico?\nVada se dura:\n- dieci giorni"
