"""What is asked of Linode; tests/workers/test_hosters.py tries the rest."""

import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.machines import UNGUARDED
from tests.fakes.linode import Linode
from tests.workers.rented_machines import TAG, hoster, hoster_driver, hoster_spec


@pytest.fixture
def cloud(tmp_path):
    yield from hoster(Linode, tmp_path)


async def test_launch_asks_for_an_instance_with_label_and_tags(cloud):
    await hoster_driver(cloud).launch(hoster_spec(Linode), "4f0f")
    body = dict(cloud.record[0].body)
    assert len(body.pop("root_pass")) == 64
    assert set(body.pop("metadata")) == {"user_data"}
    assert body == {
        "region": "eu-central",
        "type": "g6-nanode-1",
        "image": "linode/debian12",
        "label": "rackrate-4f0f",
        "tags": [f"w-{TAG}", "x-20260301t140000z", "i-7d1f"],
        "booted": True,
    }


async def test_firewall_of_the_account_is_named_to_whoever_is_to_be_let_in(cloud, monkeypatch):
    driver = hoster_driver(cloud)
    made = await driver.launch(hoster_spec(Linode), "4f0f")
    assert await driver.let_in(made, "192.0.2.7") == UNGUARDED
    rules = [
        {"label": "ours", "status": "enabled"},
        {"label": "old", "status": "disabled"},
    ]
    monkeypatch.setattr(cloud, "firewalls", rules)
    assert await driver.let_in(made, "192.0.2.7") == (
        "the account's firewall ours is in front of the machine: it must let in"
        " TCP and UDP ports 20000 to 32003 and ICMP from 192.0.2.7"
    )


async def test_launch_may_be_repeated_when_the_machine_is_not_listed_yet(cloud):
    cloud.faults.set("late", times=1, seconds=60)
    driver = hoster_driver(cloud)
    await driver.launch(hoster_spec(Linode), "4f0f")
    with pytest.raises(DriverError, match="must be unique") as refusal:
        await driver.launch(hoster_spec(Linode), "4f0f")
    assert (refusal.value.reason, refusal.value.retryable) == (Reason.UNSUPPORTED, True)


async def test_launch_is_refused_when_the_image_takes_no_user_data(cloud):
    driver = hoster_driver(cloud, image="linode/debian9")
    with pytest.raises(DriverError, match="no image linode/debian9"):
        await driver.launch(hoster_spec(Linode), "4f0f")
    assert cloud.record == []
