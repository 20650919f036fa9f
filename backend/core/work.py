"""Limits on the work of one caller: in a request, in a minute, how long, how many at once.

Pages and API calculate inside `calculation`. Who calls is known from the request that is being
answered, so that no service has to hand it on; commands and workers answer none and have no limits.
What else is done for strangers is counted by its time (StrangersInTurn): lists and files as well.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from http import HTTPStatus
from threading import BoundedSemaphore
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from rest_framework.exceptions import APIException

from backend.core.rest.problem import problem
from backend.core.rest.throttles import client_network, spend

# Called between the parts of a calculation; raises WorkRefused when there is no more time.
Check = Callable[[], None]
# How long a request waits for the calculation before it.
WAIT_S = 2
RETRY_S = 5
# Processor time of a stranger within about the last half minute; somebody who reads takes a tenth of
# it, unless they come first after the data changed.
MUCH_S = 0.5
FORGOTTEN_S = 30
# Of addresses that ask, and of paths that are asked for.
MOST_KNOWN = 10_000
# Of the last request for a path, in what the next one is expected to take.
NEWEST_SHARE = 0.25
# What watches the site asks them often, and from one address.
UNCOUNTED = ("/healthz", "/readyz")

_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)
_check: ContextVar[Check | None] = ContextVar("check", default=None)


class WorkRefused(APIException):
    """A calculation that is not begun or not ended; `wait` is when to try again, in seconds."""

    default_code = "work_refused"

    def __init__(self, status: HTTPStatus, detail: str, wait_s: float | None = None) -> None:
        super().__init__(detail)
        self.status_code = status
        self.wait = wait_s


class _Capacity:
    """Few calculate at once and as few wait; whoever comes then is sent away without waiting, so
    that the other threads of the process go on serving pages."""

    def __init__(self, seats: int, waiting: int) -> None:
        self._seats = BoundedSemaphore(seats)
        # Each waiting request holds a thread of the server.
        self._door = BoundedSemaphore(seats + waiting)

    @contextmanager
    def seat(self) -> Iterator[None]:
        if not self._door.acquire(blocking=False):
            raise _busy()
        try:
            if not self._seats.acquire(timeout=WAIT_S):
                raise _busy()
            try:
                yield
            finally:
                self._seats.release()
        finally:
            self._door.release()


# Strangers do not keep those who have signed in waiting.
_capacities = {
    is_known: _Capacity(settings.WORK_AT_ONCE, settings.WORK_AT_ONCE) for is_known in (False, True)
}


class _Usage:
    """Processor time of strangers in this process: what an address has used, the longer ago the less
    it counts, and what a request for a path takes."""

    def __init__(self) -> None:
        self._used: dict[str, tuple[float, float]] = {}
        self._expected: dict[str, float] = {}

    def is_much(self, address: str, path: str) -> bool:
        """True if the address would have used much with this request, by what others for it took."""
        return self._of(address) + self._expected.get(path, 0.0) > MUCH_S

    def is_known(self, path: str) -> bool:
        """True if anybody has got an answer from it."""
        return path in self._expected

    def add(self, address: str, seconds: float) -> None:
        if len(self._used) >= MOST_KNOWN:
            self._used.clear()
        self._used[address] = (self._of(address) + seconds, time.monotonic())

    def learn(self, path: str, seconds: float) -> None:
        """Record the duration of a request that was answered in full."""
        if len(self._expected) >= MOST_KNOWN:
            self._expected.clear()
        before_s = self._expected.get(path, seconds)
        self._expected[path] = before_s + NEWEST_SHARE * (seconds - before_s)

    def _of(self, address: str) -> float:
        now = time.monotonic()
        used_s, at = self._used.get(address, (0.0, now))
        return used_s * math.exp((at - now) / FORGOTTEN_S)


_usage = _Usage()
_in_turn = _Capacity(1, 2)
# A password is checked for half a second of a core and with 16 MiB. Who waits for that has no thread of
# those below, and leaves two of the process to everybody else.
_passwords = _Capacity(2, 4)
# Of the eight threads of a process so many work while the others wait: more at once would each take longer,
# and the interpreter more time to go from one to the next.
_working = BoundedSemaphore(4)
# Strangers' requests that are not known to take little leave one of them to everybody else.
_costly = BoundedSemaphore(3)


def most_steps(most: int) -> int:
    """How many steps the caller may have calculated in one request, of the most that anybody may."""
    request = _request.get()
    if request is None or request.user.is_authenticated:
        return most
    return min(most, settings.WORK_ANONYMOUS_STEPS)


@contextmanager
def calculation(steps: int, *, advice: str) -> Iterator[Check]:
    """Capacity and time for so many steps, a step being what the simulation of one takes (about 50 ns).

    `advice` says what to ask less of. Raises WorkRefused: 429 for a caller whose minute is used up,
    503 where others calculate, 422 from the check when it takes too long. Inside another one it is
    a part of it.
    """
    request, outer = _request.get(), _check.get()
    if request is None or outer is not None:
        yield outer or _no_limit
        return
    is_known = bool(request.user.is_authenticated)
    # Before a seat is taken: whoever has used up the minute does not wait for one.
    _count(request, steps, is_known=is_known)
    limit_s = settings.WORK_SIGNED_IN_S if is_known else settings.WORK_ANONYMOUS_S
    with _capacities[is_known].seat():
        check = _deadline(limit_s, advice)
        token = _check.set(check)
        try:
            yield check
        finally:
            _check.reset(token)


def _no_limit() -> None:
    pass


def _count(request: HttpRequest, steps: int, *, is_known: bool) -> None:
    rate = settings.WORK_RATE_TOKEN if is_known else settings.WORK_RATE_ANONYMOUS
    # By person where one is known: behind one address there may be a whole office.
    caller = str(request.user.pk) if is_known else client_network(request)
    allowance = spend("work", rate, caller, steps)
    if allowance is not None and allowance.is_exceeded:
        # With the numbers, so that a script can be written to stay below them.
        detail = f"more than {allowance.allowed:,} steps were asked for in {allowance.window_s} s"
        raise WorkRefused(HTTPStatus.TOO_MANY_REQUESTS, detail, allowance.wait_s)


def _deadline(limit_s: int, advice: str) -> Check:
    # Not the wall clock, which may be set.
    until = time.monotonic() + limit_s

    def check() -> None:
        if time.monotonic() > until:
            detail = f"this takes longer than {limit_s} s: {advice}"
            raise WorkRefused(HTTPStatus.UNPROCESSABLE_ENTITY, detail)

    return check


def _busy() -> WorkRefused:
    detail = "others are calculating at the moment; try again in a few seconds"
    return WorkRefused(HTTPStatus.SERVICE_UNAVAILABLE, detail, RETRY_S)


def retry_later(
    response: HttpResponse, wait_s: float | None, *, is_page: bool = False
) -> HttpResponse:
    """Say when to ask again: the scripts of a page read it, a page of its own does it by itself."""
    if wait_s is not None:
        after = response["Retry-After"] = str(math.ceil(wait_s))
        if is_page:
            # No script and no meta element: the page is what the browser shows instead of another.
            response["Refresh"] = after
    return response


class WorkLimit:
    """Middleware that makes the request known to `calculation`, and a page of its refusals."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        token = _request.set(request)
        try:
            return self.get_response(request)
        finally:
            _request.reset(token)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponseBase | None:
        """The page for a refusal; the API makes its own answer."""
        if not isinstance(error, WorkRefused):
            return None
        return _page(request, error)


class StrangersInTurn:
    """Middleware that serves few requests at once, and strangers who ask for much one after the other
    in each process.

    Whatever they ask for: a list, a file or a page takes as long as a simulation when it is asked
    for all the time. Strangers who read, and all who have signed in, have no turns to wait for.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path in UNCOUNTED:
            return self.get_response(request)
        # Whose token it is, the API finds out later; a wrong one is refused soon.
        is_api = request.path.startswith("/api/")
        has_token = is_api and "Authorization" in request.headers
        if has_token or request.user.is_authenticated:
            with _working:
                return self.get_response(request)
        address = client_network(request)
        is_much = _usage.is_much(address, request.path)
        is_sign_in = request.method == "POST" and request.path == settings.LOGIN_URL
        try:
            with ExitStack() as stack:
                if is_sign_in:
                    stack.enter_context(_passwords.seat())
                if is_much:
                    stack.enter_context(_in_turn.seat())
                if is_much or not _usage.is_known(request.path):
                    stack.enter_context(_costly)
                stack.enter_context(_working)
                began_s = time.thread_time()
                response = self.get_response(request)
                took_s = time.thread_time() - began_s
                _usage.add(address, took_s)
                # Refusals and unchanged answers take next to nothing, and anybody can make up paths that
                # are not there.
                if response.status_code == HTTPStatus.OK:
                    _usage.learn(request.path, took_s)
                return response
        except WorkRefused:
            cause = (
                "others are signing in" if is_sign_in else "your address has asked for much lately"
            )
            detail = f"{cause}; try again in a few seconds"
            refused = WorkRefused(HTTPStatus.TOO_MANY_REQUESTS, detail, RETRY_S)
            if not is_api:
                return _page(request, refused)
            return retry_later(problem(refused.status_code, detail), refused.wait)


class PageLimit:
    """Middleware that counts pages as the API counts its answers: by person, strangers by address."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    # Here, since only now it is known that a page answers: the API has throttles of its own.
    def process_view(
        self, request: HttpRequest, view: Callable[..., Any], _args: object, _kwargs: object
    ) -> HttpResponseBase | None:
        if hasattr(view, "cls") or request.path in UNCOUNTED:
            return None
        is_known = request.user.is_authenticated
        rate = settings.THROTTLE_TOKEN if is_known else settings.THROTTLE_PAGES
        caller = str(request.user.pk) if is_known else client_network(request)
        allowance = spend("pages", rate, caller)
        if allowance is None or not allowance.is_exceeded:
            return None
        detail = f"more than {allowance.allowed:,} pages were asked for in {allowance.window_s} s"
        return _page(request, WorkRefused(HTTPStatus.TOO_MANY_REQUESTS, detail, allowance.wait_s))


def _page(request: HttpRequest, error: WorkRefused) -> HttpResponseBase:
    is_repeated = error.wait is not None and request.method == "GET"
    context = {"detail": error.detail, "is_repeated": is_repeated}
    response = render(request, "refused.html", context, status=error.status_code)
    return retry_later(response, error.wait, is_page=request.method == "GET")
