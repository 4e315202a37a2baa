import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.disease_set import Disease, read_diseases
from bot.evaluation.diseases import NoGenerator, evaluate_diseases, load_writer, write_histories
from bot.evaluation.shipped import SetUnreadable, read_lines
from bot.settings import Settings
from ingest.pseudo_history import PseudoWriter
from locales.language import Language
from rag.models.protocols import Prompt
from tests import builders
from tests.fakes import HashEmbedder, ScriptedLanguageModel

FURTHER: dict[str, list[tuple[Any, ...]]] = {
    "it": [
        ("stye", "Orzaiolo", [], None, "Un bozzetto rosso sulla palpebra fa male. La palpebra resta gonfia per giorni."),
        ("glaucoma", "Glaucoma", [], None, "La pressione dell'occhio danneggia lentamente il nervo ottico."),
        ("acute", "Glaucoma acuto", [], "Glaucoma", "Un occhio diventa di colpo rosso e duro, con aloni e vomito."),
    ],
    "es": [("stye", "Orzuelo", ["perrilla"], None, "Un bultito rojo en el párpado duele. El párpado queda hinchado.")],
}
SAID = "la palpebra gonfia e un bozzetto rosso che fa male."  # after "Ho", with which each reply opens
INDEXES = ["diagnosis", "history", "both", "diagnosis, product", "both, product"]


class Speaking(ScriptedLanguageModel):
    """Writes a history for the page on the stye in Italian, and nothing that passes for any other."""

    def complete(self, prompt: Prompt, **options: Any) -> Iterator[str]:
        told = super().complete(prompt, **options)
        yield " "
        yield from told if "bozzetto" in prompt.body else ()


@pytest.fixture
def write_data(tmp_path: Path) -> Callable[..., Path]:
    """Writes a set with these utterances, (language, condition, text) each, and gives its folder."""

    def write(*utterances: tuple[str, str, str]) -> Path:
        folder = tmp_path / "diseases"
        folder.mkdir(exist_ok=True)
        keys = ("id", "name", "aliases", "parent", "diagnosis_text")
        for lang, rows in FURTHER.items():
            _write(folder / f"{lang}.jsonl", [{"lang": lang, **dict(zip(keys, row, strict=True))} for row in rows])
            told = [(number, *rest) for number, (of, *rest) in enumerate(utterances) if of == lang]
            rows_told = [{"id": f"{lang}-{n}", "lang": lang, "disease": disease, "text": text} for n, disease, text in told]
            _write(folder / f"utterances_{lang}.jsonl", rows_told)
        return folder

    return write


@pytest.fixture
def no_starters(monkeypatch: pytest.MonkeyPatch) -> None:
    """No starter pages: the real ones take a second to read and are read by a test of their own."""
    monkeypatch.setattr("bot.evaluation.disease_set.load_sources", tuple)


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


ITALIAN = ("it", "stye", "un bozzetto rosso sulla palpebra gonfia")
SPANISH = ("es", "stye", "me duele el párpado hinchado")


def measure(data: Path, cache: Path, writer: PseudoWriter | None = None) -> Any:
    return evaluate_diseases(HashEmbedder(dimension=256), writer=writer, cache_dir=cache, progress=lambda *_: None, data=data)


def row(report: Any, **wanted: str) -> Any:
    return next(row for row in report["rows"] if wanted.items() <= row.items())


@pytest.mark.usefixtures("no_starters")
def test_without_a_generator_the_diagnosis_texts_alone_are_measured(write_data: Callable[..., Path], tmp_path: Path) -> None:
    report = measure(write_data(ITALIAN, SPANISH), tmp_path / "eval")

    assert [(row["set"], row["index"], row["counted"], row["n"]) for row in report["rows"]] == [
        ("it", "diagnosis", "lenient", 1),
        ("it", "diagnosis", "strict", 1),
        ("it", "diagnosis, product", "lenient", 1),
        ("it", "diagnosis, product", "strict", 1),
        ("es", "diagnosis", "lenient", 1),
        ("es", "diagnosis", "strict", 1),
        ("es", "diagnosis, product", "lenient", 1),
        ("es", "diagnosis, product", "strict", 1),
    ]
    assert report["rows"][1]["mrr@10"] == 1.0
    assert [report["rows"][1][f"hit@{k}"] for k in (1, 3, 5, 7, 9, 10)] == [1.0] * 6
    assert "histories" not in report


@pytest.mark.usefixtures("no_starters")
def test_each_index_is_searched_and_what_fell_back_is_counted(write_data: Callable[..., Path], tmp_path: Path) -> None:
    data = write_data(ITALIAN, ("it", "acute", "aloni e vomito"), SPANISH)
    report = measure(data, tmp_path / "eval", PseudoWriter(Speaking(SAID)))

    assert list(dict.fromkeys(row["index"] for row in report["rows"])) == INDEXES
    assert report["histories"]["it"] == {
        "written": 1,
        "fell_back": 2,
        "fell_back_to_the_diagnosis_text": ["acute", "glaucoma"],
    }
    assert report["histories"]["es"]["fell_back"] == 1
    assert row(report, set="it", index="history")["n"] == 2
    assert row(report, set="it with a history", index="history")["n"] == 1
    assert not [row for row in report["rows"] if row["set"] == "es with a history"]


@pytest.mark.usefixtures("no_starters")
@pytest.mark.parametrize(("index", "is_embedded"), [("history", False), ("both", True)])
def test_a_history_stands_in_place_of_the_diagnosis_text_or_beside_it(
    write_data: Callable[..., Path], tmp_path: Path, index: str, is_embedded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = HashEmbedder(dimension=256)
    published: dict[str, list[str]] = {}
    publish = embedder.embed_passages
    names = iter(["diagnosis", "history", "both"] * 2)

    def noting(texts: list[str]) -> Any:
        published.setdefault(next(names, ""), []).extend(texts)
        return publish(texts)

    monkeypatch.setattr(embedder, "embed_passages", noting)
    evaluate_diseases(
        embedder,
        writer=PseudoWriter(Speaking(SAID)),
        cache_dir=tmp_path / "eval",
        progress=lambda *_: None,
        data=write_data(ITALIAN, SPANISH),
    )

    assert f"Ho {SAID}" in published[index]
    assert any(text.startswith("Orzaiolo. Un bozzetto") for text in published[index]) is is_embedded
    assert any(text.startswith("Glaucoma acuto. Un occhio") for text in published[index])


@pytest.mark.usefixtures("no_starters")
def test_the_parent_condition_is_a_lenient_hit_and_no_strict_one(write_data: Callable[..., Path], tmp_path: Path) -> None:
    data = write_data(("it", "acute", "la pressione dell'occhio danneggia il nervo ottico"), SPANISH)
    report = measure(data, tmp_path / "eval")

    assert row(report, set="it", counted="lenient")["hit@1"] == 1.0
    assert row(report, set="it", counted="strict")["hit@1"] == 0.0
    assert 0.0 < row(report, set="it", counted="strict")["mrr@10"] < 1.0


@pytest.mark.usefixtures("no_starters")
def test_interval_holds_the_mean_and_is_a_point_where_all_are_alike(write_data: Callable[..., Path], tmp_path: Path) -> None:
    right, wrong = ITALIAN, ("it", "acute", "bozzetto sulla palpebra gonfia")
    report = measure(write_data(right, wrong, SPANISH), tmp_path / "eval")

    mixed, alike = row(report, set="it", counted="strict"), row(report, set="es", counted="strict")
    assert mixed["low"] < mixed["mrr@10"] < mixed["high"]
    assert (alike["low"], alike["high"]) == (1.0, 1.0)


@pytest.mark.usefixtures("no_starters")
def test_a_history_is_written_once_for_a_page_and_a_writer(write_data: Callable[..., Path], tmp_path: Path) -> None:
    diseases = read_diseases(write_data())
    told: list[tuple[str, int, int]] = []

    def written(model: ScriptedLanguageModel) -> dict[tuple[Language, str], str | None]:
        return write_histories(diseases, PseudoWriter(model), tmp_path / "eval", lambda *step: told.append(step))

    first, again, other = Speaking(SAID), Speaking(SAID), Speaking(SAID)
    other.name = "another"

    assert written(first) == written(again) == written(other)
    assert [bool(model.prompts) for model in (first, again, other)] == [True, False, True]
    assert len(read_lines(tmp_path / "eval" / "pseudo_histories.jsonl", "key", "history")) == 2 * len(diseases)
    assert told[-1] == ("pseudo histories", len(diseases), len(diseases))


@pytest.mark.usefixtures("no_starters")
def test_an_utterance_for_an_unknown_condition_is_refused(write_data: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(SetUnreadable, match="'gout'"):
        measure(write_data(("it", "gout", "il dito del piede"), SPANISH), tmp_path / "eval")


def test_histories_without_a_generator_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NoGenerator, match="--without-generator"):
        load_writer(Settings(home=tmp_path, generator="none"))


@pytest.mark.parametrize(
    ("found", "is_accepted"),
    [
        ({"name": "Epicondilite"}, True),
        ({"name": "Gomito del tennista"}, True),
        ({"name": "Dolori", "aliases": ("epicondilite",)}, True),
        ({"name": "Malattie dei tendini"}, True),
        ({"name": "Dolori", "aliases": ("gomito del tennista",)}, False),
        ({"name": "Gotta"}, False),
    ],
)
def test_name_alias_and_parent_count_and_an_alias_in_common_does_not(found: dict[str, Any], is_accepted: bool) -> None:
    meant: dict[str, Any] = {"name": "Epicondilite", "aliases": ("gomito del tennista",), "parent": "Malattie dei tendini"}

    assert disease("elbow", **meant).accepts(disease("other", **found)) is is_accepted


def disease(key: str, *, name: str, aliases: tuple[str, ...] = (), parent: str | None = None) -> Disease:
    return Disease(id=key, name=name, aliases=aliases, parent=parent, diagnosis_text="", page=builders.document())


def test_shipped_conditions_are_the_same_in_both_languages_and_none_is_a_starter_page() -> None:
    diseases = read_diseases()
    of = {language: {d.id: d for d in diseases if d.language is language} for language in Language}
    further = {key for key in of[Language.ITALIAN] if not key.startswith("starter:")}
    titles = {d.name.lower() for d in diseases if d.id.startswith("starter:")}

    assert len(further) >= 62
    assert set(of[Language.ITALIAN]) == set(of[Language.SPANISH])
    assert all(60 <= len(d.diagnosis_text.split()) <= 110 and d.name.lower() not in titles for d in diseases if d.id in further)
    assert all(d.diagnosis_text for d in diseases)
    parents = {key: [of[language][key].parent is None for language in Language] for key in further}
    assert [key for key, none in parents.items() if len(set(none)) > 1] == []
