"""How a patient's own words are read as a reply to what an intake asks."""

import time

import pytest

from locales.language import Language
from rag.intake_features import FeatureLexicon, ReplyKind
from rag.intake_questions import choice_question, feature_question
from rag.intake_replies import read_reply
from rag.intake_story import Story
from rag.replies import IntakeQuestion

IT, ES = Language.ITALIAN, Language.SPANISH


def which(language: Language) -> IntakeQuestion:
    lexicon = FeatureLexicon.load(language)
    return choice_question(lexicon, [lexicon.features[name] for name in ("cough", "slow_healing", "thirst")])


@pytest.mark.parametrize(
    ("language", "text", "kind", "chosen"),
    [
        (IT, "2", ReplyKind.YES, (1,)),
        (IT, "1 e 3", ReplyKind.YES, (0, 2)),
        (IT, "7", ReplyKind.UNSURE, ()),
        (IT, "Tosse", ReplyKind.YES, (0,)),
        (IT, "sì, guarigione lenta e poi molta sete", ReplyKind.YES, (1, 2)),
        (IT, "non ho tosse, ho molta sete", ReplyKind.YES, (2,)),
        (IT, "mi fa male la schiena", ReplyKind.YES, ()),
        (IT, "nessuna", ReplyKind.UNSURE, ()),
        (IT, "nessuna di queste", ReplyKind.UNSURE, ()),
        (IT, "Nessuna o non so", ReplyKind.UNSURE, ()),
        (IT, "non so", ReplyKind.UNSURE, ()),
        (IT, "sì", ReplyKind.UNSURE, ()),
        (IT, "basta domande", ReplyKind.STOP, ()),
        (ES, "2", ReplyKind.YES, (1,)),
        (ES, "1 y 3", ReplyKind.YES, (0, 2)),
        (ES, "Tos", ReplyKind.YES, (0,)),
        (ES, "sí, heridas que tardan y mucha sed", ReplyKind.YES, (1, 2)),
        (ES, "no tengo tos, tengo mucha sed", ReplyKind.YES, (2,)),
        (ES, "me duele la espalda", ReplyKind.YES, ()),
        (ES, "ninguna", ReplyKind.UNSURE, ()),
        (ES, "Ninguna o no sé", ReplyKind.UNSURE, ()),
        (ES, "no sé", ReplyKind.UNSURE, ()),
        (ES, "no más preguntas", ReplyKind.STOP, ()),
    ],
)
def test_choices_are_named_by_number_or_by_their_words(
    language: Language, text: str, kind: ReplyKind, chosen: tuple[int, ...]
) -> None:
    reply = read_reply(which(language), text, language)
    assert (reply.kind, reply.chosen) == (kind, chosen)


@pytest.mark.parametrize("language", list(Language))
def test_every_label_that_is_typed_is_chosen(language: Language) -> None:
    lexicon = FeatureLexicon.load(language)
    missed = [
        one.label
        for one in lexicon.features.values()
        if not one.is_red_flag and read_reply(choice_question(lexicon, [one]), one.label, language).chosen != (0,)
    ]
    assert missed == []


@pytest.mark.parametrize(("language", "text"), [(IT, "38 e mezzo da ieri"), (ES, "tuve fiebre ayer")])
def test_words_that_tell_the_feature_asked_for_are_a_yes(language: Language, text: str) -> None:
    fever = feature_question(FeatureLexicon.load(language).features["fever"])
    assert read_reply(fever, text, language).kind is ReplyKind.YES


def test_several_choices_are_all_affirmed_and_the_rest_is_left_open() -> None:
    story = Story(language=IT, utterances=("sto male",)).replying(which(IT), ReplyKind.YES, choice=(0, 2))
    assert story.statements == ("ho la tosse", "ho molta sete")
    assert story.asked == (("cough", ReplyKind.YES), ("slow_healing", ReplyKind.UNSURE), ("thirst", ReplyKind.YES))
    assert story.query == "sto male"


def test_replies_in_vain_are_counted_until_something_is_learned() -> None:
    story = Story(language=IT, utterances=("sto male",))
    once = story.replying(which(IT), ReplyKind.UNSURE)
    twice = once.replying(which(IT), ReplyKind.UNSURE)
    told = twice.replying(which(IT), ReplyKind.UNSURE, rest="mi fa male la schiena")
    assert (once.in_vain, twice.in_vain, told.in_vain) == (1, 2, 0)


def test_a_no_to_one_feature_is_something_learned() -> None:
    fever = feature_question(FeatureLexicon.load(IT).features["fever"])
    assert Story(language=IT, utterances=("sto male",)).replying(fever, ReplyKind.NO).in_vain == 0


@pytest.mark.parametrize("text", ["38", "38,5", "37,2", "12", "13 e 1", "0"])
@pytest.mark.parametrize("language", list(Language))
def test_a_temperature_is_no_choice(language: Language, text: str) -> None:
    assert read_reply(which(language), text, language).chosen == ()


def test_a_line_of_numbers_takes_no_time_to_read() -> None:
    begun = time.monotonic()
    read_reply(which(IT), "4 5 13 140 " + "1 " * 1_000 + "x", IT)

    assert time.monotonic() - begun < 1.0
