"""CSV lines of bonnie++."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import bonnie

GIB = 1024**3
SEED = "ssd,44G,,,181336,30,106424,29,,,251624,26,6479.9,24,,,,,,,,,,,,,"


def by_metric(samples):
    return {sample.metric: sample for sample in samples}


def test_bonnie_reads_a_line_of_1_03_by_position(recorded):
    samples = by_metric(bonnie.parse(recorded("bonnie-1.03"), ram_bytes=22 * GIB))
    write = samples["disk_write_bytes_per_s"]
    # 181,336 KiB/s × 1,024 = 185,688,064 B/s; the text beside the line calls it 181 MB/s.
    assert (write.value, write.variant, write.unit) == (185_688_064, "bonnie", "bytes/s")
    assert samples["disk_read_bytes_per_s"].value == 251_624 * 1024
    assert samples["disk_seeks_per_s"].value == 6479.9
    assert samples["disk_seeks_per_s"].variant == "standard"
    assert write.parameters["cpu_percent"] == 30
    assert write.parameters["file_bytes"] == 44 * GIB
    assert write.parameters["rewrite_bytes_per_s"] == 106_424 * 1024
    assert "sequential_create_per_s" not in write.parameters


@pytest.mark.parametrize(
    ("ram_gib", "flags"), [(22, ()), (72, ("cached",)), (23, ("cached",)), (None, ("cached",))]
)
def test_bonnie_is_flagged_when_the_file_is_below_twice_the_memory(ram_gib, flags):
    # 44 GB were written because 22 GB were thought to be twice; the machine had 72.
    ram_bytes = None if ram_gib is None else ram_gib * GIB
    for sample in bonnie.parse(SEED, ram_bytes=ram_bytes):
        assert sample.flags == flags


def test_bonnie_keeps_no_sample_of_a_test_that_was_too_fast(recorded):
    samples = by_metric(bonnie.parse(recorded("bonnie-2.00a"), ram_bytes=GIB // 2))
    assert set(samples) == {"disk_write_bytes_per_s", "disk_seeks_per_s"}
    write = samples["disk_write_bytes_per_s"]
    assert write.value == 289_522 * 1024
    assert write.flags == ()
    assert write.parameters["latency_max_ns"] == 8_069_000
    assert write.parameters["sequential_create_per_s"] == 6535
    assert "get_block" in write.parameters["too_fast"]


def test_bonnie_of_1_97_has_no_fields_of_the_seeks(recorded):
    newer = by_metric(bonnie.parse(recorded("bonnie-2.00a")))
    older = by_metric(bonnie.parse(recorded("bonnie-1.97-synthetic")))
    assert {key: sample.value for key, sample in older.items()} == {
        key: sample.value for key, sample in newer.items()
    }
    assert older["disk_seeks_per_s"].parameters["bonnie"] == "1.97"


def test_bonnie_keeps_what_was_made_when_a_test_was_left_out():
    (write, _, _) = bonnie.parse(SEED.replace("106424,29", ","))
    assert "rewrite_bytes_per_s" not in write.parameters
    assert len(bonnie.parse(SEED.replace("251624,26", ","))) == 2


@pytest.mark.parametrize("name", ["bonnie-2.00a-too-fast", "bonnie-2.00a-report"])
def test_bonnie_is_refused_when_no_test_took_long_enough(recorded, name):
    with pytest.raises(ProbeError, match="long enough"):
        bonnie.parse(recorded(name))


def test_bonnie_passes_over_headers_and_the_report_for_people():
    text = f"Version 1.03 ------\nname,file_size,putc,putc_cpu,put_block\n{SEED}\n{SEED}\n"
    assert len(bonnie.lines(text)) == 2
    assert len(bonnie.parse(text)) == 6


@pytest.mark.parametrize(
    ("size", "file_bytes"),
    [("300M", 300 * 1024**2), ("1024", GIB), ("1g:32k", GIB), ("64K", 65536), ("", None)],
)
def test_bonnie_size_is_bytes_whatever_its_unit(size, file_bytes):
    (line,) = bonnie.lines(SEED.replace("44G", size))
    assert line.file_bytes == file_bytes


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        (SEED, "nothing of it", "no CSV line"),
        (",,,,,,,,,,,,,", ",,,,", "18 fields instead of 27"),
        ("181336", "18x336", "put_block is '18x336'"),
        ("181336", "0", "put_block is '0'"),
        ("181336", "9999999999999", "put_block"),
        ("181336,30", "181336,3x", "CPU share of put_block"),
        ("44G", "44X", "size is '44X'"),
        ("44G", "0G", "size is '0G'"),
    ],
)
def test_bonnie_is_refused_with_its_line_when_a_field_is_invalid(old, new, detail):
    text = f"\n{SEED}\n"
    assert old in text
    with pytest.raises(ProbeError, match=detail) as refused:
        bonnie.lines(text.replace(old, new))
    assert refused.value.line == (1 if old == SEED else 2)


def test_bonnie_is_refused_when_its_form_is_unknown_or_cut_off(recorded):
    line = recorded("bonnie-2.00a")
    with pytest.raises(ProbeError, match=r"form 1\.99"):
        bonnie.lines(line.replace("1.98,", "1.99,"))
    with pytest.raises(ProbeError, match="49 fields instead of 50"):
        bonnie.lines(line[: line.rindex(",")])
    with pytest.raises(ProbeError, match="latency of random_delete"):
        bonnie.lines(line.strip()[:-2])
