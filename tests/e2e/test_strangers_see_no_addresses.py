"""Addresses, ports and users of hosts are planted wherever they may stand; strangers see none."""

import gzip
import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import transaction
from django.test import Client
from django.urls import get_resolver, reverse
from django.urls.resolvers import RoutePattern

from backend.accounts.models import Scope
from backend.benchmarks.models import Campaign, Event, Evidence, Host, Resource, Run, Step
from backend.benchmarks.selectors.redaction import Redaction
from tests import factories
from tests.e2e import every_page

pytestmark = pytest.mark.django_db
NAME, ADDRESS, RESOLVED, PORT, USER = (
    "canary.hosts.internal", "198.51.100.77", "2001:db8::c0de", 48222, "opscanary",
)  # fmt: skip
CANARIES = (NAME, ADDRESS, RESOLVED, str(PORT), USER)
WORDS = (
    f"unreachable: {USER}@{NAME} port {PORT}: [Errno 111] Connect call failed ('{ADDRESS}', {PORT}),"
    f" ('{RESOLVED}', {PORT}, 0, 0); refused for {USER}"
)
RECORD = f"=== conditions\npeer {NAME}\nlocal {ADDRESS} port {PORT}\n"
FORMATS = ("", ".csv", ".json")


@pytest.fixture(autouse=True)
def _pages(settings: LazySettings, queued: list[Any]) -> None:
    settings.PUBLIC_READ = True
    settings.SECURE_SSL_REDIRECT = False
    settings.STATIC_ROOT = settings.STATICFILES_DIRS[0]
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


@pytest.fixture
def addresses() -> list[str]:
    """Everything that the site has, with canaries in every row of the engine."""
    admin = factories.user(role=Scope.ADMIN, is_superuser=True)
    pages = [one for some in every_page.everything(admin).values() for one in some]
    Host.objects.update(address=NAME, port=PORT, username=USER, scan_error=WORDS)
    Run.objects.update(failure_reason="unreachable", failure_detail=WORDS)
    for run in Run.objects.all():
        run.live = {**run.live, "last_lines": [WORDS], "peer_address": ADDRESS}
        run.parameters = {**run.parameters, "peer_address": ADDRESS}
        run.save()
        for kind in ("warning", "unavailable", "regression", "environment", "improvement"):
            run.events.create(kind=kind, detail=f"{kind}: {WORDS}")
    Step.objects.update(last_error=WORDS)
    Event.objects.update(detail=WORDS)
    Resource.objects.update(last_error=WORDS)
    Campaign.objects.update(parameters={"peer_address": ADDRESS})
    raw = RECORD.encode()
    Evidence.objects.filter(run__isnull=False).update(
        probe="network", command=f"network.sh tcp {NAME} {PORT}", error=WORDS,
        conditions={"peer": NAME}, raw_gzip=gzip.compress(raw), size_bytes=len(raw),
        sha256=hashlib.sha256(raw).hexdigest(),
    )  # fmt: skip
    Evidence.objects.filter(run=None).update(
        probe="iperf3", raw_gzip=gzip.compress(raw), sha256=hashlib.sha256(raw).hexdigest()
    )
    return [*pages, *of_the_engine(), *of_the_api()]


def of_the_engine() -> Iterator[str]:
    """The pages, and parts of pages, of every host, run, campaign and piece of evidence."""
    for host in Host.objects.all():
        yield from (reverse(name, args=[host.pk]) for name in ("host", "host-key"))
    for run in Run.objects.all():
        yield from (reverse(name, args=[run.pk]) for name in ("run", "run-progress"))
        yield reverse("api:run-archive", args=[run.pk])
    for one in Campaign.objects.all():
        yield from (reverse(name, args=[one.pk]) for name in ("campaign", "campaign-progress"))
    for item in Evidence.objects.filter(run__isnull=False):
        yield reverse("evidence", args=[item.run_id, item.n])
        yield from (reverse(f"api:{n}", args=[item.run_id, item.n]) for n in ("run-evidence",))
    for item in Evidence.objects.filter(run=None):
        yield reverse("imported-evidence", args=[item.pk])


def of_the_api() -> Iterator[str]:
    """Every address of the API that names nothing or one thing, from the resolver."""
    rows: dict[str, list[Any]] = {
        "host_id": list(Host.objects.values_list("pk", flat=True)),
        "run_id": list(Run.objects.values_list("pk", flat=True)),
        "campaign_id": list(Campaign.objects.values_list("pk", flat=True)),
        "evidence_id": list(Evidence.objects.values_list("pk", flat=True)),
    }
    [api] = [one for one in get_resolver().url_patterns if str(one.pattern) == "api/v1/"]
    for one in api.url_patterns:
        if not isinstance(one.pattern, RoutePattern) or not one.name:
            continue
        parameters = list(one.pattern.converters)
        if not parameters:
            yield from (reverse(f"api:{one.name}") + suffix for suffix in FORMATS)
        elif len(parameters) == 1:
            for value in rows.get(parameters[0], []):
                yield reverse(f"api:{one.name}", kwargs={parameters[0]: value})


def shown(client: Client, address: str) -> str:
    with transaction.atomic():
        response = client.get(address, follow=True)
    content = b"".join(response) if response.streaming else response.content
    return str(content.decode(errors="replace"))


def test_strangers_see_no_address_port_or_user_of_a_host(addresses: list[str]) -> None:
    stranger, told = Client(), {}
    for address in dict.fromkeys(addresses):
        text = shown(stranger, address)
        if seen := [word for word in CANARIES if word.lower() in text.lower()]:
            told[address] = seen
    assert len(addresses) > 100
    assert told == {}


def test_those_who_have_signed_in_see_them(addresses: list[str]) -> None:
    known = Client()
    known.force_login(factories.user(role=Scope.READ))
    run = Run.objects.filter(evidence__isnull=False).first()
    host = Host.objects.exclude(driver="local").first()
    assert run is not None
    assert host is not None
    for address in (f"/runs/{run.pk}/", f"/api/v1/runs/{run.pk}", f"/hosts/{host.pk}/", "/hosts/"):
        assert f"{USER}@{NAME}" in shown(known, address)
    assert NAME in shown(known, f"/api/v1/runs/{run.pk}/evidence/{run.evidence.first().n}")


def test_what_is_no_address_stays() -> None:
    told = "2026-11-20T12:30:45+00:00 fio-3.33: 4.5 GB/s, 99.9 %, kernel 6.1.0-41, dd: 12:30:45"
    assert Redaction().message(told) == told
    assert Redaction().message("from [2001:db8::1]:22 to 10.0.0.1:80, 10.0.0.2") == "from … to …, …"
