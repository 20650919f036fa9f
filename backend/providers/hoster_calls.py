"""Calls of smaller hosters' interfaces over the connections of Apache Libcloud, and what refusals mean.

Libcloud knows addresses and ways to sign a request. Its own calls for machines are not used: most
take neither user data nor marks, and they lose the status and the headers of a refusal. It is loaded
by the first call.
"""

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import Any, ClassVar
from urllib.parse import urlsplit

from backend.domain.errors import DriverError, Reason
from backend.providers.machines import Access

PAGE_ROWS = 100
# Of the headers with which hosters say when to come again, in seconds or as a time.
AFTER, RESET = "retry-after", ("ratelimit-reset", "x-ratelimit-reset")


@dataclass(frozen=True)
class Refusal:
    """Meaning of a hoster's words, and the chance that the same call succeeds later."""

    words: re.Pattern[str]
    """Sought in what an answer says of an error."""
    reason: Reason
    is_retryable: bool


# Also with another status than 429.
TOO_MANY_CALLS = Refusal(
    re.compile(r"rate.?limit|too many (requests|calls)", re.IGNORECASE), Reason.TIMEOUT, True
)


class HosterError(DriverError):
    """An answer that is an error, with its status."""

    status = 0


class HosterCalls:
    """An account at a hoster; a subclass says how it is asked."""

    connection: ClassVar[tuple[str, str]]
    """Module and class of libcloud."""
    host: ClassVar[str] = ""
    """Where libcloud's own is an older one."""
    call_s: ClassVar[int] = 9
    """A launch is at most three calls, which together stay within the 30 s that the engine waits."""
    refusals: ClassVar[Sequence[Refusal]] = ()

    def __init__(self, access: Access) -> None:
        self._access, self._settings = access, access.settings

    def _keys(self) -> dict[str, str]:
        """Key arguments of libcloud's connection."""
        return {"key": self._access.secret.get("token", "")}

    def _text(self, document: Any) -> str:
        """Text of an error."""
        return str(document.get("message") or document.get("error") or document)

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The document of an answer; {} for an empty one. Raises HosterError for a refusal."""
        try:
            answer = self._opened().request(
                path,
                params=dict(query or {}),
                data=self._body(body),
                headers=dict(headers or {}),
                method=method,
            )
            document = answered(answer)
        # Errors of requests, which libcloud uses, are OSErrors; its own for names are ValueErrors.
        except (OSError, ValueError) as error:
            detail = f"no answer: {type(error).__name__}"
            raise DriverError(Reason.UNREACHABLE, detail, retryable=True) from None
        if not 200 <= answer.status < 300:
            raise self._refused(answer.status, answer.headers, document)
        return document

    def get_or_none(self, path: str, *, method: str = "GET") -> Any:
        """None for what is not there."""
        try:
            return self.ask(method, path)
        except HosterError as error:
            if error.status == 404:
                return None
            raise

    def _body(self, body: Any) -> Any:
        return None if body is None else json.dumps(body)

    def _opened(self) -> Any:
        """A connection that leaves refusals to us."""
        module, name = self.connection
        libcloud = import_module("libcloud.common.base")
        plain = type("Plain", (libcloud.Response,), {"success": lambda _: True})
        where = urlsplit(self._settings.get("endpoint_url") or "")
        address: dict[str, Any] = {"host": where.hostname or self.host or None}
        if where.hostname:
            is_secure = where.scheme == "https"
            port = where.port or (443 if is_secure else 80)
            address |= {"secure": is_secure, "port": port}
        kind = getattr(import_module(module), name)
        # Some classes of libcloud want https whatever they are asked for; endpoints of one's own may not.
        opened = type(name, (kind,), {"allow_insecure": True, "responseCls": plain})(
            **self._keys(), timeout=self.call_s, **address
        )
        # What connections read of the driver that they usually belong to: the user agent, a page's size.
        opened.driver = SimpleNamespace(name="Rackrate", ex_per_page=PAGE_ROWS)
        return opened

    def _refused(self, status: int, headers: Mapping[str, str], document: Any) -> HosterError:
        try:
            text = self._text(document)[:300]
        # Not an error of theirs, but of what stands in front of the API.
        except (AttributeError, TypeError):
            text = str(document)[:300]
        reason, is_retryable = Reason.UNSUPPORTED, False
        if status >= 500 or status == 408:
            reason, is_retryable = Reason.UNREACHABLE, True
        elif status in {401, 403}:
            reason = Reason.AUTH
        elif status in {409, 423}:  # another action on the same machine is under way
            is_retryable = True
        # First: the words of a limit of calls may be those of a limit of machines, too.
        for known in (TOO_MANY_CALLS, *self.refusals):
            if known.words.search(text):
                reason, is_retryable = known.reason, known.is_retryable
                break
        if status == 429:
            reason, is_retryable = Reason.TIMEOUT, True
        refusal = HosterError(reason, f"{status}: {text}{_again(headers)}", retryable=is_retryable)
        refusal.status = status
        return refusal


def answered(answer: Any) -> Any:
    """The document of one of libcloud's answers; {} for an empty one."""
    try:
        return json.loads(answer.body) if answer.body else {}
    except ValueError:
        if answer.status == 429:  # by what stands in front of the interface, with a page
            return {}
        raise


def numbered_pages(
    driver: HosterCalls, path: str, key: str, size: str = "per_page"
) -> Iterator[Any]:
    """Rows of a list whose pages are numbered from 1, until one is not full."""
    page = 1
    while True:
        rows = driver.ask("GET", path, query={"page": str(page), size: str(PAGE_ROWS)})[key]
        yield from rows
        if len(rows) < PAGE_ROWS:
            return
        page += 1


def refusal(words: str, reason: Reason, *, is_retryable: bool = False) -> Refusal:
    return Refusal(re.compile(words, re.IGNORECASE), reason, is_retryable)


def _again(headers: Mapping[str, str]) -> str:
    """When a hoster lets us ask again, in words."""
    after = headers.get(AFTER, "")
    if after.isdecimal():
        return f"; again in {after} s"
    reset = next((headers[name] for name in RESET if headers.get(name, "").isdecimal()), "")
    return f"; again at {dt.datetime.fromtimestamp(int(reset), dt.UTC):%H:%M:%S}" if reset else ""
