"""Chains of joined links and the population of memory, against hand-worked cases."""

import pytest

from backend.domain.contention import Flow
from backend.domain.errors import InvalidValue
from backend.domain.storage import Memory, Segment, chain_shares, population, slowdowns

MB = 10**6
GIGABIT = 125 * MB


def test_flow_over_bonded_links_stays_on_one_of_them():
    chain = chain_shares(
        [Segment("uplink", GIGABIT, 4), Segment("disks", 1000 * MB)],
        [Flow("copy", 1, None, ("uplink", "disks")), Flow("web", 10, MB, ("disks",))],
        transfer_bytes=1000 * MB,
    )
    copy, web = chain.shares.flows
    # alone on 4 × 125 MB/s, and no faster than one of them: 1,000 / 125 = 8 s
    assert (copy.rate_bytes_per_s, copy.bottleneck, copy.transfer_s) == (GIGABIT, "uplink", 8)
    assert (web.rate_bytes_per_s, web.bottleneck) == (MB, None)
    assert [link.capacity_bytes_per_s for link in chain.links] == [4 * GIGABIT, 1000 * MB]
    assert chain.flows[0].demand_bytes_per_s == GIGABIT
    assert chain.shares.links[0].utilisation == 0.25


def test_joined_links_share_their_sum_when_flows_are_many():
    bond = chain_shares([Segment("uplink", GIGABIT, 4)], [Flow("copy", 10, None, ("uplink",))])
    # 500 / 10 is below the 125 that one link leaves
    assert (bond.shares.flows[0].rate_bytes_per_s, bond.shares.flows[0].bottleneck) == (
        50 * MB, "uplink",
    )  # fmt: skip


def test_multipath_gives_a_single_flow_what_was_measured():
    paths = [Segment("paths", GIGABIT, 4, "multipath")]
    found = chain_shares(paths, [Flow("disk", 1, None, ("paths",))]).shares.flows[0]
    # 350 of 500 MB/s
    assert found.rate_bytes_per_s == pytest.approx(350 * MB, rel=1e-12)
    assert found.bottleneck == "paths"


def test_shared_network_leaves_its_usable_part():
    shared = [Segment("lan", 1250 * MB, usable_ratio=0.6)]
    found = chain_shares(shared, [Flow("copy", 3, None, ("lan",))]).shares
    assert found.flows[0].rate_bytes_per_s == 250 * MB
    assert found.links[0].used_bytes_per_s == 750 * MB


def test_flow_that_asks_for_less_than_one_link_is_left_as_it_is():
    chain = chain_shares([Segment("uplink", GIGABIT, 2)], [Flow("web", 1, MB, ("uplink",))])
    assert chain.flows[0].demand_bytes_per_s == MB
    assert chain.shares.flows[0].bottleneck is None


@pytest.mark.parametrize(
    ("segment", "path", "field"),
    [
        (Segment("a", 1, usable_ratio=0), ("a",), "/links/0/usable_ratio"),
        (Segment("a", 1, usable_ratio=1.1), ("a",), "/links/0/usable_ratio"),
        (Segment("a", 0), ("a",), "/links/0/link_bytes_per_s"),
        (Segment("a", 1, 0), ("a",), "/links/0/count"),
        (Segment("a", 1, 2, "glue"), ("a",), "/links/0/aggregation"),
        (Segment("a", 1, 2), ("b",), "/flows/0/path/0"),
    ],
)
def test_faults_of_a_chain_name_their_position(segment, path, field):
    with pytest.raises(InvalidValue) as caught:
        chain_shares([segment], [Flow("x", 1, None, path)])
    assert caught.value.field == field


def test_one_module_per_socket_leaves_three_of_four_channels_unused():
    # 2 sockets × 4 channels, DDR4-2400 run at 2133, one module each:
    # 2 × 1 × 2,133 MT/s × 8 B = 34.128 GB/s of 2 × 4 × 2,400 × 8 = 153.6
    found = population(Memory(2, 1, 4, 2400, 2133))
    assert found.peak_bytes_per_s == 34_128_000_000
    assert found.possible_bytes_per_s == 153_600_000_000
    assert found.used_channels_per_socket == 1
    assert found.lost_ratio == pytest.approx(1 - 34.128 / 153.6)
    assert not found.is_uneven


@pytest.mark.parametrize(
    ("modules", "is_uneven"), [(3, False), (4, False), (6, True), (8, False), (9, True)]
)
def test_modules_are_uneven_when_some_channels_have_more(modules, is_uneven):
    found = population(Memory(1, modules, 4, 3200))
    assert found.is_uneven is is_uneven
    assert found.peak_bytes_per_s == min(modules, 4) * 25_600_000_000


def test_one_module_per_socket_doubles_the_time_of_a_rebuild():
    # two modules on one socket, then one on each of two: 2 × 17.064 GB/s and 17.064 GB/s a socket
    before, after = population(Memory(1, 2, 4, 2400, 2133)), population(Memory(2, 1, 4, 2400, 2133))
    assert before.socket_bytes_per_s == 2 * after.socket_bytes_per_s == 34_128_000_000
    assert before.peak_bytes_per_s == after.peak_bytes_per_s
    # as populated with one module: with two of them half the time, with three a third
    assert slowdowns(Memory(2, 1, 4, 2400, 2133)) == pytest.approx(
        {1: 1, 2: 1 / 2, 3: 1 / 3, 4: 1 / 4}
    )
    assert slowdowns(Memory(1, 4, 2, 3200))[1] == 2


def test_desktop_with_two_channels_of_ddr4_3200():
    # PC4-25600: 3,200 MT/s × 8 B = 25.6 GB/s a channel
    assert population(Memory(1, 1, 2, 3200)).peak_bytes_per_s == 25_600_000_000
    assert population(Memory(1, 2, 2, 3200)).peak_bytes_per_s == 51_200_000_000


def test_memory_above_its_rating_loses_nothing():
    assert population(Memory(1, 2, 2, 3200, 3600)).lost_ratio == 0


@pytest.mark.parametrize(
    ("memory", "field"),
    [
        (Memory(0, 1, 1, 1), "/sockets"),
        (Memory(1, 0, 1, 1), "/modules_per_socket"),
        (Memory(1, 1, 33, 1), "/channels_per_socket"),
        (Memory(1, 1, 1, 0), "/rated_mt_per_s"),
        (Memory(1, 1, 1, 1, 0), "/configured_mt_per_s"),
    ],
)
def test_faults_of_memory_name_their_field(memory, field):
    with pytest.raises(InvalidValue) as caught:
        population(memory)
    assert caught.value.field == field
