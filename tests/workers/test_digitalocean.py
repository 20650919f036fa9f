"""What is asked of DigitalOcean; tests/workers/test_hosters.py tries the rest."""

import pytest

from backend.providers.machines import Readiness
from tests.fakes.digitalocean import DigitalOcean
from tests.workers.rented_machines import TAG, hoster, hoster_driver, hoster_spec


@pytest.fixture
def cloud(tmp_path):
    yield from hoster(DigitalOcean, tmp_path)


async def test_launch_asks_for_a_droplet_without_tags(cloud):
    spec = hoster_spec(DigitalOcean)
    await hoster_driver(cloud).launch(spec, "4f0f")
    body = dict(cloud.record[0].body)
    assert body.pop("user_data").startswith("#cloud-config")
    assert body == {
        "name": f"rackrate-4f0f.w-{TAG}.x-20260301t140000z.i-7d1f",
        "region": "fra1",
        "size": "s-1vcpu-1gb",
        "image": "debian-12-x64",
    }


@pytest.mark.parametrize(("limit", "state"), [(1, Readiness.READY), (0, Readiness.NOT_READY)])
async def test_preflight_names_the_quota(cloud, limit, state):
    cloud.droplet_limit = limit
    lines = await hoster_driver(cloud).preflight("fra1", TAG)
    (quota,) = [line for line in lines if line.topic == "quota"]
    assert (quota.state, quota.detail) == (state, f"0 of {limit} droplets")
