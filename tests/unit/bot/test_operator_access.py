import pytest
from starlette.requests import Request

from bot.operator_access import BrowserSessions, caller_of, is_on_this_machine

PUBLIC = "https://bot.esempio.it"


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def request(client: str = "127.0.0.1", host: str = "localhost:8080", **headers: str) -> Request:
    named = {"host": host} | {name.replace("_", "-"): value for name, value in headers.items()}
    raw = [(name.encode(), value.encode()) for name, value in named.items()]
    return Request(
        {"type": "http", "method": "GET", "path": "/metrics", "query_string": b"", "headers": raw, "client": (client, 1)}
    )


def test_a_session_is_known_by_its_id_alone() -> None:
    sessions = BrowserSessions()
    session_id = sessions.open()
    assert sessions.holds(session_id)
    assert not any(sessions.holds(other) for other in ("", session_id[:-1], session_id.swapcase(), "\udce9"))


def test_a_session_ends_after_eight_hours() -> None:
    clock = Clock()
    sessions = BrowserSessions(clock=clock)
    session_id = sessions.open()
    clock.now += 8 * 3600 - 1
    assert sessions.holds(session_id)
    clock.now += 1
    assert not sessions.holds(session_id)


def test_a_closed_session_is_known_no_more() -> None:
    sessions = BrowserSessions()
    session_id = sessions.open()
    sessions.close(session_id)
    assert not sessions.holds(session_id)


def test_sessions_without_end_take_no_memory_and_the_oldest_goes() -> None:
    sessions = BrowserSessions()
    first = sessions.open()
    latest = [sessions.open() for _ in range(100)][-1]
    assert len(sessions) <= 16
    assert (sessions.holds(first), sessions.holds(latest)) == (False, True)


def test_an_id_is_shown_by_no_repr() -> None:
    sessions = BrowserSessions()
    session_id = sessions.open()
    assert session_id not in repr(vars(sessions))


@pytest.mark.parametrize("client", ["127.0.0.1", "::1"])
def test_a_request_made_on_this_machine_is_known(client: str) -> None:
    assert is_on_this_machine(request(client), None)


@pytest.mark.parametrize(
    "made",
    [
        request("10.0.0.7"),
        request(x_forwarded_for="203.0.113.9"),
        request(forwarded="for=203.0.113.9"),
        request(x_real_ip="203.0.113.9"),
        request(host="bot.esempio.it"),  # a proxy that tells nothing else, or a name that was made to lead here
    ],
)
def test_a_request_that_may_come_from_elsewhere_counts_as_a_strangers(made: Request) -> None:
    assert not is_on_this_machine(made, None)


def test_behind_a_public_address_no_request_counts_as_made_here() -> None:
    assert not is_on_this_machine(request(), PUBLIC)


def test_tries_are_counted_for_the_address_that_our_own_proxy_saw() -> None:
    assert caller_of(request(x_forwarded_for="1.2.3.4, 203.0.113.9"), PUBLIC) == "203.0.113.9"
    assert caller_of(request("10.0.0.7", x_forwarded_for="1.2.3.4"), None) == "10.0.0.7"
