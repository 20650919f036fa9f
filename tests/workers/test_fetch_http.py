"""The client of the price fetchers against a server that misbehaves; no database."""

import gzip
import io
import socket
import threading
import time

import httpx
import pytest

from backend.providers import http
from backend.providers.http import Cancelled, Client, FetchError, NotModified, Patience, Validators
from backend.providers.spool import Spool
from tests.fakes.price_faults import bomb, dripping, redirected, slow, too_many
from tests.fakes.price_servers import DAYS_90, PriceServer, Reply, send

SECRET = {"token": "canary-token-7f3a9c"}


@pytest.fixture
def server():
    made = PriceServer()
    made.files[DAYS_90] = b"<rates>" + b"x" * 2000 + b"</rates>"
    with made.serving():
        yield made


@pytest.fixture
def named(monkeypatch):
    """Names below prices.test and other.test lead to this machine."""
    real = socket.getaddrinfo

    def resolved(host, *rest, **options):
        name = host.decode() if isinstance(host, bytes) else host
        return real("127.0.0.1" if name.endswith(".test") else host, *rest, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolved)


def patience(budget_s=20, **given):
    given.setdefault("sleep", lambda _: None)
    return Patience(budget_s, **given)


def got(server, address=DAYS_90, *, client=None, **given):
    into = io.BytesIO()
    with client or Client(server.url, patience()) as asking:
        answer = asking.get(address, into, **given)
    return into.getvalue(), answer


def test_compressed_body_is_unpacked_and_headers_are_returned(server):
    body, answer = got(server)
    assert body == server.files[DAYS_90]
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.validators.etag
    assert server.asked[0].headers["accept-encoding"] == "gzip"
    assert server.asked[0].headers["user-agent"] == "Rackrate"


def test_conditional_request_sends_what_is_known_and_says_not_modified(server):
    _, answer = got(server)
    known = Validators(answer.validators.etag, "Fri, 30 Oct 2026 15:00:00 GMT")
    with pytest.raises(NotModified):
        got(server, validators=known)
    headers = server.asked[-1].headers
    assert headers["if-none-match"] == known.etag
    assert headers["if-modified-since"] == known.last_modified


def test_not_modified_is_an_error_when_nobody_asked_for_it(server):
    server.fault("/", lambda handler, _: (handler.send_response(304), handler.end_headers()))
    with pytest.raises(FetchError, match="answered 304"):
        got(server)


def test_redirect_within_the_host_is_followed_a_few_times(server):
    server.fault("/start", redirected(f"{server.url}/next"))
    server.fault("/next", redirected(DAYS_90))
    assert got(server, "start")[0] == server.files[DAYS_90]
    server.fault("/start", redirected("/start"), times=10)
    with pytest.raises(FetchError, match="more than 3 redirects"):
        got(server, "start")


def test_redirect_within_the_domain_is_followed_without_our_headers(server, named):
    port = server.url.rpartition(":")[2]
    server.fault("/start", redirected(f"http://b.prices.test:{port}{DAYS_90}"))
    client = Client(
        f"http://a.prices.test:{port}", patience(), headers=http.bearer("x"), secret=SECRET
    )
    assert got(server, "start", client=client)[0] == server.files[DAYS_90]
    sent = [("authorization" in asked.headers, asked.headers["host"]) for asked in server.asked]
    assert sent == [(True, f"a.prices.test:{port}"), (False, f"b.prices.test:{port}")]


def test_redirect_to_another_domain_is_refused_before_it_is_asked(server, named):
    port = server.url.rpartition(":")[2]
    server.fault("/start", redirected(f"http://b.other.test:{port}{DAYS_90}"))
    with pytest.raises(FetchError, match=r"redirects to http://b\.other\.test"):
        got(server, "start", client=Client(f"http://a.prices.test:{port}", patience()))
    assert len(server.asked) == 1


@pytest.mark.parametrize("location", ["http://[", "http://a b/", "https://"])
def test_redirect_to_no_address_is_an_error(server, location):
    server.fault("/", redirected(location))
    with pytest.raises(FetchError, match="redirects to"):
        got(server)


@pytest.mark.parametrize(
    ("first", "target", "is_same"),
    [
        ("https://api.example.com/a", "https://api.example.com/b", True),
        ("https://api.example.com/a", "https://cdn.example.com/b", True),
        ("https://api.example.com/a", "https://API.Example.COM./b", True),
        ("https://api.example.com/a", "http://api.example.com/b", False),
        ("https://api.example.com/a", "https://api.example.com:8443/b", False),
        ("https://api.example.com:443/a", "https://api.example.com/b", True),
        ("http://api.example.com/a", "https://api.example.com/b", True),
        ("https://api.example.com/a", "https://example.com.evil.test/b", False),
        ("https://api.example.com/a", "https://evilexample.com/b", False),
        ("https://127.0.0.1/a", "https://127.0.0.2/b", False),
        ("https://10.1.0.1/a", "https://9.9.0.1/b", False),
        ("https://[::1]/a", "https://[::2]/b", False),
        ("https://api.example.com/a", "file:///etc/passwd", False),
        ("https://api.example.com/a", "https://169.254.169.254/latest", False),
    ],
)
def test_redirect_is_judged_by_domain_port_and_scheme(first, target, is_same):
    assert http.is_same_site(httpx.URL(first), httpx.URL(target)) is is_same


def test_next_page_elsewhere_is_refused_before_it_is_asked(server):
    with pytest.raises(FetchError, match="points to"):
        got(server, "http://127.0.0.2:1/next")
    assert server.asked == []
    # The provider writes the port that https has anyway.
    assert http.origin(httpx.URL("https://prices.azure.com:443/x")) == http.origin(
        httpx.URL("https://prices.azure.com")
    )


def test_answer_that_drips_is_given_up_at_the_end_of_the_time(server):
    server.fault("/", dripping(200, 0.02), times=9)
    began = time.monotonic()
    with pytest.raises(FetchError, match=r"not done within 0\.5 s"):
        got(server, client=Client(server.url, patience(0.5)))
    assert time.monotonic() - began < 3


def test_file_that_was_packed_only_in_part_is_asked_for_again(server):
    packed = gzip.compress(server.files[DAYS_90])
    zipped = {"Content-Encoding": "gzip"}
    for body in (packed[:-6], packed + b"more", b"not packed at all"):
        server.faults_in_turn.append(
            lambda handler, _, body=body: send(handler, Reply(body, headers=zipped))
        )
    assert got(server)[0] == server.files[DAYS_90]
    assert len(server.asked) == 4


def test_packing_that_was_not_asked_for_is_refused(server):
    reply = Reply(b"x", headers={"Content-Encoding": "br"})
    server.fault("/", lambda handler, _: send(handler, reply))
    with pytest.raises(FetchError, match="packed as br"):
        got(server)


def test_answer_that_stalls_is_tried_again_after_its_read_limit(server, monkeypatch):
    monkeypatch.setattr(http, "READ_S", 0.2)
    pause = threading.Event()
    server.fault("/", slow(pause))
    assert got(server)[0] == server.files[DAYS_90]
    pause.set()
    assert len(server.asked) == 2


def test_small_body_that_becomes_a_large_one_is_refused(server):
    server.fault("/", bomb(50 * 2**20))
    with pytest.raises(FetchError, match="longer than 1 MiB"):
        got(server, limit_bytes=2**20)


def test_second_attempt_starts_with_an_empty_file(server):
    server.fault("/", lambda handler, _: (
        handler.send_response(200),
        handler.send_header("Content-Length", "99999"),
        handler.end_headers(),
        handler.wfile.write(b"y" * 500),
        setattr(handler, "close_connection", True),
    ))  # fmt: skip
    assert got(server)[0] == server.files[DAYS_90]


def test_waiting_ends_when_nobody_wants_the_answer_any_more(server):
    server.fault("/", too_many("50"))
    slept = []
    with pytest.raises(Cancelled):
        got(
            server,
            client=Client(
                server.url,
                Patience(600, is_needed=lambda: len(slept) < 3, sleep=slept.append),
            ),
        )
    assert sum(slept) <= 3 * http.SLICE_S


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"Retry-After": "30"}, 30),
        ({"Retry-After": "soon"}, 0),
        ({"Retry-After": "-5"}, 0),
        ({"Retry-After": "9" * 400}, 999999),
        ({"x-ms-ratelimit-retailprices-retry-after": "60"}, 60),
        (
            {
                "Date": "Fri, 30 Oct 2026 15:00:00 GMT",
                "Retry-After": "Fri, 30 Oct 2026 15:02:00 GMT",
            },
            120,
        ),
        (
            {
                "Date": "Fri, 30 Oct 2026 15:00:00 GMT",
                "Retry-After": "Fri, 30 Oct 2026 14:00:00 GMT",
            },
            0,
        ),
        ({"Retry-After": "Fri, 30 Oct 2026 15:02:00 GMT"}, 0),
    ],
)
def test_wait_that_is_asked_for_is_read_from_numbers_and_dates(headers, seconds):
    assert http.retry_after_s(httpx.Headers(headers)) == seconds


def test_refused_connection_is_reported_without_the_query(server):
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    closed.close()
    with pytest.raises(FetchError, match=r"127\.0\.0\.1/path: ConnectError") as caught:
        got(server, "path?key=canary", client=Client(address, patience()))
    assert "canary" not in str(caught.value)


def test_parts_read_back_as_they_were_written_whatever_their_size():
    large = "ü" * (3 * 2**20)
    with Spool() as spool:
        spool.page("a").write(b'{"n": 1.10}')
        spool.page("b").write(large.encode())
        spool.page("a").write(b'{"n": 2}')
        assert list(spool.pages("a")) == ['{"n": 1.10}', '{"n": 2}']
        assert "".join(spool.pieces("b")) == large
        assert str(spool.last("a")["n"]) == "2"
        first, again = spool.payload(), spool.payload()
    assert (first.sha256, first.raw_gzip) == (again.sha256, again.raw_gzip)


def test_payload_beyond_the_limit_is_counted_but_not_kept(monkeypatch):
    monkeypatch.setattr("backend.providers.spool.LARGEST_PAYLOAD_BYTES", 10)
    with Spool() as spool:
        spool.page("x").write(b"some text")
        payload = spool.payload()
    assert payload.raw_gzip is None
    assert (len(payload.sha256), payload.size_bytes > 9) == (64, True)
