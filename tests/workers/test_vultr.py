"""What is asked of Vultr; tests/workers/test_hosters.py tries the rest."""

import pytest

from tests.fakes.vultr import Vultr
from tests.workers.rented_machines import TAG, hoster, hoster_driver, hoster_spec, new_token


@pytest.fixture
def cloud(tmp_path):
    yield from hoster(Vultr, tmp_path)


async def test_launch_asks_for_an_instance_with_the_marks_as_its_label(cloud):
    await hoster_driver(cloud).launch(hoster_spec(Vultr), "4f0f")
    body = dict(cloud.record[0].body)
    assert body.pop("user_data")
    assert body == {
        "region": "fra",
        "plan": "vc2-1c-1gb",
        "os_id": 2136,
        "label": f"rackrate-4f0f.w-{TAG}.x-20260301t140000z.i-7d1f",
        "hostname": "rackrate-4f0f",
        "activation_email": False,
        "backups": "disabled",
    }


async def test_inventory_reads_every_page_when_there_are_many(cloud):
    driver = hoster_driver(cloud)
    for _ in range(3):
        await driver.launch(hoster_spec(Vultr), new_token())
    assert len(await driver.inventory(TAG)) == 3
