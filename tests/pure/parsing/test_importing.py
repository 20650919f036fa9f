"""Texts that somebody brings along, by tool and parameters."""

import re

import pytest

from backend.foundation.errors import InvalidValue, ProbeError
from backend.measure.readers import ParsedSample, passmark
from backend.measure.readers.importing import TOOLS, read_text, takes
from backend.measure.stats import UNFIT

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
    "stress-ng": "stress-ng-typed-0.15.06",
    "openssl": "openssl-3.0.19-2",
}
STATED = {"iperf3": {"loopback": True}}  # recorded from a machine to itself


@pytest.mark.parametrize("tool", TOOLS)
def test_every_tool_has_a_text_that_can_be_imported(recorded, tool):
    found = read_text(tool, recorded(KNOWN[tool]), STATED.get(tool))
    assert found.samples
    assert all(sample.value > 0 for sample in found.samples)


def test_samples_say_in_which_mode_of_credits_they_were_measured(recorded):
    found = read_text("cmips", recorded(KNOWN["cmips"]), {"credit_mode": "unlimited"})
    assert all("credit_unlimited" in sample.flags for sample in found.samples)


def test_tool_versions_are_those_of_the_texts(recorded):
    versions = {
        tool: read_text(tool, recorded(name), STATED.get(tool)).tool_version
        for tool, name in KNOWN.items()
    }
    assert versions["bonnie"] == "bonnie++ 2.00a"
    assert versions["sysbench"] == "sysbench 1.0.20"
    assert versions["cmips"] == "CMIPS 1.0.5"
    assert versions["fio"] == "fio-3.33"
    assert versions["passmark"] == ""


@pytest.mark.parametrize("parameters", [None, {}, {"direction": None}, {"ram_bytes": GIB}])
def test_dd_has_no_ranked_metric_without_conditions(parameters):
    found = read_text("dd", DD, parameters)
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
    found = read_text("dd", DD, {"direction": "read", "source": "random", **parameters})
    (sample,) = found.samples
    assert (sample.metric, sample.variant) == ("disk_read_bytes_per_s", variant)
    assert sample.flags == flags
    assert bool(found.warnings) == bool(warning)
    assert warning in "".join(found.warnings)


@pytest.mark.parametrize(
    ("source", "flags", "warning"),
    [
        ({}, ("conditions_unknown",), "source is not given"),
        ({"source": "unknown"}, ("conditions_unknown",), "source is not given"),
        ({"source": "zero"}, ("zeros",), "only zeros"),
        ({"source": "random"}, (), ""),
    ],
)
@pytest.mark.parametrize("direction", ["read", "write"])
def test_dd_takes_no_rank_unless_its_source_is_random(direction, source, flags, warning):
    """S16: zeros, and what nobody names the source of, never rank."""
    made = read_text("dd", DD, {"direction": direction, "conditions": "direct", **source})
    assert made.samples[0].flags == flags
    assert bool(flags) is not UNFIT.isdisjoint(flags)
    assert warning in "".join(made.warnings)


@pytest.mark.parametrize(
    ("known", "flags"),
    [
        ({}, ("cached",)),
        ({"ram_bytes": GIB}, ("cached",)),
        ({"ram_bytes": GIB // 2}, ()),
        ({"direction": "write"}, ()),
    ],
)
def test_dd_read_called_direct_is_cached_where_memory_explains_it(known, flags):
    """S16: 4.03 GB/s from the page cache, which a person called direct."""
    stated = {"direction": "read", "conditions": "direct", "source": "random", **known}
    made = read_text("dd", DD.replace("0.5 s", "0.2664 s"), stated)
    assert made.samples[0].flags == flags
    assert bool(flags) is ("faster than memory" in "".join(made.warnings))


def test_dd_read_is_compared_with_the_memory_of_its_machine():
    """S16: the memory that was measured on the machine is the bound, not that of another."""
    stated = {"direction": "read", "conditions": "direct", "source": "random"}
    (sample,) = read_text("dd", DD, {**stated, "memory_bytes_per_s": 4e9}).samples
    assert sample.flags == ("cached",)
    (sample,) = read_text("dd", DD, {**stated, "memory_bytes_per_s": 5e9}).samples
    assert sample.flags == ()


@pytest.mark.parametrize(
    ("command", "metric", "variant", "flags"),
    [
        ("dd if=/dev/urandom of=x bs=1M oflag=direct", "disk_write", "dd_direct", ()),
        ("dd if=/dev/zero of=x bs=1M oflag=direct", "disk_write", "dd_direct", ("zeros",)),
        ("dd if=/dev/zero of=x conv=fdatasync", "disk_write", "dd_fdatasync", ("cached", "zeros")),
        ("dd if=/dev/urandom of=x", "disk_write", "dd_cached", ("cached",)),
        (
            "dd if=/dev/urandom of=/dev/shm/x oflag=direct",
            "disk_write",
            "dd_direct",
            ("cached",),
        ),
        ("dd if=x of=/dev/null iflag=direct", "disk_read", "dd_direct", ("conditions_unknown",)),
        ("dd if=x of=y", "dd", "dd", ("conditions_unknown",)),
    ],
)
def test_pasted_command_says_how_dd_was_run(command, metric, variant, flags):
    """W5, S16: the prompt and the command are skipped, kept, and say what nobody need state."""
    made = read_text("dd", f"root@web:~# {command}\n{DD}root@web:~# \n", None)
    (sample,) = made.samples
    assert made.command == command
    assert (sample.metric, sample.variant, sample.flags) == (
        f"{metric}_bytes_per_s",
        variant,
        flags,
    )


def test_conditions_that_the_pasted_command_agrees_with_stay():
    stated = {"direction": "write", "conditions": "fdatasync"}
    made = read_text("dd", f"$ dd if=/dev/urandom of=x conv=fdatasync\n{DD}", stated)
    assert made.samples[0].variant == "dd_fdatasync"


@pytest.mark.parametrize(
    ("command", "stated", "field"),
    [
        ("dd if=/dev/zero of=x oflag=direct", {"source": "random"}, "source"),
        ("dd if=/dev/zero of=x oflag=direct", {"direction": "read"}, "direction"),
        ("dd if=/dev/zero of=x", {"direction": "write", "conditions": "direct"}, "conditions"),
    ],
)
def test_parameter_that_the_pasted_command_contradicts_is_refused(command, stated, field):
    with pytest.raises(InvalidValue) as refused:
        read_text("dd", f"$ {command}\n{DD}", stated)
    assert refused.value.field == f"/parameters/{field}"


@pytest.mark.parametrize("tool", ["fio", "iperf3", "sysbench", "coremark", "bonnie", "cmips"])
def test_pasted_transcript_reads_as_the_output_alone(recorded, tool):
    text = recorded(KNOWN[tool])
    pasted = read_text(tool, f"[ann@web ~]$ ./{tool} --all\n{text}\n[ann@web ~]$", STATED.get(tool))
    assert pasted.samples == read_text(tool, text, STATED.get(tool)).samples
    assert pasted.command == f"./{tool} --all"


@pytest.mark.parametrize(
    ("remote", "local"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.53", "10.0.0.9"),
        ("::1", "::1"),
        ("::ffff:127.0.0.1", "::ffff:10.0.0.9"),
        ("10.0.0.9", "10.0.0.9"),
    ],
)
def test_iperf3_from_a_machine_to_itself_is_no_network(recorded, remote, local):
    """W4: refused by name; kept on request, flagged, and without a rank."""
    text = _between(recorded(KNOWN["iperf3"]), local, remote)
    with pytest.raises(ProbeError, match="both ends are one machine"):
        read_text("iperf3", text, None)
    kept = read_text("iperf3", text, {"loopback": True})
    assert {sample.flags[0] for sample in kept.samples} == {"cached"}
    assert "no rank" in "".join(kept.warnings)


def test_iperf3_between_two_machines_is_no_loopback(recorded):
    text = _between(recorded(KNOWN["iperf3"]), "10.0.0.1", "10.0.0.2")
    for parameters in (None, {"loopback": True}):
        assert "cached" not in read_text("iperf3", text, parameters).samples[0].flags, parameters


def _between(text, local, remote):
    ends = {"local_host": local, "remote_host": remote, "host": remote}
    for key, address in ends.items():
        text = re.sub(rf'("{key}":\s*)"127.0.0.1"', rf'\1"{address}"', text)
    return text


@pytest.mark.parametrize(
    ("path", "flags"),
    [
        ("/srv/data/fio.tmp", ()),
        ("/dev/shm/fio.tmp", ("cached",)),
        ("/srv/data/a:/run/b", ("cached",)),
    ],
)
def test_fio_on_a_file_in_memory_is_flagged_cached(recorded, path, flags):
    """W5: /dev/shm is no disk, however deep its queue."""
    text = recorded(KNOWN["fio"]).replace("/srv/data/fio.tmp", path)
    made = read_text("fio", text, None)
    assert {sample.flags for sample in made.samples} == {flags}
    assert bool(flags) is ("lies in memory" in "".join(made.warnings))


def test_fio_without_a_disk_is_cached_where_memory_explains_it(recorded):
    """W5: no disk beneath the file, and a rate that this memory can copy."""
    text = recorded(KNOWN["fio"]).replace('"disk_util"', '"elsewhere"')
    rate = read_text("fio", text, None).samples[0].parameters["bytes_per_s"]
    assert read_text("fio", text, {"memory_bytes_per_s": 2.1 * rate}).samples[0].flags == ()
    assert read_text("fio", text, {"memory_bytes_per_s": 1.9 * rate}).samples[0].flags == (
        "cached",
    )


def test_bonnie_warns_of_memory_and_of_tests_too_fast(recorded):
    assert read_text("bonnie", SEED, {"ram_bytes": 22 * GIB}).warnings == ()
    assert "smaller than twice" in read_text("bonnie", SEED, {"ram_bytes": 72 * GIB}).warnings[0]
    ram, fast = read_text("bonnie", recorded("bonnie-2.00a"), None).warnings
    assert "ram_bytes is not given" in ram
    assert "too fast to be timed" in fast
    assert "get_block" in fast


def test_coremark_of_one_context_comes_with_a_warning(recorded):
    found = read_text("coremark", recorded("coremark-single-synthetic"), None)
    assert "one context" in found.warnings[0]


def test_parameters_that_mean_nothing_for_the_tool_are_warned_of():
    found = read_text("passmark", "9459", {"ram_bytes": GIB, "direction": "write"})
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
        ("dd", {"source": "disk"}, "/parameters/source"),
        ("dd", {"memory_bytes_per_s": 0}, "/parameters/memory_bytes_per_s"),
        ("iperf3", {"loopback": "yes"}, "/parameters/loopback"),
    ],
)
def test_import_is_refused_when_a_field_is_unknown_or_has_no_meaning(tool, parameters, field):
    with pytest.raises(InvalidValue) as refused:
        read_text(tool, DD, parameters)
    assert refused.value.field == field


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("text", ["", " \n", "hello\n", "{}", "a\0b", "x" * (9 * 2**20)])
def test_import_is_refused_when_the_text_is_no_result(tool, text):
    with pytest.raises(ProbeError) as refused:
        read_text(tool, text, None)
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
        read_text("passmark", "9459", None)


def test_loss_is_the_one_metric_that_may_be_zero(monkeypatch):
    sample = ParsedSample("net_udp_loss_ratio", "standard", 0, "ratio")
    monkeypatch.setattr(passmark, "parse", lambda _: [sample])
    assert read_text("passmark", "9459", None).samples == (sample,)


@pytest.mark.parametrize(
    ("command", "variant"),
    [
        ("stress-ng --cpu $(nproc) --cpu-method div16 -t 2 --metrics-brief", "all"),
        ("stress-ng -c 0 --cpu-method=div16 -t 2", "all"),
        ("stress-ng --cpu 2 --cpu-method div16 -t 10", "2_workers"),
    ],
)
def test_stress_ng_is_of_all_cpus_where_its_command_says_so(recorded, command, variant):
    made = read_text("stress-ng", f"$ {command}\n{recorded('stress-ng-0.15.06-2')}", None)
    assert (made.samples[0].variant, made.samples[0].value) == (variant, 507.65)
    # 1.16 + 0.00 s of CPU in 2 × 3.00 s: other work had the rest of a machine that was busy.
    assert made.samples[0].flags == ("disturbed",)
    assert "got 19% of the CPU time" in made.warnings[0]
    assert ("it is not known that all CPUs" in made.warnings[-1]) == (variant != "all")


def test_figure_that_stress_ng_itself_does_not_trust_takes_no_rank(recorded):
    typed = "$ stress-ng --cpu $(nproc) --cpu-method div16 -t 3\n"
    # Two workers with all of their time, 1523 in 6.00 s: only its own word speaks against it.
    text = recorded("stress-ng-0.15.06-2").replace("1.16      0.00", "6.00      0.00")
    text = text.replace("1314.64", " 253.83")
    trusted = read_text("stress-ng", typed + text, None)
    assert (trusted.samples[0].flags, trusted.warnings) == ((), ())
    warned = "stress-ng: warn:  [10349] metrics may be incorrect\n"
    made = read_text("stress-ng", typed + text + warned, None)
    assert made.samples[0].flags == ("disturbed",)
    assert made.warnings[0] == "metrics may be incorrect"
    assert "flagged disturbed, and takes no rank" in made.warnings[1]


def test_stress_ng_is_refused_without_the_method_it_ran(recorded):
    text = recorded("stress-ng-0.15.06-2")
    for typed in ("", "$ stress-ng --cpu 2 -t 3 --metrics-brief\n"):
        with pytest.raises(ProbeError, match="--cpu-method div16"):
            read_text("stress-ng", typed + text, None)


@pytest.mark.parametrize(
    ("command", "name", "variant", "warnings"),
    [
        ("openssl speed -mr -multi $(nproc) -evp sha256", "3.0.19-2", "all", 0),
        ("openssl speed -mr -multi 2 -evp sha256", "1.1.1w-2", "2_processes", 1),
        ("openssl speed -mr -elapsed -evp sha256", "3.0.19-single", "single", 1),
        ("openssl speed -mr -evp sha256", "3.0.19-single", "single", 2),
    ],
)
def test_openssl_is_imported_with_what_its_command_says(recorded, command, name, variant, warnings):
    made = read_text("openssl", f"$ {command}\n{recorded(f'openssl-{name}')}", None)
    assert (made.samples[0].variant, len(made.warnings)) == (variant, warnings)
