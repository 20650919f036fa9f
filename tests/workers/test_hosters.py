"""The contract of all hosters' drivers, against each one's API on loopback, with real machines behind
it."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers import hoster_calls
from backend.providers.host_keys import host_key
from backend.providers.machines import (
    Inventory,
    LaunchSpec,
    ProviderDriver,
    ProviderResource,
    ProviderResourceState,
    Readiness,
    ResourceKind,
)
from backend.providers.registry import PROVIDERS
from tests.fakes.hosters import HosterApi
from tests.workers.rented_machines import (
    PRIVATE_KEY,
    TAG,
    Clock,
    hoster,
    hoster_driver,
    hoster_spec,
    new_token,
)
from workers.remote import ssh
from workers.remote.driver import Target

TOKEN = "3f0f6f0e-6f9c-4a3c-9f5a-0d8b6a0c1e2f"
INSTALLATION = "7d1f"


# The hosters among the providers: their fakes say what they sell.
CASES = [
    fake.HOSTER
    for slug, record in sorted(PROVIDERS.items())
    if record.rents_machines and slug != "fake"
    if hasattr(fake := import_module(f"tests.fakes.{slug}"), "HOSTER")
]

SIZED = [case for case in CASES if case.slug not in {"ovh", "vultr"}]


def only(cases: list[type[HosterApi]]) -> Any:
    return pytest.mark.parametrize("case", cases, indirect=True, ids=lambda case: case.slug)


# Hetzner has labels, SSH keys and an inventory of both: tests/workers/test_hetzner.py has these cases.
by_name = only([case for case in CASES if case.slug != "hetzner"])


@pytest.fixture(params=CASES, ids=lambda case: case.slug)
def case(request: Any) -> type[HosterApi]:
    return request.param


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cloud(case: type[HosterApi], tmp_path: Path, clock: Clock) -> Iterator[Any]:
    yield from hoster(case, tmp_path, clock)


@pytest.fixture
def driver(cloud: Any) -> ProviderDriver:
    return hoster_driver(cloud)


@pytest.fixture
def spec(case: type[HosterApi]) -> LaunchSpec:
    return hoster_spec(case)


@pytest.fixture
async def launched(
    driver: ProviderDriver, spec: LaunchSpec
) -> tuple[ProviderDriver, ProviderResource]:
    return driver, await driver.launch(spec, TOKEN)


async def _refusal(call: Any) -> DriverError:
    with pytest.raises(DriverError) as refusal:
        await call
    return refusal.value


def _machines(listed: Inventory) -> list[ProviderResource]:
    return [resource for resource in listed if resource.kind == ResourceKind.MACHINE]


def _another(spec: LaunchSpec, **changed: Any) -> LaunchSpec:
    """For another machine: Hetzner takes a public key once."""
    key = asyncssh.generate_private_key("ssh-ed25519").export_public_key("openssh").decode()
    return replace(spec, public_key=key, **changed)


def _named(refusal: DriverError) -> tuple[Reason, bool]:
    return refusal.reason, refusal.retryable


# --- a launch -------------------------------------------------------------------------------------


@by_name
async def test_launch_marks_the_machine_in_the_call_that_makes_it(case, cloud, driver, spec, clock):
    made = await driver.launch(spec, TOKEN)
    (life,) = cloud.record
    assert life.name.startswith(f"rackrate-{TOKEN}")
    assert (made.id, made.token, made.installation) == (life.number, TOKEN, INSTALLATION)
    assert (made.region, made.expires_at) == (case.region, spec.expires_at)
    assert (made.username, made.port) == ("rackrate", 22)
    assert made.launched_at == (clock.now if case.tells_creation else None)
    config = life.cloud_config
    assert config["users"][0]["name"] == "rackrate"
    assert (config["ssh_deletekeys"], list(config["ssh_keys"])) == (
        True,
        ["ed25519_private", "ed25519_public"],
    )


async def test_launch_gives_the_same_machine_when_repeated(case, cloud, driver, spec):
    first = await driver.launch(spec, TOKEN)
    again = await hoster_driver(cloud).launch(spec, TOKEN)
    assert (again.id, len(cloud.record)) == (first.id, 1)


@pytest.mark.parametrize(("fault", "count"), [("lost_request", 0), ("lost_answer", 1)])
async def test_launch_is_looked_up_by_name_when_the_answer_is_lost(
    cloud, driver, spec, fault, count
):
    cloud.faults.set(fault, times=1)
    assert _named(await _refusal(driver.launch(spec, TOKEN))) == (Reason.TIMEOUT, True)
    assert len(_machines(await driver.inventory(TAG, token=TOKEN))) == count
    made = await driver.launch(spec, TOKEN)
    assert (len(cloud.record), made.token) == (1, TOKEN)


@pytest.mark.parametrize(
    ("fault", "named"),
    [
        ("capacity", (Reason.CAPACITY, True)),
        ("quota", (Reason.QUOTA, False)),
        ("throttled", (Reason.TIMEOUT, True)),
        ("forbidden", (Reason.AUTH, False)),
        ("broken", (Reason.TIMEOUT, True)),
        ("hung", (Reason.TIMEOUT, True)),
        ("garbled", (Reason.TIMEOUT, True)),
    ],
)
async def test_launch_names_the_reason_when_refused(cloud, driver, spec, fault, named):
    cloud.faults.set(fault, times=1)
    assert _named(await _refusal(driver.launch(spec, TOKEN))) == named
    assert cloud.record == []


@pytest.mark.parametrize(
    "change",
    [
        {"machine_type": "no-such-type"},
        {"region": "no-such-region"},
        {"is_spot": True},
    ],
)
async def test_launch_is_unsupported_when_the_hoster_cannot(cloud, driver, spec, change):
    refusal = await _refusal(driver.launch(replace(spec, **change), TOKEN))
    assert _named(refusal) == (Reason.UNSUPPORTED, False)
    assert cloud.record == []


@by_name
@pytest.mark.parametrize("change", [{"arch": "arm64"}, {"tag": "a.b"}])
async def test_launch_is_unsupported_when_no_image_or_name_can(cloud, driver, spec, change):
    refusal = await _refusal(driver.launch(replace(spec, **change), TOKEN))
    assert _named(refusal) == (Reason.UNSUPPORTED, False)
    assert cloud.record == []


# --- calls ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("throttled", Reason.TIMEOUT),
        ("forbidden", Reason.AUTH),
        ("broken", Reason.UNREACHABLE),
        ("hung", Reason.UNREACHABLE),
        ("garbled", Reason.UNREACHABLE),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda driver, made: driver.describe(made),
        lambda driver, made: driver.terminate(made),
        lambda driver, made: driver.inventory(TAG),
        lambda driver, made: driver.console_fingerprint(made),
        lambda driver, made: driver.whoami(),
        lambda driver, made: driver.offers(),
    ],
)
async def test_call_names_the_reason_when_refused(cloud, launched, fault, reason, call):
    cloud.faults.set(fault, times=1)
    refusal = await _refusal(call(*launched))
    assert _named(refusal) == (reason, reason != Reason.AUTH)


async def test_call_is_refused_without_the_secret_when_it_is_unknown(case, cloud, caplog):
    caplog.set_level(logging.DEBUG)
    secret = dict.fromkeys(cloud.account()["secret"], "planted-canary")
    refusal = await _refusal(hoster_driver(cloud, secret=secret).whoami())
    assert _named(refusal) == (Reason.AUTH, False)
    assert "planted-canary" not in str(refusal) + caplog.text


async def test_call_is_unreachable_when_nobody_listens(case, cloud):
    closed = hoster_driver(cloud, endpoint_url="http://127.0.0.1:9")
    assert _named(await _refusal(closed.whoami())) == (Reason.UNREACHABLE, True)


@pytest.mark.parametrize(
    ("number", "kind"), [("../1", ResourceKind.MACHINE), ("1", ResourceKind.DISK)]
)
async def test_call_is_refused_when_the_id_is_not_ours(driver, number, kind):
    other = ProviderResource(number, ProviderResourceState.PENDING, kind)
    assert _named(await _refusal(driver.describe(other))) == (Reason.UNSUPPORTED, False)


# --- a life and its end ---------------------------------------------------------------------------


@by_name
async def test_describe_gives_state_and_address_when_the_machine_boots(cloud, driver, spec, clock):
    cloud.faults.set("slow_boot", times=1, seconds=40)
    made = await driver.launch(spec, TOKEN)
    assert (made.state, made.address) == (ProviderResourceState.PENDING, "")
    clock.go(40)
    running = await driver.describe(made)
    assert (running.state, running.address) == (ProviderResourceState.RUNNING, "127.0.1.1")


async def test_machine_still_costs_when_it_has_switched_itself_off(cloud, driver, spec, clock):
    made = await driver.launch(spec, TOKEN)
    clock.go(3600)
    assert (await driver.describe(made)).state == ProviderResourceState.ENDING
    (machine,) = _machines(await driver.inventory(TAG))
    assert (machine.state, machine.expires_at) == (ProviderResourceState.ENDING, spec.expires_at)
    assert len(cloud.alive) == 1
    await _ended(driver, machine)
    assert cloud.alive == []


async def _ended(driver: ProviderDriver, machine: ProviderResource) -> None:
    """As the engine does: asked again while that may help."""
    for _ in range(3):
        try:
            await driver.terminate(machine)
        except DriverError as error:
            if not error.retryable:
                raise
        else:
            return
    pytest.fail("asked three times")


async def test_terminate_ends_the_machine_when_asked_once_or_twice(cloud, driver, spec, clock):
    made = await driver.launch(spec, TOKEN)
    cloud.faults.set("slow_end", times=1, seconds=5)
    await _ended(driver, made)
    assert (await driver.describe(made)).state == ProviderResourceState.ENDING
    assert len(cloud.alive) == 1
    clock.go(5)
    assert (await driver.describe(made)).state == ProviderResourceState.ABSENT
    await driver.terminate(made)
    assert (cloud.alive, cloud.machines.alive) == ([], {})
    assert cloud.record[0].ended == clock.now


@pytest.mark.parametrize("fault", ["locked", "delete_failed", "delete_lost"])
async def test_terminate_may_be_asked_again_when_it_failed(cloud, driver, spec, fault):
    made = await driver.launch(spec, TOKEN)
    cloud.faults.set(fault, times=1)
    assert (await _refusal(driver.terminate(made))).retryable
    await _ended(driver, made)
    assert cloud.alive == []


async def test_inventory_has_what_is_ours_when_others_rent_too(case, cloud, driver, spec):
    other = new_token()
    await driver.launch(spec, TOKEN)
    await driver.launch(_another(spec, labels={}), other)
    await driver.launch(_another(spec, tag=new_token()), new_token())

    def tokens(listed: Inventory) -> set[str]:
        return {machine.token for machine in _machines(listed)}

    assert tokens(await driver.inventory(TAG)) == {TOKEN, other}
    assert tokens(await driver.inventory(TAG, token=other)) == {other}
    assert tokens(await driver.inventory(TAG, region=case.region)) == {TOKEN, other}
    assert tokens(await driver.inventory(TAG, region=case.other_region)) == set()
    machines = _machines(await driver.inventory(TAG))
    assert {machine.installation for machine in machines} == {INSTALLATION, ""}


async def test_machine_is_unseen_until_the_hoster_lists_it(cloud, driver, spec, clock):
    cloud.faults.set("late", times=1, seconds=5)
    made = await driver.launch(spec, TOKEN)
    assert _machines(await driver.inventory(TAG)) == []
    assert (await driver.describe(made)).state == ProviderResourceState.ABSENT
    clock.go(5)
    assert len(_machines(await driver.inventory(TAG))) == 1


@only(SIZED)
async def test_machine_on_a_later_page_is_listed_and_not_made_again(
    case, cloud, driver, spec, monkeypatch
):
    # Every list of these hosters comes in pages of at most so many rows.
    monkeypatch.setattr(driver, "page_rows", 1)
    tokens = [new_token() for _ in range(3)]
    made = [await driver.launch(_another(spec), token) for token in tokens]
    assert {machine.token for machine in await driver.inventory(TAG)} == set(tokens)
    assert [(await driver.launch(spec, token)).id for token in tokens] == [one.id for one in made]
    assert len(cloud.record) == 3


# --- its key, and the way in ----------------------------------------------------------------------


async def test_driver_logs_in_when_the_machine_presents_our_key(case, cloud, driver, spec):
    made = await driver.describe(await driver.launch(spec, TOKEN))
    port = cloud.record[0].server.port
    presented = await ssh.scan(made.address, port, is_private_allowed=True)
    # Another process says the same.
    assert host_key(presented) == await hoster_driver(cloud).console_fingerprint(made)
    private_key = PRIVATE_KEY.export_private_key("openssh")
    target = Target(
        made.address, port, made.username, private_key, host_key=presented, is_private_allowed=True
    )
    transport = await ssh.connect(target)
    assert (await transport.run("echo here", timeout_s=10)).stdout.endswith(b"here\n")
    await transport.close()


@by_name
async def test_host_key_differs_between_tokens_and_is_nowhere_else(cloud, driver, spec, caplog):
    caplog.set_level(logging.DEBUG)
    first = await driver.launch(spec, TOKEN)
    second = await driver.launch(spec, new_token())
    keys = [await driver.console_fingerprint(one) for one in (first, second)]
    assert keys[0] != keys[1]
    secret = cloud.record[0].cloud_config["ssh_keys"]["ed25519_private"].splitlines()[2]
    assert secret not in f"{first!r} {vars(driver)} {caplog.text} {cloud.record[0].name}"


# --- who we are, and whether a launch would pass --------------------------------------------------


async def test_offers_has_the_types_of_the_regions_when_asked(case, driver):
    listed = await driver.offers()
    assert case.machine_type in {one.name for one in listed}
    assert {one.region for one in listed} == {case.region}


@by_name
async def test_preflight_is_ready_when_all_is_well(case, driver):
    lines = {line.topic: line.state for line in await driver.preflight(case.region, TAG)}
    assert {lines[topic] for topic in ("identity", "region", "image")} == {Readiness.READY}
    assert "quota" in lines


@by_name
async def test_preflight_says_what_to_do_when_something_is_wrong(case, cloud):
    lacking = hoster_driver(cloud, image="no-such-image")
    (image,) = [one for one in await lacking.preflight(case.region, TAG) if one.topic == "image"]
    assert (image.state, bool(image.advice)) == (Readiness.NOT_READY, True)
    secret = dict.fromkeys(cloud.account()["secret"], "planted-canary")
    (identity,) = await hoster_driver(cloud, secret=secret).preflight(case.region, TAG)
    assert (identity.topic, identity.state) == ("identity", Readiness.NOT_READY)


# --- what all share -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ({"retry-after": "30"}, "; again in 30 s"),
        ({"ratelimit-reset": "1800000000"}, "; again at 08:00:00"),
        ({"retry-after": "soon"}, ""),
    ],
)
def test_refusal_says_when_to_come_again(headers, words):
    assert hoster_calls._again(headers) == words
