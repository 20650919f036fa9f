"""An account at the faked AWS, and the launch that its tests are about."""

import contextlib
import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import asyncssh
import pytest

from backend.foundation.errors import DriverError
from backend.providers.aws import api as aws_api
from backend.providers.aws.driver import AwsDriver
from backend.providers.machines import LaunchSpec, ProviderResource, ProviderResourceState
from tests.fakes.aws import REGION, FakeAws

TOKEN = "0f0e0d0c-0b0a-4908-8706-050403020100"
TAG = "7d3f8f0e-2c4b-4a55-9d60-0f7f0f5a3a52"
EXPIRES_AT = dt.datetime(2026, 11, 22, 10, 30, tzinfo=dt.UTC)
CLIENT_KEY = asyncssh.generate_private_key("ssh-ed25519")
SPEC = LaunchSpec(
    machine_type="c6a.large",
    region=REGION,
    arch="x86_64",
    lifetime_s=3600,
    expires_at=EXPIRES_AT,
    public_key=CLIENT_KEY.export_public_key("openssh").decode().strip(),
    tag=TAG,
    labels={"run": "r-1", "owner": "tester"},
)


@pytest.fixture
def aws(tmp_path: Path) -> Iterator[FakeAws]:
    with FakeAws(tmp_path) as server:
        yield server


@pytest.fixture
def driver(aws: FakeAws) -> AwsDriver:
    return AwsDriver(aws.access())


@pytest.fixture
def owner(aws: FakeAws) -> Any:
    """A client of the account's owner, whom no policy binds."""
    aws.let_in("AKIAOWNER")
    return client_of(aws, "AKIAOWNER")


def client_of(aws: FakeAws, key: str) -> Any:
    """A plain client with a key."""
    session = aws_api._session(aws_access_key_id=key, aws_secret_access_key="x")
    return session.client("ec2", region_name=REGION, endpoint_url=aws.url)


async def launched(driver: AwsDriver, **changed: Any) -> ProviderResource:
    return await driver.launch(replace(SPEC, **changed), TOKEN)


async def ended(driver: AwsDriver) -> None:
    """As the end of a run does it: everything that the inventory tells, until it tells nothing."""
    for _ in range(5):
        listed = await driver.inventory(TAG, token=TOKEN)
        found = [one for one in listed if one.state != ProviderResourceState.GONE]
        for resource in found:
            with contextlib.suppress(DriverError):
                await driver.terminate(resource)
        if not found:
            return
    raise AssertionError(f"still there: {found}")


def tags_of(thing: dict[str, Any], name: str = "Tags") -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in thing.get(name, ())}


TAGS = {
    "Name": f"rackrate-{TOKEN}",
    "rackrate-workspace": TAG,
    "rackrate-token": TOKEN,
    "rackrate-expires-at": "2026-11-22T10:30:00+00:00",
    "rackrate-run": "r-1",
    "rackrate-owner": "tester",
}
