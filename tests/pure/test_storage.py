"""Arrays, ZFS's allocation and presets, against hand-worked sums and published measurements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.calculators.calc.arrays import LEVELS, estimate
from backend.calculators.calc.presets import AGGREGATIONS, EFFICIENCIES, PRESETS
from backend.calculators.calc.zfs import (
    PoolRules,
    draid_allocation,
    ext4_available_bytes,
    group_bytes,
    raidz_allocation,
    slop_bytes,
)
from tests.pure.storage_documents import DISK, MB, TB, array_of, faults, segment

KIB = 2**10
GIB = 2**30
TIB = 2**40


@pytest.mark.parametrize(
    ("record", "disks", "parity", "ashift", "sectors"),
    [
        # (data, parity, padding) in sectors: data = record / sector, parity for each row of
        # disks − parity of them, all rounded up to a multiple of parity + 1
        (128 * KIB, 6, 2, 12, (32, 16, 0)),  # 8 rows of 4: 32 + 8 · 2 = 48 = 16 · 3
        (128 * KIB, 7, 2, 12, (32, 14, 2)),  # 7 rows of 5: 32 + 7 · 2 = 46 → 48
        (128 * KIB, 24, 3, 12, (32, 6, 2)),  # 2 rows of 21: 32 + 2 · 3 = 38 → 40
        (128 * KIB, 24, 3, 9, (256, 39, 1)),  # 13 rows of 21: 256 + 39 = 295 → 296
        (8 * KIB, 3, 1, 12, (2, 1, 1)),  # 1 row: 2 + 1 = 3 → 4: half, not two thirds
        (8 * KIB, 5, 1, 12, (2, 1, 1)),  # wider does not help: half, not four fifths
        (4 * KIB, 6, 2, 12, (1, 2, 0)),  # one sector is a mirror of three
        (8 * KIB, 6, 2, 12, (2, 2, 2)),  # 2 + 2 = 4 → 6
    ],
)
def test_raidz_takes_parity_for_each_row_and_rounds_up(record, disks, parity, ashift, sectors):
    found = raidz_allocation(record, disks, parity, ashift)
    size = 2**ashift
    assert (found.data_bytes, found.parity_bytes, found.padding_bytes) == tuple(
        count * size for count in sectors
    )
    assert found.allocated_bytes == sum(sectors) * size


def test_record_below_a_sector_wastes_the_rest_of_it():
    found = raidz_allocation(512, 3, 1, 12)
    # one sector and its parity: 8,192 bytes for 512
    assert (found.data_bytes, found.parity_bytes, found.padding_bytes) == (512, 4096, 3584)
    assert found.data_ratio == 1 / 16


@pytest.mark.parametrize(
    ("record", "data_disks", "parity", "sectors"),
    [
        (128 * KIB, 8, 2, (32, 8, 0)),  # 4 rows of 8 + 2
        (128 * KIB, 5, 2, (32, 14, 3)),  # 7 rows of 5 + 2 = 49
        (4 * KIB, 8, 2, (1, 2, 7)),  # one whole row for a single sector
    ],
)
def test_draid_fills_its_last_row_with_padding(record, data_disks, parity, sectors):
    found = draid_allocation(record, data_disks, parity, 12)
    assert (found.data_bytes, found.parity_bytes, found.padding_bytes) == tuple(
        count * 4096 for count in sectors
    )


@pytest.mark.parametrize(("ashift", "tib"), [(12, 68.4), (9, 73.9)])
def test_pool_of_24_disks_offers_what_zfs_reported(ashift, tib):
    # 24 × 4,000,787,030,016 B in RAIDZ3: 174 metaslabs of 512 GiB = 95,657,…; ashift 12 keeps
    # 409/512 of it (128 of 160 KiB), ashift 9 442/512 (128 of 148 KiB); 1/64 was reserved in 2013
    array = array_of("raidz3", 24, dict(DISK, bytes=4_000_787_030_016), ashift=ashift, zfs="2013")
    reported = estimate(array).capacity.reported_bytes
    assert round(reported / TIB, 1) == tib


@pytest.mark.parametrize(
    ("disks", "data_disks", "disk_tb", "tib"),
    [
        # 57 × 10 TB in metaslabs of 4 TiB = 516 TiB; 431/512 of it (128 of 152 KiB), less 1/32
        (58, 16, 10, 421),
        (56, 8, 10, 352),  # 55 × 10 TB: 500 TiB · 372/512 (128 of 176 KiB) · 31/32
        (58, 16, 14, 590),  # 57 × 14 TB: 724 TiB
    ],
)
def test_draid_of_2019_offers_what_zfs_reported(disks, data_disks, disk_tb, tib):
    def reported_bytes(zfs):
        disk = dict(DISK, bytes=disk_tb * TB)
        array = array_of("draid3", disks, disk, spares=1, data_disks=data_disks, zfs=zfs)
        return estimate(array).capacity.reported_bytes

    reported = reported_bytes("2019")
    assert round(reported / TIB) == tib
    # Since 2.1 a pool of this size keeps 128 GiB instead of a 32nd.
    assert reported_bytes("current") > 1.03 * reported


def test_ext4_leaves_what_df_reported_of_a_volume():
    # 54,854 GiB = 58.9 TB = 53.57 TiB; 256 B for each 64 KiB and 5 % for root: 50.7, df says 51
    volume = 54_854 * GIB
    assert (round(volume / TB, 1), round(volume / TIB)) == (58.9, 54)
    assert round(ext4_available_bytes(volume) / TIB) == 51


@pytest.mark.parametrize(("size", "inode_share"), [(TIB, 64), (4 * TIB, 128), (16 * TIB, 256)])
def test_ext4_has_fewer_inodes_on_larger_volumes(size, inode_share):
    assert ext4_available_bytes(size) == size - size // inode_share - size // 20


def test_pool_of_one_disk_has_the_size_zfs_reported():
    # 1000 GiB: a metaslab is 8 GiB (1000 / 200 = 5, rounded up), and labels cost the last of 125
    assert group_bytes(1, 1_073_741_824_000, PoolRules()) == 1_065_151_889_408


@pytest.mark.parametrize(
    ("size", "metaslab"),
    [
        (4 * GIB, 2**28),  # below 16 of 512 MiB: the next power above a sixteenth
        (64 * GIB, 2**29),  # 16 to 200 of them: 512 MiB
        (20 * TIB, 2**34),  # above 200: at most 16 GiB
    ],
)
def test_metaslabs_grow_with_the_group(size, metaslab):
    assert group_bytes(1, size, PoolRules()) == size - metaslab


def test_slop_is_a_part_within_bounds():
    assert slop_bytes(320 * GIB, PoolRules()) == 10 * GIB  # 1/32
    assert slop_bytes(100 * TIB, PoolRules()) == 128 * GIB
    assert slop_bytes(2 * GIB, PoolRules()) == 128 * 2**20
    assert slop_bytes(200 * 2**20, PoolRules()) == 100 * 2**20  # never more than half


@pytest.mark.parametrize(
    ("array", "usable_disks", "survived"),
    [
        (array_of("raid0", 4), 4, 0),
        (array_of("raid1", 3), 1, 2),
        (array_of("raid1", 6, groups=2), 2, 2),
        (array_of("raid10", 8), 4, 1),
        (array_of("raid5", 5), 4, 1),
        (array_of("raid5", 6, spares=1), 4, 1),
        (array_of("raid6", 12, groups=2), 8, 2),
    ],
)
def test_raid_holds_whole_disks(array, usable_disks, survived):
    found = estimate(array)
    capacity = found.capacity
    assert capacity.usable_bytes == usable_disks * 4 * TB
    assert capacity.redundancy_bytes == (array.disks - array.spares - usable_disks) * 4 * TB
    assert capacity.spare_bytes == array.spares * 4 * TB
    assert (capacity.padding_bytes, capacity.reserved_bytes, capacity.reported_bytes) == (
        0,
        0,
        None,
    )
    assert found.survived_failures == survived


def test_raidz_capacity_depends_on_the_record():
    # 6 disks of 4 TB less slop and metaslabs: 128 KiB keep 2/3, 8 KiB volume blocks 1/3
    wide = estimate(array_of("raidz2", 6)).capacity
    narrow = estimate(array_of("raidz2", 6, record_bytes=8 * KIB)).capacity
    assert wide.usable_bytes == pytest.approx(2 * narrow.usable_bytes, abs=4)
    assert wide.reported_bytes == narrow.reported_bytes
    assert 0.98 < wide.usable_bytes / (16 * TB) < 1  # 128 GiB of slop, 16 GiB of rest
    assert (wide.padding_bytes, narrow.padding_bytes) == (0, narrow.usable_bytes)


def test_draid_gives_its_spares_away_before_it_divides():
    # draid2:8d:23c:2s: 21 disks of data and parity, 8 of 10 of each row are data
    array = array_of("draid2", 23, spares=2, data_disks=8)
    found = estimate(array)
    assert found.capacity.spare_bytes == 8 * TB
    assert 0.99 < found.capacity.usable_bytes / (21 * 0.8 * 4 * TB) < 1
    assert found.survived_failures == 2
    assert found.throughput.read_bytes_per_s == pytest.approx(21 * 160 * MB * 0.8)
    assert (found.throughput.read_iops, found.throughput.write_iops) == (200, 200)  # ⌊21 / 10⌋


@pytest.mark.parametrize(
    ("array", "read_disks", "write_disks"),
    [
        (array_of("raid0", 16), 16, 16),
        (array_of("raid1", 3), 3, 1),
        (array_of("raid10", 8), 8, 4),
        (array_of("raid5", 5), 4, 4),
        (array_of("raid6", 12, groups=2), 8, 8),
        (array_of("raidz2", 6), 4, 4),  # 32 of 48 sectors · 6
        (array_of("raidz3", 24), 19.2, 19.2),  # 32 of 40 · 24
        (array_of("raidz1", 3, record_bytes=8 * KIB), 1.5, 1.5),  # 2 of 4 · 3
    ],
)
def test_streams_run_at_the_speed_of_the_data_disks(array, read_disks, write_disks):
    found = estimate(array).throughput
    assert found.read_bytes_per_s == pytest.approx(read_disks * 160 * MB)
    assert found.write_bytes_per_s == pytest.approx(write_disks * 160 * MB)


@pytest.mark.parametrize(
    ("array", "read_iops", "write_iops"),
    [
        (array_of("raid0", 4), 400, 400),
        (array_of("raid1", 2), 200, 100),
        (array_of("raid10", 8), 800, 400),
        (array_of("raid5", 8), 800, 200),  # two reads, two writes each: 8 · 100 / 4
        (array_of("raid6", 12, groups=2), 1200, 200),  # three of each: 12 · 100 / 6
        (array_of("raidz2", 12, groups=2), 200, 200),  # one disk for each group
        (array_of("raidz2", 6, record_bytes=8 * KIB), 300, 100),  # 2 of 6; 4 of 6
        (array_of("raidz2", 6, record_bytes=4 * KIB), 600, 200),  # 1 of 6; 3 of 6
    ],
)
def test_random_work_takes_the_disks_that_hold_a_record(array, read_iops, write_iops):
    found = estimate(array).throughput
    assert found.read_iops == read_iops
    assert found.write_iops == pytest.approx(write_iops)


@pytest.mark.parametrize(
    ("disk", "level", "known"),
    [
        (dict(DISK, read_iops=None, write_iops=None), "raid0", (False, False)),
        (dict(DISK, read_iops=None), "raid0", (False, True)),
        (dict(DISK, read_iops=None), "raid5", (False, False)),
        (dict(DISK, write_iops=None), "raid5", (True, False)),
    ],
)
def test_unknown_operations_stay_unknown(disk, level, known):
    found = estimate(array_of(level, 4, disk)).throughput
    assert (found.read_iops is not None, found.write_iops is not None) == known


def test_controller_holds_fast_disks_back():
    # 15 disks · 265 MB/s = 3,975 MB/s: below the 6,000 of a controller, the disks are the limit
    outer = dict(DISK, read_bytes_per_s=265 * MB, write_bytes_per_s=265 * MB)
    array = array_of("raid0", 15, outer, controller_bytes_per_s=6_000 * MB)
    assert estimate(array).throughput.read_bytes_per_s == 3_975 * MB
    limited = array_of("raid0", 15, outer, controller_bytes_per_s=3_000 * MB)
    held = estimate(limited).throughput
    assert (held.read_bytes_per_s, held.write_bytes_per_s) == (3_000 * MB, 3_000 * MB)
    # both copies pass it
    pairs = array_of("raid10", 16, outer, controller_bytes_per_s=3_000 * MB)
    assert estimate(pairs).throughput.write_bytes_per_s == 1_500 * MB


@pytest.mark.parametrize(
    ("array", "used_ratio", "rebuild_s"),
    [
        (array_of("raid0", 4), 0.5, None),
        (array_of("raid5", 4), 0.5, 25_000),  # 4 TB / 160 MB/s, whatever is in use
        (array_of("raidz1", 4), 0.5, 12_500),
        (array_of("draid1", 31, data_disks=4), 0.5, 12_500),  # no spare: one new disk
        # 4 TB · .5 · 30/31 lost; each byte is 4 reads and a write, on 30 disks of 160 MB/s
        (array_of("draid1", 31, spares=1, data_disks=4), 0.5, 2016.13),
        # the same 5 · 1.935 TB through 1 GB/s
        (
            array_of("draid1", 31, spares=1, data_disks=4, controller_bytes_per_s=1000 * MB),
            0.5,
            9677.42,
        ),
    ],
)
def test_rebuild_takes_at_least_the_time_of_its_bytes(array, used_ratio, rebuild_s):
    found = estimate(array.model_copy(update={"used_ratio": used_ratio})).rebuild_s
    assert found == (rebuild_s if rebuild_s is None else pytest.approx(rebuild_s, abs=0.01))


def test_measured_sets_are_given_as_a_share_of_their_parts():
    expected = estimate(array_of("raid0", 16)).throughput.read_bytes_per_s
    assert expected == 2560 * MB
    # 1,048,576,000,000 B in 453.155 s = 2.314 GB/s
    measured = 1_048_576_000_000 / 453.155
    assert round(measured / 1e9, 3) == 2.314
    assert round(measured / expected, 3) == 0.904
    assert round(EFFICIENCIES["disk_set"].ratio, 3) == 0.904
    # RAIDZ3 of 24, ashift 12: 104,857,600,000 B written in 66.4922 s and read in 42.0371 s, of
    # 24 · 160 · .8 = 3,072 MB/s
    pool = estimate(array_of("raidz3", 24)).throughput
    assert round(104_857_600_000 / 66.4922 / pool.write_bytes_per_s, 3) == 0.513
    assert round(104_857_600_000 / 42.0371 / pool.read_bytes_per_s, 3) == 0.812


def test_presets_carry_the_printed_speeds():
    speeds = {name: preset.bytes_per_s / MB for name, preset in PRESETS.items()}
    assert (speeds["sata"], speeds["ssd"], speeds["raid5_ssd"]) == (50, 550, 900)
    assert (speeds["gigabit"], speeds["gigabit_usable"]) == (125, 100)
    assert [speeds[f"{n}_gigabit"] for n in (10, 20, 25, 40, 100)] == [
        1250, 2500, 3125, 5000, 12500,
    ]  # fmt: skip
    assert (speeds["nvme"], speeds["sas_15k"]) == (6400, 2 * speeds["sata"])
    # 45,000 writes of 4 KiB
    assert (PRESETS["log_ssd"].write_iops, speeds["log_ssd"]) == (45_000, 184.32)
    assert all(preset.source and preset.kind in ("disk", "link") for preset in PRESETS.values())
    assert round(EFFICIENCIES["gigabit"].ratio, 9) == 0.8
    assert round(EFFICIENCIES["shared_10_gigabit"].ratio, 9) == 0.6


@pytest.mark.parametrize(
    ("count", "way", "total", "single"),
    [
        (4, "multipath", 350, 350),  # measured: 350 of 4 · 125
        (4, "multipath_default", 125, 125),
        (2, "bond", 250, 125),
        (1, "multipath", 125, 125),
    ],
)
def test_links_together_give_less_than_their_sum(count, way, total, single):
    found = segment(PRESETS["gigabit"].bytes_per_s, count, way)
    assert found.total_bytes_per_s == pytest.approx(total * MB)
    assert found.single_flow_bytes_per_s == pytest.approx(single * MB)
    assert AGGREGATIONS[way].source


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: segment(1, 1, "lacp"), "/aggregation"),
        (lambda: segment(0, 1, "bond"), "/capacity_bytes_per_s"),
        (lambda: segment(1, 0, "bond"), "/count"),
        (lambda: array_of("raid0", 1, used_ratio=float("nan")), "/used_ratio"),
    ],
)
def test_bad_argument_is_refused_by_name(call, field):
    assert list(faults(call)) == [field]


@pytest.mark.parametrize(
    ("level", "change", "field"),
    [
        ("raid7", {}, "/level"),
        ("raid5", {"disk": dict(DISK, bytes=1)}, "/disk/bytes"),
        ("raid5", {"disk": dict(DISK, read_bytes_per_s=0)}, "/disk/read_bytes_per_s"),
        ("raid5", {"disk": dict(DISK, write_bytes_per_s=-1)}, "/disk/write_bytes_per_s"),
        ("raid5", {"disk": dict(DISK, read_iops=0)}, "/disk/read_iops"),
        ("raid5", {"disk": dict(DISK, write_iops=float("nan"))}, "/disk/write_iops"),
        ("raid5", {"disks": 2}, "/disks"),
        ("raid5", {"groups": 0}, "/groups"),
        ("raid5", {"groups": 5}, "/disks"),
        ("raid5", {"spares": 12}, "/spares"),
        ("raid5", {"spares": 10}, "/disks"),
        ("raid0", {"spares": 1}, "/spares"),
        ("raid10", {"groups": 2}, "/groups"),
        ("raid10", {"spares": 1}, "/disks"),
        ("draid1", {"groups": 2}, "/groups"),
        ("draid1", {"disks": 256}, "/disks"),
        ("draid1", {"data_disks": 12}, "/data_disks"),
        ("raidz1", {"ashift": 8}, "/ashift"),
        ("raidz1", {"record_bytes": 100}, "/record_bytes"),
        ("raidz1", {"record_bytes": 3000}, "/record_bytes"),
        ("raidz1", {"controller_bytes_per_s": 0}, "/controller_bytes_per_s"),
    ],
)
def test_impossible_array_is_refused_by_pointer(level, change, field):
    assert list(faults(array_of, **{"level": level, "disks": 12, "disk": DISK} | change)) == [field]


@st.composite
def arrays(draw):
    level = draw(st.sampled_from(sorted(LEVELS)))
    rule = LEVELS[level]
    is_single = level in ("raid0", "raid10") or rule.family == "draid"
    groups = 1 if is_single else draw(st.integers(1, 4))
    width = draw(st.integers(rule.min_disks, 20)) * (2 if level == "raid10" else 1)
    spares = 0 if level == "raid0" else draw(st.integers(0, 3))
    return array_of(
        level,
        groups * width + spares,
        dict(DISK, bytes=draw(st.integers(10**9, 30 * TB))),
        groups=groups,
        spares=spares,
        data_disks=draw(st.integers(1, max(1, width - rule.parity))),
        record_bytes=2 ** draw(st.integers(9, 24)),
        ashift=draw(st.integers(9, 16)),
    )


@given(arrays())
def test_every_raw_byte_is_accounted_for_once(array):
    capacity = estimate(array).capacity
    parts = (
        capacity.usable_bytes, capacity.redundancy_bytes, capacity.padding_bytes,
        capacity.spare_bytes, capacity.reserved_bytes,
    )  # fmt: skip
    assert sum(parts) == capacity.raw_bytes == array.disks * array.disk.bytes
    assert min(parts) >= 0
    assert 0 < capacity.usable_bytes <= capacity.raw_bytes


@given(arrays(), st.floats(0, 1))
def test_array_is_never_faster_than_its_disks_nor_rebuilt_slower_than_one(array, used_ratio):
    found = estimate(array.model_copy(update={"used_ratio": used_ratio}))
    most = array.disks * 160 * MB * (1 + 1e-12)
    assert 0 < found.throughput.write_bytes_per_s <= found.throughput.read_bytes_per_s <= most
    assert 0 < found.throughput.write_iops <= array.disks * 100 * (1 + 1e-12)
    assert found.throughput.read_iops <= array.disks * 100
    if found.rebuild_s is not None and LEVELS[array.level].family != "draid":
        assert found.rebuild_s <= array.disk.bytes / (160 * MB)


@given(st.integers(1, 2**15), st.integers(1, 3), st.integers(1, 30), st.integers(9, 16))
def test_raidz_record_can_always_lose_its_parity(units, parity, data_disks, ashift):
    record = units * 512
    found = raidz_allocation(record, data_disks + parity, parity, ashift)
    data_sectors = -(-record // 2**ashift)
    sectors = found.allocated_bytes >> ashift
    assert sectors % (parity + 1) == 0
    # parity for each row begun, and never more than mirrors of every sector take
    assert found.parity_bytes * data_disks >= parity * record
    assert sectors <= data_sectors * (parity + 1)
    # rounding costs at most `parity` sectors, the last sector of data less than one
    assert 0 <= found.padding_bytes < (parity + 1) << ashift


@given(st.integers(9, 24), st.integers(1, 3), st.integers(1, 30), st.integers(9, 16))
def test_draid_never_takes_less_than_raidz_of_the_same_width(shift, parity, data_disks, ashift):
    fixed = draid_allocation(2**shift, data_disks, parity, ashift)
    dense = raidz_allocation(2**shift, data_disks + parity, parity, ashift)
    assert fixed.allocated_bytes + (parity << ashift) >= dense.allocated_bytes
    assert fixed.parity_bytes == dense.parity_bytes
