"""Chains of joined links and the population of memory, against hand-worked cases."""

import pytest

from backend.calculators.calc.memory import population, slowdowns
from tests.pure.storage_documents import MB, chain, faults, flow, link, memory

GIGABIT = 125 * MB


def test_flow_over_bonded_links_stays_on_one_of_them():
    found = chain(
        [link("uplink", GIGABIT, count=4), link("disks", 1000 * MB)],
        [flow("copy", 1, None, ("uplink", "disks")), flow("web", 10, MB, ("disks",))],
        transfer_bytes=1000 * MB,
    )
    copy, web = found.shares.flows
    # alone on 4 × 125 MB/s, and no faster than one of them: 1,000 / 125 = 8 s
    assert (copy.rate_bytes_per_s, copy.bottleneck, copy.transfer_s) == (GIGABIT, "uplink", 8)
    assert (web.rate_bytes_per_s, web.bottleneck) == (MB, None)
    assert [link.capacity_bytes_per_s for link in found.document.links] == [4 * GIGABIT, 1000 * MB]
    assert found.document.flows[0].demand_bytes_per_s == GIGABIT
    assert found.shares.links[0].utilisation == 0.25


def test_joined_links_share_their_sum_when_flows_are_many():
    bond = chain([link("uplink", GIGABIT, count=4)], [flow("copy", 10, None, ("uplink",))])
    # 500 / 10 is below the 125 that one link leaves
    assert (bond.shares.flows[0].rate_bytes_per_s, bond.shares.flows[0].bottleneck) == (
        50 * MB, "uplink",
    )  # fmt: skip


def test_multipath_gives_a_single_flow_what_was_measured():
    paths = [link("paths", GIGABIT, count=4, aggregation="multipath")]
    found = chain(paths, [flow("disk", 1, None, ("paths",))]).shares.flows[0]
    # 350 of 500 MB/s
    assert found.rate_bytes_per_s == pytest.approx(350 * MB, rel=1e-12)
    assert found.bottleneck == "paths"


def test_shared_network_leaves_its_usable_part():
    shared = [link("lan", 1250 * MB, usable_ratio=0.6)]
    found = chain(shared, [flow("copy", 3, None, ("lan",))]).shares
    assert found.flows[0].rate_bytes_per_s == 250 * MB
    assert found.links[0].used_bytes_per_s == 750 * MB


def test_flow_that_asks_for_less_than_one_link_is_left_as_it_is():
    found = chain([link("uplink", GIGABIT, count=2)], [flow("web", 1, MB, ("uplink",))])
    assert found.document.flows[0].demand_bytes_per_s == MB
    assert found.shares.flows[0].bottleneck is None


@pytest.mark.parametrize(
    ("segment", "path", "field"),
    [
        (link("a", 1, usable_ratio=0), ("a",), "/links/0/usable_ratio"),
        (link("a", 1, usable_ratio=1.1), ("a",), "/links/0/usable_ratio"),
        (link("a", 0), ("a",), "/links/0/capacity_bytes_per_s"),
        (link("a", 1, count=0), ("a",), "/links/0/count"),
        (link("a", 1, count=2, aggregation="glue"), ("a",), "/links/0/aggregation"),
        (link("a", 1, count=2), ("b",), "/flows/0/path/0"),
    ],
)
def test_faults_of_a_chain_name_their_position(segment, path, field):
    assert list(faults(chain, [segment], [flow("x", 1, None, path)])) == [field]


def test_one_module_per_socket_leaves_three_of_four_channels_unused():
    # 2 sockets × 4 channels, DDR4-2400 run at 2133, one module each:
    # 2 × 1 × 2,133 MT/s × 8 B = 34.128 GB/s of 2 × 4 × 2,400 × 8 = 153.6
    found = population(memory(2, 1, 4, 2400, 2133))
    assert found.peak_bytes_per_s == 34_128_000_000
    assert found.possible_bytes_per_s == 153_600_000_000
    assert memory(2, 1, 4, 2400, 2133).used_channels_per_socket == 1
    assert found.lost_ratio == pytest.approx(1 - 34.128 / 153.6)
    assert not found.is_uneven


@pytest.mark.parametrize(
    ("modules", "is_uneven"), [(3, False), (4, False), (6, True), (8, False), (9, True)]
)
def test_modules_are_uneven_when_some_channels_have_more(modules, is_uneven):
    found = population(memory(1, modules, 4, 3200))
    assert found.is_uneven is is_uneven
    assert found.peak_bytes_per_s == min(modules, 4) * 25_600_000_000


def test_one_module_per_socket_doubles_the_time_of_a_rebuild():
    # two modules on one socket, then one on each of two: 2 × 17.064 GB/s and 17.064 GB/s a socket
    before, after = population(memory(1, 2, 4, 2400, 2133)), population(memory(2, 1, 4, 2400, 2133))
    assert before.socket_bytes_per_s == 2 * after.socket_bytes_per_s == 34_128_000_000
    assert before.peak_bytes_per_s == after.peak_bytes_per_s
    # as populated with one module: with two of them half the time, with three a third
    assert slowdowns(memory(2, 1, 4, 2400, 2133)) == pytest.approx(
        {1: 1, 2: 1 / 2, 3: 1 / 3, 4: 1 / 4}
    )
    assert slowdowns(memory(1, 4, 2, 3200))[1] == 2


def test_desktop_with_two_channels_of_ddr4_3200():
    # PC4-25600: 3,200 MT/s × 8 B = 25.6 GB/s a channel
    assert population(memory(1, 1, 2, 3200)).peak_bytes_per_s == 25_600_000_000
    assert population(memory(1, 2, 2, 3200)).peak_bytes_per_s == 51_200_000_000


def test_memory_above_its_rating_loses_nothing():
    assert population(memory(1, 2, 2, 3200, 3600)).lost_ratio == 0


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ((0, 1, 1, 1), "/sockets"),
        ((1, 0, 1, 1), "/modules_per_socket"),
        ((1, 1, 33, 1), "/channels_per_socket"),
        ((1, 1, 1, 0), "/rated_mt_per_s"),
        ((1, 1, 1, 1, 0), "/configured_mt_per_s"),
    ],
)
def test_faults_of_memory_name_their_field(given, field):
    assert list(faults(memory, *given)) == [field]
