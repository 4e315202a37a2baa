"""Which aspect a lay question asks about, and which passage of a page tells it, in both languages."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from locales.language import Language
from rag.aspects import AspectWords
from rag.corpus import lexical_column
from rag.documents import Chunk, Sentence
from rag.text import split_sentences
from tests.integration.pages import Page

# A question and its aspects; a complaint, a greeting or a phrase that only sounds like one of them has none.
ITALIAN_QUESTIONS = [
    ("Che cos'è la gotta?", "nature"),
    ("Cos’è l’ernia iatale", "nature"),
    ("cosa sono le emorroidi", "nature"),
    ("che significa avere il colesterolo alto", "nature"),
    ("Che cosa vuol dire fibrillazione atriale?", "nature"),
    ("mi spiega cos'è la celiachia?", "nature"),
    ("Quali sono i sintomi della polmonite?", "symptoms"),
    ("come si manifesta l'herpes zoster", "symptoms"),
    ("come faccio a capire se è appendicite", "symptoms"),
    ("quali sono i primi segni del diabete", "symptoms"),
    ("Cosa causa l'acne?", "causes"),
    ("perché mi viene sempre il mal di testa", "causes"),
    ("da cosa dipende la pressione bassa", "causes"),
    ("da che cosa è causata la psoriasi", "causes"),
    ("come si trasmette la scabbia", "causes"),
    ("la varicella è contagiosa?", "causes"),
    ("la celiachia è ereditaria?", "causes"),
    ("Chi rischia di più un ictus?", "risk"),
    ("quali sono i fattori di rischio per l'infarto", "risk"),
    ("a chi capita più spesso la gotta, chi può prenderla", "risk"),
    ("che esami servono per la tiroide", "diagnosis"),
    ("come si diagnostica l'asma", "diagnosis"),
    ("come si cura la cistite", "treatment"),
    ("che posso prendere per il raffreddore", "treatment"),
    ("cosa devo fare per una scottatura", "treatment"),
    ("rimedi per la stitichezza", "treatment"),
    ("come far passare il singhiozzo", "treatment"),
    ("cosa è meglio prendere per la tosse", "treatment"),
    ("come si può prevenire l'osteoporosi", "prevention"),
    ("come evitare i calcoli renali", "prevention"),
    ("quali complicazioni può dare il diabete", "complications"),
    ("che succede se non curo la pressione alta", "complications"),
    ("quali problemi può dare l'asma non controllata", "complications"),
    ("la polmonite è grave?", "complications"),
    ("quanti tipi di cefalea esistono", "types"),
    ("quali forme di artrite ci sono", "types"),
    ("quanto è comune l'epilessia", "frequency"),
    ("quante persone hanno la celiachia", "frequency"),
    ("quanto dura l'influenza", "course"),
    ("quanto tempo ci vuole per guarire dalla bronchite", "course"),
    ("si può guarire dalla psoriasi?", "course"),
    ("Sintomi e cura della sinusite", "symptoms treatment"),
    ("ho la pancia dura e gonfia da ieri", ""),
    ("ho problemi a dormire", ""),
    ("ho dei segni rossi sulle gambe", ""),
    ("in effetti mi gira la testa", ""),
    ("mi fa male la gamba quando cammino", ""),
    ("la farmacia è aperta oggi?", ""),
    ("buongiorno dottore", ""),
    ("mi hanno diagnosticato l'asma a vent'anni", ""),
    ("febbre senza sintomi di raffreddore", ""),
    ("come viene diagnosticata la celiachia", "diagnosis"),
    ("da tre giorni ho febbre e mal di gola", ""),
    ("il bambino piange e non mangia", ""),
    ("sono caduto e mi si è gonfiato il ginocchio", ""),
    ("è dura, non ce la faccio più con questo dolore", ""),
    ("si tratta di mia madre, ha 80 anni e tossisce", ""),
]
SPANISH_QUESTIONS = [
    ("¿Qué es la gota?", "nature"),
    ("que son las hemorroides", "nature"),
    ("qué significa tener el colesterol alto", "nature"),
    ("qué quiere decir fibrilación auricular", "nature"),
    ("¿me puede explicar qué es la celiaquía?", "nature"),
    ("¿Cuáles son los síntomas de la neumonía?", "symptoms"),
    ("cómo se manifiesta el herpes zóster", "symptoms"),
    ("cómo puedo saber si es apendicitis", "symptoms"),
    ("qué se siente cuando a uno le da un infarto", "symptoms"),
    ("señales de un derrame cerebral", "symptoms"),
    ("¿Qué causa el acné?", "causes"),
    ("por qué me da dolor de cabeza", "causes"),
    ("por qué se me hinchan los pies", "causes"),
    ("a qué se debe la presión baja", "causes"),
    ("cómo se contagia la sarna", "causes"),
    ("¿la varicela es contagiosa?", "causes"),
    ("¿la celiaquía es hereditaria?", "causes"),
    ("¿A quiénes afecta más la gota?", "risk"),
    ("factores de riesgo del infarto", "risk"),
    ("quién corre más riesgo de tener un derrame", "risk"),
    ("qué pruebas hacen para la tiroides", "diagnosis"),
    ("cómo se diagnostica el asma", "diagnosis"),
    ("cómo se cura la cistitis", "treatment"),
    ("qué puedo tomar para el resfriado", "treatment"),
    ("qué hago con una quemadura", "treatment"),
    ("remedios caseros para el estreñimiento", "treatment"),
    ("qué es bueno para la tos", "treatment"),
    ("cómo se quita el hipo", "treatment"),
    ("cómo se puede prevenir la osteoporosis", "prevention"),
    ("cómo evitar las piedras en el riñón", "prevention"),
    ("qué complicaciones da la diabetes", "complications"),
    ("qué pasa si no me cuido la presión", "complications"),
    ("qué problemas puede traer el asma mal llevada", "complications"),
    ("¿la neumonía es grave?", "complications"),
    ("cuántos tipos de migraña hay", "types"),
    ("qué formas de artritis existen", "types"),
    ("qué tan común es la epilepsia", "frequency"),
    ("cuántas personas tienen celiaquía", "frequency"),
    ("cuánto dura la gripe", "course"),
    ("cuánto tiempo tarda en pasarse una bronquitis", "course"),
    ("¿cuándo se me va a quitar la tos?", "course"),
    ("Síntomas y tratamiento de la sinusitis", "symptoms treatment"),
    ("tengo la barriga dura e hinchada desde ayer", ""),
    ("tengo problemas para dormir", ""),
    ("mi hijo dice que se siente mal", ""),
    ("de todas formas me duele la cabeza", ""),
    ("me duele la pierna cuando camino", ""),
    ("se trata de mi mamá, tiene 80 años y tose mucho", ""),
    ("buenos días doctor", ""),
    ("me diagnosticaron asma a los veinte", ""),
    ("positivo sin síntomas", ""),
    ("con este mareo no puedo manejar", ""),
    ("cómo manejar el dolor de la artrosis", "treatment"),
    ("llevo tres días con fiebre y dolor de garganta", ""),
    ("el bebé llora y no come", ""),
    ("me caí y se me hinchó la rodilla", ""),
    ("salgo de mis clases de baile con dolor en la espalda", ""),
    ("me salió una bola dura en el cuello", ""),
]

NAMES = {Language.ITALIAN: "Gotta", Language.SPANISH: "Gota"}
PASSAGES: Mapping[Language, Mapping[str, str]] = {
    Language.ITALIAN: {
        "nature": "La gotta è un'artrite che viene ad attacchi. Colpisce per lo più un'articolazione sola.",
        "symptoms": "I sintomi della gotta sono dolore forte, gonfiore e febbre. La pelle è rossa e calda.",
        "causes": "La gotta è provocata da un eccesso di acido urico. La causa più comune è un rene che ne elimina poco.",
        "diagnosis": "Per la diagnosi si fanno gli esami del sangue e una radiografia.",
        "treatment": "Il medico può prescrivere un farmaco. Il riposo e il ghiaccio danno sollievo.",
    },
    Language.SPANISH: {
        "nature": "La gota es una artritis que viene por ataques. Suele afectar a una sola articulación.",
        "symptoms": "Los síntomas de la gota son dolor fuerte, hinchazón y fiebre. La piel está roja y caliente.",
        "causes": "La gota es provocada por un exceso de ácido úrico. La causa más común es un riñón que elimina poco.",
        "diagnosis": "Para el diagnóstico se hacen análisis de sangre y una radiografía.",
        "treatment": "El médico puede recetar un medicamento. El reposo y el hielo dan alivio.",
    },
}
every_language = pytest.mark.parametrize("language", Language)


def passage(language: Language, text: str, *, title: str | None = None, headings: tuple[str, ...] = ()) -> Chunk:
    sentences = tuple(Sentence(text=text[start:end], start=start, end=end) for start, end in split_sentences(text))
    page = Page("a", title or NAMES[language], text)
    return replace(page.chunk, language=language, heading_path=headings, sentences=sentences)


def scored(language: Language, asked: tuple[str, ...], chunk: Chunk) -> float:
    return AspectWords.load(language).told(asked, chunk, lexical_column(chunk).split())


def told(language: Language, aspect: str, text: str, *, title: str | None = None, headings: tuple[str, ...] = ()) -> float:
    return scored(language, (aspect,), passage(language, text, title=title, headings=headings))


@pytest.mark.parametrize(("question", "aspects"), ITALIAN_QUESTIONS)
def test_an_italian_question_asks_about_these_aspects_and_no_other(question: str, aspects: str) -> None:
    assert set(AspectWords.load(Language.ITALIAN).asked(question)) == set(aspects.split())


@pytest.mark.parametrize(("question", "aspects"), SPANISH_QUESTIONS)
def test_a_spanish_question_asks_about_these_aspects_and_no_other(question: str, aspects: str) -> None:
    assert set(AspectWords.load(Language.SPANISH).asked(question)) == set(aspects.split())


@every_language
def test_capitals_and_missing_accents_change_nothing(language: Language) -> None:
    words = AspectWords.load(language)
    question, hurried = {
        Language.ITALIAN: ("Perché viene la gotta?", "PERCHE VIENE LA GOTTA"),
        Language.SPANISH: ("¿Por qué da la gota?", "POR QUE DA LA GOTA"),
    }[language]

    assert words.asked(question) == words.asked(hurried) == ("causes",)


def test_both_languages_know_the_same_aspects() -> None:
    italian, spanish = (AspectWords.load(language) for language in Language)

    assert (set(italian.asks), set(italian.tells)) == (set(spanish.asks), set(spanish.tells))


@every_language
def test_an_aspect_other_than_the_nature_has_words_that_tell_it(language: Language) -> None:
    assert {name for name, stems in AspectWords.load(language).tells.items() if not stems} == {"nature"}


@every_language
@pytest.mark.parametrize("aspect", PASSAGES[Language.ITALIAN])
def test_of_one_page_the_passage_on_what_is_asked_tells_it_best(language: Language, aspect: str) -> None:
    scores = {name: told(language, aspect, text) for name, text in PASSAGES[language].items()}

    assert max(scores, key=lambda name: scores[name]) == aspect
    assert scores[aspect] > 0.5
    assert sum(score == scores[aspect] for score in scores.values()) == 1


@every_language
@pytest.mark.parametrize("about", PASSAGES[Language.ITALIAN])
def test_no_passage_tells_anything_when_nothing_is_asked(language: Language, about: str) -> None:
    assert scored(language, (), passage(language, PASSAGES[language][about])) == 0.0


@pytest.mark.parametrize(
    ("language", "named", "unnamed"),
    [
        (Language.ITALIAN, "La gotta è un'artrite.", "L'acido urico è uno scarto."),
        (Language.ITALIAN, "La gotta e' un'artrite.", "L'acido urico e' uno scarto."),
        (Language.SPANISH, "La gota es una artritis.", "El ácido úrico es un desecho."),
    ],
)
def test_a_definition_of_the_page_is_more_than_one_of_something_else_and_that_more_than_none(
    language: Language, named: str, unnamed: str
) -> None:
    neither = {Language.ITALIAN: "Beva acqua fresca.", Language.SPANISH: "Beba agua cada mañana."}[language]

    assert told(language, "nature", named) > told(language, "nature", unnamed) > told(language, "nature", neither) == 0.0


@pytest.mark.parametrize(
    ("language", "text"),
    [
        (Language.ITALIAN, "Dopo una cena con molta carne e una notte agitata la gotta è ricomparsa."),
        (Language.SPANISH, "Tras una cena con mucha carne y una noche agitada la gota es lo primero que se piensa."),
    ],
)
def test_a_name_late_in_the_sentence_makes_no_definition_of_the_page(language: Language, text: str) -> None:
    early = {Language.ITALIAN: "La gotta è tornata.", Language.SPANISH: "La gota es vieja."}[language]

    assert told(language, "nature", text) < told(language, "nature", early)


def test_an_italian_and_is_not_taken_for_is() -> None:
    assert told(Language.ITALIAN, "nature", "Gotta e acqua stanno insieme.") == 0.0
    assert told(Language.ITALIAN, "nature", "La gotta è acqua.") > 0.0


@every_language
def test_a_definition_counts_less_where_it_tells_as_much_about_its_causes(language: Language) -> None:
    texts = PASSAGES[language]

    assert told(language, "nature", texts["nature"]) > told(language, "nature", texts["causes"]) > 0.0


@every_language
def test_a_heading_tells_what_its_passage_is_about(language: Language) -> None:
    heading, text = {
        Language.ITALIAN: ("Terapia", "Si comincia piano."),
        Language.SPANISH: ("Tratamiento", "Se empieza despacio."),
    }[language]

    assert told(language, "treatment", text, headings=(heading,)) > told(language, "treatment", text) == 0.0


@every_language
def test_words_that_return_tell_more_than_a_word_said_once_late(language: Language) -> None:
    opening, word = {
        Language.ITALIAN: ("Si ricordi questo oggi. ", "Farmaco"),
        Language.SPANISH: ("Recuerde esto hoy. ", "Medicamento"),
    }[language]
    filler = "Altro. " * 80

    once, often = (told(language, "treatment", opening + f"{word}. " * times + filler) for times in (1, 4))

    assert 0.0 < once < often < 1.0


@every_language
def test_a_passage_is_judged_by_all_aspects_that_are_asked(language: Language) -> None:
    chunk = passage(language, PASSAGES[language]["symptoms"])
    symptoms, treatment = scored(language, ("symptoms",), chunk), scored(language, ("treatment",), chunk)

    assert scored(language, ("symptoms", "treatment"), chunk) == pytest.approx((symptoms + treatment) / 2)


@every_language
@pytest.mark.parametrize("text", ["", "…", "- "])
def test_a_passage_without_words_tells_nothing(language: Language, text: str) -> None:
    assert [told(language, aspect, text) for aspect in ("nature", "causes")] == [0.0, 0.0]


def test_a_blood_test_is_no_symptom() -> None:
    assert told(Language.SPANISH, "symptoms", PASSAGES[Language.SPANISH]["diagnosis"]) == 0.0
