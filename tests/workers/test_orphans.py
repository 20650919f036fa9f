"""What has to go at a provider, decided from its list and our launches."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.providers.machines import ProviderResource, ProviderResourceState, ResourceKind
from workers.rentals.orphans import MARGIN, Launch, orphans

NOW = dt.datetime(2026, 11, 2, 12, tzinfo=dt.UTC)
SETTLE = dt.timedelta(minutes=5)
HOUR = dt.timedelta(hours=1)
LIVE = Launch(is_over=False, provider_id="m1", lifetime=HOUR)
OVER = Launch(is_over=True, provider_id="m1", lifetime=HOUR)


def machine(
    name="m1", *, token="t", state=ProviderResourceState.RUNNING, **more
) -> ProviderResource:
    times = {"launched_at": NOW - HOUR / 2, "expires_at": NOW + HOUR / 2}
    return ProviderResource(name, state, token=token, **{**times, **more})


def part(kind=ResourceKind.KEY_PAIR, *, token="t", age=HOUR) -> ProviderResource:
    began = None if age is None else NOW - age
    return ProviderResource(
        f"p-{kind}", ProviderResourceState.RUNNING, kind, token, launched_at=began
    )


def judged(listed, launches) -> dict[str, str]:
    rows = orphans(listed, launches, now=NOW, settle=SETTLE)
    return {orphan.thing.id: orphan.why for orphan in rows}


def test_machine_stays_when_its_run_lives():
    assert judged([machine()], {"t": LIVE}) == {}


def test_machine_goes_when_its_run_has_ended():
    assert judged([machine()], {"t": OVER}) == {"m1": "its run has ended"}


@pytest.mark.parametrize("token", ["", "other"])
def test_machine_goes_when_no_launch_is_known(token):
    assert "no launch" in judged([machine(token=token)], {"t": LIVE})["m1"]


def test_other_machines_of_a_token_go_when_one_is_named():
    listed = [machine("m0"), machine("m1"), machine("m2")]
    assert set(judged(listed, {"t": LIVE})) == {"m0", "m2"}


def test_both_machines_of_a_token_stay_when_none_is_named_yet():
    launch = Launch(is_over=False, provider_id="", lifetime=HOUR)
    assert judged([machine("m1"), machine("m2")], {"t": launch}) == {}


@pytest.mark.parametrize(
    ("launched", "expires", "is_past"),
    [
        (-2 * HOUR, -MARGIN - dt.timedelta(seconds=1), True),
        (-2 * HOUR, -MARGIN + dt.timedelta(seconds=1), False),
        # A worker whose clock is an hour slow wrote the expiry: the launch by the provider counts.
        (-HOUR / 2, -HOUR / 2, False),
        # One whose clock is fast: the machine lives longer than it should, and never less.
        (-2 * HOUR, HOUR, False),
        (None, -HOUR, True),
        (-2 * HOUR, None, True),
        (None, None, False),
    ],
)
def test_machine_goes_when_it_is_past_its_time_by_both_clocks(launched, expires, is_past):
    listed = machine(
        launched_at=None if launched is None else NOW + launched,
        expires_at=None if expires is None else NOW + expires,
    )
    assert bool(judged([listed], {"t": LIVE})) == is_past


def test_what_is_over_is_left_alone_when_it_is_still_listed():
    gone = [
        machine("m1", state=state)
        for state in (ProviderResourceState.GONE, ProviderResourceState.ABSENT)
    ]
    assert judged(gone, {}) == {}
    assert set(judged([machine(state=ProviderResourceState.ENDING)], {})) == {"m1"}


def test_parts_stay_when_a_machine_of_their_launch_is_there():
    assert set(judged([part(), machine()], {"t": OVER})) == {"m1"}


def test_parts_go_when_their_machine_is_gone_and_they_are_old():
    assert judged([part()], {"t": OVER}) == {"p-key_pair": "its machine is gone"}
    assert judged([part(), machine(state=ProviderResourceState.GONE)], {"t": OVER}) != {}
    assert judged([part(age=SETTLE / 2)], {"t": OVER}) == {}
    assert judged([part(age=None, token="")], {}) != {}


def test_parts_stay_during_a_launch():
    assert judged([part()], {"t": LIVE}) == {}


STATES = st.sampled_from(ProviderResourceState)
THINGS = st.builds(
    ProviderResource,
    id=st.uuids().map(str),
    state=STATES,
    kind=st.sampled_from(ResourceKind),
    token=st.sampled_from(["", "a", "b"]),
    launched_at=st.none() | st.just(NOW - HOUR),
)
LAUNCHES = st.dictionaries(
    st.sampled_from(["a", "b"]),
    st.builds(Launch, is_over=st.booleans(), provider_id=st.just(""), lifetime=st.just(HOUR)),
)


@given(st.lists(THINGS, unique_by=lambda thing: thing.id), LAUNCHES)
def test_nothing_stays_for_ever_when_each_look_ends_what_it_names(listed, launches):
    over = {token: Launch(True, row.provider_id, row.lifetime) for token, row in launches.items()}
    left = list(listed)
    for _ in range(2):  # machines, then their parts
        named = {orphan.thing.id for orphan in orphans(left, over, now=NOW, settle=SETTLE)}
        left = [thing for thing in left if thing.id not in named]
    assert {thing.state for thing in left} <= {
        ProviderResourceState.GONE,
        ProviderResourceState.ABSENT,
    }


@given(st.lists(THINGS, unique_by=lambda thing: thing.id))
def test_parts_of_a_living_launch_without_a_known_machine_stay(listed):
    launch = Launch(is_over=False, provider_id="", lifetime=2 * HOUR)
    living = {"a": launch, "b": launch}
    named = orphans(listed, living, now=NOW, settle=SETTLE)
    assert {orphan.thing.token for orphan in named} <= {""}
