"""Texts that somebody brings along, by tool and parameters."""

import pytest

from backend.domain.errors import InvalidValue, ProbeError
from backend.domain.parsing import ParsedSample, passmark
from backend.domain.parsing.importing import TOOLS, imported, takes

GIB = 1024**3
DD = "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s\n"
SEED = "ssd,44G,,,181336,30,106424,29,,,251624,26,6479.9,24,,,,,,,,,,,,,"
KNOWN = {
    "dd": "dd-gnu-9.1-write-direct",
    "fio": "fio-3.33-rand-read-qd1",
    "iperf3": "iperf3-3.12-tcp",
    "bonnie": "bonnie-2.00a",
    "sysbench": "sysbench-1.0.20-cpu",
    "cmips": "cmips-program-1.0.5-synthetic",
    "yabs": "yabs-synthetic",
    "coremark": "coremark-parallel-synthetic",
    "passmark": "passmark-summary-synthetic",
    "stated": "stated-tar-nfs",
}


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_has_a_text_that_can_be_imported(recorded, tool):
    found = imported(tool, recorded(KNOWN[tool]), None)
    assert found.samples
    assert all(sample.value > 0 for sample in found.samples)


def test_tool_versions_are_those_of_the_texts(recorded):
    versions = {
        tool: imported(tool, recorded(name), None).tool_version for tool, name in KNOWN.items()
    }
    assert versions["bonnie"] == "bonnie++ 2.00a"
    assert versions["sysbench"] == "sysbench 1.0.20"
    assert versions["cmips"] == "CMIPS 1.0.5"
    assert versions["fio"] == "fio-3.33"
    assert versions["passmark"] == ""


@pytest.mark.parametrize("parameters", [None, {}, {"direction": None}, {"ram_bytes": GIB}])
def test_dd_has_no_ranked_metric_without_conditions(parameters):
    found = imported("dd", DD, parameters)
    assert [sample.metric for sample in found.samples] == ["dd_bytes_per_s"]
    assert found.samples[0].flags == ("conditions_unknown",)
    assert "no rank" in found.warnings[0]


@pytest.mark.parametrize(
    ("parameters", "variant", "flags", "warning"),
    [
        ({"conditions": "direct"}, "dd_direct", (), ""),
        ({}, "dd_unknown", ("conditions_unknown",), "conditions are unknown"),
        ({"conditions": "cached"}, "dd_cached", ("cached",), "measure memory"),
        ({"conditions": "fdatasync"}, "dd_fdatasync", ("cached",), "ram_bytes is not given"),
        (
            {"conditions": "fdatasync", "ram_bytes": GIB},
            "dd_fdatasync",
            ("cached",),
            "smaller than",
        ),
        ({"conditions": "fdatasync", "ram_bytes": GIB // 2}, "dd_fdatasync", (), ""),
        (
            {"conditions": "fdatasync", "ram_bytes": GIB, "file_bytes": 2 * GIB},
            "dd_fdatasync",
            (),
            "",
        ),
    ],
)
def test_dd_is_a_disk_metric_when_its_direction_is_given(parameters, variant, flags, warning):
    found = imported("dd", DD, {"direction": "read", **parameters})
    (sample,) = found.samples
    assert (sample.metric, sample.variant) == ("disk_read_bytes_per_s", variant)
    assert sample.flags == flags
    assert bool(found.warnings) == bool(warning)
    assert warning in "".join(found.warnings)


def test_bonnie_warns_of_memory_and_of_tests_too_fast(recorded):
    assert imported("bonnie", SEED, {"ram_bytes": 22 * GIB}).warnings == ()
    assert "smaller than twice" in imported("bonnie", SEED, {"ram_bytes": 72 * GIB}).warnings[0]
    ram, fast = imported("bonnie", recorded("bonnie-2.00a"), None).warnings
    assert "ram_bytes is not given" in ram
    assert "too fast to be timed" in fast
    assert "get_block" in fast


def test_coremark_of_one_context_comes_with_a_warning(recorded):
    found = imported("coremark", recorded("coremark-single-synthetic"), None)
    assert "one context" in found.warnings[0]


def test_parameters_that_mean_nothing_for_the_tool_are_warned_of():
    found = imported("passmark", "9459", {"ram_bytes": GIB, "direction": "write"})
    assert found.warnings == (
        "direction is not used for passmark",
        "ram_bytes is not used for passmark",
    )
    assert takes("dd", "ram_bytes")
    assert not takes("passmark", "ram_bytes")
    assert not takes("abacus", "ram_bytes")


@pytest.mark.parametrize(
    ("tool", "parameters", "field"),
    [
        ("abacus", None, "/tool"),
        ("dd", {"colour": "red"}, "/parameters/colour"),
        ("dd", {"a/b~c": 1}, "/parameters/a~1b~0c"),
        ("dd", {"direction": "up"}, "/parameters/direction"),
        ("dd", {"direction": ["write"]}, "/parameters/direction"),
        ("dd", {"conditions": 7}, "/parameters/conditions"),
        ("dd", {"conditions": "direct"}, "/parameters/direction"),
        ("dd", {"ram_bytes": 0}, "/parameters/ram_bytes"),
        ("dd", {"ram_bytes": True}, "/parameters/ram_bytes"),
        ("dd", {"ram_bytes": "64"}, "/parameters/ram_bytes"),
        ("dd", {"file_bytes": 1.5}, "/parameters/file_bytes"),
        ("dd", {"file_bytes": 2**60}, "/parameters/file_bytes"),
    ],
)
def test_import_is_refused_when_a_field_is_unknown_or_has_no_meaning(tool, parameters, field):
    with pytest.raises(InvalidValue) as refused:
        imported(tool, DD, parameters)
    assert refused.value.field == field


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("text", ["", " \n", "hello\n", "{}", "a\0b", "x" * (9 * 2**20)])
def test_import_is_refused_when_the_text_is_no_result(tool, text):
    with pytest.raises(ProbeError) as refused:
        imported(tool, text, None)
    assert refused.value.line is not None


@pytest.mark.parametrize(
    ("sample", "detail"),
    [
        (ParsedSample("m", "v", float("nan"), "u"), "nan"),
        (ParsedSample("m", "v", -1, "u"), "-1"),
        (ParsedSample("m", "v", 0, "u"), "is 0"),
        (ParsedSample("m", "v" * 41, 1, "u"), "too long"),
        (ParsedSample("m", "v", 1, "u", {"a": float("inf")}), "cannot be kept"),
        (ParsedSample("m", "v", 1, "u", {"a": "\ud800"}), "cannot be kept"),
        (ParsedSample("m", "v", 1, "u", {"a": "\0"}), "NUL"),
        (None, "no result"),
    ],
)
def test_import_is_refused_when_a_parser_gives_what_cannot_be_kept(monkeypatch, sample, detail):
    monkeypatch.setattr(passmark, "parse", lambda _: [] if sample is None else [sample])
    with pytest.raises(ProbeError, match=detail):
        imported("passmark", "9459", None)


def test_loss_is_the_one_metric_that_may_be_zero(monkeypatch):
    sample = ParsedSample("net_udp_loss_ratio", "standard", 0, "ratio")
    monkeypatch.setattr(passmark, "parse", lambda _: [sample])
    assert imported("passmark", "9459", None).samples == (sample,)
