import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from ingest.disease_tree import disease_tree
from ingest.pseudo_history import PseudoTexts, PseudoWriter
from locales.language import Language
from rag.documents import Document, DocumentKind
from rag.errors import Cancelled, ModelError
from rag.models.protocols import Prompt
from tests.builders import document
from tests.fakes import ScriptedLanguageModel

ITALIAN = document(
    title="Cistite",
    synonyms=("infezione urinaria",),
    text="È un'infezione della vescica.\n\n## Sintomi\n\n"
    "La cistite può dare:\n- bruciore quando si urina\n- bisogno di urinare spesso\n\n"
    "Nella febbre oltre 38 °C c'è anche dolore al fianco. Dura tre giorni. Chiami il {emergency} se sviene.\n\n"
    "## Cura\n\nBeva molta acqua e lavi la pelle.",
)
SPANISH = document(
    title="Gripe",
    language=Language.SPANISH,
    text="## Síntomas\n\nLa gripe da fiebre alta, tos seca y dolor de cabeza.\n\n## Qué hacer\n\nDescanse.",
)
TOLD = "bruciore quando urino e devo urinare spesso."  # after "Ho", with which each reply opens
ASKED = "bruciore quando urino, può essere cistite?"


class Speaking(ScriptedLanguageModel):
    """Goes on from the opening as a generator does: with a blank."""

    def complete(self, prompt: Prompt, **options: Any) -> Iterator[str]:
        yield " "
        yield from super().complete(prompt, **options)


class Broken(ScriptedLanguageModel):
    def complete(self, prompt: Prompt, **options: Any) -> Iterator[str]:
        raise ModelError("no room")
        yield ""


def write(told: str = TOLD, asked: str = ASKED, page: Document = ITALIAN) -> PseudoTexts:
    return PseudoWriter(Speaking(told, asked)).write(page, disease_tree(page), cancelled=lambda: False)


def histories(told: str, page: Document = ITALIAN) -> tuple[str, ...]:
    return write(told=told, page=page).histories


def questions(asked: str, page: Document = ITALIAN) -> tuple[str, ...]:
    return write(asked=asked, page=page).questions


def test_article_gets_a_history_and_questions_in_a_patients_words() -> None:
    assert write() == PseudoTexts(
        histories=("Ho bruciore quando urino e devo urinare spesso.",),
        questions=("Ho bruciore quando urino, può essere cistite?",),
    )


def test_spanish_page_is_written_for_in_spanish() -> None:
    assert write("fiebre alta y me duele la cabeza.", "tos seca y fiebre, ¿es gripe?", SPANISH) == PseudoTexts(
        histories=("Tengo fiebre alta y me duele la cabeza.",), questions=("Tengo tos seca y fiebre, ¿es gripe?",)
    )


def test_generator_reads_the_symptoms_and_not_the_cure_nor_the_place_of_the_emergency_number() -> None:
    model = Speaking(TOLD, ASKED)
    PseudoWriter(model).write(ITALIAN, disease_tree(ITALIAN), cancelled=lambda: False)

    assert "La cistite può dare: bruciore quando si urina, bisogno di urinare spesso" in model.prompts[0].body
    assert "Dura tre giorni." in model.prompts[0].body
    assert not any(word in prompt.body for prompt in model.prompts for word in ("Beva", "{", "Sintomi"))


def test_prefix_is_the_same_for_every_page_of_a_language_and_the_reply_is_opened() -> None:
    model = Speaking(TOLD, ASKED)
    writer = PseudoWriter(model)
    other = document(text="## Sintomi\n\nDà tosse.")
    for page in (ITALIAN, other):
        writer.write(page, disease_tree(page), cancelled=lambda: False)

    assert [prompt.prefix for prompt in model.prompts[:2]] == [prompt.prefix for prompt in model.prompts[2:]]
    assert all(prompt.body.endswith("Ho") for prompt in model.prompts)


@pytest.mark.parametrize(
    "sentence",
    [
        "La cistite dà bisogno di urinare.",  # nobody speaks
        "Mi fanno male il ginocchio e il fianco.",  # not this disease
        "Ho bruciore da 5 giorni quando urino.",
        "Ho bruciore da dieci giorni quando urino.",
        "Ho bruciore e urino con tre compresse.",
        "Ho bruciore quando urino, mi telefoni al 112.",
        "Ho bruciore quando urino spesso al fianco, www.cistite.it.",
        "Ho bruciore quando urino, dottore: aiuto!",
        "Ho bruciore 排尿 quando urino.",
        "Me duele mucho cuando tengo que orinar, no puedo más.",
        "Consulti il medico se ho bisogno di urinare spesso.",
        "Ho bruciore quando urino {emergency}.",
        "Ho bruciore quando urino spesso, racconta al medico che cosa senti.",  # the prompt
        "Ho bruciore quando urino e",  # not whole
    ],
)
def test_sentence_that_strays_is_dropped_and_the_rest_stays(sentence: str) -> None:
    assert histories(f"dolore al fianco e febbre. {sentence}") == ("Ho dolore al fianco e febbre.",)


def test_number_of_the_page_may_be_said_in_any_form() -> None:
    assert histories("febbre a 38 e dolore al fianco da 3 giorni.") == ("Ho febbre a 38 e dolore al fianco da 3 giorni.",)


def test_sentence_copied_from_the_page_or_said_twice_is_dropped() -> None:
    page = document(title="Gotta", text="## Sintomi\n\nMi fa male l'alluce gonfio e rosso, di notte.")

    assert histories(
        "l'alluce destro gonfio e rosso. Mi fa male l'alluce gonfio e rosso, di notte. Ho l'alluce rosso e gonfio.", page
    ) == ("Ho l'alluce destro gonfio e rosso.",)


def test_history_has_sixty_words_at_most_in_whole_sentences() -> None:
    long = "Ho bruciore e mi viene da urinare spesso " + "e poi ancora " * 20 + "al fianco."

    assert histories(f"dolore al fianco e febbre. {long}") == ("Ho dolore al fianco e febbre.",)


@pytest.mark.parametrize("told", ["", "febbre.", "male.", "la febbre ma non sulla pelle."])
def test_too_little_is_no_history(told: str) -> None:
    assert histories(told) == ()


def test_words_of_two_sentences_of_the_page_are_no_symptom_of_it() -> None:
    assert questions("Ho la febbre e la pelle?\nHo dolore al fianco con la febbre?") == ("Ho dolore al fianco con la febbre?",)


@pytest.mark.parametrize(
    "line",
    [
        "È un'infezione.",
        "Perché ho la febbre?",  # as true of any other page
        "Quando devo andare dal medico?",
        "Una pallina rossa sulla palpebra?",
        "La cistite dura 9 giorni?",
        "Domanda: come si prende la cistite?",
        "¿Por qué tengo que orinar tanto con la cistite?",
        "Cistite?",
        "La cistite dà febbre? E dolore al fianco?",
        "Perché la cistite " + "brucia e brucia " * 7 + "tanto?",
        "Per la cistite prendo 500 mg di antibiotico?",
        "La cistite dà dolore al fianco e la febb",
    ],
)
def test_question_that_strays_is_dropped(line: str) -> None:
    assert questions(f"{ASKED}\n{line}") == (f"Ho {ASKED}",)


@pytest.mark.parametrize("line", ["Che tos e che fiebre alta con la gripe?", "Is it gripe with fiebre alta, tos seca?"])
def test_question_in_another_language_is_dropped_though_it_has_the_words_of_the_page(line: str) -> None:
    assert questions(f"tos seca, ¿es gripe?\n{line}", SPANISH) == ("Tengo tos seca, ¿es gripe?",)


def test_questions_lose_their_numbering_are_said_once_and_four_at_most() -> None:
    listed = [
        ASKED,
        "2. La cistite dà febbre?",
        "- La cistite dà febbre?",
        "Con la cistite si urina spesso?",
        "La cistite dura giorni con dolore al fianco?",
        "La vescica ha un'infezione urinaria?",
    ]

    assert questions("\n".join(listed)) == (
        f"Ho {ASKED}",
        "La cistite dà febbre?",
        "Con la cistite si urina spesso?",
        "La cistite dura giorni con dolore al fianco?",
    )


def test_everyday_word_for_what_the_page_calls_otherwise_counts_as_its_word() -> None:
    page = document(title="Emicrania", text="## Sintomi\n\nLa cefalea peggiora con la luce.")

    assert questions("mal di testa con la luce?", page) == ("Ho mal di testa con la luce?",)
    assert questions("mal di pancia con la luce?", page) == ()


@pytest.mark.parametrize("stage", ["pseudo_history", "patient_questions"])
@pytest.mark.parametrize("language", list(Language))
def test_example_of_the_prompt_is_never_kept(stage: str, language: Language) -> None:
    prompt = tomllib.loads((files("locales") / language.value / "prompts" / f"{stage}.toml").read_text(encoding="utf-8"))
    (example,) = prompt["example"]
    page = document(title="Orzaiolo", language=language, text=example["text"] + " " + example["answer"].replace("\n", " "))
    reply = example["answer"].removeprefix(prompt["opening"]).strip()

    assert example["answer"].startswith(prompt["opening"])
    assert not set("0123456789") & set(example["answer"])
    assert write(reply, reply, page).histories == ()


def test_page_without_text_and_forum_page_are_not_given_to_the_generator() -> None:
    model = Speaking(TOLD, ASKED)
    for page in (document(text=""), document(text=ITALIAN.text, kind=DocumentKind.FORUM)):
        assert PseudoWriter(model).write(page, disease_tree(page), cancelled=lambda: False) == PseudoTexts()

    assert model.prompts == []


def test_page_without_marked_headings_is_read_whole() -> None:
    plain = document(title="Cistite", text="La cistite dà bruciore e bisogno di urinare spesso.")

    assert histories(TOLD, plain) == (f"Ho {TOLD}",)


def test_same_page_gives_the_same_texts() -> None:
    assert write() == write()


def test_late_generator_gives_what_is_whole() -> None:
    model = Speaking(TOLD, ASKED, delay_s=1.0)

    assert PseudoWriter(model, time_limit_s=0.01).write(ITALIAN, disease_tree(ITALIAN), cancelled=lambda: False) == PseudoTexts()


def test_cancel_is_passed_on() -> None:
    model = Speaking(TOLD, ASKED, delay_s=1.0)

    with pytest.raises(Cancelled):
        PseudoWriter(model).write(ITALIAN, disease_tree(ITALIAN), cancelled=lambda: True)


def test_failure_of_the_generator_is_passed_on() -> None:
    with pytest.raises(ModelError):
        PseudoWriter(Broken()).write(ITALIAN, disease_tree(ITALIAN), cancelled=lambda: False)


def test_version_names_the_model_the_checks_and_the_prompts() -> None:
    version = PseudoWriter(Speaking()).version

    assert version.startswith("scripted; pseudo 1; prompts ")
    assert version == PseudoWriter(Speaking()).version


def test_prompt_files_have_the_same_keys_in_every_language() -> None:
    for stage in ("pseudo_history", "patient_questions"):
        loaded = [
            tomllib.loads((files("locales") / language.value / "prompts" / f"{stage}.toml").read_text(encoding="utf-8"))
            for language in Language
        ]
        assert len({frozenset(each) for each in loaded}) == 1
        assert len({tuple(sorted(each.get("checks", {}).get("numbers", {}).values())) for each in loaded}) == 1
