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


# "locked" and "warning" are the other states that docs.digitalocean.com/reference/api, Account, names.
@pytest.mark.parametrize(
    ("status", "refused"), [("active", []), ("locked", ["locked"]), ("warning", ["warning"])]
)
async def test_account_that_digitalocean_restricts_is_not_ready(cloud, status, refused):
    cloud.status = status
    lines = await hoster_driver(cloud).preflight("fra1", TAG)
    assert [line.detail for line in lines if line.topic == "account"] == refused
    assert [line.detail for line in lines if line.state == Readiness.NOT_READY] == refused


async def test_image_that_the_region_lacks_is_not_ready(cloud, monkeypatch):
    monkeypatch.setattr(cloud, "region", "sfo3")
    lines = await hoster_driver(cloud).preflight("sfo3", TAG)
    (image,) = [line for line in lines if line.topic == "image"]
    assert (image.state, "debian-12-x64 in sfo3" in image.detail) == (Readiness.NOT_READY, True)
