"""What general.sh prints: Redis with both pipelines and OpenSSL with each algorithm."""

import math

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.metrics.general_performance import CRYPTO, REDIS
from backend.measure.readers import general
from backend.measure.stats import OTHER_METHOD

RECORDED = "general-openssl-3.0.19-redis-7.0.15"


def test_general_is_the_mean_of_what_stands_beside_it(recorded):
    first, *parts = general.parse(recorded(RECORDED))
    assert (first.metric, first.variant, first.unit) == (
        "general_performance",
        "standard",
        "× m5.large",
    )
    redis = {s.variant: s.value for s in parts if s.metric == "redis_set_per_s"}
    crypto = {s.variant: s.value for s in parts if s.metric == "openssl_bytes_per_s"}
    assert len(parts) == len(redis) + len(crypto) == 13
    # Logarithms by hand: half of it is Redis, half are the algorithms.
    of_redis = sum(math.log(redis[part] / REDIS[part]) for part in REDIS) / 2
    of_crypto = (
        sum(math.log(crypto[spelt(name)] / reference) for name, reference in CRYPTO.items()) / 11
    )
    assert first.value == pytest.approx(math.exp((of_redis + of_crypto) / 2))
    assert first.flags == (OTHER_METHOD,)
    assert first.parameters["tool"] == "OpenSSL 3.0.19, Redis 7.0.15 by redis-benchmark"


def spelt(name):
    """As published figures spell the variant."""
    return (name.upper() if name.endswith("cbc") else name) + ",16384"


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("pipeline 1\n", "pipeline 16\n", "pipelines p16"),
        ("pipeline 1\n", "pipeline 2\n", "pipelines p2, p16"),
        ("=== sm4-cbc\n", "=== des-cbc\n", "unexpected"),
        ("end sm4-cbc rc=0", "end sm4-cbc rc=1", "not each algorithm once"),
        (":SM4-CBC:", ":DES-CBC:", "DES-CBC instead of sm4-cbc"),
        ("Got: +H:16384 from 1", "Killed", "not a line of openssl"),
        ("tool OpenSSL", "tools OpenSSL", "unexpected"),
    ],
)
def test_general_is_refused_when_a_line_is_not_as_it_must_be(recorded, old, new, detail):
    text = recorded(RECORDED)
    assert old in text
    with pytest.raises(ProbeError, match=detail):
        general.parse(text.replace(old, new))


def test_general_is_refused_when_a_process_of_openssl_is_missing(recorded):
    text = recorded(RECORDED)
    head, _, tail = text.rpartition("threads 2\n")
    with pytest.raises(ProbeError, match="2 processes, and 4 asked for"):
        general.parse(f"{head}threads 4\n{tail}")


def test_general_is_refused_when_a_test_is_missing(recorded):
    text = recorded(RECORDED)
    tests = text.split("=== conditions\n")
    for kept in (tests[2:], tests[1:3], tests[1:2], ()):
        with pytest.raises(ProbeError):
            general.parse("".join(f"=== conditions\n{test}" for test in kept))
