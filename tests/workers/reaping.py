"""What tests of the reaper have in common: machines at a provider, and how far our books know them."""

import asyncio
import datetime as dt
import time
from pathlib import Path
from typing import Any

import pytest

from backend.accounts.models import CloudAccount
from backend.accounts.services.installation import installation_id
from backend.benchmarks.models import Resource, Run, RunState
from backend.catalog.models import Offer
from backend.notifications.models import Notice, NoticeKind, Subscription
from backend.providers.machines import INSTALLATION, LaunchSpec, ProviderResource
from backend.rentals.services.budgets import resource_reserve
from backend.rentals.services.resources import (
    create_rental_key,
    resource_mark_called,
    resource_mark_created,
)
from tests import factories
from tests.fakes.fake.cloud import FakeCloud, moment, now_ms
from tests.fakes.fake_provider import FakeProvider
from tests.workers import clouds
from tests.workers.clouds import REGION, rented_run
from workers.remote import registry
from workers.rentals import reaper
from workers.rentals.account_access import access_of

HOUR = dt.timedelta(hours=1)
PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"


def leaks_are_reported() -> None:
    """Somebody wants to know of them."""
    Subscription.objects.create(
        workspace=factories.workspace(),
        channel="email",
        address="ops@example.org",
        kinds=[NoticeKind.LEAK],
    )


@pytest.fixture
def provider(tmp_path: Path, queued: list[Any], settings: Any) -> FakeProvider:
    """Nobody starts servers behind its machines: they are not needed."""
    settings.PROVIDER_SETTLE_S = 0
    leaks_are_reported()
    return FakeProvider(tmp_path)


@pytest.fixture
def cloud(provider: FakeProvider) -> FakeCloud:
    return provider.cloud


@pytest.fixture
def account(provider: FakeProvider) -> CloudAccount:
    return clouds.account(provider, name="main", access="workload_identity")


@pytest.fixture
def offer(account: CloudAccount) -> Offer:
    return clouds.offer()


def called(offer: Offer, *, region: str = "") -> Resource:
    """A run by offer whose launch was noted and not yet asked for."""
    run = rented_run(offer)
    resource_reserve(run=run)
    create_rental_key(host=run.host)
    Run.objects.filter(pk=run.pk).update(state=RunState.LAUNCHING)
    if region:
        Resource.objects.filter(run=run).update(region=region)
    resource = Resource.objects.get(run=run)
    resource_mark_called(resource=resource, zone="")
    return resource


def launched(
    account: CloudAccount,
    token: str,
    *,
    tag: str = "",
    region: str = REGION,
    expires_at: dt.datetime | None = None,
) -> ProviderResource:
    spec = LaunchSpec(
        machine_type="fake.small",
        region=region,
        arch="x86_64",
        lifetime_s=36_000,
        expires_at=expires_at or moment(now_ms()) + HOUR,
        public_key=PUBLIC_KEY,
        tag=tag or str(account.workspace_id),
        labels={INSTALLATION: installation_id()},
    )
    return asyncio.run(registry.cloud("fake", access_of(account)).launch(spec, token))


def created(offer: Offer) -> Resource:
    """A run whose machine runs and is known."""
    resource = called(offer)
    machine = launched(resource.account, str(resource.pk))
    resource_mark_created(
        resource=resource, provider_id=machine.id, launched_at=machine.launched_at, zone=""
    )
    return resource


def end_run(resource: Resource, state: RunState = RunState.FAILED) -> None:
    Run.objects.filter(pk=resource.run_id).update(state=state, finished_at=moment(now_ms()))


def alive(cloud: FakeCloud) -> list[str]:
    return [f"{row['kind']}-{row['number']}" for row in cloud.alive()]


def machines(cloud: FakeCloud) -> list[str]:
    return [name for name in alive(cloud) if name.startswith("machine")]


def look(**asked: Any) -> reaper.Look:
    (listed,) = reaper.reap(**asked).looks
    return listed


def until_clean(cloud: FakeCloud, *, passes: int = 5) -> list[reaper.Look]:
    looks = []
    for _ in range(passes):
        looks.append(look())
        if not cloud.alive():
            return looks
        time.sleep(0.002)  # older than PROVIDER_SETTLE_S of 0
    raise AssertionError(f"left: {alive(cloud)}")


def notices() -> list[str]:
    return [notice.document["title"] for notice in Notice.objects.order_by("id")]
