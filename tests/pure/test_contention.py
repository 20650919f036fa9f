"""Shares of links, against hand-worked cases and the definition of max-min fairness."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pure.storage_documents import MB, faults, flow, link, shared

STILL = flow("f", 1, 1, ())


def nas(capacity_mb, light_mb=0.1):
    flows = [flow("web", 70, light_mb * MB, ("nas",)), flow("bulk", 10, None, ("nas",))]
    return shared([link("nas", capacity_mb * MB)], flows, transfer_bytes=1000 * MB)


@pytest.mark.parametrize(
    ("capacity_mb", "bulk_mb", "transfer_s"),
    # 70 × 0.10 MB/s are served; the rest is shared by ten: (100 - 7) / 10 = 9.3, …
    [(100, 9.3, 107.53), (125, 11.8, 84.75), (200, 19.3, 51.81), (1000, 99.3, 10.07),
     (2000, 199.3, 5.02)],
)  # fmt: skip
def test_greedy_flows_share_what_the_others_leave(capacity_mb, bulk_mb, transfer_s):
    web, bulk = nas(capacity_mb).flows
    assert (web.rate_bytes_per_s, web.bottleneck, web.transfer_s) == (100_000, None, 10_000)
    assert bulk.rate_bytes_per_s == pytest.approx(bulk_mb * MB, rel=1e-12)
    assert bulk.bottleneck == "nas"
    assert round(bulk.transfer_s, 2) == transfer_s


def test_all_are_unserved_when_nobody_can_be_served():
    # 80 flows on 100 MB/s get 1.25 each, which is less than the 2 asked for
    found = nas(100, light_mb=2)
    assert [each.rate_bytes_per_s for each in found.flows] == [1.25 * MB, 1.25 * MB]
    assert [each.bottleneck for each in found.flows] == ["nas", "nas"]
    assert (found.links[0].used_bytes_per_s, found.links[0].utilisation) == (100 * MB, 1.0)


def test_flow_is_limited_by_the_first_of_its_links_that_fills():
    links = [link("uplink", 30), link("disk", 100), link("spare", 10)]
    flows = [flow("a", 1, None, ("disk", "uplink")), flow("b", 2, None, ("uplink",)),
             flow("c", 1, None, ("disk",))]  # fmt: skip
    found = shared(links, flows)
    # the uplink is full at 10 each; what is left of the disk goes to c
    assert [(f.rate_bytes_per_s, f.bottleneck) for f in found.flows] == [
        (10, "uplink"), (10, "uplink"), (90, "disk"),
    ]  # fmt: skip
    assert [each.utilisation for each in found.links] == [1, 1, 0]
    assert found.flows[0].transfer_s is None


def test_flow_without_links_or_without_demand_gets_what_it_asks():
    found = shared([], [flow("local", 3, 5, ()), flow("idle", 1, 0, ())], transfer_bytes=10)
    assert [(f.rate_bytes_per_s, f.transfer_s) for f in found.flows] == [(5, 2), (0, None)]


@pytest.mark.parametrize(
    ("links", "flows", "field"),
    [
        ([link("a", 1), link("a", 1)], [STILL], "/links/1/name"),
        ([link("a", 0)], [STILL], "/links/0/capacity_bytes_per_s"),
        ([link("a", float("nan"))], [STILL], "/links/0/capacity_bytes_per_s"),
        ([], [flow("f", 0, 1, ())], "/flows/0/count"),
        ([], [flow("f", 1, -1, ())], "/flows/0/demand_bytes_per_s"),
        ([], [flow("f", 1, None, ())], "/flows/0/path"),
        ([link("a", 1)], [flow("f", 1, 1, ("a", "b"))], "/flows/0/path/1"),
        ([link("a", 1)], [flow("f", 1, 1, ("a", "a"))], "/flows/0/path/1"),
    ],
)
def test_bad_model_is_refused_by_pointer(links, flows, field):
    assert list(faults(shared, links, flows)) == [field]


NAMES = ("a", "b", "c")
FLOWS = st.lists(
    st.builds(
        flow,
        st.just("flow"),
        st.integers(1, 5),
        st.none() | st.integers(0, 50),
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True).map(tuple),
    ),
    min_size=1,
    max_size=6,
)


@given(st.lists(st.integers(1, 100), min_size=3, max_size=3), FLOWS)
def test_shares_never_overfill_a_link_and_are_max_min_fair(capacities, flows):
    found = shared([link(n, c) for n, c in zip(NAMES, capacities, strict=True)], flows)
    used = {each.name: each.utilisation for each in found.links}
    assert all(value <= 1 + 1e-12 for value in used.values())
    for stated, share in zip(flows, found.flows, strict=True):
        if share.bottleneck is None:
            assert share.rate_bytes_per_s == stated["demand_bytes_per_s"]
            continue
        # held back by a full link on which nobody gets more
        assert used[share.bottleneck] == pytest.approx(1)
        assert share.rate_bytes_per_s >= max(
            other.rate_bytes_per_s - 1e-9
            for each, other in zip(flows, found.flows, strict=True)
            if share.bottleneck in each["path"]
        )
