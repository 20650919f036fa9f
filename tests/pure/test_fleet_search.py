"""From a requirement to fleets: published figures, hand-worked sums, and the enumeration of all."""

import random
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.measure.metrics import METRICS
from backend.money.pricing.billing.traffic import cost_under_tiers
from backend.rankings.calc import fleet_search
from backend.rankings.calc.fleet_search import Fault, solve
from backend.rankings.calc.fleets import (
    FleetTarget,
    Requirement,
    Rule,
    ServerFigure,
    ServerType,
    rule_of,
    units_for,
)

HOURS = 730
# CMIPS and USD an hour of the published table of 2013
PUBLISHED = {
    "linode-1x": ("1427", "20"),
    "c1-xlarge": ("3101", "0.58"),
    "cc2": ("16608", "2.40"),
    "do-24": ("9733", "1.411"),
    "m1-small": ("203", "0.06"),
    "m2-4xlarge": ("4281", "1.64"),
    "t1-micro": ("49", "0.02"),
}


def exact(value):
    return ServerFigure(Decimal(value), Decimal(value))


def server(
    offer_id, price, location="aws/us", *, included=0, tiers=None, refusal="", fills=None, **figures
):
    return ServerType(
        offer_id=offer_id,
        provider=location.split("/")[0],
        location=location,
        price=Decimal(price),
        figures={
            name: figure if isinstance(figure, ServerFigure) else exact(figure)
            for name, figure in figures.items()
        },
        refusal=refusal,
        included_gb=Decimal(included),
        tiers=tiers,
        fills={name: ((None, Decimal(amount)),) for name, amount in (fills or {}).items()},
    )


def totals(egress=0, most=None, **demands):
    return Requirement(
        tuple(FleetTarget(name, Decimal(amount)) for name, amount in demands.items()),
        Decimal(egress),
        most,
    )


def published(**given):
    prices = {
        slug: Decimal(price) * (1 if slug == "linode-1x" else HOURS)
        for slug, (_, price) in PUBLISHED.items()
    }
    return [
        server(slug, prices[slug], cmips=score, **given) for slug, (score, _) in PUBLISHED.items()
    ]


def only(solution):
    [fleet] = solution.fleets
    return fleet


# --- one type -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        # (servers, USD an hour) of every type, cheapest first; 20 USD a month is 20/730 an hour
        ("10000", [("linode-1x", 8, "160"), ("c1-xlarge", 4, "2.32"), ("cc2", 1, "2.40"),
                   ("do-24", 2, "2.822"), ("m1-small", 50, "3.00"), ("t1-micro", 205, "4.10"),
                   ("m2-4xlarge", 3, "4.92")]),
        ("16608", [("linode-1x", 12, "240"), ("cc2", 1, "2.40"), ("do-24", 2, "2.822"),
                   ("c1-xlarge", 6, "3.48"), ("m1-small", 82, "4.92"), ("m2-4xlarge", 4, "6.56"),
                   ("t1-micro", 339, "6.78")]),
    ],
)  # fmt: skip
def test_whole_servers_rank_otherwise_than_cost_per_unit(target, expected):
    found = solve(published(), totals(cmips=target), is_mixed=False)
    assert [(*fleet.servers[0], fleet.cost) for fleet in found.fleets] == [
        (slug, count, Decimal(cost) * (1 if slug == "linode-1x" else HOURS))
        for slug, count, cost in expected
    ]
    assert not found.failures


def test_small_servers_fail_when_twenty_are_allowed():
    found = solve(published(), totals(cmips="16608", most=20), is_mixed=False)
    assert [(f.offer_id, f.fault, f.reason) for f in found.failures] == [
        ("m1-small", Fault.SERVERS, "82 servers are needed, 20 are allowed"),
        ("t1-micro", Fault.SERVERS, "339 servers are needed, 20 are allowed"),
    ]
    one = solve(published(), totals(cmips="20000", most=1), is_mixed=False)
    assert one.fleets == ()
    assert one.failures[1].reason == "2 servers are needed, 1 is allowed"


def test_fleet_follows_the_demand_that_needs_most_servers():
    # 3 for the score, 4 for 64 GiB, 2 for the disk
    box = server("box", 10, cmips=40, ram_gib=16, disk_gb="60.5")
    fleet = only(solve([box], totals(cmips=100, ram_gib=64, disk_gb=121), is_mixed=False))
    assert (fleet.servers, fleet.cost) == ((("box", 4),), 40)
    assert fleet.given == {"cmips": 160, "ram_gib": 64, "disk_gb": Decimal("242.0")}


def test_disk_is_bought_where_it_has_a_price_and_counts_what_is_included():
    # 100 GB needed: a has 20, buys 80 at 0.1 = 8 beside 10; b has 50, two of them hold all for 22;
    # with a disk price of 0.5 one b costs 11 + 25 and two remain the cheaper.
    cheap = server("a", 10, cmips=40, disk_gb=20, fills={"disk_gb": "0.1"})
    full = server("b", 11, cmips=40, disk_gb=50, fills={"disk_gb": "0.5"})
    none = server("c", 1, cmips=40, disk_gb=0)
    found = solve([cheap, full, none], totals(cmips=40, disk_gb=100), is_mixed=False)
    assert [(f.servers, f.cost, f.fill_cost) for f in found.fleets] == [
        ((("a", 1),), 18, 8),
        ((("b", 2),), 22, 0),
    ]
    assert found.fleets[0].given["disk_gb"] == 100
    assert [f.offer_id for f in found.failures] == ["c"]


def test_demand_that_is_met_exactly_needs_no_further_server():
    assert units_for(Decimal(16608), Decimal("830.4")) == 20
    assert units_for(Decimal("16608.0000000001"), Decimal("830.4")) == 21
    assert units_for(Decimal("0.3"), Decimal("0.1")) == 3


@pytest.mark.parametrize(
    ("given", "demand", "fault", "reason"),
    [
        ({"refusal": "its kind is vps"}, {"cmips": 5}, Fault.REFUSED, "its kind is vps"),
        ({"cmips": 5}, {"cmips": 5, "ram_gib": 1}, Fault.UNKNOWN, "ram_gib is not known"),
        ({"cmips": 5, "disk_gb": 0}, {"cmips": 5, "disk_gb": 1}, Fault.NOTHING,
         "it gives no disk_gb"),
        ({"cmips": 5}, {"cmips": 5, "egress": 1}, Fault.TRAFFIC,
         "the price of its traffic is not known"),
    ],
)  # fmt: skip
def test_failure_names_what_is_missing(given, demand, fault, reason):
    found = solve([server("box", 10, **given)], totals(**demand), is_mixed=False)
    assert found.fleets == ()
    assert [(f.fault, f.reason) for f in found.failures] == [(fault, reason)]


def test_each_server_meets_a_latency_by_itself():
    demands = (
        FleetTarget("cmips", Decimal(100)),
        FleetTarget("latency_ns", Decimal("90.5"), Rule.AT_MOST),
        FleetTarget("single", Decimal(10), Rule.AT_LEAST),
    )
    servers = [
        server("good", 10, cmips=60, latency_ns=90, single=10),
        server("slow", 1, cmips=60, latency_ns="91.50", single=12),
        server("weak", 1, cmips=60, latency_ns=80, single=9),
    ]
    found = solve(servers, Requirement(demands), is_mixed=True)
    assert only(found).servers == (("good", 2),)
    assert only(found).given == {"cmips": 120, "latency_ns": 90, "single": 10}
    assert {f.offer_id: f.reason for f in found.failures} == {
        "slow": "latency_ns is 91.5, at most 90.5 is asked for",
        "weak": "single is 9, at least 10 is asked for",
    }


def test_rates_add_up_and_latencies_do_not():
    rules = {key: rule_of(metric) for key, metric in METRICS.items()}
    assert rules["cmips_score"] is rules["disk_rand_read_iops"] is Rule.TOTAL
    assert rules["cmips_single_score"] is rules["cmips_sustained_ratio"] is Rule.AT_LEAST
    assert rules["memory_latency_ns"] is rules["boot_time_s"] is Rule.AT_MOST


# --- intervals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("worst", "holds", "count"),
    # 3 × 40 = 120 for 100: at 34 each they still reach it, at 33 a fourth is needed
    [("34", True, 3), ("33", False, 4), (None, None, None), ("0", False, None)],
)
def test_fleet_says_whether_it_holds_at_the_lower_ends(worst, holds, count):
    figure = ServerFigure(Decimal(40), None if worst is None else Decimal(worst))
    fleet = only(solve([server("box", 10, cmips=figure)], totals(cmips=100), is_mixed=False))
    assert (fleet.holds_at_worst, fleet.count_at_worst) == (holds, count)


def test_latency_holds_when_its_upper_end_does():
    demand = (FleetTarget("latency_ns", Decimal(100), Rule.AT_MOST),)
    for upper, holds, count in ((99, True, 1), (101, False, None)):
        box = server("box", 10, latency_ns=ServerFigure(Decimal(90), Decimal(upper)))
        fleet = only(solve([box], Requirement(demand), is_mixed=False))
        assert (fleet.holds_at_worst, fleet.count_at_worst) == (holds, count)


def test_fleet_that_fails_at_one_lower_end_fails_whatever_else_is_unknown():
    box = server(
        "box", 10, cmips=ServerFigure(Decimal(10), Decimal(9)), iops=ServerFigure(Decimal(10), None)
    )
    for demands in ({"cmips": 10, "iops": 10}, {"iops": 10, "cmips": 10}):
        fleet = only(solve([box], totals(**demands), is_mixed=False))
        assert fleet.holds_at_worst is False
        assert fleet.count_at_worst is None


# --- traffic --------------------------------------------------------------------------------------

TIERS = ((Decimal(1000), Decimal("0.09")), (None, Decimal("0.05")))


def test_traffic_is_billed_in_tiers_beyond_what_all_servers_include():
    # two servers include 200 GB; of 5,000 are left 4,800: 1,000 × 0.09 + 3,800 × 0.05 = 280
    box = server("box", 100, cmips=50, included=100, tiers=TIERS)
    fleet = only(solve([box], totals(cmips=100, egress=5000), is_mixed=False))
    assert (fleet.servers, fleet.traffic_cost, fleet.cost) == ((("box", 2),), 280, 480)
    little = only(solve([box], totals(cmips=100, egress=500), is_mixed=False))
    assert little.traffic_cost == 27  # 300 × 0.09


def test_servers_are_added_when_their_traffic_costs_less_than_traffic():
    # 20,000 GB included with each at 4: the fifth of 100,000 GB costs 4 instead of 1,000
    box = server("box", 4, cmips=50, included=20_000, tiers=((None, Decimal("0.05")),))
    fleet = only(solve([box], totals(cmips=50, egress=100_000), is_mixed=False))
    assert (fleet.servers, fleet.traffic_cost, fleet.cost) == ((("box", 5),), 0, 20)
    limited = solve([box], totals(cmips=50, egress=100_000, most=3), is_mixed=False)
    assert (only(limited).servers, only(limited).cost) == ((("box", 3),), 2012)


def test_included_traffic_suffices_where_the_price_of_more_is_not_known():
    box = server("box", 10, cmips=50, included=1000)
    fleet = only(solve([box], totals(cmips=50, egress=2500), is_mixed=False))
    assert (fleet.servers, fleet.cost) == ((("box", 3),), 30)


# --- several types --------------------------------------------------------------------------------


def test_mixed_fleet_fills_the_rest_with_a_smaller_server():
    # 10,000 = 3 × 3,101 + 697: three C1 XL, three M1 Small (609) and two T1 Micro (98) cost
    # 1.74 + 0.18 + 0.04 = 1.96 an hour instead of 2.32
    amazon = [s for s in published() if s.offer_id in {"c1-xlarge", "cc2", "m1-small", "t1-micro"}]
    found = solve(amazon, totals(cmips=10000), is_mixed=True)
    assert found.fleets[0].servers == (("c1-xlarge", 3), ("m1-small", 3), ("t1-micro", 2))
    assert found.fleets[0].cost == Decimal("1.96") * HOURS
    assert found.fleets[0].given == {"cmips": 10010}
    assert found.floor is None


def test_mixed_fleet_names_no_failure_of_its_members():
    servers = [
        server("cpu", 3, cmips=9, ram_gib=0),
        server("ram", 3, cmips=0, ram_gib=9),
        server("dear", 99, cmips=0, ram_gib=1),
    ]
    found = solve(servers, totals(cmips=9, ram_gib=9), is_mixed=True)
    assert only(found).servers == (("cpu", 1), ("ram", 1))
    assert only(found).count_at_worst is None
    assert [f.offer_id for f in found.failures] == ["dear"]


def test_each_provider_has_its_cheapest_mix():
    servers = [
        server("a-cpu", 3, "a/x", cmips=9, ram_gib=1),
        server("a-ram", 3, "a/y", cmips=1, ram_gib=9),
        server("b-cpu", 4, "b/x", cmips=9, ram_gib=1),
        server("b-ram", 4, "b/x", cmips=1, ram_gib=9),
    ]
    found = solve(servers, totals(cmips=10, ram_gib=10), is_mixed=True)
    mixed = [fleet.servers for fleet in found.fleets if len(fleet.servers) > 1]
    assert mixed == [(("a-cpu", 1), ("a-ram", 1)), (("b-cpu", 1), ("b-ram", 1))]


def test_fleet_with_traffic_is_mixed_in_one_region_only():
    flat = ((None, Decimal("0.01")),)
    servers = [
        server("cpu", 3, "a/x", cmips=9, ram_gib=0, tiers=flat),
        server("ram", 3, "a/y", cmips=0, ram_gib=9, tiers=flat),
        server("cpu-2", 4, "a/z", cmips=9, ram_gib=0, tiers=flat),
        server("ram-2", 4, "a/z", cmips=0, ram_gib=9, tiers=flat),
    ]
    found = solve(servers, totals(cmips=9, ram_gib=9, egress=100), is_mixed=True)
    assert (only(found).servers, only(found).cost) == ((("cpu-2", 1), ("ram-2", 1)), 9)


@pytest.mark.parametrize(
    ("most", "servers", "cost"),
    [
        # 3,000 GB cost 1,000 × 0.02 + 2,000 × 0.01 = 40: two big servers come to 20 + 40. Three small
        # ones beside them include it all for 6; with room for two, 1,000 GB are left at 20.
        (20, (("big", 2), ("small", 3)), 26),
        (4, (("big", 2), ("small", 2)), 44),
        (2, (("big", 2),), 60),
    ],
)
def test_mixed_fleet_weighs_included_traffic_against_its_price(most, servers, cost):
    tiers = ((Decimal(1000), Decimal("0.02")), (None, Decimal("0.01")))
    types = [
        server("big", 10, cmips=10, tiers=tiers),
        server("small", 2, cmips=1, included=1000, tiers=tiers),
    ]
    found = solve(types, totals(cmips=20, egress=3000, most=most), is_mixed=True)
    assert (found.fleets[0].servers, found.fleets[0].cost, found.floor) == (servers, cost, None)


def test_mixed_fleet_includes_all_traffic_where_more_has_no_price():
    # Two big ones include 200 of 1,500 GB, each small one 1,000
    types = [
        server("big", 10, cmips=10, included=100),
        server("small", 2, cmips=1, included=1000),
    ]
    found = solve(types, totals(cmips=20, egress=1500), is_mixed=True)
    assert [(fleet.servers, fleet.cost) for fleet in found.fleets] == [
        ((("big", 2), ("small", 2)), 24),
        ((("small", 20),), 40),
        ((("big", 15),), 150),
    ]


def test_nothing_usable_gives_no_mix():
    found = solve([server("box", 1)], totals(cmips=1), is_mixed=True)
    assert (found.fleets, found.floor, len(found.failures)) == ((), None, 1)


def test_floor_is_given_when_the_cheapest_is_not_proven(monkeypatch):
    monkeypatch.setattr(fleet_search, "NODES", 1)
    servers = [
        server(f"type-{i:02}", 400 - 2 * i + Decimal(i % 5) / 100, cmips=100 + 7 * i,
               ram_gib=300 - 9 * i)
        for i in range(30)
    ]  # fmt: skip
    found = solve(servers, totals(cmips=5000, ram_gib=4000, most=100), is_mixed=True)
    assert 0 < found.floor < found.fleets[0].cost


def every_fleet(servers, requirement, most):
    """All fleets with at most so many servers that meet the requirement: (cost, servers)."""
    found = []
    for numbers in product(range(most + 1), repeat=len(servers)):
        parts = [(s, n) for s, n in zip(servers, numbers, strict=True) if n]
        if not 0 < sum(numbers) <= most:
            continue
        if requirement.egress_gb and (
            len({(s.location, s.tiers) for s, _ in parts}) > 1
            or any(s.tiers is None and not s.included_gb for s, _ in parts)
        ):
            continue
        cost = sum((s.price * n for s, n in parts), Decimal(0))
        rest = requirement.egress_gb - sum(s.included_gb * n for s, n in parts)
        if rest > 0:
            if parts[0][0].tiers is None:
                continue
            cost += cost_under_tiers(rest, parts[0][0].tiers)
        lacks = {d.name: d.amount - sum(s.figures[d.name].value * n for s, n in parts)
                 for d in requirement.targets}  # fmt: skip
        for name, lack in lacks.items():
            prices = [s.fills[name][0][1] for s, _ in parts if name in s.fills]
            if lack > 0 and prices:
                cost += lack * min(prices)
                lacks[name] = Decimal(0)
        if all(lack <= 0 for lack in lacks.values()):
            found.append((cost, tuple((s.offer_id, n) for s, n in parts)))
    return sorted(found)


AMOUNTS = st.integers(0, 12)
TIERS_OR_NONE = st.one_of(
    st.none(),
    st.builds(
        lambda bound, first, then: ((Decimal(bound), Decimal(first)), (None, Decimal(then))),
        st.integers(1, 20),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
)


@st.composite
def worlds(draw):
    """Up to four types in two places, and a requirement with up to five servers."""
    tiers_of = {place: draw(TIERS_OR_NONE) for place in ("a/x", "b/y")}
    # In some places more memory can be bought, as disks are.
    fills_of = {place: draw(st.none() | st.integers(0, 3)) for place in tiers_of}
    servers = []
    for n in range(draw(st.integers(1, 4))):
        place = draw(st.sampled_from(sorted(tiers_of)))
        servers.append(
            server(
                f"type-{n}",
                Decimal(draw(st.integers(1, 40))) / 4,
                place,
                included=draw(AMOUNTS),
                tiers=tiers_of[place],
                fills={} if fills_of[place] is None else {"ram_gib": fills_of[place]},
                cmips=Decimal(draw(AMOUNTS)) / 2,
                ram_gib=draw(AMOUNTS),
            )
        )
    asked = {"cmips": draw(st.integers(1, 15))}
    if draw(st.booleans()):
        asked["ram_gib"] = draw(st.integers(1, 30))
    egress = draw(st.one_of(st.just(0), st.integers(1, 60)))
    return servers, totals(**asked, egress=egress, most=draw(st.integers(1, 5)))


@given(worlds())
def test_fleets_are_the_cheapest_of_all_that_exist(world):
    servers, requirement = world
    everything = every_fleet(servers, requirement, requirement.max_servers)
    costs = {members: cost for cost, members in everything}
    mixed = solve(servers, requirement, is_mixed=True)
    plain = solve(servers, requirement, is_mixed=False)
    # Of each type that can do it alone, the cheapest number of servers
    alone = {}
    for cost, members in everything:
        if len(members) == 1:
            alone.setdefault(members[0][0], cost)
    assert {fleet.servers[0][0]: fleet.cost for fleet in plain.fleets} == alone
    assert {f.offer_id for f in plain.failures} == {s.offer_id for s in servers} - set(alone)
    # The cheapest of all mixes, in order, each at its true cost
    assert mixed.floor is None
    assert [fleet.cost for fleet in mixed.fleets[:1]] == [cost for cost, _ in everything[:1]]
    assert list(mixed.fleets) == sorted(mixed.fleets, key=lambda fleet: fleet.sort_key)
    for fleet in mixed.fleets:
        assert costs[fleet.servers] == fleet.cost
    if not requirement.egress_gb:
        for provider in ("a", "b"):
            names = {s.offer_id for s in servers if s.provider == provider}
            within = [cost for cost, members in everything if {m for m, _ in members} <= names]
            found = [f.cost for f in mixed.fleets if {m for m, _ in f.servers} <= names]
            assert found[:1] == within[:1]


@given(worlds(), st.integers(2, 9))
def test_fleets_stay_the_same_when_all_prices_scale(world, factor):
    servers, requirement = world
    dearer = [
        server(s.offer_id, s.price * factor, s.location, included=s.included_gb,
               tiers=s.tiers and tuple((bound, price * factor) for bound, price in s.tiers),
               fills={name: tiers[0][1] * factor for name, tiers in s.fills.items()},
               **s.figures)
        for s in servers
    ]  # fmt: skip
    before, after = (solve(some, requirement, is_mixed=True) for some in (servers, dearer))
    # Which of several mixes at one cost is chosen may differ, and with it how many there are.
    assert {f.cost * factor for f in before.fleets} == {f.cost for f in after.fleets}
    assert before.failures == after.failures


def test_six_thousand_types_are_all_accounted_for():
    shuffled = random.Random(5)
    servers = [
        server(f"type-{n:04}", shuffled.randint(10, 500), cmips=shuffled.randint(0, 9),
               ram_gib=shuffled.choice((0, 1, 2, 4)))
        for n in range(6000)
    ]  # fmt: skip
    found = solve(servers, totals(cmips=90, ram_gib=20, most=40), is_mixed=False)
    assert len(found.fleets) + len(found.failures) == 6000
    assert [f.cost for f in found.fleets] == sorted(f.cost for f in found.fleets)


# --- an end to what takes too long ----------------------------------------------------------------


class Ended(Exception):
    """Time is up."""


@pytest.mark.parametrize("after", [1, len(PUBLISHED), len(PUBLISHED) + 1])
def test_search_ends_between_offers_and_choices_when_the_check_says_so(after):
    calls = []

    def check():
        calls.append(1)
        if len(calls) == after:
            raise Ended

    with pytest.raises(Ended):
        solve(published(), totals(cmips="16608"), is_mixed=True, check=check)
