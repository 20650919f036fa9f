"""OS Login: a key of our identity for each launch, for as long as the machine may live."""

import json
from dataclasses import replace
from typing import Any

import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.gcp.driver import GcpDriver
from backend.providers.machines import Access, ProviderResourceState, Readiness, ResourceKind
from tests.fakes.gcp import Gce
from tests.fakes.gcp_os_login import EMAIL, POSIX_NAME
from tests.workers.rented_machines import TAG, new_token
from tests.workers.test_gcp import SPEC, TOKEN, _driver, clock, gce

__all__ = ["clock", "gce"]
SPEC = replace(SPEC, labels={**SPEC.labels, "installation": "0a1b"})


def os_login_driver(gce: Gce, **settings: Any) -> GcpDriver:
    known = {"project": gce.project, "regions": ["europe-west4"], "endpoint_url": gce.url}
    secret = {"service_account_json": json.dumps({"client_email": EMAIL})}
    return GcpDriver(Access("static_key", {**known, "login": "os_login", **settings}, secret))


@pytest.fixture
def driver(gce: Gce) -> GcpDriver:
    gce.constraints = {"requireOsLogin"}
    return os_login_driver(gce)


async def test_key_in_the_metadata_is_refused_with_what_to_do(gce):
    gce.constraints = {"requireOsLogin"}
    with pytest.raises(DriverError) as refused:
        await _driver(gce).launch(SPEC, TOKEN)
    assert (refused.value.reason, refused.value.retryable) == (Reason.UNSUPPORTED, False)
    assert refused.value.detail.endswith("set Login of the account to os_login")


async def test_launch_imports_a_key_that_expires_with_the_machine(gce, driver):
    made = await driver.launch(SPEC, TOKEN)
    metadata = {item["key"]: item["value"] for item in gce.record[0].document["metadata"]["items"]}
    assert metadata["enable-oslogin"] == "TRUE"
    assert "ssh-keys" not in metadata
    (key,) = gce.login_keys.values()
    assert key["key"].startswith(" ".join(SPEC.public_key.split()[:2]))
    assert int(key["expirationTimeUsec"]) == SPEC.expires_at.timestamp() * 1e6
    assert (await driver.describe(made)).username == POSIX_NAME
    await driver.launch(SPEC, TOKEN)
    assert len(gce.login_keys) == 1


async def test_key_is_a_thing_of_its_launch_until_it_is_removed(gce, driver):
    await driver.launch(SPEC, TOKEN)
    gce.login_keys["f" * 64] = {"key": "ssh-ed25519 AAAA someone@laptop", "fingerprint": "f" * 64}
    keys = [one for one in await driver.inventory(TAG, token=TOKEN) if one.kind == "key_pair"]
    (key,) = keys
    assert (key.token, key.installation, key.kind) == (TOKEN, "0a1b", ResourceKind.KEY_PAIR)
    assert key.expires_at == SPEC.expires_at
    assert (await driver.describe(key)).state == ProviderResourceState.RUNNING
    for tag, token in ((TAG, new_token()), ("another", "")):
        listed = await driver.inventory(tag, token=token)
        assert [one for one in listed if one.kind == ResourceKind.KEY_PAIR] == []
    # Twice: the answer to the first call may be lost.
    for _ in range(2):
        await driver.terminate(key)
    assert [*gce.login_keys] == ["f" * 64]
    assert (await driver.describe(key)).state == ProviderResourceState.ABSENT


async def test_key_goes_after_the_account_went_back_to_metadata(gce, driver):
    await driver.launch(SPEC, TOKEN)
    (key,) = [one for one in await driver.inventory(TAG) if one.kind == ResourceKind.KEY_PAIR]
    await os_login_driver(gce, login="keys").terminate(key)
    assert gce.login_keys == {}


async def test_id_of_something_else_is_no_key(driver, gce):
    await driver.launch(SPEC, TOKEN)
    (key,) = [one for one in await driver.inventory(TAG) if one.kind == ResourceKind.KEY_PAIR]
    with pytest.raises(DriverError, match="is no id of a key"):
        await driver.terminate(replace(key, id="os-login/../../x"))


async def test_identity_that_is_no_service_account_is_refused(gce):
    settings = {"project": gce.project, "login": "os_login", "endpoint_url": gce.url}
    with pytest.raises(DriverError, match="needs a service account"):
        await GcpDriver(Access("workload_identity", settings)).launch(SPEC, TOKEN)


@pytest.mark.parametrize(
    ("login", "change", "state", "words"),
    [
        ("", {}, Readiness.READY, "keys in the machine's metadata"),
        ("", {"project_metadata": {"enable-oslogin": "true"}}, Readiness.UNKNOWN, "default is OS"),
        ("os_login", {}, Readiness.READY, "OS Login as a user that the first launch makes"),
        ("os_login", {"has_posix_account": True}, Readiness.READY, f"OS Login as {POSIX_NAME}"),
        ("os_login", {"is_os_login_enabled": False}, Readiness.NOT_READY, "accessNotConfigured"),
    ],
)
async def test_preflight_says_how_machines_are_logged_in_to(gce, login, change, state, words):
    for name, value in change.items():
        setattr(gce, name, value)
    lines = await os_login_driver(gce, login=login).preflight("europe-west4", TAG)
    (line,) = [line for line in lines if line.topic == "login"]
    assert line.state == state
    assert words in line.detail
