"""HTTP as the price fetchers use it: bounded in time and size, patient, and silent about secrets.

No message contains a header, a query or a secret: addresses are shown as host and path.
"""

import email.utils
import random
import ssl
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO

import httpx

from backend.foundation.redaction import redact
from backend.providers.price_refresh import Trouble

USER_AGENT = "Rackrate"
# READ_S is for one read. The whole is bounded by Patience, or a server that drips would be waited for.
CONNECT_S, READ_S = 10.0, 30.0
ATTEMPTS = 5
# No connection at all is rarely mended within a minute, and a refresh has many providers to ask.
CONNECT_ATTEMPTS = 2
MAX_REDIRECTS = 3
FIRST_WAIT_S, LONGEST_WAIT_S = 2.0, 60.0
# A wait is cut into so much, to hear in time that nobody wants the answer any more.
SLICE_S = 0.5
PIECE_BYTES = 1 << 16
# With 16 added zlib expects the header and the checksum of gzip, so a cut answer does not pass for a whole
# one.
GZIP = 16 + zlib.MAX_WBITS
MIB = 2**20
PAGE_BYTES = 64 * MIB
SHOWN_CHARACTERS, MESSAGE_BYTES = 200, 4096
# Answers that ask to come again. All other refusals stay: asking five times would only use up the quota.
TRANSIENT = {408, 425, 429, 500, 502, 503, 504}
REFUSALS = {401, 403}
REDIRECTS = {301, 302, 303, 307, 308}
WAIT_HEADERS = ("retry-after", "x-ms-ratelimit-retailprices-retry-after")


class FetchError(Exception):
    """Why there is no answer, without any secret; asking again before `after_s` is impolite."""

    def __init__(
        self, detail: str, *, after_s: float = 0, trouble: Trouble = Trouble.UNREADABLE
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.after_s = after_s
        self.trouble = trouble


class NotModified(Exception):
    """The provider says that its answer is the one that we know."""


class Cancelled(Exception):
    """The process is asked to end."""


class _Retry(Exception):
    """This attempt failed in a way that may pass."""

    def __init__(self, detail: str, after_s: float = 0, trouble: Trouble = Trouble.BROKEN) -> None:
        super().__init__(detail)
        self.detail = detail
        self.after_s = after_s
        self.trouble = trouble


@dataclass(frozen=True)
class Validators:
    """Validators of a conditional request, as the last answer gave them."""

    etag: str = ""
    last_modified: str = ""

    def headers(self) -> dict[str, str]:
        # Both, where both are known: servers that compare entity tags ignore the date (RFC 9110, 13.1.3).
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value}


@dataclass
class Patience:
    """How long a fetch may take as a whole, and how it waits."""

    budget_s: float
    is_needed: Callable[[], bool] = lambda: True
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    _end: float = field(init=False)

    def __post_init__(self) -> None:
        self._end = self.now() + self.budget_s

    @property
    def is_left(self) -> bool:
        """True if there is time left, and somebody who waits."""
        return self.is_needed() and self.now() <= self._end

    def check(self) -> None:
        """Raises Cancelled, or FetchError at the end of the time."""
        if not self.is_needed():
            raise Cancelled
        if self.now() > self._end:
            raise FetchError(f"not done within {self.budget_s:g} s", trouble=Trouble.BROKEN)

    def wait(self, seconds: float) -> None:
        """Wait, unless that would take longer than there is time: then FetchError at once."""
        # Known in advance, so the worker is free now, and the feed learns when it may ask again.
        if self.now() + seconds > self._end:
            detail = f"no time to wait {seconds:.0f} s"
            raise FetchError(detail, after_s=seconds, trouble=Trouble.THROTTLED)
        left = seconds
        while left > 0:
            self.check()
            self.sleep(min(left, SLICE_S))
            left -= SLICE_S

    def tries(self, *, least_s: float = 0) -> "Tries":
        """Attempts at one request, each wait at least so long."""
        return Tries(self, least_s)


@dataclass
class Tries:
    """Counts the attempts at one request and waits between them."""

    patience: Patience
    least_s: float = 0
    count: int = 0

    def failed(self, detail: str, after_s: float = 0, trouble: Trouble = Trouble.BROKEN) -> None:
        """Wait before the next attempt; FetchError when there is none."""
        self.count += 1
        attempts = CONNECT_ATTEMPTS if trouble is Trouble.UNREACHABLE else ATTEMPTS
        if self.count >= attempts:
            detail = f"{detail}, at {self.count} attempts"
            raise FetchError(detail, after_s=after_s, trouble=trouble)
        # The server's own wish and the provider's known limit both count, whichever is longer.
        doubled = min(FIRST_WAIT_S * 2**self.count, LONGEST_WAIT_S)
        # The limit is one of requests, and none was received where there was no connection.
        least_s = 0 if trouble is Trouble.UNREACHABLE else self.least_s
        wait_s = max(doubled, after_s, least_s)
        # Not for secrets: so that many who were refused together do not come back together.
        wait_s *= random.uniform(1, 1.25)  # noqa: S311
        try:
            self.patience.wait(wait_s)
        except FetchError as why:
            wait_s = max(after_s, self.least_s)
            raise FetchError(f"{detail}, {why}", after_s=wait_s, trouble=trouble) from None


@dataclass(frozen=True)
class Answer:
    """Headers of an answer whose body was written to a file; names are lower-case."""

    headers: Mapping[str, str]

    @property
    def validators(self) -> Validators:
        return Validators(self.headers.get("etag", ""), self.headers.get("last-modified", ""))


class Client:
    """Asks one server. `headers` go there and nowhere else, and `secret` is never shown."""

    def __init__(
        self,
        base_url: str,
        patience: Patience,
        *,
        headers: Mapping[str, str] | None = None,
        secret: Mapping[str, str] | None = None,
        least_wait_s: float = 0,
    ) -> None:
        self._base = httpx.URL(base_url.rstrip("/") + "/")
        self._patience = patience
        self._headers = dict(headers or {})
        # Kept apart from the headers: a secret may also come back within a message of the server.
        self._secret = dict(secret or {})
        self._least_wait_s = least_wait_s
        # No proxy, no credentials from the environment; the system's certificate store.
        self._http = httpx.Client(
            trust_env=False,
            verify=ssl.create_default_context(),
            follow_redirects=False,
            timeout=httpx.Timeout(READ_S, connect=CONNECT_S),
            headers={"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"},
        )

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def get(
        self,
        address: str,
        into: BinaryIO,
        *,
        params: Mapping[str, str] | None = None,
        validators: Validators | None = None,
        limit_bytes: int = PAGE_BYTES,
    ) -> Answer:
        """Write the body of an answer to the file, which is empty before.

        `address` is a path, or an address that the server itself gave for what comes next; one of
        another server is refused. Raises FetchError, NotModified or Cancelled.
        """
        try:
            # The address of a next page comes from the answer; following it elsewhere would take the secret
            # there.
            url = self._base.join(address)
        except httpx.InvalidURL:
            raise FetchError(f"{self._base.host} points to no address") from None
        if origin(url) != origin(self._base):
            raise FetchError(f"{self._base.host} points to {url.host}")
        if params is not None:
            url = url.copy_merge_params(dict(params))
        tries = self._patience.tries(least_s=self._least_wait_s)
        while True:
            self._patience.check()
            # What a failed attempt wrote must not stand before the next one's answer.
            into.seek(0)
            into.truncate()
            try:
                return self._once(url, into, validators or Validators(), limit_bytes)
            except _Retry as why:
                tries.failed(self._printable(why.detail), why.after_s, why.trouble)
            except httpx.TransportError as error:
                is_apart = isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout))
                trouble = Trouble.UNREACHABLE if is_apart else Trouble.BROKEN
                detail = f"{host_and_path(url)}: {type(error).__name__} {error}"
                tries.failed(self._printable(detail), trouble=trouble)
            # Tried again: what was damaged on its way may come whole another time.
            except zlib.error:
                tries.failed(f"{host_and_path(url)}: not a gzip file")

    def _once(
        self, url: httpx.URL, into: BinaryIO, validators: Validators, limit_bytes: int
    ) -> Answer:
        # By hand: httpx would follow to any host, with all headers but Authorization, and keys of our
        # providers travel in others too.
        for _ in range(MAX_REDIRECTS + 1):
            # Headers with secrets stay with the server they are for.
            own = self._headers if origin(url) == origin(self._base) else {}
            with self._http.stream("GET", url, headers={**own, **validators.headers()}) as response:
                if response.status_code in REDIRECTS:
                    url = self._redirect(url, response)
                    continue
                self._check(url, response, bool(validators.headers()))
                self._read(url, response, into, limit_bytes)
                return Answer({name.lower(): value for name, value in response.headers.items()})
        raise FetchError(f"{host_and_path(url)}: more than {MAX_REDIRECTS} redirects")

    def _redirect(self, url: httpx.URL, response: httpx.Response) -> httpx.URL:
        try:
            target = url.join(response.headers.get("location", ""))
        except httpx.InvalidURL:
            raise FetchError(f"{host_and_path(url)} redirects to no address") from None
        if not is_same_site(url, target):
            raise FetchError(f"{host_and_path(url)} redirects to {target.scheme}://{target.host}")
        return target

    def _check(self, url: httpx.URL, response: httpx.Response, is_conditional: bool) -> None:
        status = response.status_code
        # Without a condition of ours 304 has no body to fall back on: it is a fault of the server.
        if status == httpx.codes.NOT_MODIFIED and is_conditional:
            raise NotModified
        if status in TRANSIENT:
            raise _Retry(
                f"{host_and_path(url)} answered {status}",
                retry_after_s(response.headers),
                Trouble.THROTTLED if status == httpx.codes.TOO_MANY_REQUESTS else Trouble.BROKEN,
            )
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if status != httpx.codes.OK:
            message = self._message(response) if kind.endswith("json") else ""
            detail = self._printable(f"{host_and_path(url)} answered {status}{message}")
            trouble = Trouble.REFUSED if status in REFUSALS else Trouble.UNREADABLE
            raise FetchError(detail, trouble=trouble)
        # A captive portal or an error page with status 200 would else be reported as damaged JSON.
        if kind == "text/html":
            raise FetchError(f"{host_and_path(url)} answered with a web page")

    def _message(self, response: httpx.Response) -> str:
        """The beginning of what a refusal says."""
        piece = next(self._unpack(response.url, response), b"")[:MESSAGE_BYTES]
        text = self._printable(piece.decode("utf-8", "replace"))
        return ": " + "".join(c if c.isprintable() else " " for c in text)[:SHOWN_CHARACTERS]

    def _read(
        self, url: httpx.URL, response: httpx.Response, into: BinaryIO, limit_bytes: int
    ) -> None:
        size = 0
        # By what arrives, however little: an answer that drips has to end in time too.
        for piece in self._unpack(url, response):
            size += len(piece)
            if size > limit_bytes:
                raise FetchError(f"{host_and_path(url)}: longer than {limit_bytes // MIB} MiB")
            into.write(piece)

    def _unpack(self, url: httpx.URL, response: httpx.Response) -> Iterator[bytes]:
        """The body in pieces of a bounded size, whatever it was packed into."""
        packing = response.headers.get("content-encoding", "identity").lower()
        # Only gzip was offered. What else a server sends cannot be bounded while it is unpacked.
        if packing not in {"identity", "gzip"}:
            raise FetchError(f"{host_and_path(url)}: packed as {packing[:20]}")
        unzip = zlib.decompressobj(GZIP) if packing == "gzip" else None
        for piece in response.iter_raw():
            self._patience.check()
            if unzip is None:
                yield piece
                continue
            left = piece
            while left:
                # Bounded output: a megabyte of gzip may unpack to a gigabyte, and must meet the limit piece
                # by piece.
                yield unzip.decompress(left, PIECE_BYTES)
                left = unzip.unconsumed_tail
        # A body that ends early unpacks without an error.
        if unzip is not None and (not unzip.eof or unzip.unused_data):
            raise _Retry(f"{host_and_path(url)}: not a whole gzip file")

    def _printable(self, text: str) -> str:
        return redact(text, self._secret)


# --- addresses --------------------------------------------------------------------------------------


def origin(url: httpx.URL) -> tuple[str, str, int | None]:
    """Scheme, host and port."""
    return url.scheme, url.host, url.port


def host_and_path(url: httpx.URL) -> str:
    """Host and path; a query may hold a key."""
    return f"{url.host}{url.path}"


def is_same_site(url: httpx.URL, target: httpx.URL) -> bool:
    """True if a redirect stays at the same host or domain and is no less secure.

    The domain is the last two labels: none of the providers' names ends in a shared suffix of two.
    """
    if url.scheme == target.scheme:
        is_safe = url.port == target.port
    else:
        # From https to http would show the key on the way.
        is_safe = target.scheme == "https" and target.port is None
    return is_safe and domain(url.host) == domain(target.host)


def domain(host: str) -> str:
    labels = host.lower().rstrip(".").split(".")
    # Of an IP address the last two parts are no domain: another machine may share them.
    return host if labels[-1].isdigit() or ":" in host else ".".join(labels[-2:])


def retry_after_s(headers: httpx.Headers) -> float:
    """Seconds that an answer asks to wait: a number, or a date beside the answer's own; else 0."""
    for name in WAIT_HEADERS:
        value = headers.get(name, "").strip()
        if value.isascii() and value.isdigit():
            # Cut, as a header of a thousand digits would be infinite.
            return float(value[:6])
        # Against the answer's own date: our clock may be off by more than the wait.
        if value and (then := _date(value)) and (now := _date(headers.get("date", ""))):
            return max(0.0, then - now)
    return 0.0


def _date(text: str) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError):
        return None


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}
