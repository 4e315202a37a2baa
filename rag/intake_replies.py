"""What a patient's own words reply to a question of an intake: yes or no, or which of its choices."""

import re

from locales.language import Language
from rag.intake_features import FeatureLexicon, ReplyKind, SpokenReply
from rag.replies import IntakeQuestion
from rag.text import fold, normalise, word_spans

_NUMBERS = re.compile(r"\d[\d\Wey]*")  # "2", "1 e 3", "1,3"; one class and no alternatives, so that no message takes long
_NEGATION_REACHES = 3  # words


def read_reply(question: IntakeQuestion, text: str, language: Language) -> SpokenReply:
    """Read a reply as a tap on the question's buttons, where it can be read so.

    Choices may be named by number or by their words, several at once. Whoever names none but tells features that the lexicon
    knows has replied, too; "nessuna", "sì" alone and all else leaves unsure, which says nothing of the features offered.
    """
    lexicon = FeatureLexicon.load(language)
    spoken = lexicon.reply(text)
    if spoken.kind is ReplyKind.STOP:
        return spoken
    if question.choices:
        return _chosen(question, text, spoken, lexicon)
    if spoken.kind is not None:
        return spoken
    said = lexicon.told(text).get(question.name)
    return SpokenReply(ReplyKind.UNSURE if said is None else ReplyKind.YES if said else ReplyKind.NO, spoken.rest)


def is_mere_reply(text: str, language: Language) -> bool:
    """Whether a message says nothing of its writer: a listed reply ("sì", "non so", "nessuna"), or the numbers of choices."""
    return FeatureLexicon.load(language).is_listed_reply(text) or _is_number(text)


def _chosen(question: IntakeQuestion, text: str, spoken: SpokenReply, lexicon: FeatureLexicon) -> SpokenReply:
    if _is_number(text):
        numbers = {int(number) - 1 for number in re.findall(r"\d{1,9}", text)}
        are_choices = all(0 <= number < len(question.choices) for number in numbers)  # "38,5" is a temperature
        places = tuple(sorted(numbers)) if are_choices else ()
        return SpokenReply(ReplyKind.YES if places else ReplyKind.UNSURE, chosen=places)
    if not spoken.rest:
        return SpokenReply(ReplyKind.UNSURE)
    named = tuple(place for place, choice in enumerate(question.choices) if _names(spoken.rest, choice.text, lexicon))
    tells = any(lexicon.told(spoken.rest).values())
    return SpokenReply(ReplyKind.YES if named or tells else ReplyKind.UNSURE, spoken.rest, named)


def _is_number(text: str) -> bool:
    return _NUMBERS.fullmatch(fold(text.strip(" .!"))) is not None


def _names(text: str, label: str, lexicon: FeatureLexicon) -> bool:
    """Whether a text has the words of a label, one after the other, and does not deny them."""
    said, sought = _words(text, lexicon.language), _words(label, lexicon.language)
    for start in range(len(said) - len(sought) + 1):
        before = said[max(0, start - _NEGATION_REACHES) : start]
        if said[start : start + len(sought)] == sought and not lexicon.negators & set(before):
            return True
    return False


def _words(text: str, language: Language) -> list[str]:
    return [fold(word) for word, _, _ in word_spans(normalise(text), language)]
