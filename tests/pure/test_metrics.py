import pytest

from backend.foundation.errors import InvalidValue
from backend.measure.metrics import BESIDE, METRICS, between_instance_cv, metric, resource
from backend.measure.metrics.own import OWN
from backend.measure.metrics.spare_cores import SPARE_CORES

KEYS_AND_DIRECTION = {
    "general_performance": "higher",
    "web_requests_per_s": "higher",
    "redis_set_per_s": "higher",
    "single_thread_performance": "higher",
    "llm_tokens_per_s": "higher",
    "cmips_score": "higher",
    "cmips_single_score": "higher",
    "cmips_sustained_ratio": "higher",
    "coremark_score": "higher",
    "memory_bandwidth_bytes_per_s": "higher",
    "memory_latency_ns": "lower",
    "disk_write_bytes_per_s": "higher",
    "disk_read_bytes_per_s": "higher",
    "disk_rand_read_iops": "higher",
    "disk_rand_write_iops": "higher",
    "disk_rand_read_p99_ns": "lower",
    "disk_rand_write_p99_ns": "lower",
    "small_files_per_s": "higher",
    "fsync_p99_ns": "lower",
    "net_tcp_bits_per_s": "higher",
    "net_udp_jitter_ns": "lower",
    "net_rtt_ns": "lower",
    "boot_time_s": "lower",
    "job_time_s": "lower",
    "passmark_score": "higher",
    "stress_ng_div16": "higher",
    "specrate2017_int_base": "higher",
    "openssl_sha256_bytes_per_s": "higher",
    "disk_seeks_per_s": "higher",
    "dd_bytes_per_s": "higher",
    "net_udp_loss_ratio": "lower",
    "sysbench_cpu_events_per_s": "higher",
    "sysbench_memory_bytes_per_s": "higher",
}


def test_metrics_hold_every_published_key_with_its_direction():
    assert {found.key: found.better for found in OWN} == KEYS_AND_DIRECTION
    assert all(found.is_higher_better == (found.better == "higher") for found in METRICS.values())


def test_metrics_of_others_have_keys_of_their_own_and_their_direction():
    assert len(METRICS) == len(OWN) + len(SPARE_CORES)
    assert {found.key for found in SPARE_CORES if not found.is_higher_better} == {
        "compression_size_ratio",
        "membench_latency_ns",
        "nvbandwidth_latency_ns",
        "passmark_memory_latency_ns",
        "redis_latency_ns",
        "static_web_latency_ns",
    }


def test_metrics_of_others_that_say_nothing_of_speed_never_rank():
    assert {found.key for found in SPARE_CORES if not found.ranking_variants} == {
        "bogomips",
        "compression_size_ratio",
        "nvbandwidth_efficiency_ratio",
        "stress_ng_cpu_all_ops_per_s",
        "stress_ng_div16_curve_ops_per_s",
        "workload_profile_ratio",
    }


@pytest.mark.parametrize("key", sorted(METRICS))
def test_metric_explains_itself_completely(key):
    found = metric(key)
    texts = [found.label, found.unit, found.definition, found.method, found.limits]
    assert all(text.strip() == text and text for text in texts)
    assert 0 < found.between_instance_cv < 1
    assert found.target_half_width_ratio in (0.03, 0.05)


@pytest.mark.parametrize(
    ("key", "suffix", "unit"),
    [
        ("memory_bandwidth_bytes_per_s", "_bytes_per_s", "bytes/s"),
        ("net_tcp_bits_per_s", "_bits_per_s", "bits/s"),
        ("net_rtt_ns", "_ns", "ns"),
        ("boot_time_s", "_s", "s"),
        ("openssl_bytes_per_s", "_bytes_per_s", "bytes/s"),
        ("redis_latency_ns", "_ns", "ns"),
        ("cmips_sustained_ratio", "_ratio", "ratio"),
    ],
)
def test_metric_key_carries_its_unit(key, suffix, unit):
    assert key.endswith(suffix)
    assert metric(key).unit == unit


@pytest.mark.parametrize(
    ("key", "variants"),
    [
        ("cmips_score", ("all",)),
        ("cmips_single_score", ("single",)),
        ("memory_bandwidth_bytes_per_s", ("all",)),
        ("memory_latency_ns", ("single",)),
        ("disk_write_bytes_per_s", ("dd_direct", "dd_fdatasync", "dd_cached")),
        ("disk_read_bytes_per_s", ("dd_direct", "dd_fdatasync", "dd_cached")),
        ("dd_bytes_per_s", ()),
        ("general_performance", ("standard",)),
        ("web_requests_per_s", ("64k",)),
        ("redis_set_per_s", ("p16",)),
        ("single_thread_performance", ("standard",)),
        ("llm_tokens_per_s", ("prompt128",)),
        ("passmark_cpu_mark", ("standard",)),
        ("geekbench_score", ("multi",)),
        ("membench_read_bytes_per_s", ("RAM", "65536")),
        ("bogomips", ()),
    ],
)
def test_ranking_variants_are_the_canonical_one_then_the_fallbacks(key, variants):
    assert metric(key).ranking_variants == variants


def test_metric_refuses_an_unknown_key():
    with pytest.raises(InvalidValue) as caught:
        metric("mips")
    assert caught.value.field == "metric"


@pytest.mark.parametrize(
    ("key", "vcpu_kind", "offer_kind", "expected"),
    [
        ("cmips_score", "burstable", "cloud", 0.28),
        ("cmips_score", "shared", "vps", 0.28),
        ("cmips_score", "dedicated", "cloud", 0.05),
        ("cmips_score", "", "cloud", 0.28),
        ("cmips_score", "", "vps", 0.28),
        ("cmips_score", "", "dedicated", 0.05),
        ("cmips_score", "", "onprem", 0.05),
        ("sysbench_cpu_events_per_s", "shared", "vps", 0.28),
        ("memory_latency_ns", "burstable", "cloud", 0.05),
        ("stress_ng_div16", "burstable", "cloud", 0.28),
        ("general_performance", "", "vps", 0.28),
        ("bw_mem_bytes_per_s", "", "cloud", 0.05),
    ],
)
def test_cpus_that_may_be_shared_spread_wide(key, vcpu_kind, offer_kind, expected):
    """W18: a cloud or VPS that states no kind was taken for dedicated: ± 10 % for ± 55 %."""
    assert between_instance_cv(metric(key), vcpu_kind, offer_kind) == expected


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("cmips_score", "cpu"),
        ("stress_ng_div16", "cpu"),
        ("sysbench_memory_bytes_per_s", "memory"),
        ("membench_latency_ns", "memory"),
        ("fsync_p99_ns", "disk"),
        ("disk_seeks_per_s", "disk"),
        ("net_rtt_ns", "net"),
    ],
)
def test_metrics_of_one_resource_are_known_as_such(key, expected):
    assert resource(metric(key)) == expected


def test_variants_shown_beside_a_ranking_take_no_rank():
    for key, variants in BESIDE.items():
        assert set(variants).isdisjoint(METRICS[key].ranking_variants)
