"""What patients read is short, plain and formal, in both languages, and says what it must.

Sentences are counted as they stand in the files, a placeholder as one word. Left out are the command lists of the help texts and
whatever a placeholder brings in: lists are read item by item, not as one breath. That both languages have the same keys is shown
in `test_catalog.py`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

import pytest

from channels.messages import Platform
from locales.catalog import Catalog
from locales.language import Language

IT, ES = Language.ITALIAN, Language.SPANISH
CATALOG = Catalog.load()
LONGEST_SENTENCE = 20  # words
LONGEST_LABEL = 20  # characters: WhatsApp's limit for a reply button

PATIENT_KEYS = sorted(key for key in CATALOG.keys(IT) | CATALOG.keys(ES) if not key.startswith(("admin.", "admin_page.")))
every_language = pytest.mark.parametrize("language", Language)

LABEL_PREFIXES = ("button.", "country.", "intake.", "language.", "mode.")
NO_LABELS = {"button.hint", "intake.opening"}
LABELS = [key for key in PATIENT_KEYS if key.startswith(LABEL_PREFIXES) and key not in NO_LABELS]

CRISIS = [key for key in PATIENT_KEYS if key.startswith("escalation.crisis.")]
ABUSE = [key for key in PATIENT_KEYS if key.startswith(("escalation.abuse.", "abuse_in_group", "messages_", "button.wipe"))]

# A child who writes about itself is spoken to as a child, except where the formal form is the warm one.
TO_CHILDREN = {key for key in PATIENT_KEYS if "child" in key.rpartition(".")[2] or key == "escalation.crisis.minor"}
FORMAL_TO_CHILDREN = {key for key in TO_CHILDREN if key.endswith("_usted") or key == "escalation.abuse.child_emergency"}

INFORMAL_KEYS = {IT: TO_CHILDREN, ES: TO_CHILDREN - FORMAL_TO_CHILDREN}

# Words that are never formal, and imperatives that are none elsewhere in a clause ("si cancella", "lo que me escribe").
INFORMAL = {
    IT: re.compile(
        r"\b(tu|te|ti|tuo|tua|tuoi|tue|sei|hai|stai|puoi|vuoi|devi|sai|vai|fai|dai|fidi|senti|scrivi\w*|dimmi|chiedi\w*|vieni|rispondi|"
        r"scegli|apri|tieni|ricordati)\b"
        r"|(?:^|[.!?:;,«]\s*)(?:chiama|aspetta|riprova|cancella|elimina|cerca|usa|guarda|prova|torna)\b",
        re.MULTILINE,
    ),
    ES: re.compile(
        r"\b(tú|ti|te|tu|tus|tuyo|tuya|contigo|vos|vosotros|vosotras|os|vuestr[oa]s?|eres|sos|estás|has|puedes|podés|tienes|tenés|"
        r"quieres|querés|debes|debés|sabes|sabés|vas|ve|ven|haz|dime|decime|mantén|contame|cuéntame|inténtalo|pregúntame|escríbeme|"
        r"escribime|llamá|escribí|andá|vení|hacé|esperá|buscá|abrí|elegí|mirá|tené|[^\W_]+[áé]is)\b"
        r"|(?:^|[.!?:;,«]\s*)(?:llama|escribe|espera|busca|abre|elige|borra|mira|prueba|vuelve)\b",
        re.MULTILINE,
    ),
}  # fmt: skip
# Vulgar, misunderstood, or said on one side of the ocean only.
ODD_SPANISH = re.compile(
    r"\b(coger|constipad[oa]|ordenador|móvil|celular|computadora|vale|pulse|pulsad[oa]|prospecto|ahorita|acá|plática|platicar)\b"
)
AGREES_WITH_THE_READER = re.compile(
    r"[oaie]/[aoie]\b|\w@|\b(?:(?:iscritt|registrat|preoccupat|benvenut|stanc|inscrit|registrad|preocupad|bienvenid|cansad)[oa]"
    r"|(?:è|sia|era|está|esté|estar|essere|si sente) (?:stat|sicur|pront|sol|segur|list)[oa]|da sol[oa]|a solas?)\b"
)
OPEN_TO_A_GLANCE = re.compile(r"violen|abus|stupr|maltratt|maltrat|violación|aggress|agres|suicid|denunc|polizia|policía")


def text(language: Language, key: str) -> str:
    """The text with its placeholders as they stand in the file."""
    return CATALOG.text(language, key, **{name: "{" + name + "}" for name in CATALOG.placeholders(language, key)})


def sentences(told: str) -> list[str]:
    return [sentence for line in told.splitlines() for sentence in re.split(r"(?<=[.!?])\s+", line) if sentence]


def found(language: Language, pattern: re.Pattern[str], keys: Iterable[str] = PATIENT_KEYS) -> dict[str, list[str]]:
    """What the pattern finds in the lower-case texts, by key."""
    hits = {key: [hit.group() for hit in pattern.finditer(text(language, key).lower())] for key in keys}
    return {key: words for key, words in hits.items() if words}


@every_language
def test_no_sentence_is_longer_than_one_breath(language: Language) -> None:
    told = {key: sentences(text(language, key)) for key in PATIENT_KEYS}
    told["help"] = [sentence for sentence in told["help"] if not sentence.startswith("/")]

    long = [(key, sentence) for key in told for sentence in told[key] if len(sentence.split()) > LONGEST_SENTENCE]
    assert long == []


@every_language
def test_nothing_is_said_by_a_picture(language: Language) -> None:
    signs = {key: {unicodedata.category(sign) for sign in text(language, key)} for key in PATIENT_KEYS}

    assert {key for key in PATIENT_KEYS if signs[key] & {"So", "Sk", "Cs", "Co", "Cn"}} == set()


def test_both_languages_are_told_the_same_values_as_often() -> None:
    def values(language: Language, key: str) -> Counter[str]:
        return Counter(re.findall(r"\{\w+\}", text(language, key)))

    assert [key for key in PATIENT_KEYS if values(IT, key) != values(ES, key)] == []


@every_language
def test_only_children_are_spoken_to_informally(language: Language) -> None:
    formal = [key for key in PATIENT_KEYS if key not in INFORMAL_KEYS[language]]

    assert found(language, INFORMAL[language], formal) == {}


@pytest.mark.parametrize(
    ("language", "informal"),
    [
        (IT, "Puoi scrivermi qui."),
        (IT, "Dimmi tutto."),
        (ES, "Escribime cuando quieras."),
        (ES, "Podéis llamar."),
        (ES, "Te ayudo."),
        (ES, "Llama al 112."),
        (IT, "Se vuoi aiuto, chiama il 112."),
    ],
)
def test_an_informal_sentence_is_noticed(language: Language, informal: str) -> None:
    assert INFORMAL[language].search(informal.lower())


def test_spanish_is_at_home_in_every_country() -> None:
    assert found(ES, ODD_SPANISH) == {}


@every_language
def test_nothing_agrees_with_the_sex_of_the_reader(language: Language) -> None:
    assert found(language, AGREES_WITH_THE_READER) == {}


@pytest.mark.parametrize("told", ["È iscritto/a.", "Se è preoccupata, chiami.", "Se è sicuro.", "¿Está lista?", "Bienvenid@."])
def test_what_agrees_with_the_reader_is_noticed(told: str) -> None:
    assert AGREES_WITH_THE_READER.search(told.lower())


@every_language
def test_a_button_fits_and_can_be_read_aloud(language: Language) -> None:
    labels = [text(language, key) for key in LABELS]

    assert [label for label in labels if len(label) > LONGEST_LABEL or set(label) & set("/|<>[]{}+&")] == []


@every_language
@pytest.mark.parametrize("prefix", ["button.", "intake.", "country.", "mode."])
def test_no_two_buttons_sound_alike(language: Language, prefix: str) -> None:
    labels = [text(language, key).casefold() for key in LABELS if key.startswith(prefix)]

    assert len(labels) == len(set(labels))


@every_language
@pytest.mark.parametrize(
    "key",
    [
        "emergency_line",
        "emergency_numbers",
        "escalation.call_now",
        "escalation.poison",
        "escalation.poison.emergency",
        "escalation.crisis.danger",
        "escalation.crisis.under_way",
        "escalation.abuse.danger",
        "escalation.abuse.under_way",
    ],
)
def test_the_number_to_call_is_in_the_first_sentence(language: Language, key: str) -> None:
    assert re.search(r"\{(n|lines)\}", sentences(text(language, key))[0])


@every_language
def test_crisis_and_abuse_are_answered_without_links(language: Language) -> None:
    assert found(language, re.compile(r"https?:|www\.|/\w"), [*CRISIS, *ABUSE]) == {}


@every_language
def test_who_glances_at_the_screen_learns_nothing_of_abuse(language: Language) -> None:
    assert found(language, OPEN_TO_A_GLANCE, ABUSE) == {}


@pytest.mark.parametrize(("language", "thanks"), [(IT, "Grazie"), (ES, "Gracias")])
def test_crisis_and_abuse_open_with_thanks(language: Language, thanks: str) -> None:
    openings = ("crisis.opening", "crisis.other", "abuse.opening", "abuse.other")

    assert all(text(language, f"escalation.{opening}").startswith(thanks) for opening in openings)


CONSENT_FACTS = {
    IT: (
        "sistema automatico",
        "Non sono un medico",
        "in memoria al massimo 30 minuti",
        "su nessun nostro disco",
        "almeno 14 anni",
        "insieme a un genitore",
        "leggere le Sue domande sulla salute",
        "/privacy",
    ),
    ES: (
        "sistema automático",
        "No soy médico",
        "en memoria 30 minutos como máximo",
        "en ningún disco nuestro",
        "14 años o más",
        "junto con su madre, su padre o quien le cuida",
        "leer sus preguntas de salud",
        "/privacidad",
    ),
}
KEEPERS: dict[Platform, set[str]] = {
    Platform.TELEGRAM: {"Telegram"},
    Platform.WHATSAPP: {"WhatsApp", "Meta", "Twilio"},
    Platform.CONSOLE: set(),
}
ERASED_FACTS = {
    IT: ("Fatto", "ho cancellato", "le Sue domande", "le mie risposte", "le Sue scelte", "lingua, paese, modo"),
    ES: ("Listo", "borré", "sus preguntas", "mis respuestas", "sus elecciones", "idioma, país, modo"),
}


class TestConsent:
    @every_language
    @pytest.mark.parametrize("platform", Platform)
    def test_the_reader_learns_what_is_agreed_to(self, language: Language, platform: Platform) -> None:
        told = text(language, f"consent.{platform.value}")

        assert [fact for fact in CONSENT_FACTS[language] if fact not in told] == []

    @every_language
    @pytest.mark.parametrize("platform", Platform)
    @pytest.mark.parametrize("topic", ["consent", "privacy"])
    def test_whoever_keeps_a_copy_is_named_and_nobody_else(self, language: Language, platform: Platform, topic: str) -> None:
        told = text(language, f"{topic}.{platform.value}")

        named = {keeper for keeper in ("Telegram", "WhatsApp", "Meta", "Twilio") if keeper in told}
        assert named == KEEPERS[platform]
        assert bool(named) == ("una copia" in told)

    @every_language
    @pytest.mark.parametrize("platform", Platform)
    def test_the_number_stands_in_the_first_paragraph(self, language: Language, platform: Platform) -> None:
        assert "{n}" in text(language, f"consent.{platform.value}").partition("\n\n")[0]

    @every_language
    @pytest.mark.parametrize("platform", Platform)
    def test_the_words_to_answer_with_are_those_on_the_buttons(self, language: Language, platform: Platform) -> None:
        for key in (f"consent.{platform.value}", "consent.again"):
            assert f"«{text(language, 'button.accept')}»" in text(language, key)
            assert f"«{text(language, 'button.decline')}»" in text(language, key)


class TestErased:
    @every_language
    @pytest.mark.parametrize("platform", Platform)
    def test_it_is_said_what_was_erased(self, language: Language, platform: Platform) -> None:
        told = text(language, f"erased.{platform.value}")

        assert [fact for fact in ERASED_FACTS[language] if fact not in told] == []

    @pytest.mark.parametrize(("language", "consent"), [(IT, "il Suo consenso"), (ES, "su consentimiento")])
    def test_consent_is_named_where_it_is_asked_for(self, language: Language, consent: str) -> None:
        named = {platform for platform in Platform if consent in text(language, f"erased.{platform.value}")}

        assert named == {Platform.TELEGRAM, Platform.WHATSAPP}

    @every_language
    def test_it_is_said_which_copies_stay(self, language: Language) -> None:
        assert "Telegram" in text(language, "erased.telegram")
        assert all(keeper in text(language, "erased.whatsapp") for keeper in ("WhatsApp", "Meta", "Twilio"))
