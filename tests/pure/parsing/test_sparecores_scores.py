import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from backend.benchmarks.calc.sparecores_scores import BENCHMARKS, series
from backend.foundation.errors import InvalidValue
from backend.measure.metrics import METRICS
from backend.measure.metrics.spare_cores import SPARE_CORES


def made(benchmark, **config):
    found = series(benchmark, json.dumps(config))
    assert found is not None
    return found


def test_benchmarks_and_their_metrics_correspond_one_to_one():
    used = {benchmark.metric for benchmark in BENCHMARKS.values()}
    assert used == {metric.key for metric in SPARE_CORES} | {"stress_ng_div16"}


CANONICAL = [
    ("stress_ng:bestn", {}),
    ("stress_ng:best1", {}),
    ("geekbench:score", {"cores": "multi"}),
    ("geekbench:clang", {"cores": "Multi-Core Performance"}),
    ("passmark:cpu_mark", {"framework_version": "11.0.1002"}),
    ("passmark:memory_latency", {}),
    ("bw_mem", {"operation": "rd", "size": 256.0}),
    ("membench:bandwidth_read", {"scope": "RAM"}),
    ("membench:latency", {"size_kb": 65536}),
    ("compression_text:compress", {"algo": "gzip", "compression_level": 5, "cores": "multi"}),
    ("openssl", {"algo": "AES-256-CBC", "block_size": 16384}),
    ("static_web:rps", {"size": "64k", "connections_per_vcpus": 8.0}),
    ("static_web:throughput-extrapolated", {"size": "256k", "connections_per_vcpus": 8}),
    ("redis:latency", {"operation": "SET", "pipeline": 1.0}),
    ("llm_speed:text_generation", {"model": "SmolLM-135M.Q4_K_M.gguf", "tokens": 128}),
    ("llm_speed:prompt_processing", {"model": "SmolLM-135M.Q4_K_M.gguf", "tokens": 512}),
    ("pgbench:heavy_read_only:peak", {}),
    ("nvbandwidth:all:host_to_gpu", {}),
    ("nvbandwidth:slot:latency", {}),
]


@pytest.mark.parametrize(("benchmark", "config"), CANONICAL)
def test_usual_configuration_is_the_one_that_ranks(benchmark, config):
    found = made(benchmark, **config)
    assert found.is_ranked
    assert found.variant in METRICS[found.metric].ranking_variants
    assert found.unit == METRICS[found.metric].unit


@pytest.mark.parametrize(
    ("benchmark", "config"),
    [
        ("geekbench:score", {"cores": "single"}),
        ("openssl", {"algo": "sha256", "block_size": 16384}),
        ("stress_ng:div16", {"cores": 16.0}),
        ("bogomips", {}),
        ("workload_profile:web", {}),
        ("compression_text:ratio", {"algo": "gzip", "compression_level": 5, "cores": "multi"}),
    ],
)
def test_other_configurations_are_kept_and_never_rank(benchmark, config):
    assert not made(benchmark, **config).is_ranked


@pytest.mark.parametrize(
    ("benchmark", "config", "variant"),
    [
        ("stress_ng:bestn", {}, "best_of_workers"),
        ("stress_ng:div16", {"cores": 8.0, "framework_version": "0.17"}, "8"),
        ("bw_mem", {"operation": "wr", "size": 0.016384}, "wr,0.016384"),
        ("geekbench:hdr", {"cores": "Single-Core Performance"}, "single"),
        ("pgbench:heavy_read_only", {"concurrency": 32}, "32"),
        ("nvbandwidth:p2p:duplex", {}, "p2p,duplex"),
        ("workload_profile:cicd", {}, "cicd"),
        # An older form names its parts, for they are not the usual ones.
        (
            "compression_text:compress",
            {"algo": "lz4", "compression_level": None, "threads": 1},
            "algo=lz4,threads=1",
        ),
        ("membench:bandwidth_copy", {"size_kb": 2097152}, "2097152"),
    ],
)
def test_variant_is_made_of_the_configuration(benchmark, config, variant):
    assert made(benchmark, **config).variant == variant


def test_variant_that_is_too_long_is_cut_and_stays_unique():
    config = {"algo": "bzip3", "block_size": 1048576, "compression_level": 1, "cores": "multi"}
    one = made("compression_text:compress", **config).variant
    other = made("compression_text:compress", **{**config, "cores": "single"}).variant
    assert one.startswith("algo=bzip3,block_size=1048576,")
    assert len(one) == len(other) == 40
    assert one != other


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=30)
VALUES = st.one_of(
    st.integers(-(10**6), 10**6), st.floats(0.001, 1000), TEXTS, st.booleans(), st.just("standard")
)
CONFIGS = st.dictionaries(st.sampled_from(["algo", "block_size", "cores", "x"]), VALUES)


def whole_numbers_as_text(config):
    return {
        name: str(int(value)) if isinstance(value, float) and value.is_integer() else value
        for name, value in config.items()
    }


def same(one, other):
    """Whether two configurations are one: numbers count by what they print."""
    texts = [
        {
            name: value if isinstance(value, str) else json.dumps(value)
            for name, value in whole_numbers_as_text(config).items()
        }
        for config in (one, other)
    ]
    return texts[0] == texts[1]


@given(CONFIGS, CONFIGS)
@example({"algo": "algo=x", "block_size": "cores=1"}, {"algo": "x", "cores": 1})
@example({"algo": "", "block_size": 5}, {"algo": 5, "block_size": ""})
@example({"algo": "a,b", "block_size": "c"}, {"algo": "a", "block_size": "b,c"})
@example({"x": "standard"}, {})
def test_variant_is_short_printable_and_of_one_configuration(one, other):
    first, second = made("openssl", **one).variant, made("openssl", **other).variant
    assert 1 <= len(first) <= 40
    assert first.isprintable()
    assert (first == second) == same(one, other)


@pytest.mark.parametrize(
    ("benchmark", "factor"),
    [
        ("bw_mem", 1e6),
        ("membench:bandwidth_read", 2**20),
        ("membench:latency", 1),
        ("openssl", 1),
        ("static_web:latency", 1e9),
        ("redis:latency", 1e6),
        ("passmark:cpu_integer_maths_test", 1e6),
        ("passmark:cpu_string_sorting_test", 1e3),
        ("passmark:database_operations", 1e3),
        ("passmark:memory_latency", 1),
        ("passmark:memory_write", 1),
        ("pgbench:heavy_read_only:single", 1 / 60),
        ("nvbandwidth:slot:gpu_to_host", 1e9),
    ],
)
def test_factor_converts_a_score_into_our_unit(benchmark, factor):
    assert made(benchmark).factor == factor


def test_series_has_its_source_and_the_version_of_the_tool():
    found = made("openssl", algo="sha256", block_size=16, framework_version="3.3.0")
    assert found.version == "3.3.0"
    assert found.parameters == {
        "benchmark": "openssl",
        "config": {"algo": "sha256", "block_size": 16},
    }
    assert made("openssl", framework_version=3).version == ""


def test_unknown_benchmark_is_none_and_never_guessed():
    assert series("vllm:throughput", "{}") is None


@pytest.mark.parametrize("text", ["", "null", "{}"])
def test_no_configuration_is_the_standard_one(text):
    found = series("bogomips", text)
    assert found is not None
    assert found.variant == "standard"


@pytest.mark.parametrize(
    "text", ["{", "[]", "3", '{"algo": "\\u0000"}', '{"size": NaN}', "[" * 9999]
)
def test_configuration_that_cannot_be_kept_is_refused(text):
    with pytest.raises(InvalidValue):
        series("openssl", text)
