import re
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from bot.health import PROBLEMS
from bot.metrics import TURN_ENDS, DeliveryFailure
from bot.operator_access import COOKIE
from bot.outcomes import Escalation
from channels.messages import Platform
from ingest.errors import LedgerUnusable
from ingest.ledger import RunStatus, SourceState
from locales.language import Language
from rag.types import Mode
from tests.builders import answer, red_flag
from tests.ingestion_fakes import NOON, run_row, source_row
from tests.operator_bench import ADMINISTERS, ASKS, CATALOG, TOKENS, WATCHES, OperatorBench

IT, ES = Language
HOSTILE = '<script>alert("x")</script>'


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("SALUS_")]:
        monkeypatch.delenv(name)


@pytest.fixture
async def bench() -> AsyncIterator[OperatorBench]:
    made = OperatorBench()
    yield made
    await made.http.aclose()


def text_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.split("</style>")[-1]))


async def test_figures_are_shown_to_a_token_of_their_scope(bench: OperatorBench) -> None:
    bench.metrics.note(answer(), Platform.TELEGRAM, Mode.FAST)
    reply = await bench.get("/metrics", WATCHES)
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'salus_outcomes_total{channel="telegram",language="it",mode="fast",outcome="answer"} 1.0' in reply.text
    assert "salus_ready 1.0" in reply.text
    assert "salus_queue_depth 2.0" in reply.text


@pytest.mark.parametrize(("token", "status"), [(None, 401), ("wrong-token-01234567", 401), (ADMINISTERS, 403), (ASKS, 403)])
async def test_figures_are_not_shown_to_others(bench: OperatorBench, token: str | None, status: int) -> None:
    reply = await bench.get("/metrics", token)
    assert reply.status_code == status
    assert "salus_" not in reply.text


async def test_on_the_same_machine_figures_need_no_token_until_an_address_is_public() -> None:
    assert (await OperatorBench(client="127.0.0.1").get("/metrics")).status_code == 200
    assert (await OperatorBench(client="127.0.0.1").get("/metrics", **{"X-Forwarded-For": "203.0.113.9"})).status_code == 401
    assert (await OperatorBench(client="127.0.0.1", public_base_url="https://bot.esempio.it").get("/metrics")).status_code == 401


async def test_without_a_token_for_it_the_page_does_not_exist() -> None:
    assert (await OperatorBench(tokens=TOKENS[:1]).get("/admin")).status_code == 404


async def test_a_stranger_sees_the_form_and_nothing_else(bench: OperatorBench) -> None:
    page = (await bench.get("/admin")).text
    assert 'type="password"' in page
    assert "humanitas" not in page


async def test_a_browser_that_shows_the_token_is_let_in_by_a_cookie_of_its_own(bench: OperatorBench) -> None:
    entered = await bench.login()
    assert (entered.status_code, entered.headers["location"]) == (303, "?lang=it")
    cookie = entered.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert ADMINISTERS not in cookie
    assert "<h1>Stato di Salus</h1>" in (await bench.get("/admin")).text


@pytest.mark.parametrize(
    ("url", "is_secure"), [("https://bot.esempio.it", True), ("http://localhost:8080", False), (None, False)]
)
async def test_the_cookie_is_for_https_alone_where_the_address_is(url: str | None, is_secure: bool) -> None:
    cookie = (await OperatorBench(public_base_url=url).login()).headers["set-cookie"].lower()
    assert ("; secure" in cookie) is is_secure


async def test_a_program_may_show_the_token_in_the_header(bench: OperatorBench) -> None:
    page = await bench.get("/admin", ADMINISTERS)
    assert "<h1>Stato di Salus</h1>" in page.text
    assert "Esci" not in text_of(page.text)  # it has no session to end


@pytest.mark.parametrize("token", ["", "wrong-token-01234567", ASKS, WATCHES, "à" * 20])
async def test_another_token_opens_nothing(bench: OperatorBench, token: str) -> None:
    refused = await bench.login(token)
    assert refused.status_code == 403
    assert "set-cookie" not in refused.headers
    assert "Il codice non è valido" in refused.text
    if token.isascii():
        assert (await bench.get("/admin", token or "x")).status_code in {401, 403}


async def test_tries_are_limited_and_the_page_says_for_how_long(bench: OperatorBench) -> None:
    for _ in range(10):
        await bench.login("wrong-token-01234567")
    limited = await bench.login()
    assert limited.status_code == 429
    assert limited.headers["retry-after"] == "6"
    assert "Riprovi fra 6 secondi" in limited.text
    await bench.time.sleep(6)
    assert (await bench.login()).status_code == 303


async def test_a_stranger_who_tries_keeps_nobody_else_out() -> None:
    bench = OperatorBench(public_base_url="https://bot.esempio.it")
    for _ in range(11):
        await bench.login("wrong-token-01234567", **{"X-Forwarded-For": "203.0.113.9"})
    assert (await bench.login(**{"X-Forwarded-For": "198.51.100.7"})).status_code == 303


async def test_who_leaves_must_show_the_token_again(bench: OperatorBench) -> None:
    await bench.login()
    kept = bench.http.cookies[COOKIE]
    left = await bench.http.post("/admin?lang=es", data={"leave": "1"})
    assert (left.status_code, left.headers["location"]) == (303, "?lang=es")
    bench.http.cookies.set(COOKIE, kept)
    assert 'type="password"' in (await bench.get("/admin")).text


async def test_a_session_ends_by_itself(bench: OperatorBench) -> None:
    await bench.login()
    await bench.time.sleep(8 * 3600)
    assert 'type="password"' in (await bench.get("/admin")).text


@pytest.mark.parametrize(
    ("query", "accepted", "language"),
    [
        ("", "", "it"),
        ("", "es-MX,es;q=0.9,it;q=0.1", "es"),
        ("", "en, it;q=0.2, es;q=0.8", "es"),
        ("", "fr, en;q=x", "it"),
        ("?lang=it", "es", "it"),
        ("?lang=xx", "es", "es"),
    ],
)
async def test_the_page_speaks_as_chosen_or_as_the_browser_asks(
    bench: OperatorBench, query: str, accepted: str, language: str
) -> None:
    page = (await bench.get(f"/admin{query}", ADMINISTERS, **{"Accept-Language": accepted})).text
    assert f'<html lang="{language}">' in page
    assert {"it": "Stato di Salus", "es": "Estado de Salus"}[language] in page


@pytest.mark.parametrize("form", [b"token=" + b"x" * 5000, b"\xff\xfe", b"&".join([b"token=x"] * 50), b""])
async def test_a_malformed_form_is_refused(bench: OperatorBench, form: bytes) -> None:
    assert (await bench.http.post("/admin", content=form)).status_code == 403


async def test_no_page_runs_a_script_or_is_kept(bench: OperatorBench) -> None:
    for reply in (await bench.get("/admin"), await bench.get("/admin", ADMINISTERS)):
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src" not in policy
        assert "unsafe-inline" not in policy
        assert "frame-ancestors 'none'" in policy
        assert reply.headers["cache-control"] == "no-store"
        assert not re.search(r"<script|\son[a-z]+=|\sstyle=|javascript:", reply.text)


async def test_the_policy_names_the_very_style_that_is_sent(bench: OperatorBench) -> None:
    import base64
    import hashlib

    reply = await bench.get("/admin")
    style = re.search(r"<style>(.*?)</style>", reply.text, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"'sha256-{digest}'" in reply.headers["content-security-policy"]


async def test_the_page_tells_how_everything_stands(bench: OperatorBench) -> None:
    bench.ingestion.history = [run_row(1, RunStatus.PARTIAL, report={"languages": [{"new": 12, "changed": 3, "retired": 1}]})]
    bench.ingestion.counts = {("humanitas", IT): 1234}
    bench.ingestion.states["humanitas"] = SourceState(
        source_id="humanitas", publisher="Editore", read_at=NOON, pages=9, problem="robots.txt", enabled=None
    )
    bench.metrics.note(answer(), Platform.TELEGRAM, Mode.FAST)
    bench.metrics.note_turn("answer", Platform.TELEGRAM, 2.4, {"gate": 0.004, "answer": 2.3})
    bench.metrics.note_feedback(IT, True, ["humanitas"])
    bench.metrics.note_delivery_failure(Platform.WHATSAPP, DeliveryFailure.REFUSED)
    bench.metrics.note_delivery_status(Platform.WHATSAPP, "undelivered", "63016")
    told = text_of((await bench.get("/admin", ADMINISTERS)).text)
    for words in ("Domande in coda 2", "1.234", "robots.txt", "concluso con problemi", "12 3 1", "Risposta Italiano Telegram 1"):
        assert words in told, words
    for words in (
        "Risposta 1 2,5 s 3,0 s",
        "≤ 3 s 1",
        "humanitas Italiano 1 0",
        "Rifiutato dal servizio 1",
        "undelivered 63xxx 1",
    ):
        assert words in told, words


async def test_the_page_names_problems_in_words(bench: OperatorBench) -> None:
    bench.routes._health.models_loaded = False
    assert "Los modelos todavía no están cargados." in (await bench.get("/admin?lang=es", ADMINISTERS)).text


async def test_the_page_tells_of_no_emergencys_kind(bench: OperatorBench) -> None:
    bench.metrics.note(Escalation(red_flag=red_flag(category="suicide"), language=IT), Platform.TELEGRAM)
    assert "suicide" not in (await bench.get("/admin", ADMINISTERS)).text


async def test_nothing_of_a_source_is_taken_for_markup(bench: OperatorBench) -> None:
    bench.ingestion.rows = (source_row("humanitas", publisher=HOSTILE),)
    bench.ingestion.states["humanitas"] = SourceState(
        source_id="humanitas", publisher="", read_at=None, pages=0, problem=f"'\"{HOSTILE}", enabled=True
    )
    bench.ingestion.history = [run_row(1, RunStatus.FAILED, scope=HOSTILE, trigger=HOSTILE)]
    bench.metrics.note_feedback(IT, True, [HOSTILE])
    page = (await bench.get("/admin", ADMINISTERS)).text
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 4


async def test_a_ledger_that_cannot_be_read_leaves_a_page(bench: OperatorBench) -> None:
    bench.ingestion.failure = LedgerUnusable("no")
    reply = await bench.get("/admin", ADMINISTERS)
    assert reply.status_code == 200
    assert "Il file delle fonti non si può leggere." in reply.text


async def test_tokens_and_session_ids_are_in_no_log(bench: OperatorBench) -> None:
    with capture_logs() as logs:
        await bench.login("wrong-token-01234567")
        await bench.login()
        await bench.get("/metrics", WATCHES)
    told = str(logs)
    assert [entry["outcome"] for entry in logs if entry["event"] == "admin_login"] == ["refused", "let_in"]
    assert not any(secret in told for secret in (ADMINISTERS, WATCHES, "wrong-token", bench.http.cookies[COOKIE]))


def test_whatever_may_be_shown_by_name_has_a_word_in_both_languages() -> None:
    names = {"problem": PROBLEMS, "outcome": TURN_ENDS, "failure": tuple(DeliveryFailure)}
    wanted = {f"admin_page.{group}.{name}" for group, known in names.items() for name in known}
    for language in Language:
        assert wanted <= CATALOG.keys(language)
