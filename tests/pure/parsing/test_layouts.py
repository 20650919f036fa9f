"""Layouts of one tool give the same figures, and what is not read is refused with its way out."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import decode_text
from backend.measure.readers import fio, iperf3, stress_ng, yabs
from backend.measure.readers.importing import TOOLS, read_text
from tests.pure.parsing.test_importing import KNOWN, STATED

REMEDY = re.compile(r"\b(?:give|run|choose|install)\b")
ROW = "cpu                 338 {real} {user} {system}  {rate}    {of_cpu}"
HEAD = "stressor       bogo ops real time  usr time  sys time   bogo ops/s     bogo ops/s"
UNITS = "(secs)    (secs)    (secs)   (real time) (usr+sys time)"
PLAIN = {"real": "1.00", "user": "0.31", "system": "0.01", "rate": "336.67", "of_cpu": "1058.43"}
SCIENTIFIC = {
    "real": "1.004e+00", "user": "3.116e-01", "system": "7.788e-03", "rate": "3.36673e+02",
    "of_cpu": "1.05843e+03",
}  # fmt: skip


def stress_ng_text(values, info, metric, *, workers=1, more=()):
    lines = ["setting to a 1 second run per stressor", f"dispatching hogs: {workers} cpu"]
    said = [info + line for line in (*lines, *more)]
    said += [metric + line for line in (HEAD, UNITS, ROW.format(**values))]
    return "\n".join([*said, f"{info}successful run completed in 1.01s", ""])


@pytest.mark.parametrize("values", [PLAIN, SCIENTIFIC])
@pytest.mark.parametrize(
    ("info", "metric"),
    [
        ("stress-ng: info:  [25635] ", "stress-ng: metrc: [25635] "),
        ("stress-ng: info:  [25635] ", "stress-ng: info:  [25635] "),
        ("", ""),
        ("stress-ng: 23:12:06.28 info:  [25668] ", "stress-ng: 23:12:07.29 metrc: [25668] "),
    ],
)
def test_stress_ng_gives_one_figure_in_each_layout(values, info, metric):
    (sample,) = stress_ng.parse(stress_ng_text(values, info, metric))
    assert sample.value == pytest.approx(336.67, abs=0.01)
    assert sample.parameters["cpu_s"] == pytest.approx(0.32, abs=0.001)


def test_stress_ng_that_had_a_third_of_the_cpu_takes_no_rank():
    command = "$ stress-ng --cpu 0 --cpu-method div16 -t 1 --metrics-brief\n"
    made = read_text("stress-ng", command + stress_ng_text(PLAIN, "", ""), None)
    assert [(sample.variant, sample.flags) for sample in made.samples] == [("all", ("disturbed",))]
    # (0.31 + 0.01) s of CPU in one second
    assert "got 32% of the CPU time" in made.warnings[0]
    busy = {**PLAIN, "user": "0.99"}
    assert (
        read_text("stress-ng", command + stress_ng_text(busy, "", ""), None).samples[0].flags == ()
    )
    both = read_text("stress-ng", command + stress_ng_text(busy, "", "", workers=2), None)
    assert "got 50% of the CPU time" in both.warnings[0]


@pytest.mark.parametrize(
    "doubt",
    [
        "cpu: 1 metrics are untrustworthy",
        "metrics-check: all bogo-op counters are zero, data may be incorrect",
        "metrics-check: stressor metrics corrupted, data is compromised",
    ],
)
def test_warning_of_stress_ng_stays_with_its_figure(doubt):
    info, warn = "stress-ng: info:  [1] ", "stress-ng: warn:  [1] "
    busy = {**PLAIN, "user": "0.99"}
    text = stress_ng_text(busy, info, info).replace(f"{info}succ", f"{warn}{doubt}\n{info}succ")
    (sample,) = stress_ng.parse(text)
    assert (sample.flags, sample.parameters["warnings"]) == (("disturbed",), [doubt])
    (brief,) = stress_ng.parse(stress_ng_text(busy, "", "", more=[doubt]))
    assert brief.flags == ("disturbed",)
    harmless = stress_ng_text(busy, "", "", more=["metrics untrustworthy: 0", "skipped: 0"])
    assert stress_ng.parse(harmless)[0].flags == ()


# --- fio ------------------------------------------------------------------------------------------

REPORT = "\n\nnj: (groupid=0, jobs=1): err= 0: pid=1\n  read: IOPS=99, BW=399KiB/s\n\nDisk stats:\n"


def test_fio_reads_its_json_before_its_report(recorded):
    text = recorded("fio-3.33-rand-read-qd1")
    whole, made = fio.parse_json(text), fio.parse_json(text + REPORT)
    assert made.samples == whole.samples
    assert "3 lines behind the JSON were left out" in made.warnings
    with pytest.raises(ProbeError, match="terminating on signal"):
        fio.parse_json(text + "\nfio: terminating on signal 2\n")
    with pytest.raises(ProbeError, match="a second JSON follows"):
        read_text("fio", text + text, None)


def test_fio_counts_each_direction_once_next_to_their_sum(recorded):
    text = recorded("fio-3.33-rand-read-qd1")
    document = json.loads(text[text.index("{") :])
    job = document["jobs"][0]
    job["mixed"] = job["read"]
    assert fio.parse_json(json.dumps(document)).samples == fio.parse_json(text).samples
    del job["read"], job["write"]
    with pytest.raises(ProbeError, match="run fio without unified_rw_reporting"):
        read_text("fio", json.dumps(document), None)


# --- iperf3 ---------------------------------------------------------------------------------------


def streamed(document):
    events = [("start", document["start"])]
    events += [("interval", interval) for interval in document["intervals"]]
    return [json.dumps({"event": name, "data": data}) for name, data in
            [*events, ("end", document["end"])]]  # fmt: skip


@pytest.mark.parametrize("name", ["tcp", "tcp-reverse", "tcp-4-streams", "bidir", "udp"])
def test_iperf3_gives_the_same_by_events_as_in_one_document(recorded, name):
    text = recorded(f"iperf3-3.12-{name}")
    lines = streamed(json.loads(text[text.index("{") :]))
    whole = iperf3.parse_json(text, takes_loopback=True)
    made = iperf3.parse_json("\n".join(lines) + "\n", takes_loopback=True)
    assert made.samples == whole.samples
    for end in range(1, len(lines)):
        with pytest.raises(ProbeError, match=r"no end event came, so the run was cut off.*give"):
            read_text("iperf3", "\n".join(lines[:end]), None)
    with pytest.raises(ProbeError, match="two start events"):
        read_text("iperf3", "\n".join([*lines, *lines]), None)


def test_error_event_of_iperf3_is_what_it_says(recorded):
    text = recorded("iperf3-3.12-tcp")
    lines = streamed(json.loads(text[text.index("{") :]))[:-1]
    lines.append('{"event":"error","data":"interrupt - the client has terminated"}')
    with pytest.raises(ProbeError, match="interrupt - the client has terminated"):
        read_text("iperf3", "\n".join(lines), None)
    with pytest.raises(ProbeError, match="iperf3: error - unable to"):
        read_text("iperf3", f"{text}\niperf3: error - unable to receive results\n", None)


# --- YABS, JSON -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        '[{"version":6,"single":,"multi":,"url":"x"}]',
        "]",
        '[{"version":6,"single": ,"multi":}]',
        "[]",
    ],
)
def test_yabs_is_read_where_geekbench_broke_its_json(recorded, broken):
    text = recorded("yabs-synthetic")
    document = json.loads(text[text.index("{") :])
    document["geekbench"] = "HERE"
    made = yabs.parse(json.dumps(document, separators=(",", ":")).replace('"HERE"', broken))
    assert made.samples == yabs.parse(text).samples
    assert ("Geekbench failed in this run; the rest was read" in made.warnings) == (broken != "[]")


@pytest.mark.parametrize("tool", ["fio", "iperf3", "yabs"])
def test_wrong_json_is_shown_with_line_and_column(tool):
    text = 'note\n{"a":1,"b":[1,2],"here":,"c":3}'
    # The value is missing at the 25th character of the second line.
    with pytest.raises(ProbeError, match=r'at column 25, near .*"here":,"c".*\(line 2\)'):
        read_text(tool, text, None)
    with pytest.raises(ProbeError, match="it is cut off at column"):
        read_text(tool, '{"a":[1,', None)


# --- all of them ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "text", "way"),
    [
        ("fio", "3;fio-3.33;t;0;0;404", "terse output.*--output-format=json"),
        ("fio", "5;fio-3.33;t;0;0;404", "terse output.*--output-format=json"),
        ("fio", f"fio-3.33\nStarting 1 process{REPORT}", "report for people.*--output-format=json"),
        ("iperf3", "[ ID] Interval           Transfer     Bitrate\n", "run iperf3 with -J"),
        ("iperf3", "Client connecting to 192.0.2.1, TCP port 5001\n[ ID] Interval  T\n", "iperf 2"),
        ("stress-ng", "metrics:\n    - stressor: cpu\n      bogo-ops: 3\n", "the file of --yaml"),
        ("sysbench", "sysbench 0.4.12:  multi-threaded\n", "install 1.0 or 1.1"),
        ("sysbench", "sysbench 1.0.20\nFile operations:\n reads/s: 1\n", "test disks with fio"),
        ("bonnie", "Version  1.98   ------Sequential Output------ --Seq\n", "table for people"),
        ("openssl", "Doing sha256 for 3s on 16 size blocks: 1 sha256's in 3s\n", "-mr -evp sha256"),
        ("yabs", "# Yet-Another-Bench-Script #\n", "with -j"),
        ("coremark", "7-Zip 23.01 (x64)\nAvr: 1 2 3\n", "7-Zip are not read"),
        ("coremark", "STREAM version $Revision: 5.10 $\n", "STREAM are not read"),
        ("fio", "\n--- /tmp (ext4 /dev/sda1) ioping statistics ---\n", "ioping are not read: .*fio"),
        ("dd", "AVG\tMethod: MEMCPY\tElapsed: 0.01\tMiB: 64.0\n", "mbw are not read"),
        ("dd", " Timing buffered disk reads: 300 MB in 3.0 seconds\n", "hdparm are not read"),
        ("stress-ng", "   BYTE UNIX Benchmarks (Version 5.1.3)\n", "UnixBench are not read"),
        ("iperf3", "   Speedtest by Ookla\n", "Speedtest are not read: use iperf3"),
        ("passmark", "Geekbench 6.2.1\nSingle-Core Score 1200\n", "Geekbench are not read"),
        ("fio", "iperf 3.18\n[ ID] Interval  T\n", "output of iperf3: choose iperf3 as the tool"),
    ],
)  # fmt: skip
def test_known_layout_is_refused_with_its_remedy(tool, text, way):
    with pytest.raises(ProbeError, match=way):
        read_text(tool, text, None)


def refusal(tool, text):
    """The message of a refusal; "" for a text that is read."""
    try:
        read_text(tool, text, None)
    except ProbeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("tool", TOOLS)
def test_every_refusal_of_a_text_names_a_remedy(recorded, tool):
    texts = [recorded(name) for name in KNOWN.values()]
    parts = [part for text in texts for part in (text, text[: len(text) // 2], f"{{{text}")]
    messages = [refusal(tool, part) for part in (*parts, "", "\0")]
    assert [said for said in messages if said and not REMEDY.search(said)] == []
    assert sum(map(bool, messages)) > len(parts) / 2


@given(st.sampled_from(TOOLS), st.text(max_size=300))
def test_any_text_is_refused_with_a_remedy(tool, text):
    said = refusal(tool, text)
    assert not said or REMEDY.search(said)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encoding_and_line_ends_change_no_figure(recorded, tool, encoding):
    text, stated = recorded(KNOWN[tool]), STATED.get(tool)
    content = text.replace("\n", "\r\n").encode(encoding)
    expected = read_text(tool, text, stated).samples
    assert read_text(tool, decode_text(content), stated).samples == expected
