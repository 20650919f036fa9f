"""What redis.sh prints of servers of several versions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import ProbeError
from backend.measure.readers import redis
from backend.measure.stats import OTHER_METHOD

SETS = "cmdstat_set:calls={},usec=1,usec_per_call=0.50"
CONDITIONS = (
    "=== conditions\nthreads {}\nseconds 2\ntool Redis 7.0.15 by redis-benchmark\npipeline 16\n"
    "connections 50\nvalue_bytes 32\nkeys 1000\nmemory_mib 64\n=== end conditions rc=0\n"
)


def framed(servers):
    """The text of servers that began and ended at (second, microsecond, SETs)."""
    text = CONDITIONS.format(len(servers))
    for number, looks in enumerate(servers):
        lines = [f"{s}\n{us}\n{SETS.format(calls)}\n" for s, us, calls in looks]
        text += f"=== server {number}\n{''.join(lines)}=== end server {number} rc=0\n"
    return text


@pytest.mark.parametrize(
    ("name", "variant", "tool"),
    [
        ("6.2.14-p16", "p16", "Redis 6.2.14 by redis-benchmark"),
        ("7.0.15-p1", "p1", "Redis 7.0.15 by redis-benchmark"),
        ("valkey-9.1.2-p16", "p16", "Valkey 9.1.2 by valkey-benchmark"),
    ],
)
def test_redis_is_the_sum_of_its_servers_by_their_own_clocks(recorded, name, variant, tool):
    text = recorded(f"redis-{name}")
    (sample,) = redis.parse(text)
    assert (sample.metric, sample.variant, sample.unit) == (
        "redis_set_per_s",
        variant,
        "operations/s",
    )
    # By hand from the six lines of each server.
    total = 0.0
    for server in text.split("=== server ")[1:]:
        lines = server.splitlines()[1:7]
        calls = [int(lines[at].split("calls=")[1].split(",")[0]) for at in (2, 5)]
        microseconds = [int(lines[at]) * 10**6 + int(lines[at + 1]) for at in (0, 3)]
        total += (calls[1] - calls[0]) / (microseconds[1] - microseconds[0]) * 10**6
    assert sample.value == pytest.approx(total)
    assert sample.parameters["tool"] == tool
    assert sample.flags == (OTHER_METHOD,)


@given(st.lists(st.tuples(st.integers(1, 10**7), st.integers(0, 999_999)), min_size=1, max_size=9))
def test_redis_adds_the_rates_of_any_number_of_servers(servers):
    """Each server's clock may lie anywhere within its second."""
    looks = [((1_700_000_000, us, 5), (1_700_000_002, us, 5 + calls)) for calls, us in servers]
    (sample,) = redis.parse(framed(looks))
    assert sample.value == pytest.approx(sum(calls for calls, _ in servers) / 2)
    assert sample.parameters["threads"] == len(servers)


def test_redis_before_6_2_counts_no_refused_calls():
    (sample,) = redis.parse(framed([((1_700_000_000, 0, 0), (1_700_000_002, 0, 400_000))]))
    assert sample.value == 200_000


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("=== conditions\n", "=== other\n", "unexpected"),
        ("threads 2", "threads 3", "2 servers, and 3 asked for"),
        ("threads 2", "threads two", "threads 'two'"),
        ("seconds 2", "seconds 20", "s instead of 20"),
        ("=== server", "=== host", "unexpected"),
        ("usec_per_call", "usec_each", "not a time and a count"),
        ("rejected_calls=0", "rejected_calls=7", "too little memory"),
        ("failed_calls=0", "failed_calls=1", "too little memory"),
        ("cmdstat_set", "cmdstat_get", "not a time and a count"),
    ],
)
def test_redis_is_refused_when_a_line_is_not_as_it_must_be(recorded, old, new, detail):
    text = recorded("redis-7.0.15-p1")
    assert old in text
    changed = text.replace(old, new)
    if old == "=== server":
        changed = changed.replace("=== end server", "=== end host")
    with pytest.raises(ProbeError, match=detail):
        redis.parse(changed)


@pytest.mark.parametrize(
    ("looks", "detail"),
    [
        (((1_700_000_000, 0, 9), (1_700_000_002, 0, 9)), "0 SETs in 2 s"),
        (((1_700_000_000, 0, 9), (1_700_000_002, 0, 3)), "-6 SETs"),
        (((1_700_000_000, 0, 0), (1_700_000_002, 0, 10**10)), "SETs in 2 s"),
        (((1_700_000_002, 0, 0), (1_700_000_000, 0, 9)), "-2 s instead of 2"),
        (((1_700_000_000, 0, 0), (1_700_003_600, 0, 9)), "3600 s instead of 2"),
    ],
)
def test_redis_is_refused_when_its_numbers_cannot_be(looks, detail):
    with pytest.raises(ProbeError, match=detail):
        redis.parse(framed([looks]))


def test_redis_is_refused_when_cut_short(recorded):
    text = recorded("redis-7.0.15-p1")
    for end in (0, 20, text.index("=== server"), text.rindex("cmdstat"), len(text) - 1):
        with pytest.raises(ProbeError):
            redis.parse(text[:end])
    lines = [line for line in text.splitlines(True) if not line.startswith("cmdstat")]
    with pytest.raises(ProbeError, match="4 lines instead of"):
        redis.parse("".join(lines))


def test_redis_names_missing_conditions():
    text = framed([((1_700_000_000, 0, 0), (1_700_000_002, 0, 9))])
    with pytest.raises(ProbeError, match="the conditions are missing"):
        redis.parse(text[text.index("=== server") :])
