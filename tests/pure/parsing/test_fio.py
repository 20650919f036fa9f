"""Results of fio: what is taken from them, and what is refused."""

import json
import re

import pytest

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import MAX_CHARACTERS
from backend.measure.readers import fio, fio_setup

GIB = 1024**3
FRAMED = "fio-3.33-framed-rand-read-qd32"


def _direction(**fields):
    """100 s of 4 KiB operations, 1,000 each second: 1,000 × 4,096 = 4,096,000 bytes/s."""
    return {
        "io_bytes": 409_600_000,
        "bw_bytes": 4_096_000,
        "iops": 1000.0,
        "runtime": 100_000,
        "total_ios": 100_000,
        "short_ios": 0,
        "drop_ios": 0,
        "clat_ns": {"mean": 30_000.0, "percentile": {"50.000000": 28_000, "99.000000": 90_000}},
        **fields,
    }


def _job(options=None, **fields):
    return {
        "jobname": "j",
        "groupid": 0,
        "error": 0,
        "job options": {
            "rw": "randread",
            "bs": "4k",
            "iodepth": "32",
            "direct": "1",
            "runtime": "100",
            **(options or {}),
        },
        "read": _direction(),
        "iodepth_level": {"1": 0.1, "32": 99.9},
        **fields,
    }


def _text(*jobs, **fields):
    return json.dumps({"fio version": "fio-3.36", "jobs": list(jobs), **fields})


def _only(text, **arguments):
    made = fio.parse_json(text, **arguments)
    return made.samples[0], made.warnings


# ---- framed output of the runner


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "rand-read-qd1",
            [
                ("disk_rand_read_iops", "fio_4k_qd1", 15000.0),
                ("disk_rand_read_p99_ns", "fio_4k_qd1", 94720),
            ],
        ),
        (
            "rand-read-qd32",
            [
                ("disk_rand_read_iops", "fio_4k_qd32", 67317.365269),
                ("disk_rand_read_p99_ns", "fio_4k_qd32", 651264),
            ],
        ),
        (
            "rand-write-qd32-jobs2",
            [
                ("disk_rand_write_iops", "fio_4k_qd32_jobs2", 113546.906188),
                ("disk_rand_write_p99_ns", "fio_4k_qd32_jobs2", 1089536),
            ],
        ),
        (
            "mixed-qd32",
            [
                ("disk_rand_read_iops", "fio_4k_qd32_mixed70", 51147.704591),
                ("disk_rand_read_p99_ns", "fio_4k_qd32_mixed70", 569344),
                ("disk_rand_write_iops", "fio_4k_qd32_mixed70", 22185.628743),
                ("disk_rand_write_p99_ns", "fio_4k_qd32_mixed70", 651264),
            ],
        ),
        ("seq-read-qd8", [("disk_read_bytes_per_s", "fio_1m_qd8", 1091922645)]),
    ],
)
def test_fio_gives_its_own_figures_when_the_run_is_recorded(recorded, name, expected):
    samples = fio.parse(recorded(f"fio-3.33-framed-{name}"))
    assert [(sample.metric, sample.variant, sample.value) for sample in samples] == expected
    assert {sample.flags for sample in samples} == {()}
    assert {sample.parameters["filesystem"] for sample in samples} == {"ext4"}


def test_fio_keeps_percentiles_and_conditions_of_a_recorded_output(recorded):
    sample, _ = fio.parse(recorded(FRAMED))
    assert sample.unit == "operations/s"
    assert sample.parameters["percentiles_ns"] == {
        "50": 452608,
        "90": 509952,
        "95": 536576,
        "99": 651264,
        "99.9": 4292608,
        "99.99": 5799936,
    }
    assert sample.parameters["engine"] == "libaio"
    assert sample.parameters["depth_reached"] == 32
    assert sample.parameters["runtime_s"] == 0.501
    assert sample.parameters["file_bytes"] == 64 * 1024**2
    assert sample.parameters["ram_bytes"] == 25275924480
    assert "bins" not in str(sample.parameters)


def test_fio_is_flagged_cached_when_the_file_system_is_in_memory(recorded):
    for sample in fio.parse(recorded("fio-3.33-framed-tmpfs")):
        assert sample.flags == ("cached",)


def test_fio_names_the_jobs_when_it_is_a_cell_of_the_matrix(recorded):
    sample, _ = fio.parse(recorded(FRAMED), prefix="matrix")
    assert sample.variant == "matrix_4k_qd32_jobs1"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("work", "randwrite"),
        ("block_bytes", "8192"),
        ("depth", "16"),
        ("jobs", "2"),
        ("engine", "psync"),
        ("direct", "no"),
        ("file_bytes", "many"),
        ("ram_bytes", "-1"),
    ],
)
def test_fio_is_refused_when_the_conditions_say_something_else(recorded, key, value):
    text = re.sub(rf"(?m)^{key} .*$", f"{key} {value}", recorded(FRAMED), count=1)
    with pytest.raises(ProbeError, match=key) as refused:
        fio.parse(text)
    assert refused.value.line


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("=== end fio rc=0", "=== end fio rc=1"), "fio ended with 1"),
        (("=== fio\n", "=== other\n"), "does not end|unexpected"),
        (("ramp_s 0\n", ""), "ramp_s missing"),
        (("=== fio\n", "=== failure unavailable: fio is not installed\n=== fio\n"), "unavailable"),
    ],
)
def test_fio_is_refused_when_the_frame_is_not_whole(recorded, change, message):
    with pytest.raises(ProbeError, match=message):
        fio.parse(recorded(FRAMED).replace(*change))


def test_fio_is_refused_when_a_framed_run_has_more_than_one_group(recorded):
    conditions = recorded(FRAMED).split("=== fio\n")[0]
    text = _text(_job(), _job(groupid=1))
    with pytest.raises(ProbeError, match="2 groups"):
        fio.parse(f"{conditions}=== fio\n{text}\n=== end fio rc=0\n")


def test_fio_is_refused_when_only_the_conditions_are_there(recorded):
    with pytest.raises(ProbeError, match="not the sections"):
        fio.parse(recorded(FRAMED).split("=== fio\n")[0])


# ---- bare JSON, as people keep it


@pytest.mark.parametrize(
    ("name", "variants"),
    [
        ("3.33-rand-read-qd1", ["fio_4k_qd1", "fio_4k_qd1"]),
        ("3.33-jobs4-grouped", ["fio_4k_qd8_jobs4", "fio_4k_qd8_jobs4"]),
        ("3.33-job-file", ["fio_4k_qd4", "fio_4k_qd4", "fio_4k_qd16", "fio_4k_qd16"]),
        ("3.39-synthetic", ["fio_4k_qd32", "fio_4k_qd32"]),
    ],
)
def test_fio_is_read_without_warnings_when_its_json_is_recorded(recorded, name, variants):
    made = fio.parse_json(recorded(f"fio-{name}"))
    assert made.version == f"fio-{name[:4]}"
    assert made.warnings == ()
    assert [sample.variant for sample in made.samples] == variants
    assert {sample.flags for sample in made.samples} == {()}


def test_fio_sums_ungrouped_jobs_and_leaves_percentiles_out(recorded):
    sample, warnings = _only(recorded("fio-3.33-jobs4"))
    # 11952.523738 + 12449.775112 + 12143.428286 + 12172.413793
    assert sample.value == pytest.approx(48718.140929)
    assert sample.variant == "fio_4k_qd8_jobs4"
    assert sample.parameters["percentiles_ns"] == {}
    assert warnings == ("jobs read: no percentiles, those of several jobs cannot be merged",)
    assert len(fio.parse_json(recorded("fio-3.33-jobs4")).samples) == 1


def test_fio_has_no_p99_when_clocks_were_left_out(recorded):
    made = fio.parse_json(recorded("fio-3.33-gtod-reduce"))
    assert [(sample.metric, sample.value) for sample in made.samples] == [
        ("disk_rand_read_iops", 39905.094905),
        ("disk_rand_write_iops", 40396.603397),
    ]
    assert made.warnings == (
        "reduce read: no latencies were measured",
        "reduce write: no latencies were measured",
    )
    assert made.samples[0].parameters["mean_ns"] is None
    assert made.samples[0].parameters["read_ratio"] == 0.5


def test_fio_stands_for_depth_one_when_its_engine_cannot_queue(recorded):
    made = fio.parse_json(recorded("fio-3.33-psync-depth32"))
    assert made.samples[0].variant == "fio_4k_qd1"
    assert made.samples[0].parameters["depth"] == 32
    assert made.samples[0].parameters["depth_reached"] == 1
    assert made.warnings[0].startswith("note: both iodepth >= 1 and synchronous I/O engine")
    assert made.warnings[1] == ("psync: depth 32 was asked for, most operations ran at depth 1")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("terminated", "terminating on signal"),
        ("no-space", r"error is 28 \(No space left on device\)"),
        ("ended-early", "runtime is 0.056 s of 30 s asked"),
    ],
)
def test_fio_is_refused_when_the_recorded_run_did_not_finish(recorded, name, message):
    with pytest.raises(ProbeError, match=message):
        fio.parse_json(recorded(f"fio-3.33-{name}"))


def test_fio_flags_the_depth_when_most_operations_ran_below_it():
    sample, warnings = _only(
        _text(_job(iodepth_level={"1": 20.0, "16": 60.0, ">=64": 20.0, "x": 1}))
    )
    assert (sample.variant, sample.flags) == ("fio_4k_qd32", ("depth_not_reached",))
    assert warnings == ("j: depth 32 was asked for, most operations ran at depth 16",)


def test_fio_has_no_depth_when_the_output_has_none():
    sample, warnings = _only(_text(_job(iodepth_level=None)))
    assert (sample.parameters["depth_reached"], warnings) == (None, ())


def test_fio_is_flagged_disturbed_when_another_job_ran_beside_it():
    made = fio.parse_json(_text(_job(), _job(jobname="other")))
    assert {sample.flags for sample in made.samples} == {("disturbed",)}
    assert made.warnings == (
        "j: another job ran at the same time",
        "other: another job ran at the same time",
    )


@pytest.mark.parametrize(
    ("options", "ram_bytes", "flags"),
    [
        ({"direct": "1"}, None, ()),
        ({"direct": "0", "buffered": "0"}, None, ()),
        ({"direct": "0", "size": "4g"}, None, ("cached",)),
        ({"direct": "0", "size": "4g"}, 2 * GIB, ()),
        ({"direct": "0", "size": "4g"}, 2 * GIB + 1, ("cached",)),
        ({"direct": "0", "size": "100%"}, 2 * GIB, ("cached",)),
        ({"direct": "0", "size": "8g", "filesize": "1g"}, 2 * GIB, ("cached",)),
        ({"direct": "0", "size": "1g", "fsync": "1"}, 2 * GIB, ("cached",)),
    ],
)
def test_fio_is_flagged_cached_when_memory_may_have_cached_the_file(options, ram_bytes, flags):
    sample, warnings = _only(_text(_job(options)), ram_bytes=ram_bytes)
    assert sample.flags == flags
    assert bool(warnings) == bool(flags)


def test_fio_is_not_flagged_cached_when_writes_are_flushed():
    job = _job({"rw": "write", "direct": "0", "fdatasync": "1"}, write=_direction())
    del job["read"]
    sample, warnings = _only(_text(job))
    assert (sample.metric, sample.flags, warnings) == ("disk_write_bytes_per_s", (), ())


@pytest.mark.parametrize(
    ("options", "variant"),
    [
        ({"bs": "64k"}, "fio_64k_qd32"),
        ({"bs": "1m"}, "fio_1m_qd32"),
        ({"bs": "1024KB"}, "fio_1m_qd32"),
        ({"bs": "512"}, "fio_512_qd32"),
        ({"bs": "4ki"}, "fio_4000_qd32"),
        ({"bs": "8k,8k"}, "fio_8k_qd32"),
        ({"iodepth": "128"}, "fio_4k_qd128"),
        ({"numjobs": "4"}, "fio_4k_qd32_jobs4"),
    ],
)
def test_fio_names_block_and_depth_in_every_spelling(options, variant):
    unit = fio_setup.size_bytes(options.get("bs", "4k").split(",")[0])
    assert unit
    job = _job(options, read=_direction(io_bytes=100_000 * unit), iodepth_level=None)
    assert _only(_text(job))[0].variant == variant


def test_fio_takes_defaults_for_missing_options():
    job = _job(read=_direction())
    job["job options"] = {"name": "j"}
    sample, _ = _only(_text(job, **{"global options": {"rwmixwrite": "30", "rw": "randread"}}))
    assert (sample.variant, sample.parameters["engine"]) == ("fio_4k_qd1", "psync")
    assert sample.flags == ("cached", "depth_not_reached")


def test_fio_counts_the_share_of_reads_when_that_of_writes_is_given():
    job = _job({"rw": "rw", "rwmixwrite": "30"}, write=_direction())
    made = fio.parse_json(_text(job))
    assert [(sample.metric, sample.variant) for sample in made.samples] == [
        ("disk_read_bytes_per_s", "fio_4k_qd32_mixed70"),
        ("disk_write_bytes_per_s", "fio_4k_qd32_mixed70"),
    ]
    assert made.samples[0].value == 4_096_000


def test_fio_takes_the_whole_latency_when_completion_was_not_timed():
    whole = {"mean": 31_000.0, "percentile": {"50.000000": 0, "99.000000": 95_000, "p": 1}}
    read = _direction(clat_ns={"mean": 0.0}, lat_ns=whole)
    iops, p99 = fio.parse_json(_text(_job(read=read))).samples
    assert iops.parameters["mean_ns"] == 31_000
    assert iops.parameters["percentiles_ns"] == {"99": 95_000}
    assert p99.value == 95_000


def test_fio_has_no_p99_when_there_are_too_few_operations():
    few = _direction(total_ios=99, io_bytes=99 * 4096, iops=0.99)
    made = fio.parse_json(_text(_job(read=few)))
    assert [sample.metric for sample in made.samples] == ["disk_rand_read_iops"]
    assert made.warnings == ("j read: 99 operations are too few for a percentile",)


def test_fio_warns_when_the_rate_is_not_that_of_its_operations():
    _, warnings = _only(_text(_job(read=_direction(iops=1100.0))))
    assert warnings == ("j read: iops is 1100, the operations make 1000",)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        (_job(error=5), r"jobs\[0\]: error is 5 "),
        (_job(error=99999), r"error is 99999 \(line"),
        (_job(error="0"), "error is '0', not a whole number"),
        (_job(total_err=3), "total_err is 3"),
        (_job(groupid=-1), "groupid"),
        (_job(jobname=None), "jobname"),
        (_job(jobname="a\0b"), "jobname contains a NUL"),
        (_job(read=_direction(short_ios=1)), r"jobs\[0\].read: short_ios is 1"),
        (_job(read=_direction(drop_ios=2)), "drop_ios is 2"),
        (_job(read=_direction(total_ios=0)), "total_ios is 0"),
        (_job(read=_direction(runtime=0)), "runtime"),
        (_job(read=_direction(runtime=94_999)), "runtime is 94.999 s of 100 s asked"),
        (_job(read=_direction(iops=0.0)), "iops is 0"),
        (_job(read=_direction(iops=-1.0)), "iops is negative"),
        (_job(read=_direction(iops=1e999)), "too large|not JSON"),
        (_job(read=_direction(bw_bytes=True)), "bw_bytes"),
        (_job(read=_direction(io_bytes=309_600_000)), "io_bytes is not total_ios times 4096"),
        (_job(read=None), "read is missing"),
        (_job(write=_direction()), "writes in a job of randread"),
        (_job({"rw": "randtrim"}), "rw 'randtrim' is not a plain pattern"),
        (_job({"rw": "randread:8"}), "not a plain pattern"),
        (_job({"rw": 1}), "rw is 1, not a text"),
        (_job({"bs": "4k,8k"}), "bs is not one block size"),
        (_job({"bs": "0"}), "bs is not one block size"),
        (_job({"bs": "x"}), "bs is not one block size"),
        (_job({"bssplit": "4k/50:8k/50"}), "bs is not one block size"),
        (_job({"iodepth": "0"}), "iodepth '0' is not a number from 1 to 65536"),
        (_job({"iodepth": "1e3"}), "iodepth"),
        (_job({"rwmixread": "101"}), "rwmixread"),
        (_job({"runtime": "a while"}), "runtime 'a while' is not a time"),
        (_job({"numjobs": "3"}) | {"read": None}, "read is missing"),
        ({**_job(), "job options": None}, "job options is missing"),
    ],
)
def test_fio_is_refused_naming_the_field_when_a_job_is_not_as_it_must_be(job, message):
    with pytest.raises(ProbeError, match=message) as refused:
        fio.parse_json(_text(job))
    assert refused.value.line == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (_text(), "jobs is empty"),
        (_text(jobs="none"), "jobs is missing, or no list"),
        (_text(jobs=[1]), r"jobs\[0\] is missing, or no object"),
        (_text(_job(), _job(), _job({"numjobs": "4"})), "the jobs named 'j' differ"),
        (_text(_job({"numjobs": "3"}), _job({"numjobs": "3"})), "2 of 3 jobs are listed"),
        (_text(_job(), client_stats=[]), "client and server"),
        (_text(_job(), **{"fio version": "fio-2.2.10"}), "is not fio 3: other versions use other"),
        (_text(_job(), **{"fio version": "Fiona 1.9"}), "is not fio 3"),
        (_text(_job(), **{"fio version": None}), "fio version"),
    ],
)
def test_fio_is_refused_when_the_document_is_of_another_kind(text, message):
    with pytest.raises(ProbeError, match=message):
        fio.parse_json(text)


# ---- damaged text


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "empty"),
        ("fio: command not found\n", 1, "no line begins"),
        ("note\n{\n", 3, "not JSON"),
        ('note\nnote\n{"a": 1, "a": 2}\n', 3, "the key 'a' occurs twice"),
        ('{"a": NaN}', 1, "NaN is no number"),
        ('{"a": -Infinity}', 1, "-Infinity is no number"),
        ('{"iops": 99,5}', 1, "not JSON"),
        ('{"a": "\x01"}', 1, "not JSON"),
        ('{"a": \0}', 1, "NUL"),
        ("{}\n\n{}\n", 3, "a second JSON follows the first"),
        ("{" + '"a":[' * 100_000, 1, "not JSON"),
        ('{"a": ' + "9" * 5000 + "}", 1, "not JSON"),
        ("\x89PNG\r\n\x1a\n" + "\ufffd" * 50, 1, "no line begins"),
        ("{" * (MAX_CHARACTERS + 1), 1, "too many"),
    ],
)
def test_fio_is_refused_with_the_line_when_the_text_is_damaged(text, line, message):
    with pytest.raises(ProbeError, match=message) as refused:
        fio.parse_json(text)
    assert refused.value.line == line


def test_fio_is_refused_with_a_line_when_it_is_cut_off_anywhere(recorded):
    bare, framed = recorded("fio-3.39-synthetic").rstrip(), recorded(FRAMED)
    for parser, text in ((fio.parse_json, bare), (fio.parse, framed)):
        for end in range(0, len(text), 50):
            with pytest.raises(ProbeError) as refused:
                parser(text[:end])
            assert refused.value.line


def test_fio_keeps_few_and_printable_notes_when_there_are_many():
    text = "\n".join(
        [*(f"note {number}\x1b[1m" + "x" * 400 for number in range(50)), _text(_job())]
    )
    warnings = fio.parse_json(text).warnings
    assert len(warnings) == 20
    assert warnings[0].startswith("note 0?[1mxxx")
    assert max(map(len, warnings)) == 200


@pytest.mark.parametrize(
    ("text", "bytes_"),
    [
        ("4096", 4096),
        ("4k", 4096),
        ("1M", 1024**2),
        ("2g", 2 * GIB),
        ("4KB", 4096),
        ("4KiB", 4000),
        ("50%", None),
        ("", None),
        ("-1", None),
    ],
)
def test_fio_sizes_are_read_as_fio_reads_them(text, bytes_):
    assert fio_setup.size_bytes(text) == bytes_


@pytest.mark.parametrize(("size", "bytes_"), [("4k", 4000), ("4ki", 4096), ("1M", 10**6)])
def test_fio_sizes_are_decimal_where_the_job_says_so(size, bytes_):
    root = fio.read_document("fio", json.dumps({"bs": size, "kb_base": "1000"})).root
    assert fio_setup.setup(root).block_bytes == bytes_


@pytest.mark.parametrize(
    "option", [{"rate_iops": "100"}, {"rate": "10m,10m"}, {"thinktime": "1000"}]
)
def test_fio_rate_under_a_limit_is_a_bound(option):
    rate, latency = fio.parse_json(_text(_job(option))).samples
    assert (rate.metric, rate.flags) == ("disk_rand_read_iops", ("lower_bound",))
    # 90 µs at a slow pace are 90 µs.
    assert (latency.value, latency.flags) == (90_000, ())
    made = fio.parse_json(_text(_job(option)))
    ((name, value),) = option.items()
    assert f"{name} {value} held the job back" in made.warnings[0]


@pytest.mark.parametrize("option", [{"rate_iops": "0"}, {"thinktime": "0"}, {"rate": "0,0"}])
def test_fio_limit_of_nothing_is_none(option):
    assert [sample.flags for sample in fio.parse_json(_text(_job(option))).samples] == [(), ()]


def test_fio_option_that_was_given_twice_counts_as_the_last():
    text = _text(_job()).replace('"iodepth": "32"', '"iodepth": "1", "iodepth": "32"')
    assert fio.parse_json(text).samples[0].variant == "fio_4k_qd32"


def test_fio_3_1_without_bytes_a_second_is_read_by_its_bytes_and_time():
    # 409,600,000 bytes in 100 s.
    read = _direction()
    del read["bw_bytes"]
    made, _ = _only(_text(_job({"rw": "read"}, read=read)))
    assert (made.metric, made.value) == ("disk_read_bytes_per_s", 4_096_000)


@pytest.mark.parametrize(("attained", "is_whole"), [(1, True), (0, False)])
def test_fio_may_end_early_where_a_steady_state_was_reached(attained, is_whole):
    read = _direction(runtime=50_000, total_ios=50_000, io_bytes=204_800_000)
    text = _text(_job(read=read, steadystate={"attained": attained}))
    if is_whole:
        assert _only(text)[0].value == 1000
        return
    with pytest.raises(
        ProbeError, match="50 s of 100 s asked: it ended early; run it with --time_"
    ):
        fio.parse_json(text)


@pytest.mark.parametrize(
    ("runtime", "seconds"),
    [
        ("30", 30),
        ("30s", 30),
        ("1500ms", 1.5),
        ("2m", 120),
        ("1h", 3600),
        ("0", None),
        ("2M", 120),
        ("500msec", 0.5),
        ("00:01:30", 90),
        ("1:30", 90),
        ("00:00:00", None),
    ],
)
def test_fio_times_are_read_with_their_unit(runtime, seconds):
    root = fio.read_document("fio", json.dumps({"runtime": runtime})).root
    assert fio_setup.setup(root).runtime_s == seconds
