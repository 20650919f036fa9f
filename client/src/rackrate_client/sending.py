"""How requests are sent: once, even where they have to be sent again."""

import contextlib
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx

TRIES = 4
LONGEST_WAIT_S = 60.0
FIRST_WAIT_S = 0.5
# Ends of addresses that make nothing: their answers are not kept.
CALCULATIONS = ("/simulate", "/solve", "/contention", "/arrays")
REPEATABLE = frozenset({"GET", "HEAD", "PUT", "DELETE"})


class Refused(Exception):
    """The server's answer is a problem document (RFC 9457), or no answer of Rackrate at all."""

    def __init__(self, status: int, document: dict[str, Any]) -> None:
        self.status, self.document = status, document
        self.code = str(document.get("code") or "error")
        errors = document.get("errors") or []
        parts = [str(document.get("detail") or f"the server answers {status}")]
        parts += [f"{error.get('field')}: {error.get('detail')}" for error in errors]
        super().__init__("; ".join(parts))

    @classmethod
    def of(cls, status: int, content: bytes) -> "Refused":
        """From the body of an answer; a proxy's may be anything."""
        with contextlib.suppress(ValueError):
            document = json.loads(content)
            if isinstance(document, dict):
                return cls(status, document)
        return cls(status, {})


class Careful(httpx.BaseTransport):
    """Sends again what got no answer or came too fast.

    A POST carries an Idempotency-Key, so that a run that was begun is not begun twice.
    """

    def __init__(
        self, inner: httpx.BaseTransport, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._inner, self._sleep = inner, sleep

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        makes = request.method == "POST" and not request.url.path.endswith(CALCULATIONS)
        if makes:
            request.headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
        may_repeat = makes or request.method in REPEATABLE
        request.read()
        for attempt in range(1, TRIES + 1):
            wait_s = FIRST_WAIT_S * 2**attempt
            try:
                response = self._inner.handle_request(request)
            except httpx.TransportError as error:
                is_unsent = isinstance(error, httpx.ConnectError)
                if attempt == TRIES or not (may_repeat or is_unsent):
                    raise
            else:
                if response.status_code != httpx.codes.TOO_MANY_REQUESTS or attempt == TRIES:
                    return response
                response.close()
                stated = response.headers.get("Retry-After", "")
                wait_s = float(stated) if stated.isdecimal() else wait_s
            self._sleep(min(wait_s, LONGEST_WAIT_S))
        raise AssertionError("the last try answers or raises")

    def close(self) -> None:
        self._inner.close()
