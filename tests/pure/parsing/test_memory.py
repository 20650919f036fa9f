"""Bandwidth and latency in the native probe's line."""

import json

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import memory


def _changed(text: str, **fields: object) -> str:
    return json.dumps({**json.loads(text), **fields}) + "\n"


def test_memory_gives_the_median_bandwidth_when_the_output_is_recorded(recorded):
    text = recorded("memory-bandwidth-x86_64")
    (sample,) = memory.parse(text)
    assert (sample.metric, sample.variant, sample.unit) == (
        "memory_bandwidth_bytes_per_s",
        "all",
        "bytes/s",
    )
    assert sample.value == json.loads(text)["median_bytes_per_s"]
    assert sample.parameters["best_bytes_per_s"] == json.loads(text)["best_bytes_per_s"]
    assert sample.flags == ()


def test_memory_gives_the_latency_when_the_output_is_recorded(recorded):
    text = recorded("memory-latency-x86_64")
    (sample,) = memory.parse(text)
    assert (sample.metric, sample.variant, sample.unit) == ("memory_latency_ns", "single", "ns")
    assert sample.value == json.loads(text)["latency_ns"]


@pytest.mark.parametrize(
    ("threads", "usable", "variant"), [(1, 1, "all"), (1, 4, "single"), (3, 4, "3_threads")]
)
def test_memory_names_the_variant_when_the_threads_differ(recorded, threads, usable, variant):
    text = _changed(recorded("memory-bandwidth-x86_64"), threads=threads, usable_cpus=usable)
    assert memory.parse(text)[0].variant == variant


def test_memory_has_huge_pages_and_handover_of_a_new_probe(recorded):
    parameters = memory.parse(recorded("memory-bandwidth-nodes"))[0].parameters
    assert (parameters["huge_page_bytes"], parameters["handover_ns"]) == (402_653_184, 34.9)
    # Recorded before the probe told them.
    parameters = memory.parse(recorded("memory-bandwidth-x86_64"))[0].parameters
    assert (parameters["huge_page_bytes"], parameters["handover_ns"]) == (None, None)


def test_memory_gives_the_bandwidth_of_each_node_when_there_are_several(recorded):
    whole, *nodes = memory.parse(recorded("memory-bandwidth-nodes"))
    assert (whole.variant, whole.value) == ("all", 47_976_190_943)
    assert [(node.variant, node.value, node.parameters["node"]) for node in nodes] == [
        ("node0", 43_471_009_767, 0),
        ("node1", 42_665_842_575, 1),
    ]
    assert {node.metric for node in nodes} == {"memory_bandwidth_bytes_per_s"}


def test_memory_names_a_node_by_its_number_when_not_all_may_be_used(recorded):
    text = _changed(recorded("memory-bandwidth-nodes"), node_ids=[1, 6], is_capped=True)
    nodes = memory.parse(text)[1:]
    assert [(node.variant, node.flags) for node in nodes] == [
        ("node1", ("cached",)),
        ("node6", ("cached",)),
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"nodes": [1]},
        {"nodes": [1], "node_ids": [0]},
        {"nodes": [1, 2, 3]},
        {"nodes": [1, 0]},
        {"node_ids": [1, 0]},
        {"node_ids": [0, 0]},
        {"node_ids": [0, 0.5]},
        {"node_ids": [0, 8192]},
        {"node_ids": None},
    ],
)
def test_memory_is_refused_when_the_nodes_cannot_be(recorded, fields):
    with pytest.raises(ProbeError, match="node"):
        memory.parse(_changed(recorded("memory-bandwidth-nodes"), **fields))


@pytest.mark.parametrize("name", ["memory-bandwidth-x86_64", "memory-latency-x86_64"])
def test_memory_is_flagged_cached_when_the_buffers_were_capped(recorded, name):
    assert memory.parse(_changed(recorded(name), is_capped=True))[0].flags == ("cached",)


@pytest.mark.parametrize(
    ("name", "fields", "detail"),
    [
        ("bandwidth", {"checksum_ok": False}, "checksum_ok"),
        ("bandwidth", {"test": "other"}, "other"),
        ("bandwidth", {"best_bytes_per_s": 1}, "below the median"),
        ("bandwidth", {"median_bytes_per_s": 0}, "median_bytes_per_s"),
        ("bandwidth", {"array_bytes": 0}, "array_bytes"),
        ("latency", {"latency_ns": 0}, "latency_ns"),
        ("latency", {"rounds": 0}, "rounds"),
        ("latency", {"is_capped": 0}, "is_capped"),
    ],
)
def test_memory_is_refused_when_a_field_cannot_be(recorded, name, fields, detail):
    with pytest.raises(ProbeError, match=detail):
        memory.parse(_changed(recorded(f"memory-{name}-x86_64"), **fields))


@pytest.mark.parametrize(
    ("huge_page_bytes", "ratio", "flags"),
    [(None, None, ()), (2**27, 1.0, ()), (2**28, 1.0, ()), (2**26, 0.5, ()),
     (2**25, 0.25, ("small_pages",)), (0, 0.0, ("small_pages",))],
)  # fmt: skip
def test_memory_latency_is_flagged_when_few_pages_were_huge(
    recorded, huge_page_bytes, ratio, flags
):
    """The buffer has 2^27 bytes."""
    text = _changed(recorded("memory-latency-x86_64"), huge_page_bytes=huge_page_bytes)
    (sample,) = memory.parse(text)
    assert (sample.parameters["huge_page_ratio"], sample.flags) == (ratio, flags)


def test_memory_bandwidth_counts_huge_pages_over_all_arrays(recorded):
    text = recorded("memory-bandwidth-nodes")
    assert memory.parse(text)[0].parameters["huge_page_ratio"] == 1  # 3 arrays of 2^27 bytes
    few = memory.parse(_changed(text, huge_page_bytes=2**27))[0]
    assert (few.parameters["huge_page_ratio"], few.flags) == (
        pytest.approx(1 / 3),
        ("small_pages",),
    )


def test_memory_says_whether_its_workers_kept_to_their_cpus(recorded):
    text = recorded("memory-bandwidth-nodes")
    assert memory.parse(text)[0].parameters["is_pinned"] is False  # of an earlier version
    assert memory.parse(_changed(text, is_pinned=True))[0].parameters["is_pinned"] is True
