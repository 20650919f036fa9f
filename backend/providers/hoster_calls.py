"""Calls of hosters' REST APIs, each tried once, and the meaning of refusals."""

import asyncio
import datetime as dt
import re
import ssl
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import httpx

from backend.foundation.errors import DriverError, Reason
from backend.foundation.redaction import redact
from backend.providers.http import USER_AGENT, bearer
from backend.providers.machines import UNGUARDED, Access, LaunchSpec, ProviderResource

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
    """An answer that is an error, with its status and the hoster's own words."""

    status = 0
    text = ""


class HosterAccount(ABC):
    """An account at a hoster: its calls, and answers where hosters offer nothing."""

    api: ClassVar[str]
    """Address in front of all paths, unless the account has an `endpoint_url`."""
    call_s: ClassVar[float] = 9
    """A launch is at most three calls, which together stay within the 30 s that the engine waits."""
    page_rows: ClassVar[int] = 100
    refusals: ClassVar[Sequence[Refusal]] = ()

    def __init__(self, access: Access) -> None:
        self._access, self._settings = access, access.settings

    # --- calls ---------------------------------------------------------------------------------

    def _api(self) -> str:
        return self.api

    def _credentials(self) -> Mapping[str, Any]:
        """Arguments of the HTTP client that authenticate the account."""
        return {"headers": bearer(self._access.secret.get("token", ""))}

    def _client(self) -> httpx.AsyncClient:
        address = self._settings.get("endpoint_url") or self._api()
        credentials = self._credentials()
        client = httpx.AsyncClient(
            base_url=address, timeout=self.call_s, verify=_tls(), **credentials
        )
        client.headers["User-Agent"] = USER_AGENT
        return client

    def _error_text(self, document: Any) -> str:
        return str(document.get("message") or document.get("error") or document)

    def _pause_text(self, answer: httpx.Response) -> str:
        return _again(answer.headers)

    async def ask(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: Any = None
    ) -> Any:
        """The document of an answer; {} for an empty one. Raises HosterError for a refusal."""
        # Text is sent as it is, anything else as JSON.
        plain = {"content": body, "headers": {"Content-Type": "text/plain"}}
        sent = plain if isinstance(body, str) else {"json": body}
        try:
            # The client's own limit is for each read: an answer that drips has to end in time too.
            async with asyncio.timeout(self.call_s), self._client() as client:
                answer = await client.request(method, path, params=query, **sent)
            document = read_document(answer)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            detail = f"no answer: {type(error).__name__}"
            raise DriverError(Reason.UNREACHABLE, detail, retryable=True) from None
        if not answer.is_success:
            raise self.build_error(answer, document)
        return document

    async def get_or_none(
        self, path: str, *, method: str = "GET", query: Mapping[str, str] | None = None
    ) -> Any:
        """None for what is not there."""
        try:
            return await self.ask(method, path, query=query)
        except HosterError as error:
            if error.status == 404:
                return None
            raise

    async def rows(
        self,
        path: str,
        key: str,
        *,
        size: str = "per_page",
        query: Mapping[str, str] | None = None,
    ) -> list[Any]:
        """A list whose pages are numbered from 1, until one is not full."""
        rows: list[Any] = []
        page, is_last = 1, False
        while not is_last:
            numbers = {"page": str(page), size: str(self.page_rows)}
            answer = await self.ask("GET", path, query={**(query or {}), **numbers})
            rows += answer[key]
            page, is_last = page + 1, len(answer[key]) < self.page_rows
        return rows

    def build_error(self, answer: httpx.Response, document: Any) -> HosterError:
        try:
            text = self._error_text(document)
        # Not an error of theirs, but of what stands in front of the API.
        except (AttributeError, TypeError):
            text = str(document)
        # A server may repeat what it was sent.
        text = redact(text, self._access.secret)[:300]
        status = answer.status_code
        reason, is_retryable = Reason.UNSUPPORTED, False
        if status >= 500 or status == 408:
            reason, is_retryable = Reason.UNREACHABLE, True
        elif status in {401, 403}:
            reason = Reason.AUTH
        elif status in {409, 423}:  # another action on the same machine is under way
            is_retryable = True
        reason, is_retryable = self._meaning(text, reason, is_retryable=is_retryable)
        if status == 429:
            reason, is_retryable = Reason.TIMEOUT, True
        detail = f"{status}: {text}{self._pause_text(answer)}"
        refusal = HosterError(reason, detail, retryable=is_retryable)
        refusal.status, refusal.text = status, text
        return refusal

    def _meaning(self, text: str, reason: Reason, *, is_retryable: bool) -> tuple[Reason, bool]:
        """Reason that the hoster's words tell, else the given one."""
        # First: the words of a limit of calls may be those of a limit of machines, too.
        for known in (TOO_MANY_CALLS, *self.refusals):
            if known.words.search(text):
                return known.reason, known.is_retryable
        return reason, is_retryable

    # --- what no hoster offers, and a launch ---------------------------------------------------

    async def zones(self, machine_type: str, region: str) -> Sequence[str]:
        return ()

    async def rehearse(self, spec: LaunchSpec) -> None:  # noqa: B027
        """No hoster knows a launch that is only tried."""

    async def let_in(self, resource: ProviderResource, address: str) -> str:
        return UNGUARDED

    async def launch(self, spec: LaunchSpec, token: str) -> ProviderResource:
        """The token's machine, or a new one."""
        try:
            return await self._launch(spec, token)
        except DriverError as error:
            # A call that was not answered may have made the machine: the engine must ask again by the name.
            if error.reason != Reason.UNREACHABLE:
                raise
            raise DriverError(Reason.TIMEOUT, error.detail, retryable=True) from None

    @abstractmethod
    async def _launch(self, spec: LaunchSpec, token: str) -> ProviderResource: ...


@cache
def _tls() -> ssl.SSLContext:
    # Reading all certificates would hold up the event loop at each call.
    return httpx.create_ssl_context()


def read_document(answer: httpx.Response) -> Any:
    """The document of an answer; {} for an empty one. Raises ValueError."""
    try:
        document = answer.json() if answer.content else None
    except ValueError:
        if answer.status_code == 429:  # by what stands in front of the API, with a page
            return {}
        raise
    # OVHcloud answers null where others answer nothing.
    if document is None:
        return {}
    if answer.is_success and not isinstance(document, dict | list):
        raise ValueError("no document")
    return document


def refusal(words: str, reason: Reason, *, is_retryable: bool = False) -> Refusal:
    return Refusal(re.compile(words, re.IGNORECASE), reason, is_retryable)


def _again(headers: Mapping[str, str]) -> str:
    """When a hoster lets us ask again, in words."""
    after = headers.get(AFTER, "")
    if after.isdecimal():
        return f"; again in {after} s"
    reset = next((headers[name] for name in RESET if headers.get(name, "").isdecimal()), "")
    return f"; again at {dt.datetime.fromtimestamp(int(reset), dt.UTC):%H:%M:%S}" if reset else ""
