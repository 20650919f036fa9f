"""What is asked of UpCloud; tests/workers/test_hosters.py tries the rest."""

import pytest

from backend.domain.errors import DriverError
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
