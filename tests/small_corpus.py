"""A handful of pages that publish in a second, for tests that need an index but not the starter corpus."""

import asyncio
from pathlib import Path

from ingest.run import run_ingest
from rag.models.protocols import Embedder

_PAGES = {
    "it/tosse": ("cough", "it", "Tosse", "La tosse di solito passa in tre settimane. Con la tosse beva spesso acqua o tisane. "
                 "Il fumo peggiora la tosse. Chiami il medico se la tosse dura più di tre settimane."),
    "it/insonnia": ("insomnia", "it", "Insonnia", "L'insonnia è la difficoltà a dormire bene. Contro l'insonnia aiutano orari "
                    "regolari. L'insonnia può dipendere da stress o dolore."),
    "es/tos": ("cough", "es", "Tos", "La tos suele pasar en tres semanas. Con la tos beba agua a menudo. El humo empeora la tos. "
               "Llame al médico si la tos dura más de tres semanas."),
    "es/insomnio": ("insomnia", "es", "Insomnio", "El insomnio es la dificultad para dormir bien. Contra el insomnio ayudan los "
                    "horarios regulares. El insomnio puede deberse al estrés o al dolor."),
}  # fmt: skip
_SOURCE = '[[source]]\nid = "piccolo"\nkind = "folder"\npath = "pages"\npublisher = "Editore"\nauthority = "publisher"\n'


def publish_small_corpus(home: Path, embedder: Embedder) -> None:
    """Publish it in both languages under `home`."""
    for name, (topic, language, title, text) in _PAGES.items():
        path = home / "sources" / "pages" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        front = f"---\ntopic: {topic}\nlanguage: {language}\ntitle: {title}\nreviewed_on: 2026-01-01\n---\n"
        path.write_text(f"{front}## {title}\n\n{text}\n", encoding="utf-8")
    sources = home / "sources" / "sources.toml"
    sources.write_text(_SOURCE, encoding="utf-8")
    report = asyncio.run(run_ingest(home, embedder, own_sources=sources))
    assert not report.problems
