"""One request to a generator's server, which its reader can leave at any moment."""

import queue
import socket
import ssl
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import httpx

from rag.errors import Cancelled, DeadlineExceeded, ModelError, ModelUnavailable
from rag.models.protocols import Budget
from rag.models.server_address import GeneratorServer, addresses_of

_LOOK_EVERY_S = 0.05
_TIMEOUT = httpx.Timeout(connect=3.0, read=120.0, write=10.0, pool=3.0)
_WAITING_CHUNKS = 64
_MOST_BYTES = 4_000_000  # a stream of 300 tokens has 100,000
_CONNECTED = {"connection.connect_tcp.complete", "connection.start_tls.complete"}

_Item = bytes | ModelError | None


class Exchange:
    """Sends a request from a thread of its own and hands on what comes back.

    Looking a name up, connecting and encrypting cannot be interrupted from outside, so the reader does not wait for them but for
    the thread, and leaves it to itself. What is sent is dropped with the exchange; nothing of it is in any message or `repr`.
    """

    def __init__(self, server: GeneratorServer, method: str, url: str, body: bytes = b"") -> None:
        self._server = server
        self._method = method
        self._url = url
        self._body = body
        self._incoming: queue.Queue[_Item] = queue.Queue(maxsize=_WAITING_CHUNKS)
        self._left = threading.Event()
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        threading.Thread(target=self._run, name="generator-server", daemon=True).start()

    def chunks(self, budget: Budget) -> Iterator[bytes]:
        """Yield the bytes of a successful reply as they come.

        Raises:
            DeadlineExceeded: If the deadline passes.
            Cancelled: If `budget.cancelled()` becomes true.
            ModelUnavailable: If the server cannot be reached.
            ModelError: If it refuses, breaks off or does not come to an end.
        """
        received = 0
        while True:
            if budget.cancelled():
                raise Cancelled("The completion was cancelled.")
            if budget.expired():
                raise DeadlineExceeded("The completion ran past its deadline.")
            try:
                item = self._incoming.get(timeout=_LOOK_EVERY_S)
            except queue.Empty:
                continue
            if item is None:
                return
            if isinstance(item, ModelError):
                raise item
            received += len(item)
            if received > _MOST_BYTES:
                raise ModelError("The generator's server does not come to an end.")
            yield item

    def leave(self) -> None:
        """Close the connection at once, whatever it is doing."""
        self._left.set()
        with self._lock:
            self._shut()

    def _run(self) -> None:
        failure = self._failure()
        self._body = b""
        self._hand_on(failure)

    def _failure(self) -> ModelError | None:
        """Do the request; the error is one without a trace, since that would hold what was sent."""
        try:
            for chunk in self._reply():
                self._hand_on(chunk)
        except ModelError as error:
            return type(error)(str(error))
        except (httpx.ConnectError, httpx.ConnectTimeout):
            certificate = ", or shows no valid certificate" if self._server.is_encrypted else ""
            return ModelUnavailable(f"The generator's server cannot be reached{certificate}.")
        except Exception as error:  # noqa: BLE001 - whatever a server does, the bot answers with quotes
            return ModelError(f"The generator's server broke off ({type(error).__name__}).")
        return None

    def _reply(self) -> Iterator[bytes]:
        addresses = addresses_of(self._server)
        for address in addresses[:-1]:
            try:
                yield from self._asked_at(address)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
            return
        yield from self._asked_at(addresses[-1])

    def _asked_at(self, address: str) -> Iterator[bytes]:
        parts = urlsplit(self._url)
        netloc = f"[{address}]" if ":" in address else address
        url = parts._replace(netloc=f"{netloc}:{self._server.port}").geturl()
        headers = {"Host": parts.netloc, "Accept-Encoding": "identity", "Connection": "close", "Content-Type": "application/json"}
        if self._server.key:
            headers["Authorization"] = f"Bearer {self._server.key}"
        extensions = {"trace": self._note, "sni_hostname": self._server.host}
        # Neither proxies of the environment nor redirects: the prompt goes to the address that was checked.
        with (
            httpx.Client(verify=_certificates(), trust_env=False, follow_redirects=False, timeout=_TIMEOUT) as client,
            client.stream(self._method, url, headers=headers, content=self._body, extensions=extensions) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise ModelError(f"The generator's server answered with status {response.status_code}.")
            yield from response.iter_raw()

    def _note(self, event: str, info: dict[str, Any]) -> None:
        """Keep the socket of the connection, so that it can be closed from outside."""
        if event in _CONNECTED:
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
                if self._left.is_set():
                    self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            try:
                # The plain method also of an encrypted socket, whose own takes its state away from under the reading thread.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            except OSError:  # closed already
                return

    def _hand_on(self, item: _Item) -> None:
        while not self._left.is_set():
            try:
                self._incoming.put(item, timeout=_LOOK_EVERY_S)
            except queue.Full:
                continue
            return
        if item is not None and not isinstance(item, ModelError):
            raise ModelError("Nobody reads any more.")


@cache
def _certificates() -> ssl.SSLContext:
    """The system's own authorities, among them those of the operator's network."""
    return ssl.create_default_context()
