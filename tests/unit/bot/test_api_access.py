import pytest
from pydantic import SecretStr
from starlette.requests import Request

from bot.api_access import Bearers, Scope, is_signed
from bot.rate_limit import RateLimit
from bot.settings import API_SCOPES
from tests.doubles.cms import signature

ASKS, STEERS = "asks-questions-0123", "steers-runs-0123456"
SECRET = SecretStr("a secret of the CMS, ñ")
NOW = 1_790_000_000.0


def request(**headers: str | bytes) -> Request:
    raw = [
        (name.replace("_", "-").lower().encode(), value if isinstance(value, bytes) else value.encode())
        for name, value in headers.items()
    ]
    return Request({"type": "http", "headers": raw})


def bearer(token: str | bytes) -> Request:
    return request(authorization=b"Bearer " + (token if isinstance(token, bytes) else token.encode()))


def signed(body: bytes, at: float = NOW, **changes: str | bytes) -> Request:
    timestamp = str(int(at))
    right = signature(body, timestamp, SECRET.get_secret_value())
    return request(**({"x_salus_timestamp": timestamp, "x_salus_signature": right} | changes))


@pytest.fixture
def bearers() -> Bearers:
    return Bearers([SecretStr(f"query:{ASKS}"), SecretStr(f"reindex:{STEERS}")])


def test_scopes_are_those_that_settings_accept() -> None:
    assert {scope.value for scope in Scope} == set(API_SCOPES)


def test_token_opens_its_own_scope(bearers: Bearers) -> None:
    assert bearers.scopes(bearer(ASKS)) == {Scope.QUERY}
    assert bearers.scopes(bearer(STEERS)) == {Scope.REINDEX}
    assert bearers.scopes(request(authorization=f"bearer  {ASKS}")) == {Scope.QUERY}


def test_one_secret_may_open_both() -> None:
    both = Bearers([SecretStr(f"query:{ASKS}"), SecretStr(f"reindex:{ASKS}")])
    assert both.scopes(bearer(ASKS)) == {Scope.QUERY, Scope.REINDEX}


@pytest.mark.parametrize(
    "header",
    [b"", b"Bearer", b"Bearer ", b"Basic " + ASKS.encode(), ASKS.encode(), b"Bearer query:" + ASKS.encode(), b"Bearer \xff\x00"],
)
def test_anything_else_opens_nothing(bearers: Bearers, header: bytes) -> None:
    assert bearers.scopes(request(authorization=header)) == frozenset()


def test_empty_secret_and_no_tokens_open_nothing() -> None:
    for known in (Bearers([SecretStr("query:")]), Bearers([SecretStr("no-colon-in-it")]), Bearers([])):
        assert known.scopes(request()) == known.scopes(bearer("")) == frozenset()


def test_token_beyond_ascii_is_known_by_its_bytes() -> None:
    known = Bearers([SecretStr("query:contraseña-muy-larga")])
    assert known.scopes(bearer("contraseña-muy-larga")) == {Scope.QUERY}


def test_calls_are_counted_by_a_hash_that_another_process_does_not_share(bearers: Bearers) -> None:
    assert bearers.key(bearer(ASKS)) == bearers.key(bearer(ASKS)) != bearers.key(bearer(STEERS))
    assert bearers.key(bearer(ASKS)) != Bearers([SecretStr(f"query:{ASKS}")]).key(bearer(ASKS))
    assert ASKS not in f"{bearers!r}{vars(bearers)}{bearers.key(bearer(ASKS))}"


def test_refusal_says_what_is_missing(bearers: Bearers) -> None:
    unknown, wrong = bearers.refusal(bearer("guessed-token-0123456"), Scope.QUERY), bearers.refusal(bearer(STEERS), Scope.QUERY)
    assert unknown is not None
    assert wrong is not None
    assert (unknown.status_code, wrong.status_code) == (401, 403)
    assert unknown.headers["www-authenticate"] == 'Bearer realm="salus"'
    assert 'error="insufficient_scope"' in wrong.headers["www-authenticate"]
    assert bearers.refusal(bearer(ASKS), Scope.QUERY) is None


def test_so_many_calls_a_minute_and_then_one_after_the_other() -> None:
    now = [100.0]
    limit = RateLimit(4, lambda: now[0])
    assert [limit.take("a") for _ in range(6)] == [0, 0, 0, 0, 15, 15]
    assert limit.take("b") == 0
    now[0] += 14
    assert limit.take("a") == 1
    now[0] += 1
    assert [limit.take("a"), limit.take("a")] == [0, 15]
    now[0] += 3600
    assert [limit.take("a") for _ in range(5)] == [0, 0, 0, 0, 15]


def test_clock_that_goes_back_frees_nothing_and_blocks_nobody_for_longer() -> None:
    now = [1000.0]
    limit = RateLimit(60, lambda: now[0])
    for _ in range(60):
        limit.take("a")
    now[0] = 10.0
    assert limit.take("a") == 1
    now[0] += 1
    assert limit.take("a") == 0


def test_limit_forgets_who_called_longest_ago() -> None:
    limit = RateLimit(1, lambda: 0.0)
    for number in range(10_050):
        limit.take(str(number))
    assert len(limit._left) == 10_000
    assert limit.take("10049") > 0
    assert limit.take("0") == 0


def test_signature_over_timestamp_and_body_holds_for_five_minutes() -> None:
    body = '{"título": "ñ"}'.encode()
    for offset in (-300, 0, 300):
        assert is_signed(signed(body, NOW + offset), body, SECRET, NOW)
    for offset in (-301, 301, -86_400, 86_400 * 365):
        assert not is_signed(signed(body, NOW + offset), body, SECRET, NOW)


def test_signature_may_be_in_capitals() -> None:
    timestamp = str(int(NOW))
    assert is_signed(
        signed(b"x", x_salus_signature=signature(b"x", timestamp, SECRET.get_secret_value()).upper()), b"x", SECRET, NOW
    )


def test_forged_requests_are_not_signed() -> None:
    timestamp = str(int(NOW))
    right = signature(b"body", timestamp, SECRET.get_secret_value())
    forged: list[dict[str, str | bytes]] = [
        {"x_salus_signature": signature(b"body", timestamp, "another secret")},
        {"x_salus_signature": signature(b"other", timestamp, SECRET.get_secret_value())},
        {"x_salus_signature": right.removeprefix("sha256=")},
        {"x_salus_signature": right[:-1]},
        {"x_salus_signature": ""},
        {"x_salus_signature": b"sha256=\xff\x00\xe9"},
        {"x_salus_timestamp": str(int(NOW) + 1)},
        {"x_salus_timestamp": ""},
        {"x_salus_timestamp": "1e9"},
        {"x_salus_timestamp": "-1"},
        {"x_salus_timestamp": b"\xb2\xb3\xb9"},
        {"x_salus_timestamp": "9" * 400},
        {"x_salus_timestamp": f" {timestamp}"},
    ]
    assert is_signed(signed(b"body"), b"body", SECRET, NOW)
    assert not is_signed(request(), b"body", SECRET, NOW)
    assert [changes for changes in forged if is_signed(signed(b"body", **changes), b"body", SECRET, NOW)] == []


def test_old_timestamp_cannot_be_made_new() -> None:
    old = str(int(NOW) - 3600)
    replayed = request(x_salus_timestamp=str(int(NOW)), x_salus_signature=signature(b"body", old, SECRET.get_secret_value()))
    assert not is_signed(replayed, b"body", SECRET, NOW)
