"""What web.sh prints of nginx and wrk."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import ProbeError
from backend.measure.readers import web
from backend.measure.stats import OTHER_METHOD

CONDITIONS = (
    "=== conditions\nthreads 2\nseconds {}\nkib 64\ntool nginx 1.22.1 by wrk 4.1.0\n"
    "=== end conditions rc=0\n"
)


def framed(tests, *, seconds=2):
    """The text of tests with so many (connections, requests, time as wrk writes it, rate)."""
    text = CONDITIONS.format(seconds)
    for connections, requests, took, rate in tests:
        text += (
            f"=== wrk {connections}\n  {requests} requests in {took}, 1.00MB read\n"
            f"Requests/sec: {rate:10.2f}\n=== end wrk {connections} rc=0\n"
        )
    return text


@pytest.mark.parametrize("kib", [1, 64])
def test_web_is_the_best_of_its_connections_as_wrk_counted(recorded, kib):
    text = recorded(f"web-nginx-1.22.1-wrk-4.1.0-{kib}k")
    (sample,) = web.parse(text)
    assert (sample.metric, sample.variant, sample.unit) == (
        "web_requests_per_s",
        f"{kib}k",
        "requests/s",
    )
    rates = [float(part.split()[0]) for part in text.split("Requests/sec:")[1:]]
    assert len(rates) == 3
    assert sample.value == max(rates)
    connections = [int(part.split()[0]) for part in text.split("=== wrk ")[1:]]
    assert sample.parameters["connections"] == connections[rates.index(max(rates))]
    assert sample.parameters["tool"] == "nginx 1.22.1 by wrk 4.1.0"
    assert sample.flags == (OTHER_METHOD,)


@given(st.lists(st.integers(100, 10**9), min_size=1, max_size=5))
def test_web_takes_the_largest_rate_of_any_number_of_tests(requests):
    tests = [(8 * at, count, "2.00s", count / 2) for at, count in enumerate(requests, start=1)]
    (sample,) = web.parse(framed(tests))
    assert sample.value == max(requests) / 2


def test_web_reads_the_minutes_of_a_long_test():
    (sample,) = web.parse(framed([(8, 9000, "1.50m", 100)], seconds=90))
    assert sample.value == 100


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("=== conditions\n", "=== other\n", "unexpected"),
        ("kib 64", "kib many", "kib 'many'"),
        ("seconds 2", "seconds 20", "s instead of 20"),
        ("=== wrk 8", "=== ab 8", "unexpected"),
        ("wrk 8 rc=0", "wrk 8 rc=1", "with status 1"),
        ("Requests/sec", "Requests/min", "0 lines instead of"),
        ("  200 requests", "  200 answers", "0 lines instead of"),
        ("  200 requests", "  300 requests", "300 requests in 2 s are not 100 a second"),
        ("  200 requests", "  0 requests", "0 requests"),
        ("Requests/sec", "  Non-2xx or 3xx responses: 5\nRequests/sec", "failed: Non-2xx"),
        (
            "Requests/sec",
            "  Socket errors: connect 0, read 0, write 0, timeout 1\nRequests/sec",
            "failed: Socket errors",
        ),
        ("2.00s", "-2.00s", "0 lines instead of"),
        ("2.00s", "3600.00s", "3600 s instead of 2"),
    ],
)
def test_web_is_refused_when_a_line_is_not_as_it_must_be(old, new, detail):
    text = framed([(8, 200, "2.00s", 100)])
    assert old in text
    changed = text.replace(old, new)
    if old.startswith("=== wrk"):
        changed = changed.replace("=== end wrk", "=== end ab")
    with pytest.raises(ProbeError, match=detail):
        web.parse(changed)


def test_web_is_refused_when_cut_short():
    text = framed([(8, 200, "2.00s", 100)])
    for end in (0, 20, text.index("=== wrk"), text.rindex("Requests"), len(text) - 1):
        with pytest.raises(ProbeError):
            web.parse(text[:end])
    with pytest.raises(ProbeError, match="the conditions are missing"):
        web.parse(text[text.index("=== wrk") :])
