import pytest

from bot.opening import opening_of
from rag.languages import identify
from rag.types import Question


@pytest.fixture(scope="session", autouse=True)
def warm() -> None:
    """The first use loads tables and word lists, for seconds on a busy machine: no turn of a test should wait for that."""
    identify("Una domanda di prova")
    opening_of(Question(text="salute"), extractive=False, about_emergency=False)
