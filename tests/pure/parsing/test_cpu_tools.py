"""Framed output of the CPU probes that run tools of others."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import cpu_tools


@pytest.mark.parametrize(
    ("tool", "metric", "value", "version"),
    [
        ("stress-ng", "stress_ng_div16", 300.32, "stress-ng 0.15.06"),
        ("openssl", "openssl_sha256_bytes_per_s", 221615256.08, "OpenSSL 3.0.19"),
        ("sysbench", "sysbench_cpu_events_per_s", 673.17, "sysbench 1.0.20"),
    ],
)
def test_cpu_tool_gives_the_sample_of_its_series(recorded, tool, metric, value, version):
    (sample,) = cpu_tools.parse(recorded(f"cpu-{tool}"), variant="all")
    assert (sample.metric, sample.variant, sample.value) == (metric, "all", value)
    shown = {key: sample.parameters[key] for key in ("threads", "seconds", "tool")}
    assert shown == {"threads": 2, "seconds": 2, "tool": version}


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("threads 2", "threads 4", "2 threads, and 4 asked for"),
        ("seconds 2", "seconds soon", "'soon' s"),
        ("end stress-ng rc=0", "end stress-ng rc=2", "stress-ng ended with 2"),
        ("stress-ng\n", "other\n", "not the conditions and one test"),
        ("hogs: 2 cpu", "hogs: 2 vm", r"alone: vm \(line 8\)"),
    ],
)
def test_cpu_tool_is_refused_when_a_line_is_not_as_it_must_be(recorded, old, new, detail):
    text = recorded("cpu-stress-ng")
    changed = text.replace(old, new)
    if "other" in new:
        changed = changed.replace("end stress-ng rc", "end other rc")
    with pytest.raises(ProbeError, match=detail):
        cpu_tools.parse(changed, variant="all")
