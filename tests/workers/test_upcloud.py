"""What is asked of UpCloud; tests/workers/test_hosters.py tries the rest."""

from dataclasses import replace

import pytest

from backend.foundation.errors import DriverError
from tests.fakes.upcloud import Upcloud
from tests.workers.rented_machines import TAG, hoster, hoster_driver, hoster_spec


@pytest.fixture
def cloud(tmp_path):
    yield from hoster(Upcloud, tmp_path)


async def test_launch_asks_for_a_server_with_its_disk(cloud):
    spec = hoster_spec(Upcloud)
    await hoster_driver(cloud).launch(spec, "4f0f")
    body = dict(cloud.record[0].body)
    assert body.pop("user_data").startswith("#cloud-config")
    key = " ".join(spec.public_key.split()[:2])
    disk = {
        "action": "clone",
        "storage": "t-debian",
        "title": "rackrate-4f0f",
        "size": 50,
        "tier": "maxiops",
    }
    assert body == {
        "zone": "de-fra1",
        "title": f"rackrate-4f0f.w-{TAG}.x-20260301t140000z.i-7d1f",
        "hostname": "rackrate-4f0f",
        "plan": "1xCPU-2GB",
        "metadata": "yes",
        "login_user": {"create_password": "no", "ssh_keys": {"ssh_key": [key]}},
        "storage_devices": {"storage_device": [disk]},
    }


async def test_terminate_stops_the_server_before_it_deletes_it(cloud):
    driver = hoster_driver(cloud)
    made = await driver.launch(hoster_spec(Upcloud), "4f0f")
    with pytest.raises(DriverError, match="stop first") as refusal:
        await driver.terminate(made)
    assert refusal.value.retryable
    assert len(cloud.alive) == 1
    await driver.terminate(made)
    assert cloud.alive == []


async def test_server_that_still_boots_is_ended_later_and_not_stopped(cloud):
    """A server in maintenance takes no orders (developers.upcloud.com/1.3/8-servers, "Server states")."""
    clock = cloud.clock
    cloud.faults.set("slow_boot", times=1, seconds=40)
    driver = hoster_driver(cloud)
    made = await driver.launch(hoster_spec(Upcloud), "4f0f")
    with pytest.raises(DriverError, match="stop first") as refusal:
        await driver.terminate(made)
    assert refusal.value.retryable
    assert [one.path for one in cloud.asked if one.path.endswith("/stop")] == []
    clock.go(40)
    with pytest.raises(DriverError, match="stop first"):
        await driver.terminate(made)
    await driver.terminate(made)
    assert cloud.alive == []


async def test_launch_of_an_unknown_plan_is_refused_before_anything_is_made(cloud):
    spec = replace(hoster_spec(Upcloud), machine_type="9xCPU-1GB")
    with pytest.raises(DriverError, match="9xCPU-1GB is no plan") as refusal:
        await hoster_driver(cloud).launch(spec, "4f0f")
    assert not refusal.value.retryable
    assert {one.method for one in cloud.asked} == {"GET"}
