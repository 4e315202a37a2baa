from dataclasses import replace

import pytest

from locales.language import Language
from rag.aligner import Aligner
from rag.types import Draft, Evidence, SentenceKind, SupportedSentence
from tests import builders

ITALIAN, SPANISH = Language.ITALIAN, Language.SPANISH

# One page a language: whatever the drafts below say is measured against it.
PAGE = {
    ITALIAN: [
        "L'influenza è causata da un virus e può dare febbre alta, tosse secca o mal di gola.",
        "L'influenza di solito guarisce in circa una settimana.",
        "Dopo l'influenza, tosse e stanchezza possono durare due settimane o più.",
        "Il freddo da solo non causa l'influenza.",
        "Gli antibiotici non curano l'influenza, perché è causata da un virus.",
        "Il vaccino antinfluenzale previene l'influenza negli adulti e nei bambini sopra i 6 mesi.",
        "Chiami il medico se la febbre dura più di tre giorni o supera i 39 °C.",
        "Chiami il medico se tossisce sangue.",
        "Bambini e ragazzi con influenza non devono prendere aspirina.",
        "Chi ha l'asma deve evitare il fumo.",
        "Il paracetamolo può alleviare la febbre, ma non va dato con troppo alcol.",
        "I bambini trasmettono l'influenza agli adulti.",
        "Alcuni farmaci danno sonnolenza.",
        "Le persone che fumano hanno più tosse.",
        "Con l'influenza senta presto il medico.",
        "Le macchie dell'influenza di solito spariscono entro un giorno.",
        "L'asma si cura soprattutto con farmaci da inalare.",
    ],
    SPANISH: [
        "La gripe está causada por un virus y puede dar fiebre alta, tos seca o dolor de garganta.",
        "La gripe suele curarse en alrededor de una semana.",
        "Después de la gripe, la tos y el cansancio pueden durar dos semanas o más.",
        "El frío por sí solo no causa la gripe.",
        "Los antibióticos no curan la gripe, porque está causada por un virus.",
        "La vacuna previene la gripe en adultos y en niños mayores de 6 meses.",
        "Llame al médico si la fiebre dura más de tres días o supera los 39 °C.",
        "Llame al médico si tose sangre.",
        "Los niños con gripe no deben tomar aspirina.",
        "Quien tiene asma debe evitar el humo.",
        "El paracetamol puede aliviar la fiebre, pero no conviene con demasiado alcohol.",
        "Los niños contagian la gripe a los adultos.",
        "Algunos medicamentos dan sueño.",
        "Las personas que fuman tienen más tos.",
        "Con la gripe consulte pronto al médico.",
        "Las manchas de la gripe suelen desaparecer en menos de un día.",
        "El asma se trata sobre todo con inhaladores.",
    ],
}


def page(language: Language) -> list[Evidence]:
    return [evidence(text, place) for place, text in enumerate(PAGE[language])]


def evidence(text: str, place: int = 0, document: str = "flu") -> Evidence:
    return builders.evidence(text, chunk_id=f"{document}#{place}", document_id=document)


def align(text: str, language: Language = ITALIAN, *sentences: str) -> SupportedSentence | None:
    given = [evidence(sentence, place) for place, sentence in enumerate(sentences)] or page(language)
    return Aligner(language).align(Draft(text=text), given)


CHANGED = [
    ("number", ITALIAN, "Chiami il medico se la febbre dura più di due giorni."),
    ("number", ITALIAN, "Chiami il medico se la febbre supera i 38 °C."),
    ("number in words", ITALIAN, "Dopo l'influenza, tosse e stanchezza possono durare tre settimane o più."),
    ("unit", ITALIAN, "Chiami il medico se la febbre dura più di tre ore."),
    ("unit", ITALIAN, "Il vaccino antinfluenzale previene l'influenza nei bambini sopra i 6 anni."),
    ("sign", ITALIAN, "Chiami il medico se la febbre dura più di tre giorni o supera i <39 °C."),
    ("approximation", ITALIAN, "L'influenza di solito guarisce in una settimana."),
    ("amount", ITALIAN, "Dopo l'influenza, tosse e stanchezza possono durare due settimane."),
    ("comparison", ITALIAN, "Chiami il medico se la febbre dura meno di tre giorni."),
    ("negation lost", ITALIAN, "Il freddo da solo causa l'influenza."),
    ("negation lost", ITALIAN, "Bambini e ragazzi con influenza devono prendere aspirina."),
    ("negation added", ITALIAN, "Il vaccino antinfluenzale non previene l'influenza negli adulti."),
    ("negation moved", ITALIAN, "Bambini e ragazzi senza influenza devono prendere aspirina."),
    ("modal lost", ITALIAN, "Il paracetamolo allevia la febbre, ma non va dato con troppo alcol."),
    ("modal", ITALIAN, "Bambini e ragazzi con influenza non possono prendere aspirina."),
    ("frequency lost", ITALIAN, "L'influenza guarisce in circa una settimana."),
    ("frequency", ITALIAN, "L'influenza sempre guarisce in circa una settimana."),
    ("condition lost", ITALIAN, "Chiami il medico."),
    ("condition", ITALIAN, "Chiami il medico se la febbre dura più di tre giorni e supera i 39 °C."),
    ("condition", ITALIAN, "Chiami il medico se la tosse dura più di tre giorni."),
    ("condition turned into a fact", ITALIAN, "La febbre dura più di tre giorni o supera i 39 °C."),
    ("only", ITALIAN, "Chiami il medico solo se la febbre supera i 39 °C."),
    ("population", ITALIAN, "Gli anziani con influenza non devono prendere aspirina."),
    ("population lost", ITALIAN, "Il vaccino antinfluenzale previene l'influenza."),
    ("population", ITALIAN, "Il vaccino antinfluenzale previene l'influenza nei lattanti."),
    ("agents swapped", ITALIAN, "Gli adulti trasmettono l'influenza ai bambini."),
    ("agents swapped", ITALIAN, "L'influenza causa un virus e può dare febbre alta."),
    ("agents swapped", ITALIAN, "L'asma cura soprattutto con farmaci da inalare."),
    ("cause for prevention", ITALIAN, "Il vaccino antinfluenzale causa l'influenza negli adulti."),
    ("cause for effect", ITALIAN, "È causata da un virus, perché gli antibiotici non curano l'influenza."),
    ("cause made up", ITALIAN, "L'influenza può dare febbre alta, perché è causata da un virus."),
    ("time frame", ITALIAN, "L'influenza di solito guarisce dopo circa una settimana."),
    ("time frame", ITALIAN, "L'influenza di solito guarisce da circa una settimana."),
    ("urgency lost", ITALIAN, "Con l'influenza senta il medico."),
    ("tense", ITALIAN, "L'influenza di solito guarirà in circa una settimana."),
    ("form of address", ITALIAN, "Con l'influenza senti presto il medico."),
    ("scope", ITALIAN, "Gli antibiotici non curano, perché è causata da un virus."),
    ("scope", ITALIAN, "Tutti i farmaci danno sonnolenza."),
    ("scope", ITALIAN, "I farmaci danno sonnolenza."),
    ("scope", ITALIAN, "Molti farmaci danno sonnolenza."),
    ("scope", ITALIAN, "Le persone fumano e hanno più tosse."),
    ("scope", ITALIAN, "L'asma si cura con farmaci da inalare."),
    ("said of the reader", ITALIAN, "Lei ha l'asma e deve evitare il fumo."),
    ("said of the reader", ITALIAN, "Ha l'asma, deve evitare il fumo."),
    ("said of the reader", ITALIAN, "La Sua influenza di solito guarisce in circa una settimana."),
    ("subject lost", ITALIAN, "Di solito guarisce in circa una settimana."),
    ("detail invented", ITALIAN, "Il paracetamolo può alleviare la febbre in un'ora."),
    ("detail invented", ITALIAN, "L'influenza è causata da un virus e può dare febbre alta, tosse secca, vomito o mal di gola."),
    ("detail invented", ITALIAN, "Gli antibiotici e il miele non curano l'influenza."),
    ("detail lost", ITALIAN, "L'influenza è causata da un virus e può dare febbre."),
    ("warning lost", ITALIAN, "Il paracetamolo può alleviare la febbre, ma va dato con troppo alcol."),
    ("question", ITALIAN, "Gli antibiotici non curano l'influenza?"),
    ("tense", ITALIAN, "Se la febbre durerà più di tre giorni, chiami il medico."),
    ("fragment", ITALIAN, "Chiami il medico se la febbre dura più di tre giorni o."),
    ("fragment", ITALIAN, "L'influenza è causata da un virus e."),
    ("number", SPANISH, "Llame al médico si la fiebre dura más de dos días."),
    ("number", SPANISH, "Llame al médico si la fiebre supera los 38 °C."),
    ("number in words", SPANISH, "Después de la gripe, la tos y el cansancio pueden durar tres semanas o más."),
    ("unit", SPANISH, "Llame al médico si la fiebre dura más de tres horas."),
    ("unit", SPANISH, "La vacuna previene la gripe en niños mayores de 6 años."),
    ("sign", SPANISH, "Llame al médico si la fiebre dura más de tres días o supera los <39 °C."),
    ("approximation", SPANISH, "La gripe suele curarse en una semana."),
    ("amount", SPANISH, "Después de la gripe, la tos y el cansancio pueden durar dos semanas."),
    ("comparison", SPANISH, "Llame al médico si la fiebre dura menos de tres días."),
    ("negation lost", SPANISH, "El frío por sí solo causa la gripe."),
    ("negation lost", SPANISH, "Los niños con gripe deben tomar aspirina."),
    ("negation added", SPANISH, "La vacuna no previene la gripe en adultos."),
    ("negation moved", SPANISH, "Los niños sin gripe deben tomar aspirina."),
    ("negation made absolute", SPANISH, "Los niños con gripe nunca deben tomar aspirina."),
    ("modal lost", SPANISH, "El paracetamol alivia la fiebre, pero no conviene con demasiado alcohol."),
    ("modal", SPANISH, "Los niños con gripe no pueden tomar aspirina."),
    ("frequency lost", SPANISH, "La gripe se cura en alrededor de una semana."),
    ("condition lost", SPANISH, "Llame al médico."),
    ("condition", SPANISH, "Llame al médico si la fiebre dura más de tres días y supera los 39 °C."),
    ("condition", SPANISH, "Llame al médico si la tos dura más de tres días."),
    ("condition turned into a fact", SPANISH, "La fiebre dura más de tres días o supera los 39 °C."),
    ("only", SPANISH, "Llame al médico solo si la fiebre supera los 39 °C."),
    ("population", SPANISH, "Los ancianos con gripe no deben tomar aspirina."),
    ("population lost", SPANISH, "La vacuna previene la gripe."),
    ("population", SPANISH, "La vacuna previene la gripe en lactantes."),
    ("agents swapped", SPANISH, "Los adultos contagian la gripe a los niños."),
    ("agents swapped", SPANISH, "La gripe causa un virus y puede dar fiebre alta."),
    ("agents swapped", SPANISH, "El asma trata sobre todo con inhaladores."),
    ("cause for prevention", SPANISH, "La vacuna causa la gripe en adultos."),
    ("cause for effect", SPANISH, "Está causada por un virus, porque los antibióticos no curan la gripe."),
    ("cause made up", SPANISH, "La gripe puede dar fiebre alta, porque está causada por un virus."),
    ("time frame", SPANISH, "La gripe suele curarse después de alrededor de una semana."),
    ("time frame", SPANISH, "La gripe suele curarse desde alrededor de una semana."),
    ("urgency lost", SPANISH, "Con la gripe consulte al médico."),
    ("tense", SPANISH, "El frío por sí solo no causará la gripe."),
    ("form of address", SPANISH, "Con la gripe consulta pronto al médico."),
    ("scope", SPANISH, "Los antibióticos no curan, porque está causada por un virus."),
    ("scope", SPANISH, "Todos los medicamentos dan sueño."),
    ("scope", SPANISH, "Los medicamentos dan sueño."),
    ("scope", SPANISH, "Muchos medicamentos dan sueño."),
    ("scope", SPANISH, "Las personas fuman y tienen más tos."),
    ("scope", SPANISH, "El asma se trata con inhaladores."),
    ("said of the reader", SPANISH, "Usted tiene asma y debe evitar el humo."),
    ("said of the reader", SPANISH, "Tiene asma, debe evitar el humo."),
    ("said of the reader", SPANISH, "Su gripe suele curarse en alrededor de una semana."),
    ("subject lost", SPANISH, "Suele curarse en alrededor de una semana."),
    ("detail invented", SPANISH, "El paracetamol puede aliviar la fiebre en una hora."),
    (
        "detail invented",
        SPANISH,
        "La gripe está causada por un virus y puede dar fiebre alta, tos seca, vómitos o dolor de garganta.",
    ),
    ("detail lost", SPANISH, "La gripe está causada por un virus y puede dar fiebre."),
    ("warning lost", SPANISH, "El paracetamol puede aliviar la fiebre, pero conviene con demasiado alcohol."),
    ("question", SPANISH, "¿Los antibióticos no curan la gripe?"),
    ("tense", SPANISH, "Si la fiebre durará más de tres días, llame al médico."),
    ("fragment", SPANISH, "Llame al médico si la fiebre dura más de tres días o."),
    ("fragment", SPANISH, "La gripe está causada por un virus y."),
]


@pytest.mark.parametrize(("language", "text"), [(language, text) for _, language, text in CHANGED])
def test_a_draft_that_changes_what_the_page_says_is_never_shown(language: Language, text: str) -> None:
    sentence = align(text, language)

    assert sentence is None or sentence.text in PAGE[language]  # a slip in one ending is mended by quoting the page


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (ITALIAN, "Gli antibiotici non curano l'influenza."),
        (ITALIAN, "L'influenza in genere guarisce in circa una settimana."),
        (ITALIAN, "Se la febbre dura più di 3 giorni, chiami il medico."),
        (ITALIAN, "Chiami il medico se la febbre dura più di tre giorni."),
        (ITALIAN, "Dopo l'influenza, la tosse e la stanchezza possono durare 2 settimane o più."),
        (ITALIAN, "Il vaccino antinfluenzale previene l'influenza negli adulti."),
        (SPANISH, "Los antibióticos no curan la gripe."),
        (SPANISH, "Si la fiebre dura más de 3 días, llame al médico."),
        (SPANISH, "Llame al doctor si la fiebre dura más de tres días."),
        (SPANISH, "Después de la gripe, tos y cansancio pueden durar 2 semanas o más."),
        (SPANISH, "La vacuna previene la gripe en adultos."),
    ],
)
def test_a_draft_that_says_less_or_the_same_is_supported(language: Language, text: str) -> None:
    sentence = align(text, language)

    assert sentence is not None
    assert (sentence.text, sentence.kind) == (text, SentenceKind.WRITTEN)
    assert len(sentence.evidence) == 1
    assert 0 < sentence.alignment <= 1


@pytest.mark.parametrize(
    ("language", "draft", "source"),
    [
        (ITALIAN, "il freddo da solo NON causa influenza", "Il freddo da solo non causa l'influenza."),
        (ITALIAN, "Chiami il medico se tossisce il sangue.", "Chiami il medico se tossisce sangue."),
        (SPANISH, "el frío por sí solo NO causa gripe", "El frío por sí solo no causa la gripe."),
        (SPANISH, "Llame al médico si tose la sangre.", "Llame al médico si tose sangre."),
    ],
)
def test_a_near_copy_is_shown_as_the_source_has_it(language: Language, draft: str, source: str) -> None:
    sentence = align(draft, language)

    assert sentence is not None
    assert (sentence.text, sentence.kind, sentence.alignment) == (source, SentenceKind.QUOTED, 1.0)


@pytest.mark.parametrize(
    ("language", "draft", "shown"),
    [
        (ITALIAN, "No, gli antibiotici non curano l'influenza.", "Gli antibiotici non curano l'influenza."),
        (ITALIAN, "Sì: chiami il medico se la febbre supera i 39 °C.", None),
        (
            ITALIAN,
            "Sì, chiami il medico se la febbre dura più di 3 giorni.",
            "Chiami il medico se la febbre dura più di 3 giorni.",
        ),
        (ITALIAN, "Sì gli antibiotici non curano l'influenza.", None),
        (SPANISH, "No, los antibióticos no curan la gripe.", "Los antibióticos no curan la gripe."),
        (SPANISH, "Sí, llame al médico si la fiebre dura más de 3 días.", "Llame al médico si la fiebre dura más de 3 días."),
        (SPANISH, "Los antibióticos sí curan la gripe.", None),
    ],
)
def test_yes_and_no_are_never_shown(language: Language, draft: str, shown: str | None) -> None:
    sentence = align(draft, language)

    assert (sentence and sentence.text) == shown


@pytest.mark.parametrize(
    ("language", "source"),
    [
        (ITALIAN, "Se respira a fatica, chiami subito il {emergency} e non aspetti."),
        (SPANISH, "Si respira con dificultad, llame de inmediato al {emergency} y no espere."),
    ],
)
def test_the_place_of_the_emergency_number_is_kept_as_the_source_has_it(language: Language, source: str) -> None:
    copied = align(source.replace("{emergency}", "emergency"), language, source)
    shortened = align(source.partition(" {")[0] + " emergency.", language, source)

    assert copied is not None
    assert copied.text == source
    assert shortened is None


@pytest.mark.parametrize("text", ["Sì.", "No, certo.", "Febbre.", "", "…"])
def test_a_draft_without_a_claim_is_dropped(text: str) -> None:
    assert align(text) is None


def test_no_evidence_supports_nothing() -> None:
    assert Aligner(ITALIAN).align(Draft(text="Gli antibiotici non curano l'influenza."), []) is None


@pytest.mark.parametrize(
    ("language", "text", "first", "second"),
    [
        (
            ITALIAN,
            "L'influenza di solito guarisce in circa una settimana e gli antibiotici non curano l'influenza.",
            "L'influenza di solito guarisce in circa una settimana.",
            "Gli antibiotici non curano l'influenza.",
        ),
        (
            ITALIAN,
            "L'influenza è causata da un virus, e le macchie di solito spariscono entro un giorno.",
            "L'influenza è causata da un virus.",
            "Le macchie dell'influenza di solito spariscono entro un giorno.",
        ),
        (
            ITALIAN,
            "L'influenza è causata da un virus e di solito guarisce in circa una settimana.",
            "L'influenza è causata da un virus.",
            "L'influenza di solito guarisce in circa una settimana.",
        ),
        (
            ITALIAN,
            "Chiami il medico se la febbre dura più di tre giorni o se tossisce sangue.",
            "Chiami il medico se la febbre dura più di tre giorni.",
            "Chiami il medico se tossisce sangue.",
        ),
        (
            SPANISH,
            "La gripe suele curarse en una semana, pero los antibióticos no curan la gripe.",
            "La gripe suele curarse en una semana.",
            "Los antibióticos no curan la gripe.",
        ),
        (
            SPANISH,
            "La gripe está causada por un virus y suele curarse en una semana.",
            "La gripe está causada por un virus.",
            "La gripe suele curarse en una semana.",
        ),
        (
            SPANISH,
            "Llame al médico si la fiebre dura más de tres días o si tose sangre.",
            "Llame al médico si la fiebre dura más de tres días.",
            "Llame al médico si tose sangre.",
        ),
    ],
)
def test_two_sentences_of_one_page_are_joined_and_both_are_the_proof(
    language: Language, text: str, first: str, second: str
) -> None:
    sentence = align(text, language, first, second)

    assert sentence is not None
    assert [item.sentence.text for item in sentence.evidence] == [first, second]


@pytest.mark.parametrize(
    ("language", "text", "first", "second"),
    [
        (
            ITALIAN,
            "L'influenza è causata da un virus, ma l'asma non è contagiosa.",
            "L'influenza è causata da un virus.",
            "L'asma non è contagiosa.",
        ),
        (
            SPANISH,
            "La gripe está causada por un virus, pero el asma no es contagiosa.",
            "La gripe está causada por un virus.",
            "El asma no es contagiosa.",
        ),
    ],
)
def test_sentences_of_two_pages_are_never_joined(language: Language, text: str, first: str, second: str) -> None:
    aligner, draft = Aligner(language), Draft(text=text)
    one, other = evidence(first), evidence(second, document="asthma")

    assert aligner.align(draft, [one, other]) is None
    assert aligner.align(draft, [one, evidence(second, 1)]) is not None


@pytest.mark.parametrize(
    ("language", "text", "first", "second"),
    [
        # The second half says of one subject what the page says of another.
        (
            ITALIAN,
            "La tosse accompagna l'influenza e dura una settimana.",
            "La tosse accompagna l'influenza.",
            "L'influenza dura una settimana.",
        ),
        (
            ITALIAN,
            "La febbre e la tosse sono sintomi e possono durare settimane.",
            "La febbre e la tosse sono sintomi.",
            "La tosse può durare settimane.",
        ),
        (
            ITALIAN,
            "La tosse irrita la gola, il miele calma la tosse e può durare settimane.",
            "La tosse irrita la gola, il miele calma la tosse.",
            "La tosse può durare settimane.",
        ),
        # An advice under another condition than its own.
        (
            ITALIAN,
            "Chiami il medico se tossisce sangue e beva acqua.",
            "Chiami il medico se tossisce sangue.",
            "Beva acqua se ha sete.",
        ),
        (
            ITALIAN,
            "Chiami il medico se tossisce sangue o se ha sete.",
            "Chiami il medico se tossisce sangue.",
            "Beva acqua se ha sete.",
        ),
        (
            ITALIAN,
            "Chiami il medico se tossisce sangue e se ha febbre alta.",
            "Chiami il medico se tossisce sangue.",
            "Chiami il medico se ha febbre alta.",
        ),
        (ITALIAN, "Se ha sete, chiami il medico.", "Chiami il medico se tossisce sangue.", "Beva acqua se ha sete."),
        # A reason or an alternative that the page does not give.
        (ITALIAN, "Beva molta acqua, perché la febbre fa sudare.", "Beva molta acqua.", "La febbre fa sudare."),
        (ITALIAN, "La febbre fa sudare, quindi beva molta acqua.", "La febbre fa sudare.", "Beva molta acqua."),
        (ITALIAN, "Prenda il paracetamolo o prenda l'ibuprofene.", "Prenda il paracetamolo.", "Prenda l'ibuprofene."),
        (
            ITALIAN,
            "Sull'ustione non metta burro e le bolle vanno bucate.",
            "Sull'ustione non metta burro.",
            "Le bolle dell'ustione non vanno bucate.",
        ),
        (SPANISH, "La tos acompaña la gripe y dura una semana.", "La tos acompaña la gripe.", "La gripe dura una semana."),
        (
            SPANISH,
            "La fiebre y la tos son síntomas y pueden durar semanas.",
            "La fiebre y la tos son síntomas.",
            "La tos puede durar semanas.",
        ),
        (
            SPANISH,
            "La tos irrita la garganta, la miel calma la tos y puede durar semanas.",
            "La tos irrita la garganta, la miel calma la tos.",
            "La tos puede durar semanas.",
        ),
        (SPANISH, "Llame al médico si tose sangre y beba agua.", "Llame al médico si tose sangre.", "Beba agua si hay sed."),
        (SPANISH, "Llame al médico si tose sangre o si hay sed.", "Llame al médico si tose sangre.", "Beba agua si hay sed."),
        (
            SPANISH,
            "Llame al médico si tose sangre y si hay fiebre alta.",
            "Llame al médico si tose sangre.",
            "Llame al médico si hay fiebre alta.",
        ),
        (SPANISH, "Si hay sed, llame al médico.", "Llame al médico si tose sangre.", "Beba agua si hay sed."),
        (SPANISH, "Beba mucha agua, porque la fiebre hace sudar.", "Beba mucha agua.", "La fiebre hace sudar."),
        (SPANISH, "La fiebre hace sudar, por eso beba mucha agua.", "La fiebre hace sudar.", "Beba mucha agua."),
        (SPANISH, "Tome paracetamol o tome ibuprofeno.", "Tome paracetamol.", "Tome ibuprofeno."),
        (
            SPANISH,
            "En la quemadura no ponga hielo y las ampollas se revientan.",
            "En la quemadura no ponga hielo.",
            "Las ampollas de la quemadura no se revientan.",
        ),
    ],
)
def test_a_join_lends_no_subject_no_advice_and_no_reason(language: Language, text: str, first: str, second: str) -> None:
    assert align(text, language, first, second) is None


@pytest.mark.parametrize(
    ("language", "source", "text", "supported"),
    [
        (ITALIAN, "La tosse può essere secca o grassa.", "La tosse può essere secca.", True),
        (ITALIAN, "La tosse è secca o grassa.", "La tosse è secca.", False),
        (ITALIAN, "Resti a casa se non ha febbre o brividi.", "Resti a casa se non ha febbre.", False),
        (ITALIAN, "Paracetamolo e ibuprofene possono calmare la febbre.", "L'ibuprofene può calmare la febbre.", True),
        (ITALIAN, "Con febbre e tosse resti a casa.", "Con febbre resti a casa.", False),
        (
            ITALIAN,
            "La febbre passa presto, la tosse resta e disturba il sonno.",
            "La febbre passa presto e disturba il sonno.",
            False,
        ),
        (ITALIAN, "La temperatura normale è tra 36 e 37 °C.", "La temperatura normale è tra 36.", False),
        (ITALIAN, "L'influenza, in inverno, dura una settimana.", "In inverno dura una settimana.", False),
        (ITALIAN, "Se ha febbre, beva acqua e riposi a letto.", "Se ha febbre e beva acqua, riposi a letto.", False),
        (SPANISH, "La gripe, en invierno, dura una semana.", "En invierno dura una semana.", False),
        (SPANISH, "Si hay fiebre, beba agua y descanse en cama.", "Si hay fiebre y beba agua, descanse en cama.", False),
        (SPANISH, "La tos puede ser seca o productiva.", "La tos puede ser seca.", True),
        (SPANISH, "La tos es seca o productiva.", "La tos es seca.", False),
        (SPANISH, "Quédese en casa si no hay fiebre o escalofríos.", "Quédese en casa si no hay fiebre.", False),
        (SPANISH, "El paracetamol y el ibuprofeno pueden bajar la fiebre.", "El ibuprofeno puede bajar la fiebre.", True),
        (SPANISH, "Con fiebre y tos descanse en casa.", "Con fiebre descanse en casa.", False),
        (SPANISH, "La fiebre pasa pronto, la tos sigue días y quita el sueño.", "La fiebre pasa pronto y quita el sueño.", False),
        (SPANISH, "La temperatura normal está entre 36 y 37 °C.", "La temperatura normal está entre 36.", False),
    ],
)
def test_a_member_is_left_out_only_where_the_rest_is_true_alone(
    language: Language, source: str, text: str, supported: bool
) -> None:
    assert (align(text, language, source) is not None) is supported


@pytest.mark.parametrize(
    ("language", "source", "text"),
    [
        (ITALIAN, "La polmonite è una complicazione.", "La complicazione è la polmonite."),
        (SPANISH, "El asma es una enfermedad crónica.", "Una enfermedad crónica es el asma."),
        (SPANISH, "La neumonía es una complicación.", "La complicación es la neumonía."),
    ],
)
def test_what_is_one_of_a_kind_is_not_turned_into_the_kind(language: Language, source: str, text: str) -> None:
    assert align(text, language, source) is None


def test_the_strongest_of_two_equal_proofs_is_named() -> None:
    strong = evidence("Gli antibiotici non curano l'influenza stagionale, perché è causata da un virus.", 1)
    weak = replace(evidence("Gli antibiotici non curano l'influenza stagionale in casa.", 2), strength=0.3)

    sentence = Aligner(ITALIAN).align(Draft(text="Gli antibiotici non curano l'influenza stagionale."), [strong, weak])

    assert sentence is not None
    assert sentence.evidence == (strong,)
