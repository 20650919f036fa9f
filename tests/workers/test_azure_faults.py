"""Azure in trouble: machines that are on their way out, parts that fail, and what hinders a region."""

import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.azure import documents
from backend.providers.machines import Access, ProviderResourceState, Readiness
from tests.fakes import azure as fake
from tests.fakes.azure import Azure
from tests.fakes.rest import Answer
from tests.workers.rented_machines import TAG
from tests.workers.test_azure import SPEC, TOKEN, _driver, at_once, clock, cloud, driver

__all__ = ["at_once", "clock", "cloud", "driver"]


async def refusal(call):
    with pytest.raises(DriverError) as caught:
        await call
    return caught.value


def showing(monkeypatch, *, statuses=(), **shown):
    """Every machine is shown in this state, as its instance view states it
    (learn.microsoft.com/azure/virtual-machines/states-billing, "Provisioning states")."""
    real = Azure._vm_document

    def document(self, vm):
        answer = real(self, vm)
        answer["properties"] |= {**shown, "instanceView": {"statuses": list(statuses)}}
        return answer

    monkeypatch.setattr(Azure, "_vm_document", document)


# --- a launch -------------------------------------------------------------------------------------


async def test_launch_waits_while_its_earlier_machine_is_being_removed(driver, cloud, monkeypatch):
    await driver.launch(SPEC, TOKEN)
    with monkeypatch.context() as leaving:
        showing(leaving, provisioningState="Deleting")
        error = await refusal(driver.launch(SPEC, TOKEN))
    assert (error.reason, error.retryable) == (Reason.TIMEOUT, True)
    assert "is being removed" in error.detail
    # It may still be there: nothing says that the launch made none.
    assert not error.proves_none
    assert len(cloud.vms) == 1


async def test_machine_that_azure_has_made_is_answered_before_it_runs(driver, monkeypatch):
    showing(monkeypatch, provisioningState="Succeeded")
    made = await driver.launch(SPEC, TOKEN)
    assert (made.state, made.address) == (ProviderResourceState.PENDING, "")


@pytest.mark.parametrize("state", ["Failed", "Canceled"])
async def test_launch_does_not_go_on_over_a_broken_network(driver, cloud, monkeypatch, state):
    real = cloud._inside

    def broken(asked, name, group, rest):
        answer = real(asked, name, group, rest)
        if asked.method == "GET" and rest[1] == "virtualNetworks":
            return Answer({**answer.document, "properties": {"provisioningState": state}})
        return answer

    monkeypatch.setattr(cloud, "_inside", broken)
    error = await refusal(driver.launch(SPEC, TOKEN))
    assert error.retryable
    assert f"a part of the network {state}" in error.detail
    assert cloud.vms == []


@pytest.mark.parametrize("image", ["Debian:debian-12:12-gen2", "debian-12", "a:b:c:d:e"])
async def test_launch_with_a_name_that_is_no_image_makes_nothing(cloud, image):
    error = await refusal(_driver(cloud, image=image).launch(SPEC, TOKEN))
    assert (error.reason, error.retryable) == (Reason.UNSUPPORTED, False)
    assert "is no URN" in error.detail
    assert cloud.vms == []


@pytest.mark.parametrize(
    ("image", "arch", "reference"),
    [
        (
            "/subscriptions/1/images/own-{arch}",
            "arm64",
            {"id": "/subscriptions/1/images/own-arm64"},
        ),
        ("/subscriptions/1/images/own-{arch}", "x86_64", {"id": "/subscriptions/1/images/own-x64"}),
    ],
)
def test_own_image_is_that_of_the_architecture(image, arch, reference):
    access = Access("static_key", {"image": image}, {})
    assert documents.image_reference(access, "westeurope", arch) == reference


# --- a life ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "statuses", "detail"),
    [
        ("Deleting", (), "the machine is being deleted"),
        ("Failed", (), "Failed: Azure does not say why"),
        ("Canceled", (), "Failed: Azure does not say why"),
        (
            "Failed",
            ({"code": "ProvisioningState/failed/OSProvisioningTimedOut", "message": "no answer"},),
            "OSProvisioningTimedOut: no answer",
        ),
        # A machine may run although its provisioning failed, and then it costs.
        (
            "Failed",
            ({"code": "ProvisioningState/failed/VMExtension"}, {"code": "PowerState/running"}),
            "VMExtension: ",
        ),
    ],
)
async def test_machine_that_failed_is_ending_whatever_its_power_says(
    driver, monkeypatch, state, statuses, detail
):
    made = await driver.launch(SPEC, TOKEN)
    showing(monkeypatch, provisioningState=state, statuses=statuses)
    shown = await driver.describe(made)
    assert (shown.state, shown.detail) == (ProviderResourceState.ENDING, detail)
    assert shown.address == ""


async def test_end_of_a_group_is_not_over_while_azure_still_shows_it(driver, cloud, clock):
    made = await driver.launch(SPEC, TOKEN)
    cloud.faults.set("slow_end", times=1, seconds=60)
    await driver.terminate(made)
    assert (await driver.describe(made)).state == ProviderResourceState.ENDING
    (listed,) = await driver.inventory(TAG)
    assert listed.state == ProviderResourceState.ENDING
    clock.go(60)
    assert (await driver.describe(made)).state == ProviderResourceState.ABSENT
    assert list(await driver.inventory(TAG)) == []


def test_digits_that_python_does_not_read_change_no_second():
    """timeCreated has seven digits of a second; one is cut off, none is rounded up."""
    read = documents.moment("2026-10-31T23:59:59.9999999+00:00")
    assert read is not None
    assert read.isoformat() == "2026-10-31T23:59:59.999999+00:00"
    assert documents.moment("2026-11-01T00:30:00+02:00").isoformat().startswith("2026-10-31T22:30")
    assert documents.moment("") is documents.moment(None) is None


# --- whether a launch would pass ------------------------------------------------------------------


async def over(of, region="westeurope"):
    return {line.topic: line for line in await of.preflight(region, TAG)}


async def test_identity_without_rights_is_the_only_line(cloud, driver):
    """What follows would fail for the same reason, in worse words."""
    cloud.faults.set("forbidden", times=1)
    lines = await over(driver)
    assert [*lines] == ["identity"]
    assert (lines["identity"].state, bool(lines["identity"].advice)) == (Readiness.NOT_READY, True)


async def test_quota_that_cannot_be_asked_for_is_not_ready(cloud, driver, monkeypatch):
    real = cloud._of_subscription

    def out_of_order(asked, rest):
        return Answer({}, 500) if rest[-1] == "usages" else real(asked, rest)

    monkeypatch.setattr(cloud, "_of_subscription", out_of_order)
    lines = await over(driver)
    assert lines["quota"].state == Readiness.NOT_READY
    assert lines["region"].state == Readiness.READY


@pytest.mark.parametrize(
    ("image", "state", "words"),
    [
        ("/subscriptions/1/images/own", Readiness.READY, "as the account says"),
        ("Debian:debian-12:11-gone:latest", Readiness.NOT_READY, "11-gone has no version in"),
        ("debian", Readiness.NOT_READY, "is no URN"),
    ],
)
async def test_image_of_the_account_is_looked_up_before_a_launch(cloud, image, state, words):
    line = (await over(_driver(cloud, image=image)))["image x86_64"]
    assert (line.state, words in line.detail) == (state, True)


async def test_zone_that_is_withheld_is_left_out_and_its_region_is_not(driver, monkeypatch):
    """A size may be withheld in one zone alone (rest/api/compute/resource-skus, restrictions)."""
    real = fake.skus

    def withheld(condition):
        zones = {"type": "Zone", "restrictionInfo": {"zones": ["2"]}}
        return [
            {**row, "restrictions": [zones]} if row["name"] == SPEC.machine_type else row
            for row in real(condition)
        ]

    before = await driver.zones(SPEC.machine_type, "westeurope")
    monkeypatch.setattr(fake, "skus", withheld)
    after = await driver.zones(SPEC.machine_type, "westeurope")
    assert set(before) - set(after) == {"westeurope-2"}
    # It is still sold in the region.
    assert SPEC.machine_type in {one.name for one in await driver.offers()}
