import itertools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from bot.cli import cli
from bot.settings import PREFIX, Settings

ROOT = Path(__file__).parents[2]
ENV_EXAMPLE = ROOT / "deploy" / "env.example"
CORPUS = ROOT / "ingest" / "starter"
MOST_WORDS = 400
PACKAGES = ("bot", "channels", "ingest", "rag", "locales", "deploy", "tests", "docs")

PAGES = sorted(
    page
    for page in ROOT.rglob("*.md")
    if not any(part.startswith(".") for part in page.relative_to(ROOT).parts) and CORPUS not in page.parents
)
RECORDS = sorted((ROOT / "docs" / "adr").glob("*.md"))

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
every_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.stem)


@pytest.fixture
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)


def shown_settings() -> list[tuple[str, str]]:
    return re.findall(r"^#?(SALUS_[A-Z_]+)=(.*)$", ENV_EXAMPLE.read_text(encoding="utf-8"), re.MULTILINE)


def known_settings() -> set[str]:
    return {PREFIX + name.upper() for name in Settings.model_fields} | {"SALUS_CONFIG", "SALUS_SECRETS_DIR"}


def code_of(page: Path) -> Iterator[str]:
    """What stands in code: fenced and indented lines, and spans between backticks."""
    is_fenced = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            is_fenced = not is_fenced
        elif is_fenced or line.startswith("    "):
            yield line.strip().removeprefix("$ ")
        else:
            yield from re.findall(r"`([^`]+)`", line)


def commands_of(page: Path, program: str) -> Iterator[list[str]]:
    """Words after the name of a program, for each line of code that calls it."""
    for code in code_of(page):
        called = re.match(rf"(?:\.venv/bin/|docker run .* )?{program} ([a-z].*)", code)
        if called and "=" not in called[1].split()[0]:
            yield called[1].split("#")[0].split()


def anchors_of(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_the_example_names_exactly_the_settings_that_exist() -> None:
    names = [name for name, _ in shown_settings()]
    assert len(names) == len(set(names))
    assert set(names) == known_settings()


@pytest.mark.usefixtures("bare_environment")
def test_the_example_shows_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = Settings()
    for name, value in shown_settings():
        monkeypatch.setenv(name, value)
    assert Settings() == defaults


def test_the_example_sets_nothing_by_itself() -> None:
    lines = ENV_EXAMPLE.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line and not line.startswith("#")] == []


def test_the_example_explains_every_setting() -> None:
    lines = ENV_EXAMPLE.read_text(encoding="utf-8").splitlines()
    bare = [after for before, after in itertools.pairwise(lines) if after.startswith("#SALUS_") and not before.startswith("#")]
    # Names that say it all stand right under the heading of their group.
    assert bare == ["#SALUS_TWILIO_ACCOUNT_SID="]


@every_page
def test_a_setting_that_a_page_names_exists(page: Path) -> None:
    named = set(re.findall(r"SALUS_[A-Z_]*[A-Z]", page.read_text(encoding="utf-8")))
    assert named <= known_settings()


@every_page
def test_a_make_verb_that_a_page_names_exists(page: Path) -> None:
    verbs = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert {words[0] for words in commands_of(page, "make")} <= verbs


@every_page
def test_a_salus_command_that_a_page_names_exists_with_its_options(page: Path) -> None:
    for words in commands_of(page, "salus"):
        command: Any = typer.main.get_command(cli)
        while words and hasattr(command, "commands"):
            name = words.pop(0)
            assert name in command.commands, f"salus {name}"
            command = command.commands[name]
        options = {option for parameter in command.params for option in parameter.opts}
        named = {word.strip('"') for word in words if word.startswith("--")}
        assert named <= options, f"{command.name}: {named - options}"


def test_the_readme_names_the_two_commands_to_begin_with() -> None:
    verbs = [words[0] for words in commands_of(ROOT / "README.md", "make")]
    assert verbs[:2] == ["demo", "test"]


@every_record
def test_a_decision_is_told_in_few_words(record: Path) -> None:
    # Tables are measurements, of which there can hardly be too many.
    prose = [line for line in record.read_text(encoding="utf-8").splitlines() if not line.startswith("|")]
    words = [word for word in " ".join(prose).split() if any(letter.isalnum() for letter in word)]
    assert len(words) <= MOST_WORDS


def test_a_decision_has_a_number_of_its_own() -> None:
    numbers = [record.name[:4] for record in RECORDS]
    assert len(numbers) == len(set(numbers))
    assert all(re.fullmatch(r"\d{4}-[a-z0-9-]+", record.stem) for record in RECORDS)


@every_page
def test_a_relative_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        aim = (page.parent / path).resolve() if path else page
        assert aim.exists(), target
        assert not anchor or anchor in anchors_of(aim), target


@every_page
def test_a_file_that_a_page_names_exists(page: Path) -> None:
    for code in code_of(page):
        if re.fullmatch(rf"(?:{'|'.join(PACKAGES)})/[\w./-]+", code):
            assert (ROOT / code).exists(), code


def test_the_dockerfile_copies_what_exists_and_every_package() -> None:
    dockerfile = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    copied = {source for line in re.findall(r"^COPY (?!--from)(.+)$", dockerfile, re.MULTILINE) for source in line.split()[:-1]}
    assert all((ROOT / source).exists() for source in copied)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = {name.removesuffix("*") for name in project["tool"]["setuptools"]["packages"]["find"]["include"]}
    assert packages <= copied
