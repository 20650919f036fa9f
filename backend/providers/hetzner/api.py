"""Calls of Hetzner's API, and what its refusals mean."""

import asyncio
import datetime as dt
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import httpx

from backend.domain.errors import DriverError, Reason

# A launch is three calls, which together stay within the 30 s that the engine waits.
CALL_S = 10
# The most that a page may have.
PAGE = 50
# What the API's names of errors mean, and whether the same call may succeed later.
REASONS: Mapping[str, tuple[Reason, bool]] = MappingProxyType(
    {
        "unauthorized": (Reason.AUTH, False),
        "forbidden": (Reason.AUTH, False),
        "token_readonly": (Reason.AUTH, False),
        "rate_limit_exceeded": (Reason.TIMEOUT, True),
        "resource_limit_exceeded": (Reason.QUOTA, False),
        "resource_unavailable": (Reason.CAPACITY, True),
        "placement_error": (Reason.CAPACITY, True),
        # Another action on the same machine is under way; it ends by itself.
        "locked": (Reason.UNSUPPORTED, True),
        "conflict": (Reason.UNSUPPORTED, True),
        # The name is taken by a call of ours whose machine is not listed yet: it will be.
        "uniqueness_error": (Reason.UNSUPPORTED, True),
        "maintenance": (Reason.UNREACHABLE, True),
        "unavailable": (Reason.UNREACHABLE, True),
    }
)


class HetznerApi:
    """Calls over one client. Each is tried once; DriverError says why it failed."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def ask(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, body: Any = None
    ) -> dict[str, Any]:
        try:
            async with asyncio.timeout(CALL_S):
                answer = await self._client.request(method, path, params=query, json=body)
            document = _document(answer)
        except (httpx.HTTPError, ValueError, TimeoutError) as error:
            raise DriverError(
                Reason.UNREACHABLE, f"no answer: {type(error).__name__}", retryable=True
            ) from None
        if not answer.is_success:
            raise _refused(answer, document.get("error") or {})
        return document

    async def get_or_none(self, path: str, *, method: str = "GET") -> dict[str, Any] | None:
        """None for what is not there."""
        try:
            return await self.ask(method, path)
        except _Refusal as error:
            if error.status == 404:
                return None
            raise

    async def all(self, path: str, *, query: Mapping[str, str] | None = None) -> list[Any]:
        """Every page of a list."""
        rows: list[Any] = []
        page: int | None = 1
        while page is not None:
            asked = {**(query or {}), "page": str(page), "per_page": str(PAGE)}
            answer = await self.ask("GET", f"/{path}", query=asked)
            rows += answer[path.rpartition("/")[2]]
            page = answer["meta"]["pagination"]["next_page"]
        return rows

    async def named(self, kind: str, name: str) -> dict[str, Any] | None:
        """The one of that name; a project has no two."""
        answer = await self.ask("GET", f"/{kind}", query={"name": name})
        return answer[kind][0] if answer[kind] else None

    async def created(self, kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A new one, or the one of that name when there is one."""
        try:
            answer = await self.ask("POST", f"/{kind}", body=body)
        except _Refusal as error:
            if error.code != "uniqueness_error":
                raise
            known = await self.named(kind, body["name"])
            if known is None:  # made by a call of ours a moment ago and not shown yet
                raise
            return known
        _demand_success(answer.get("action"))
        made: dict[str, Any] = answer[kind.removesuffix("s")]
        return made


class _Refusal(DriverError):
    """An answer that is an error, with what it says of itself."""

    status = 0
    code = ""


def _document(answer: httpx.Response) -> dict[str, Any]:
    try:
        document = answer.json() if answer.content else {}
        if not isinstance(document, dict):
            raise ValueError("no object")
        return document
    except ValueError:
        if answer.status_code == 429:  # by what stands in front of the API, with a page
            return {}
        raise


def _refused(answer: httpx.Response, error: Any) -> _Refusal:
    # What stands in front of the API has words of its own there.
    if not isinstance(error, dict):
        error = {"message": error}
    code = str(error.get("code", ""))
    # Names that we do not know: a fault of theirs may pass, a refusal of what we asked for will not.
    other = (Reason.UNREACHABLE, True) if answer.is_server_error else (Reason.UNSUPPORTED, False)
    if answer.status_code == 429:
        other = (Reason.TIMEOUT, True)
    reason, is_retryable = REASONS.get(code, other)
    detail = f"{code or answer.status_code}: {str(error.get('message', ''))[:300]}"
    reset = answer.headers.get("RateLimit-Reset", "")
    # The limit is of calls an hour and refills by the second, which a person cannot see otherwise.
    if reset.isdecimal() and answer.status_code == 429:
        at = dt.datetime.fromtimestamp(int(reset), dt.UTC)
        detail += f"; {answer.headers.get('RateLimit-Limit', '?')} an hour, full at {at:%H:%M:%S}"
    refusal = _Refusal(reason, detail, retryable=is_retryable)
    refusal.status, refusal.code = answer.status_code, code
    return refusal


def _demand_success(action: Mapping[str, Any] | None) -> None:
    """Raise what a failed action means; none, or one that goes on, is fine."""
    error = (action or {}).get("error")
    if error:
        reason, is_retryable = REASONS.get(error["code"], (Reason.UNREACHABLE, True))
        raise DriverError(reason, f"{error['code']}: {error['message']}", retryable=is_retryable)
