"""What is asked of Scaleway; tests/workers/test_hosters.py tries the rest."""

from dataclasses import replace

import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.machines import ProviderResourceState, Readiness, ResourceKind
from tests.fakes.scaleway import PROJECT, Scaleway
from tests.workers.rented_machines import TAG, hoster, hoster_driver, hoster_spec

MARKS = [f"w-{TAG}", "x-20260301t140000z", "i-7d1f"]


@pytest.fixture
def cloud(tmp_path):
    yield from hoster(Scaleway, tmp_path)


async def test_launch_asks_for_an_instance_with_a_volume_of_its_name(cloud):
    await hoster_driver(cloud).launch(hoster_spec(Scaleway), "4f0f")
    body = dict(cloud.record[0].body)
    assert body.pop("user_data").startswith("#cloud-config")
    name = ".".join(["rackrate-4f0f", *MARKS])
    assert body == {
        "project": PROJECT,
        "name": "rackrate-4f0f",
        "tags": MARKS,
        "commercial_type": "PLAY2-PICO",
        "image": "6c1d-debian",
        "volumes": {"0": {"name": name, "volume_type": "sbs_volume", "size": 20_000_000_000}},
        "dynamic_ip_required": True,
    }


async def test_launch_takes_the_image_of_the_architecture(cloud):
    spec = replace(hoster_spec(Scaleway), machine_type="COPARM1-2C-8G", arch="arm64")
    await hoster_driver(cloud).launch(spec, "4f0f")
    body = cloud.record[0].body
    assert (body["commercial_type"], body["image"]) == ("COPARM1-2C-8G", "6c1d-debian-arm64")


async def test_preflight_looks_for_the_image_of_each_architecture(cloud):
    lines = {
        line.topic: line for line in await hoster_driver(cloud).preflight(Scaleway.region, TAG)
    }
    assert lines["image"].detail == "6c1d-debian"
    assert lines["image arm64"].detail == "6c1d-debian-arm64"
    ubuntu = hoster_driver(cloud, image="ubuntu_noble")
    lacking = [one for one in await ubuntu.preflight(Scaleway.region, TAG) if one.advice]
    assert [(one.topic, one.state) for one in lacking] == [("image arm64", Readiness.UNKNOWN)]


async def test_launch_that_was_cut_off_is_made_good_when_repeated(cloud):
    cloud.faults.set("start_lost", times=1)
    driver = hoster_driver(cloud)
    with pytest.raises(DriverError) as refusal:
        await driver.launch(hoster_spec(Scaleway), "4f0f")
    assert (refusal.value.reason, refusal.value.retryable) == (Reason.TIMEOUT, True)
    assert not cloud.record[0].is_started
    made = await driver.launch(hoster_spec(Scaleway), "4f0f")
    assert (len(cloud.record), cloud.record[0].is_started) == (1, True)
    assert (await driver.describe(made)).state == ProviderResourceState.RUNNING


async def test_instance_that_was_never_started_is_ended(cloud):
    cloud.faults.set("start_lost", times=1)
    driver = hoster_driver(cloud)
    with pytest.raises(DriverError, match="no answer"):
        await driver.launch(hoster_spec(Scaleway), "4f0f")
    (machine,) = await driver.inventory(TAG)
    await driver.terminate(machine)
    assert cloud.alive == []


async def test_volume_is_ended_when_its_machine_is_gone(cloud):
    driver = hoster_driver(cloud)
    made = await driver.launch(hoster_spec(Scaleway), "4f0f")
    await driver.terminate(made)
    (disk,) = await driver.inventory(TAG, token="4f0f")
    assert (disk.kind, disk.token, disk.installation) == (ResourceKind.DISK, "4f0f", "7d1f")
    assert (disk.region, disk.state) == ("fr-par-1", ProviderResourceState.ENDING)
    await driver.terminate(disk)
    assert (len(await driver.inventory(TAG)), cloud.volumes) == (0, [])
    await driver.terminate(disk)  # gone already


async def test_volume_of_a_machine_made_meanwhile_is_no_leftover(cloud, monkeypatch):
    driver, other = hoster_driver(cloud), hoster_driver(cloud)
    ask = driver.ask

    async def slow(method, path, **given):
        answer = await ask(method, path, **given)
        # Between the two lists that leftovers follow from: that of Instances was read once for
        # the machines themselves.
        if not cloud.record and len([one for one in cloud.asked if one.method == "GET"]) == 2:
            await other.launch(hoster_spec(Scaleway), "4f0f")
        return answer

    monkeypatch.setattr(driver, "ask", slow)
    assert list(await driver.inventory(TAG)) == []
    assert len(cloud.volumes) == 1


async def test_volume_that_is_being_deleted_is_no_leftover(cloud, monkeypatch):
    driver = hoster_driver(cloud)
    await driver.terminate(await driver.launch(hoster_spec(Scaleway), "4f0f"))
    shown = cloud._volume
    # Block Storage API, "List volumes": a volume keeps its row for a while.
    monkeypatch.setattr(cloud, "_volume", lambda one: {**shown(one), "status": "deleted"})
    assert list(await driver.inventory(TAG)) == []
