"""What is Hetzner's own; tests/workers/test_hosters.py tries the rest."""

import asyncio
import base64
import datetime as dt
import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncssh
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import DriverError, Reason
from backend.providers.hetzner import driver as hetzner
from backend.providers.hetzner.driver import HetznerDriver
from backend.providers.host_keys import host_key
from backend.providers.machines import (
    Access,
    LaunchSpec,
    MachineListing,
    ProviderResource,
    ProviderResourceState,
    ResourceKind,
)
from tests.fakes.hetzner import LABEL, Hetzner
from tests.fakes.machines import Machines
from tests.workers.rented_machines import PRIVATE_KEY, TAG, Clock, new_token

TOKEN = "3f0f6f0e-6f9c-4a3c-9f5a-0d8b6a0c1e2f"
SPEC = LaunchSpec(
    machine_type="cx22",
    region="fsn1",
    arch="x86_64",
    lifetime_s=3600,
    expires_at=dt.datetime(2026, 3, 1, 14, tzinfo=dt.UTC),
    public_key=PRIVATE_KEY.export_public_key("openssh").decode(),
    tag=TAG,
    labels={"run": "0c6f", "owner": "somebody"},
)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cloud(tmp_path: Path, clock: Clock) -> Iterator[Hetzner]:
    with Machines(tmp_path) as machines, Hetzner(machines, clock=clock) as running:
        yield running


def _driver(cloud: Hetzner, *, token: str = Hetzner.token, **settings: Any) -> HetznerDriver:
    known = {"regions": ["fsn1"], "endpoint_url": cloud.endpoint, **settings}
    return HetznerDriver(Access("token", known, {"token": token}))


@pytest.fixture
def driver(cloud: Hetzner) -> HetznerDriver:
    return _driver(cloud)


async def _refusal(call: Any) -> DriverError:
    with pytest.raises(DriverError) as refusal:
        await call
    return refusal.value


def _named(refusal: DriverError) -> tuple[Reason, bool]:
    return refusal.reason, refusal.retryable


# --- what is asked for ----------------------------------------------------------------------------


async def test_launch_asks_for_the_machine_when_called(cloud, driver):
    await driver.launch(SPEC, TOKEN)
    body = dict(cloud.record[0].body)
    host_key_label = body["labels"].pop("rackrate-host-key")
    assert LABEL.fullmatch(host_key_label)
    (key,) = cloud.keys.values()
    labels = {
        "rackrate-workspace": TAG,
        "rackrate-token": TOKEN,
        "rackrate-expires": "20260301T140000Z",
        "run": "0c6f",
        "owner": "somebody",
    }
    assert {name: body[name] for name in body if name != "user_data"} == {
        "name": f"rackrate-{TOKEN}",
        "server_type": "cx22",
        "location": "fsn1",
        "image": "debian-12",
        "ssh_keys": [key["id"]],
        "labels": labels,
    }
    assert (key["name"], key["labels"]) == (f"rackrate-{TOKEN}", labels)
    assert key["public_key"] == " ".join(SPEC.public_key.split()[:2])


async def test_user_data_arms_the_end_before_anything_else(cloud, driver):
    await driver.launch(replace(SPEC, lifetime_s=3601), TOKEN)
    config = yaml.safe_load(cloud.record[0].body["user_data"])
    assert config["bootcmd"] == [
        ["systemd-run", "--no-block", "--on-active=3601s", "systemctl", "poweroff"]
    ]
    assert config["runcmd"] == [["shutdown", "-P", "+61"]]
    assert config["ssh_pwauth"] is False


async def test_launch_follows_the_account_when_it_sets_image_user_and_port(cloud):
    driver = _driver(cloud, image="ubuntu-24.04", username="bench", ssh_port=2222)
    made = await driver.launch(replace(SPEC, machine_type="cax11", arch="arm64"), TOKEN)
    assert (made.username, made.port) == ("bench", 2222)
    assert cloud.record[0].body["image"] == "ubuntu-24.04"


async def test_launch_answers_with_the_machine_when_it_runs(driver, clock):
    made = await driver.launch(SPEC, TOKEN)
    assert made == ProviderResource(
        id="102",
        state=ProviderResourceState.RUNNING,
        token=TOKEN,
        region="fsn1",
        address="127.0.1.1",
        port=22,
        username="root",
        launched_at=clock.now,
        expires_at=SPEC.expires_at,
    )


@pytest.mark.parametrize(
    ("change", "token"),
    [
        ({"labels": {"run": "-1"}}, TOKEN),
        ({"labels": {"Größe": "1"}}, TOKEN),
        ({"tag": "x,y"}, TOKEN),
        ({}, "a b"),
    ],
)
async def test_launch_is_refused_when_hetzner_would_not_take_it(cloud, driver, change, token):
    refusal = await _refusal(driver.launch(replace(SPEC, **change), token))
    assert _named(refusal) == (Reason.UNSUPPORTED, False)
    assert cloud.record == []


# --- once and only once ---------------------------------------------------------------------------


async def test_launch_makes_one_machine_and_one_key_when_repeated(cloud, driver):
    first = await driver.launch(SPEC, TOKEN)
    assert await driver.launch(SPEC, TOKEN) == first
    assert (len(cloud.record), len(cloud.keys)) == (1, 1)


@pytest.mark.parametrize("fault", ["lost_answer", "lost_request"])
async def test_launch_makes_one_key_when_the_first_answer_is_lost(cloud, driver, fault):
    cloud.faults.set(fault, times=1)
    await _refusal(driver.launch(SPEC, TOKEN))
    await driver.launch(SPEC, TOKEN)
    assert (len(cloud.record), len(cloud.keys)) == (1, 1)


async def test_launch_makes_one_machine_when_several_workers_ask_at_once(cloud):
    made = await asyncio.gather(*(_driver(cloud).launch(SPEC, TOKEN) for _ in range(5)))
    assert len(set(made)) == len(cloud.record) == len(cloud.keys) == 1
    (made_for_all,) = cloud.record
    assert await _driver(cloud).console_fingerprint(made[0]) == host_key(
        made_for_all.server.host_key
    )


async def test_launch_waits_for_its_machine_when_it_is_not_shown_yet(cloud, driver, clock):
    cloud.faults.set("late", times=1, seconds=30)
    await driver.launch(SPEC, TOKEN)
    refusal = await _refusal(driver.launch(SPEC, TOKEN))
    assert (refusal.retryable, len(cloud.record)) == (True, 1)
    clock.go(30)
    assert (await driver.launch(SPEC, TOKEN)).state == ProviderResourceState.RUNNING
    assert len(cloud.record) == 1


async def test_fingerprint_is_that_of_the_first_launch_when_it_was_repeated(cloud, driver):
    cloud.faults.set("lost_answer", times=1)
    await _refusal(driver.launch(SPEC, TOKEN))
    made = await driver.launch(SPEC, TOKEN)
    assert await driver.console_fingerprint(made) == host_key(cloud.record[0].server.host_key)


# --- refusals -------------------------------------------------------------------------------------


async def test_launch_has_no_machine_when_its_action_fails(cloud, driver):
    cloud.faults.set("create_failed", times=1)
    assert _named(await _refusal(driver.launch(SPEC, TOKEN))) == (Reason.CAPACITY, True)
    assert cloud.alive == []


async def test_key_is_left_for_the_inventory_when_there_was_no_capacity(cloud, driver):
    cloud.faults.set("capacity", times=1)
    await _refusal(driver.launch(SPEC, TOKEN))
    (key,) = await driver.inventory(TAG, token=TOKEN, region="fsn1")
    assert (key.kind, key.token) == (ResourceKind.KEY_PAIR, TOKEN)
    assert (await driver.describe(key)).state == ProviderResourceState.RUNNING
    await driver.terminate(key)
    assert (await driver.describe(key)).state == ProviderResourceState.ABSENT
    assert cloud.keys == {}


async def test_throttling_has_its_end_when_hetzner_gives_it(cloud, driver):
    cloud.faults.set("throttled", times=1)
    assert (await _refusal(driver.whoami())).detail.endswith("3600 an hour, full at 12:00:30")


# --- a life and its end ---------------------------------------------------------------------------


async def test_describe_gives_the_state_when_the_machine_boots(cloud, driver, clock):
    cloud.faults.set("slow_boot", times=1, seconds=40)
    made = await driver.launch(SPEC, TOKEN)
    assert made.state == ProviderResourceState.PENDING
    clock.go(30)  # switched off for a moment, and about to start
    assert cloud.record[0].status(clock.now) == "off"
    assert (await driver.describe(made)).state == ProviderResourceState.PENDING
    clock.go(10)
    running = await driver.describe(made)
    assert (running.state, running.address) == (ProviderResourceState.RUNNING, "127.0.1.1")


async def test_describe_gives_the_reason_when_the_start_failed(cloud, driver):
    cloud.faults.set("start_failed", times=1)
    made = await driver.launch(SPEC, TOKEN)
    ending = await driver.describe(made)
    assert (ending.state, ending.detail) == (
        ProviderResourceState.ENDING,
        "action_failed: it does not start",
    )


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("locked", Reason.UNSUPPORTED),
        ("delete_failed", Reason.UNREACHABLE),
        ("delete_lost", Reason.UNREACHABLE),
    ],
)
async def test_terminate_may_be_asked_again_when_it_failed(cloud, driver, fault, reason):
    made = await driver.launch(SPEC, TOKEN)
    cloud.faults.set(fault, times=1)
    assert _named(await _refusal(driver.terminate(made))) == (reason, True)
    await driver.terminate(made)
    assert cloud.alive == []


async def test_inventory_finds_what_is_ours_when_others_rent_too(cloud, driver):
    other = new_token()
    await driver.launch(SPEC, TOKEN)
    public_key = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode()
    second = replace(SPEC, region="nbg1", public_key=public_key)
    await driver.launch(second, other)
    public_key = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode()
    await driver.launch(replace(SPEC, tag=new_token(), public_key=public_key), new_token())

    def summary(found):
        return sorted((one.kind, one.token, one.region) for one in found)

    key, machine = ResourceKind.KEY_PAIR, ResourceKind.MACHINE
    all_of_ours = [
        (key, TOKEN, ""),
        (key, other, ""),
        (machine, TOKEN, "fsn1"),
        (machine, other, "nbg1"),
    ]
    assert summary(await driver.inventory(TAG)) == sorted(all_of_ours)
    assert summary(await driver.inventory(TAG, token=other)) == [
        (key, other, ""),
        (machine, other, "nbg1"),
    ]
    assert summary(await driver.inventory(TAG, token=other, region="fsn1")) == [(key, other, "")]


async def test_inventory_shows_no_expiry_when_somebody_changed_the_label(cloud, driver):
    await driver.launch(SPEC, TOKEN)
    cloud.record[0].body["labels"]["rackrate-expires"] = "never"
    machine, _ = await driver.inventory(TAG)
    assert machine.expires_at is None


# --- its key, and the way in ----------------------------------------------------------------------


async def test_fingerprint_is_unknown_when_there_is_no_machine_or_no_label(cloud, driver):
    made = await driver.launch(SPEC, TOKEN)
    cloud.record[0].body["labels"]["rackrate-host-key"] = "other"
    assert await driver.console_fingerprint(made) is None
    await driver.terminate(made)
    assert await driver.console_fingerprint(made) is None


async def test_private_host_key_is_nowhere_but_in_the_user_data_when_launched(
    cloud, driver, caplog
):
    caplog.set_level(logging.DEBUG)
    made = await driver.launch(SPEC, TOKEN)
    key = yaml.safe_load(cloud.record[0].body["user_data"])["ssh_keys"]["ed25519_private"]
    secret = key.splitlines()[2]
    assert secret not in f"{made!r} {vars(driver)} {caplog.text} {cloud.record[0].body['labels']}"


@given(st.binary(min_size=32, max_size=32))
def test_label_gives_the_fingerprint_back_whatever_the_key_is(seed):
    class Key:
        def get_fingerprint(self, _: str) -> str:
            return "SHA256:" + base64.b64encode(seed).decode().rstrip("=")

    label = hetzner._as_label(Key())
    assert LABEL.fullmatch(label)
    assert hetzner._fingerprint(label) == Key().get_fingerprint("sha256")


# --- who we are -----------------------------------------------------------------------------------


async def test_whoami_counts_the_servers_of_the_project(cloud, driver):
    await driver.launch(SPEC, TOKEN)
    assert await driver.whoami() == "a project with 1 servers"


async def test_offers_names_the_types_of_the_regions_when_asked(cloud, driver):
    assert await driver.offers() == [
        MachineListing("cx22", "fsn1"),
        MachineListing("cax11", "fsn1"),
    ]
    assert await _driver(cloud, regions=["nbg1"]).offers() == [MachineListing("cx22", "nbg1")]
