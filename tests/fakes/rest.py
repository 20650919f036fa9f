"""A provider's REST API on a loopback port, in a thread, with faults that are set from outside."""

import contextlib
import json
import random
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any = None

    @property
    def parts(self) -> list[str]:
        return [part for part in self.path.split("/") if part]


@dataclass(frozen=True)
class Answer:
    document: Any
    """Bytes are sent as they are, anything else as JSON."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def _document(body: bytes, kind: str) -> Any:
    if kind.startswith("text/plain"):
        return body.decode()
    if kind.startswith("application/x-www-form-urlencoded"):
        return dict(parse_qsl(body.decode(), keep_blank_values=True))
    return json.loads(body) if body else None


class HangUp(Exception):
    """The connection ends without an answer."""


@dataclass
class _Fault:
    times_left: int
    probability: float
    seconds: float


class Faults:
    """What goes wrong, the next so many times and after them at random."""

    def __init__(self) -> None:
        self._faults: dict[tuple[str, str], _Fault] = {}
        self._random = random.Random(0)
        self.happened: list[str] = []

    def set(
        self,
        name: str,
        *,
        times: int = 0,
        probability: float = 0,
        seconds: float = 0,
        zone: str = "",
    ) -> None:
        """`seconds` is the fault's own measure; a zone makes it one of that zone alone."""
        self._faults[name, zone] = _Fault(times, probability, seconds)

    def seed(self, number: int) -> None:
        self._random.seed(number)

    def happens(self, name: str, zone: str = "") -> float | None:
        """The fault's seconds when it happens now."""
        fault = self._faults.get((name, zone)) or self._faults.get((name, ""))
        if fault is None:
            return None
        if fault.times_left > 0:
            fault.times_left -= 1
        elif self._random.random() >= fault.probability:
            return None
        self.happened.append(name)
        return fault.seconds


class RestServer(ABC):
    """A context that answers requests one at a time; subclasses say how. The fault slow_answer is
    the same everywhere: so many seconds before the request is heard."""

    def __init__(self) -> None:
        self.faults = Faults()
        self._lock = threading.RLock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    @abstractmethod
    def answer(self, asked: Asked) -> Answer:
        """What the service says to it."""

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        answer, lock, faults = self.answer, self._lock, self.faults

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                split = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                asked = Asked(
                    self.command,
                    split.path,
                    dict(parse_qsl(split.query, keep_blank_values=True)),
                    {name.lower(): value for name, value in self.headers.items()},
                    _document(body, self.headers.get("Content-Type") or ""),
                )
                try:
                    time.sleep(faults.happens("slow_answer") or 0)
                    with lock:
                        answered = answer(asked)
                except HangUp:
                    self.close_connection = True
                    return
                text = answered.document
                if not isinstance(text, bytes):
                    text = json.dumps(text).encode()
                self.send_response(answered.status)
                for name, value in {
                    "Content-Type": "application/json",
                    "Content-Length": str(len(text)),
                    **answered.headers,
                }.items():
                    self.send_header(name, value)
                with contextlib.suppress(ConnectionError):  # whoever asked may have given up
                    self.end_headers()
                    self.wfile.write(text)

            def log_message(self, *args: Any) -> None:
                pass

        for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
            setattr(Handler, f"do_{method}", Handler.handle_any)
        return Handler
