"""Output of sysbench."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import sysbench
from backend.measure.readers.importing import read_text


def test_sysbench_cpu_is_events_per_second(recorded):
    (sample,) = sysbench.parse(recorded("sysbench-1.0.20-cpu"))
    assert (sample.metric, sample.variant) == ("sysbench_cpu_events_per_s", "2_threads")
    assert (sample.value, sample.unit) == (7734.90, "events/s")
    assert sample.parameters["prime_limit"] == 10_000
    assert sample.parameters["sysbench"] == "1.0.20"


def test_sysbench_memory_is_bytes_per_second(recorded):
    text = recorded("sysbench-1.0.20-memory")
    (sample,) = sysbench.parse(text)
    assert (sample.metric, sample.variant) == ("sysbench_memory_bytes_per_s", "write_2_threads")
    stated = text.split("transferred (")[1].split(" MiB")[0]
    assert sample.value == float(stated) * 1024**2
    assert sample.parameters["block_bytes"] == 1024**2


def test_sysbench_1_1_says_the_same_in_other_words(recorded):
    old, new = (
        sysbench.parse(recorded(f"sysbench-{name}")) for name in ("1.0.20-cpu", "1.1-cpu-synthetic")
    )
    assert new[0].value == old[0].value
    assert sysbench.version(recorded("sysbench-1.1-cpu-synthetic")) == "1.1.0"


def test_sysbench_at_a_stated_rate_is_a_bound(recorded):
    text = recorded("sysbench-1.0.20-cpu")
    assert sysbench.parse(text)[0].flags == ()
    held = text.replace("Number of", "Target transaction rate: 10/sec\nNumber of")
    assert sysbench.parse(held)[0].flags == ("lower_bound",)
    made = read_text("sysbench", held, None)
    assert made.warnings == ("--rate held the test back: kept, and takes no rank",)


def test_sysbench_of_another_test_is_refused_as_such(recorded):
    lines = recorded("sysbench-1.0.20-cpu").splitlines(keepends=True)
    text = "".join(line for line in lines if "Prime" not in line and "per second" not in line)
    with pytest.raises(ProbeError, match="neither a cpu nor a memory test"):
        sysbench.parse(text)


def test_sysbench_of_one_thread_is_the_variant_single(recorded):
    text = recorded("sysbench-1.0.20-cpu").replace("threads: 2", "threads: 1")
    assert sysbench.parse(text)[0].variant == "single"


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("sysbench 1.0.20 (using", "sysbench 0.4.12 (using", "version 0.4.12"),
        ("sysbench 1.0.20", "", "version is missing"),
        ("execution time", "", "end is missing"),
        ("Number of threads: 2", "Number of threads: 0", "threads is 0"),
        ("Prime numbers limit: 10000", "", "prime limit is missing"),
        ("events per second:  7734.90", "events per second:  9734.90", "does not agree"),
        ("events per second:  7734.90", "events per second:  0.00", "events_per_s is 0"),
        ("events per second:  7734.90", "events per second:  7734,90", "events per s is missing"),
        ("Threads started!", "FATAL: out of memory", "FATAL: out of memory"),
        ("Threads started!", "Number of threads: 2", "threads is there twice"),
    ],
)
def test_sysbench_is_refused_when_a_line_is_not_as_it_must_be(recorded, old, new, detail):
    text = recorded("sysbench-1.0.20-cpu")
    assert old in text
    with pytest.raises(ProbeError, match=detail):
        sysbench.parse(text.replace(old, new))


def test_sysbench_memory_is_refused_when_the_unit_is_unknown(recorded):
    text = recorded("sysbench-1.0.20-memory")
    with pytest.raises(ProbeError, match="block is in KB") as refused:
        sysbench.parse(text.replace("block size: 1024KiB", "block size: 1024KB"))
    assert refused.value.line == 9


def test_sysbench_rate_is_not_checked_in_a_run_under_a_second(recorded):
    text = recorded("sysbench-1.0.20-cpu").replace("2.0001s", "0.0001s")
    assert sysbench.parse(text)[0].value == 7734.90
