"""The provider in a folder: it keeps a driver's contract, and breaks it where it is told to."""

import asyncio
import datetime as dt
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import asyncssh
import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.host_keys import host_key
from backend.providers.machines import (
    Access,
    LaunchSpec,
    ProviderResource,
    ProviderResourceState,
    ResourceKind,
)
from tests.fakes.fake.cloud import Fault, moment, now_ms
from tests.fakes.fake_provider import FakeProvider
from workers.remote import registry, ssh
from workers.remote.driver import Target

TAG = "workspace-1"
KEY = asyncssh.generate_private_key("ssh-ed25519")
LAUNCH_TWICE = """
import asyncio, sys
sys.path.insert(0, "")
from tests.workers.test_fake import spec
from backend.providers.machines import Access
from backend.providers.registry import register
from workers.remote import registry
register('tests.fakes.fake')
driver = registry.cloud("fake", Access("token", {"folder": sys.argv[1], "regions": ["eu-1"]}))
print(asyncio.run(driver.launch(spec(), "one")).id)
"""


def spec(**changes) -> LaunchSpec:
    told = {
        "machine_type": "fake.small",
        "region": "eu-1",
        "arch": "x86_64",
        "lifetime_s": 600,
        "expires_at": moment(now_ms()) + dt.timedelta(hours=1),
        "public_key": KEY.export_public_key().decode(),
        "tag": TAG,
        "labels": {"run": "r1"},
    }
    return LaunchSpec(**{**told, **changes})


@pytest.fixture
def provider(tmp_path):
    with FakeProvider(tmp_path) as made:
        yield made


@pytest.fixture
def driver(provider):
    settings = {"folder": str(provider.folder), "regions": ["eu-1", "eu-2"]}
    return registry.cloud("fake", Access("token", settings))


def launch(driver, token="one", **changes) -> ProviderResource:
    return asyncio.run(driver.launch(spec(**changes), token))


def describe(driver, resource) -> ProviderResource:
    return asyncio.run(driver.describe(resource))


def inventory(driver, tag=TAG, **asked) -> list[ProviderResource]:
    return list(asyncio.run(driver.inventory(tag, **asked)))


def machines(driver, **asked) -> list[ProviderResource]:
    return [found for found in inventory(driver, **asked) if found.kind == ResourceKind.MACHINE]


def end(driver, resource) -> None:
    asyncio.run(driver.terminate(resource))


def refused(work: Callable[[], object]) -> DriverError:
    with pytest.raises(DriverError) as caught:
        work()
    return caught.value


def until(is_so: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.01)


def running(driver, resource) -> ProviderResource:
    until(lambda: describe(driver, resource).state == ProviderResourceState.RUNNING)
    return describe(driver, resource)


# --- a driver's contract ----------------------------------------------------------------------------


def test_machine_lets_the_key_in_and_shows_its_fingerprint_when_it_runs(driver):
    machine = running(driver, launch(driver))
    shown = asyncio.run(driver.console_fingerprint(machine))
    presented = asyncio.run(ssh.scan(machine.address, machine.port, is_private_allowed=True))

    async def said() -> bytes:
        transport = await ssh.connect(
            Target(
                address=machine.address,
                port=machine.port,
                username=machine.username,
                private_key=KEY.export_private_key(),
                host_key=presented,
                is_private_allowed=True,
            )
        )
        output = await transport.run("echo here", timeout_s=5)
        await transport.close()
        return output.stdout

    assert host_key(presented) == shown
    assert asyncio.run(said()).endswith(b"here\n")


def test_launch_starts_one_machine_when_repeated_with_a_token(driver, provider):
    assert launch(driver).id == launch(driver).id
    assert launch(driver, "two").id != launch(driver).id
    assert sorted(machine.token for machine in machines(driver)) == ["one", "two"]


def test_launch_starts_one_machine_when_processes_and_threads_race(driver, provider):
    with ThreadPoolExecutor(4) as pool:
        ids = {made.id for made in pool.map(lambda _: launch(driver), range(12))}
    command = [sys.executable, "-c", LAUNCH_TWICE, str(provider.folder)]
    ids.add(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    assert ids == {machines(driver)[0].id}


def test_inventory_lists_by_tag_token_and_region_when_asked(driver):
    launch(driver, "one")
    launch(driver, "two", region="eu-2")
    launch(driver, "three", tag="another")
    launch(driver, "four", region="far-1")
    assert {machine.token for machine in machines(driver)} == {"one", "two"}
    assert [machine.token for machine in machines(driver, region="eu-2")] == ["two"]
    kinds = [found.kind for found in inventory(driver, token="one")]
    assert kinds == [ResourceKind.KEY_PAIR, ResourceKind.SECURITY_GROUP, ResourceKind.MACHINE]


def test_machine_is_gone_with_its_server_when_terminated_twice(driver, provider):
    machine = running(driver, launch(driver))
    end(driver, machine)
    end(driver, machine)
    gone = describe(driver, machine)
    assert (gone.state, machines(driver)) == (ProviderResourceState.GONE, [])
    assert gone.launched_at < gone.ended_at <= moment(now_ms())
    until(lambda: not provider.machines.alive)
    until(lambda: is_silent(machine))


def is_silent(machine):
    """Whether nobody listens there; a server that is stopped closes its socket a moment later."""
    try:
        asyncio.run(ssh.scan(machine.address, machine.port, is_private_allowed=True))
    except DriverError:
        return True
    return False


def test_parts_stay_until_they_are_ended_when_the_machine_is_gone(driver):
    machine = launch(driver)
    key, group = (found for found in inventory(driver) if found.kind != ResourceKind.MACHINE)
    assert refused(lambda: end(driver, group)).retryable
    end(driver, machine)
    end(driver, group)
    end(driver, key)
    assert inventory(driver) == []


def test_describe_says_absent_and_terminate_does_nothing_for_unknown_id(driver):
    for name in ("machine-99", "i-0abc", ""):
        unknown = ProviderResource(name, ProviderResourceState.PENDING)
        end(driver, unknown)
        assert describe(driver, unknown).state == ProviderResourceState.ABSENT


def test_machine_ends_itself_when_its_lifetime_is_over(driver):
    machine = launch(driver, lifetime_s=0)
    until(lambda: describe(driver, machine).state == ProviderResourceState.GONE)
    assert "itself" in describe(driver, machine).detail


@pytest.mark.parametrize("settings", [{}, {"folder": "/nonexistent/provider"}])
def test_account_is_refused_when_the_folder_is_not_there(settings):
    driver = registry.cloud("fake", Access("token", settings))
    assert refused(lambda: asyncio.run(driver.whoami())).reason == Reason.AUTH


def test_whoami_and_offers_answer_when_asked(driver):
    assert asyncio.run(driver.whoami()) == "fake provider"
    offers = asyncio.run(driver.offers())
    assert {offer.region for offer in offers} == {"eu-1", "eu-2"}


# --- faults -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "reason", "is_retryable"),
    [
        (Fault.AUTH, Reason.AUTH, False),
        (Fault.THROTTLED, Reason.TIMEOUT, True),
        (Fault.QUOTA, Reason.QUOTA, False),
        (Fault.CAPACITY, Reason.CAPACITY, True),
        (Fault.LOST_REQUEST, Reason.TIMEOUT, True),
        (Fault.LOST_ANSWER, Reason.TIMEOUT, True),
    ],
)
def test_launch_is_refused_once_when_a_fault_is_set_once(
    driver, provider, fault, reason, is_retryable
):
    provider.cloud.fault(fault, times=1)
    error = refused(lambda: launch(driver))
    assert (error.reason, error.retryable) == (reason, is_retryable)
    assert len(machines(driver)) == (fault == Fault.LOST_ANSWER)
    launch(driver)
    assert len(machines(driver)) == 1
    assert [row["name"] for row in provider.cloud.log("fault")] == [fault]


def test_parts_are_left_when_there_is_no_capacity(driver, provider):
    provider.cloud.fault(Fault.CAPACITY, times=1)
    refused(lambda: launch(driver))
    kinds = [found.kind for found in inventory(driver)]
    assert kinds == [ResourceKind.KEY_PAIR, ResourceKind.SECURITY_GROUP]
    launch(driver)
    assert len(inventory(driver)) == 3


def test_capacity_fails_in_one_zone_only_when_the_fault_names_it(driver, provider):
    provider.cloud.fault(Fault.CAPACITY, probability=1, zone="eu-1a")
    assert refused(lambda: launch(driver, zone="eu-1a")).reason == Reason.CAPACITY
    assert launch(driver, zone="eu-1b").zone == "eu-1b"


def test_launch_makes_one_machine_more_when_it_is_doubled(driver, provider):
    provider.cloud.fault(Fault.DOUBLED, times=1)
    made = launch(driver)
    found = machines(driver)
    assert [machine.token for machine in found] == ["one", "one"]
    assert (made.id, launch(driver).id) == (found[0].id, found[0].id)


def test_machine_is_unknown_at_first_when_the_provider_is_late(driver, provider):
    provider.cloud.fault(Fault.LATE, times=1, seconds=0.3)
    machine = launch(driver)
    assert (describe(driver, machine).state, machines(driver)) == (ProviderResourceState.ABSENT, [])
    assert running(driver, machine).id == machines(driver)[0].id


def test_machine_is_pending_without_a_console_when_it_boots_slowly(driver, provider):
    provider.cloud.fault(Fault.SLOW_BOOT, times=1, seconds=0.3)
    machine = launch(driver)
    assert describe(driver, machine).state == ProviderResourceState.PENDING
    assert asyncio.run(driver.console_fingerprint(machine)) is None
    assert asyncio.run(driver.console_fingerprint(running(driver, machine))) is not None


def test_machine_runs_without_ssh_and_fingerprint_when_sshd_is_missing(driver, provider):
    provider.cloud.fault(Fault.NO_SSHD, times=1)
    machine = running(driver, launch(driver))
    assert asyncio.run(driver.console_fingerprint(machine)) is None
    with pytest.raises(DriverError):
        asyncio.run(ssh.scan(machine.address, machine.port, is_private_allowed=True))


def test_machine_disappears_when_it_is_interrupted(driver, provider):
    provider.cloud.fault(Fault.INTERRUPTED, times=1, seconds=0.2)
    machine, other = launch(driver), launch(driver, "two")
    until(lambda: describe(driver, machine).state == ProviderResourceState.GONE)
    gone = describe(driver, machine)
    assert gone.ended_at - gone.launched_at == dt.timedelta(seconds=0.2)
    assert "interrupted" in gone.detail
    provider.cloud.interrupt(int(other.id.removeprefix("machine-")))
    assert describe(driver, other).state == ProviderResourceState.GONE


def test_end_is_slow_or_fails_as_configured(driver, provider):
    machine = launch(driver)
    provider.cloud.fault(Fault.TERMINATE_FAILED, times=1)
    assert refused(lambda: end(driver, machine)).retryable
    provider.cloud.fault(Fault.SLOW_END, times=1, seconds=0.3)
    provider.cloud.fault(Fault.TERMINATE_LOST, times=1)
    assert refused(lambda: end(driver, machine)).reason == Reason.TIMEOUT
    assert describe(driver, machine).state == ProviderResourceState.ENDING
    assert machines(driver)[0].state == ProviderResourceState.ENDING
    until(lambda: describe(driver, machine).state == ProviderResourceState.GONE)
    assert describe(driver, machine).ended_at - machine.launched_at >= dt.timedelta(seconds=0.3)


def test_a_disk_stays_when_it_is_left(driver, provider):
    provider.cloud.fault(Fault.DISK_LEFT, times=1)
    machine = launch(driver)
    end(driver, machine)
    disk = next(found for found in inventory(driver) if found.kind == ResourceKind.DISK)
    end(driver, disk)
    assert {row["kind"] for row in provider.cloud.alive()} == {"key_pair", "security_group"}


def test_a_call_takes_effect_in_its_middle_when_answers_are_slow(driver, provider):
    provider.cloud.fault(Fault.SLOW_ANSWER, times=1, seconds=0.2)
    began = time.monotonic()
    machine = launch(driver)
    assert time.monotonic() - began >= 0.2
    assert moment(now_ms()) - machine.launched_at >= dt.timedelta(seconds=0.09)


def test_faults_come_at_random_but_the_same_when_the_seed_is_the_same(driver, provider):
    provider.cloud.fault(Fault.LOST_REQUEST, probability=0.5)

    def hits() -> list[bool]:
        provider.cloud.seed(7)
        said = []
        for number in range(30):
            try:
                launch(driver, str(number))
                said.append(False)
            except DriverError:
                said.append(True)
        return said

    first = hits()
    assert 3 < sum(first) < 27
    assert hits() == first
