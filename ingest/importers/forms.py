"""What an operator's file must hold, checked key by key."""

from datetime import date
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from ingest.addresses import WebAddress
from ingest.importers.plain import normal
from locales.language import Language

LONGEST_LINE = 250
"""Characters of a title and the like. Each is embedded whole, a title again with every publication: 10,000 take seconds."""

LONGEST_QUESTION = 1_000
"""Characters of what a patient asks: a story of a hundred words has six hundred."""

_Normal = BeforeValidator(lambda v: normal(v).strip() if isinstance(v, str) else v)

Text = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_LINE), _Normal]

Asked = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_QUESTION), _Normal]

Url = Annotated[WebAddress | None, BeforeValidator(lambda v: v or None)]


class _FurtherReading(BaseModel):
    model_config = ConfigDict(extra="forbid")

    title: Text
    publisher: Text
    url: WebAddress


class FrontMatter(BaseModel):
    """What stands between the two lines of `---` of a Markdown page."""

    model_config = ConfigDict(extra="forbid")

    title: Text
    language: Language
    topic: Text | None = None
    synonyms: list[Text] = Field(default_factory=list)
    asked: list[Asked] = Field(default_factory=list)
    url: Url = None
    reviewed_on: date | None = None
    further_reading: list[_FurtherReading] = Field(default_factory=list)


class Row(BaseModel):
    """A line of a JSON Lines file; keys beyond these are the operator's own affair."""

    id: Text
    lang: Language
    title: Text
    text: str
    url: Url = None
