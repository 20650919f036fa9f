"""Projects of Google Cloud as organisations have them: policies, own networks, no addresses."""

from typing import Any

import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.host_keys import host_key
from tests.workers.test_gcp import SPEC, TOKEN, _driver, clock, driver, gce

__all__ = ["clock", "driver", "gce"]


async def refusal(call: Any) -> DriverError:
    with pytest.raises(DriverError) as caught:
        await call
    return caught.value


async def test_host_key_is_the_consoles_where_guest_attributes_are_off(gce, driver):
    gce.constraints = {"disableGuestAttributesAccess"}
    made = await driver.launch(SPEC, TOKEN)
    shown = await driver.console_fingerprint(made)
    assert shown == host_key(gce.record[0].server.host_key)


async def test_machine_without_a_public_address_passes_the_policy(gce, driver):
    gce.constraints = {"vmExternalIpAccess"}
    refused = await refusal(driver.launch(SPEC, TOKEN))
    assert (refused.reason, refused.retryable) == (Reason.UNSUPPORTED, False)
    assert "constraints/compute.vmExternalIpAccess" in refused.detail
    made = await _driver(gce, address="private").launch(SPEC, TOKEN)
    assert made.address == gce.record[0].server.address


async def test_subnetwork_is_that_of_the_region(gce, driver):
    ours = "regions/europe-west4/subnetworks/bench"
    gce.networks = {ours}
    refused = await refusal(driver.launch(SPEC, TOKEN))
    assert "cannot be found" in refused.detail
    networks = {"europe-west4": ours, "us-central1": "regions/us-central1/subnetworks/bench"}
    await _driver(gce, network=networks).launch(SPEC, TOKEN)
    (interface,) = gce.record[0].document["networkInterfaces"]
    assert (interface.get("network"), interface["subnetwork"]) == (None, ours)


async def test_labels_and_the_oldest_cpu_are_asked_for_as_the_account_says(gce):
    settings = {"tags": {"cost-center": "42"}, "min_cpu_platform": "Intel Ice Lake"}
    await _driver(gce, **settings).launch(SPEC, TOKEN)
    (machine,) = gce.record
    assert machine.document["labels"]["cost-center"] == "42"
    assert machine.document["disks"][0]["initializeParams"]["labels"]["cost-center"] == "42"
    assert machine.document["minCpuPlatform"] == "Intel Ice Lake"
