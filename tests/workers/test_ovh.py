"""What is asked of OVHcloud; tests/workers/test_hosters.py tries the rest."""

import pytest

from backend.providers.machines import Readiness
from tests.fakes.ovh import Ovh
from tests.workers.rented_machines import TAG, hoster, hoster_driver, hoster_spec


@pytest.fixture
def cloud(tmp_path):
    yield from hoster(Ovh, tmp_path)


async def test_launch_asks_for_an_instance_by_the_hour(cloud):
    await hoster_driver(cloud).launch(hoster_spec(Ovh), "4f0f")
    body = dict(cloud.record[0].body)
    assert body.pop("userData").startswith("#cloud-config")
    assert body == {
        "name": f"rackrate-4f0f.w-{TAG}.x-20260301t140000z.i-7d1f",
        "region": "GRA11",
        "flavorId": "b3-8/GRA11",
        "imageId": "i-debian",
        "monthlyBilling": False,
    }


@pytest.mark.parametrize(("cores", "state"), [(8, Readiness.READY), (40, Readiness.NOT_READY)])
async def test_preflight_names_the_quota(cloud, cores, state):
    cloud.cores_used = cores
    lines = await hoster_driver(cloud).preflight("GRA11", TAG)
    (quota,) = [line for line in lines if line.topic == "quota"]
    assert (quota.state, quota.detail) == (state, f"0 of 20 instances, {cores} of 40 cores")
