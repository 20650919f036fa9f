"""Firewall rules that open one machine to another on Google Cloud: made once, whosever network it is."""

import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.machines import ProviderResource, ProviderResourceState, ResourceKind
from tests.fakes.gcp_region import Refused
from tests.workers.rented_machines import TAG, new_token
from tests.workers.test_gcp import SPEC, TOKEN, _driver, clock, driver, gce

__all__ = ["clock", "driver", "gce"]
ADDRESS = "198.51.100.7"


async def refusal(call):
    with pytest.raises(DriverError) as caught:
        await call
    return caught.value


def rules_of(gce):
    return [rule for rule in gce.firewalls if rule["name"].startswith("rackrate-")]


def says(gce, monkeypatch, method, **document):
    """The operation that the call begins is shown like this."""
    real = getattr(gce, method)
    monkeypatch.setattr(gce, method, lambda *given, **named: {**real(*given, **named), **document})


async def test_rule_is_of_the_network_that_the_subnetwork_is_in(gce, monkeypatch):
    subnetwork = f"regions/{SPEC.region}/subnetworks/bench"
    network = "projects/p/global/networks/bench"
    gce.networks = {subnetwork}
    says(gce, monkeypatch, "_subnetworks_get", network=network)
    there = _driver(gce, network={SPEC.region: subnetwork})
    await there.let_in(await there.launch(SPEC, TOKEN), ADDRESS)
    (rule,) = rules_of(gce)
    assert rule["network"] == network


@pytest.mark.parametrize(
    ("named", "network"),
    [("bench", "global/networks/bench"), ("global/networks/bench", "global/networks/bench")],
)
async def test_rule_is_of_the_network_that_the_account_names(gce, named, network):
    gce.networks = {"global/networks/bench"}
    there = _driver(gce, network=named)
    await there.let_in(await there.launch(SPEC, TOKEN), ADDRESS)
    (rule,) = rules_of(gce)
    assert rule["network"] == network


async def test_rule_in_a_shared_network_is_refused_and_none_is_made(gce, driver):
    """Rules of a shared network belong to its host project (cloud.google.com/vpc/docs/shared-vpc)."""
    made = await driver.launch(SPEC, TOKEN)
    shared = _driver(gce, network="projects/host-project/global/networks/bench")
    error = await refusal(shared.let_in(made, ADDRESS))
    assert (error.reason, error.retryable) == (Reason.UNSUPPORTED, False)
    assert "is shared" in error.detail
    assert rules_of(gce) == []


async def test_rule_that_is_not_in_force_yet_is_asked_for_again(gce, driver, monkeypatch):
    """An operation may still run when waiting for it ends (…/rest/v1/globalOperations/wait)."""
    made = await driver.launch(SPEC, TOKEN)
    with monkeypatch.context() as slow:
        says(gce, slow, "_globalOperations_wait", status="RUNNING")
        error = await refusal(driver.let_in(made, ADDRESS))
    assert (error.reason, error.retryable) == (Reason.TIMEOUT, True)
    assert ADDRESS in await driver.let_in(made, ADDRESS)
    assert len(rules_of(gce)) == 1


async def test_rule_that_could_not_be_made_says_why(gce, driver, monkeypatch):
    made = await driver.launch(SPEC, TOKEN)
    errors = [{"code": "QUOTA_EXCEEDED", "message": "Quota 'FIREWALLS' exceeded. Limit: 100.0"}]
    says(gce, monkeypatch, "_globalOperations_wait", error={"errors": errors})
    error = await refusal(driver.let_in(made, ADDRESS))
    assert (error.reason, error.retryable) == (Reason.QUOTA, False)
    assert "FIREWALLS" in error.detail


async def test_rules_of_others_are_no_parts_of_ours(gce, driver):
    made = await driver.launch(SPEC, TOKEN)
    await driver.let_in(made, ADDRESS)
    # As a person writes it, as another program does, and of another workspace.
    for text in ("lets the office in", '["rackrate"]', '{"rackrate-workspace": "another"}', ""):
        gce.firewalls.append({**gce.firewalls[0], "name": f"of-{len(text)}", "description": text})

    async def listed(**asked):
        return [
            one.token
            for one in await driver.inventory(TAG, **asked)
            if one.kind == ResourceKind.FIREWALL
        ]

    assert await listed() == [TOKEN]
    assert await listed(token=new_token()) == []
    assert await listed(region="us-central1") == []


async def test_account_that_may_not_list_rules_lists_its_machines(gce, driver, monkeypatch):
    """The role of those that rent no pairs may leave the right out."""
    made = await driver.launch(SPEC, TOKEN)

    def forbidden(_):
        raise Refused(403, "forbidden", "Required 'compute.firewalls.list' permission")

    monkeypatch.setattr(gce, "_firewalls_list", forbidden)
    assert [one.id for one in await driver.inventory(TAG)] == [made.id]


async def test_id_of_something_else_is_no_rule(driver):
    other = ProviderResource("default", ProviderResourceState.RUNNING, ResourceKind.FIREWALL)
    error = await refusal(driver.terminate(other))
    assert (error.reason, error.retryable) == (Reason.UNSUPPORTED, False)


async def test_list_that_is_asked_for_too_often_is_not_an_empty_one(gce, driver, monkeypatch):
    """cloud.google.com/compute/docs/api-rate-limits: also 403, by its reason alone another thing."""
    await driver.let_in(await driver.launch(SPEC, TOKEN), ADDRESS)

    def throttled(_):
        raise Refused(403, "rateLimitExceeded", "Quota exceeded for quota metric 'List requests'")

    monkeypatch.setattr(gce, "_firewalls_list", throttled)
    error = await refusal(driver.inventory(TAG))
    assert (error.reason, error.retryable) == (Reason.TIMEOUT, True)
