"""The administrators' page as HTML: it works without JavaScript, and its policy allows nothing but its own style."""

import base64
import hashlib
from datetime import UTC, tzinfo
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bot.admin_tables import AdminTables, Overview
from bot.admin_texts import AdminTexts
from locales.catalog import Catalog
from locales.language import Language

_TEMPLATES = Path(__file__).parent / "templates"


class AdminPage:
    """Lays out what administrators see. Every value is escaped by the templates.

    Args:
        catalog: The texts.
        zone: In which dates are told.
    """

    def __init__(self, catalog: Catalog, zone: tzinfo = UTC) -> None:
        self._catalog = catalog
        self._texts = AdminTexts(catalog, zone)
        self._style = (_TEMPLATES / "admin.css").read_text(encoding="utf-8")
        self._environment = Environment(
            loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )

    @property
    def headers(self) -> dict[str, str]:
        """What every page is sent with: nobody keeps, frames or extends it."""
        style = base64.b64encode(hashlib.sha256(self._style.encode()).digest()).decode()
        policy = (
            "default-src 'none'",
            f"style-src 'sha256-{style}'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
        return {
            "Content-Security-Policy": "; ".join(policy),
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }

    def login(self, language: Language, refusal: str | None = None, **values: object) -> str:
        """The form that asks for the token.

        Args:
            language: Of the page.
            refusal: Key of what is said of the last try, without "admin_page.login.".
            values: What that text names.
        """
        tables = AdminTables(self._texts, self._catalog, language)
        said = tables.say(f"login.{refusal}", **values) if refusal else None
        return self._render("admin_login.html", language, tables, title=tables.say("login.title"), refusal=said)

    def status(self, language: Language, overview: Overview, *, is_browser: bool) -> str:
        """How everything stands. A browser that has a session can end it."""
        tables = AdminTables(self._texts, self._catalog, language)
        return self._render(
            "admin_status.html",
            language,
            tables,
            title=tables.say("title"),
            moment=self._texts.moment(language, overview.health.taken_at),
            span=self._texts.span(language, overview.uptime_s),
            problems=tables.problems(overview.health),
            facts=tables.facts(overview),
            knowledge=tables.knowledge(overview),
            conversations=tables.conversations(overview.metrics),
            bars=tables.answer_times(overview.metrics),
            delivery=tables.delivery(overview.metrics),
            is_browser=is_browser,
        )

    def _render(self, template: str, language: Language, tables: AdminTables, **values: object) -> str:
        return self._environment.get_template(template).render(
            language=language.value,
            languages=[(known.value, self._texts.language_name(known)) for known in Language],
            style=Markup(self._style),  # noqa: S704 - our own file
            say=tables.say,
            **values,
        )
