"""The bot as `salus serve` runs it, with a scripted generator: `python -m tests.load.stub_bot`, settings by environment.

`STUB_DELAY_S` is how long each completion takes; with `STUB_HASHES` set, words are hashed instead of embedded by a model.
"""

import asyncio
import os

from bot.app import build
from bot.terminal import start
from tests.fakes import HashEmbedder, ScriptedLanguageModel


def main() -> None:
    model = ScriptedLanguageModel("", delay_s=float(os.environ.get("STUB_DELAY_S", "0.5")))
    embedder = HashEmbedder(dimension=256) if os.environ.get("STUB_HASHES") else None
    asyncio.run(build(start(), language_model=model, embedder=embedder).serve())


if __name__ == "__main__":
    main()
