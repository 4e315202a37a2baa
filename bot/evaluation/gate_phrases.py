"""What the red-flag classifier learns from: phrases, everyday questions and long messages, all of them data that ship."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import locales
from bot.evaluation.shipped import SetUnreadable
from locales.language import Language
from rag.question_bank import bank

NO_CATEGORY = "x"
URGENT_PART = re.compile(r"\[\[(.*?)\]\]")
# Topics of the question bank on which a question may be an emergency, or no question is surely harmless.
_MAY_BE_URGENT_TOPICS = """
abdominal_pain abortion addisons angina anorexia aortic_aneurysm appendicitis asthma blood_in_urine borderline
brain_aneurysm bronchiolitis bulimia burns cellulitis_infection choking cirrhosis copd croup dengue depression
diarrhoea_vomiting drug_addiction dvt early_pregnancy ectopic epilepsy erysipelas eye_floaters facial_palsy fainting
fever_children fractures glaucoma guillain_barre haemophilia head_injury heart_attack_stroke heat_stroke hypoglycaemia
hypokalaemia inner_ear_disease insect_stings kawasaki late_pregnancy leishmania_rabies leptospirosis low_platelets
macular_degeneration malaria meningitis miscarriage multiple_sclerosis myasthenia nephrotic_syndrome neutropenia
newborn_jaundice nosebleed palpitations pancreatic_cancer pancreatitis paronychia pemphigus pericarditis phlebitis
placenta_previa pleural_effusion pneumonia poisoning polymyalgia postpartum preeclampsia pulmonary_embolism rabies
retinal_detachment schizophrenia sepsis sickle_cell sids_flat_head stomach_cancer testicle tetanus tuberculosis uveitis
whooping_cough wounds yellow_fever
"""
_MAY_BE_URGENT = frozenset(_MAY_BE_URGENT_TOPICS.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Phrase:
    """A labelled message."""

    urgent: bool
    language: str
    category: str
    text: str


def read_phrases() -> list[Phrase]:
    """Read `locales/{language}/red_flag_phrases.tsv`: lines of ``y|n``, category and text, parted by tabs.

    Raises:
        SetUnreadable: If a line is not of that form.
    """
    return list(_read("red_flag_phrases.tsv"))


def read_everyday() -> list[Phrase]:
    """The questions of the bank on topics that are no emergency, all harmless: what the phrases are short of.

    Whoever wrote the phrases thought of what sounds urgent; patients also write "the blood test says", "since the operation".
    """
    return [
        Phrase(urgent=False, language=language.value, category=NO_CATEGORY, text=question.text)
        for language in Language
        for question in bank(language)
        if question.topic not in _MAY_BE_URGENT
    ]


def read_stories() -> list[Phrase]:
    """Read `locales/{language}/red_flag_stories.tsv`: long messages in the same form, the urgent part between ``[[`` and ``]]``.

    Raises:
        SetUnreadable: If a line is not of that form, an urgent part is missing, or a harmless story has one.
    """
    stories = list(_read("red_flag_stories.tsv"))
    for story in stories:
        if story.urgent != bool(URGENT_PART.search(story.text)):
            raise SetUnreadable(f"red_flag_stories.tsv ({story.language}): not marked as it is labelled: {story.text[:60]}")
    return stories


def _read(name: str) -> Iterator[Phrase]:
    for language in Language:
        path = Path(locales.__file__).parent / language.value / name
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if not line or line.startswith("#"):
                continue
            parts = line.split("\t")
            if len(parts) != 3 or parts[0] not in {"y", "n"} or not parts[2].strip():
                raise SetUnreadable(f"{path.name} ({language.value}), line {number}: not `y|n`, category and text.")
            yield Phrase(urgent=parts[0] == "y", language=language.value, category=parts[1], text=parts[2])
