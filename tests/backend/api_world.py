"""One of everything that the API tells of, and how each operation is called properly."""

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from backend.accounts.services.tokens import token_create
from backend.benchmarks.calc.schedules import Recurrence
from backend.benchmarks.selectors.archive import run_archive
from backend.benchmarks.selectors.hosts import fingerprint
from backend.benchmarks.services.hosts import host_scan, host_scan_record
from backend.benchmarks.services.imports import result_import
from backend.benchmarks.services.schedules import schedule_create
from backend.bills.models import Bill
from backend.bills.services.uploads import upload_keep
from backend.catalog.models import Offer, TableMapping
from backend.catalog.services.discounts import discount_create
from backend.catalog.services.feeds import feed_enable
from backend.catalog.services.hardware import hardware_create
from backend.rankings.services.feeds import feed_key_create
from backend.rankings.services.views import view_create
from backend.rentals.services.account_access import account_mark_checked
from backend.rentals.services.cloud_accounts import account_check
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.services.job_requests import job_create
from backend.scenarios.services.scenarios import scenario_create
from tests import factories
from tests.backend import campaigns, clouds
from tests.backend.test_archive import finished_run, gone
from tests.market import FEW_OFFERS
from workers import bills, scenario_jobs

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBLu5qSvk2zvkdmbB5ZQyC8Po1gPzPxmVPJIEeLkXSJ2"
RAW = b"CMIPS 1\n"
SERIES = {"schema": 1, "columns": {"at_s": [0.0, 1.0], "load1": [None, 0.5]}}
HARDWARE = {
    "name": "Rack",
    "currency": "EUR",
    "servers": 2,
    "items": [{"name": "board", "count": 2, "unit_price": "900.10", "watts": "80"}],
}
SCENARIO = dict(TEMPLATES["content"].document)
ARRAY = {
    "schema": 1,
    "level": "raid5",
    "disks": 4,
    "disk": {"bytes": 4_000_000_000_000, "read_bytes_per_s": 160_000_000},
}
LINKS = {
    "schema": 1,
    "links": [{"name": "nas", "capacity_bytes_per_s": 100}],
    "flows": [{"name": "bulk", "path": ["nas"]}],
}
# As dd prints it.
DD = "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB) copied, 8.2 s, 131 MB/s\n"
ODD = "odd-name"
# An offer whose name looks like a formula.
OWN = "own-spare"


@dataclass
class World:
    """What exists: `ids` by the word before a parameter in a path, `words` by a field's name."""

    ids: dict[str, list[Any]] = field(default_factory=dict)
    words: dict[str, list[str]] = field(default_factory=dict)
    calls: dict[str, "Call"] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """What an operation needs to succeed, beside what exists."""

    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    ids: Mapping[str, Any] = field(default_factory=dict)


def build() -> World:
    """The demo tables and one object of each kind."""
    FEW_OFFERS.load()
    workspace = factories.workspace()
    odd = factories.offer(ODD, name="=1+1", cpu_model="@x")
    prices = [
        factories.price(odd, "0.123456789012345678"),
        factories.price(odd, "9", zone="a", is_published=False, anomaly="far from the last one"),
        factories.price(odd, "0.2", zone="b", source="entered by somebody"),
    ]
    world = World()
    world.ids = {
        "bills": [_bill()],
        "jobs": _jobs(),
        "cloud-accounts": [_account(with_machine=True), _account(with_machine=False)],
        "discounts": [_discount(workspace)],
        "hardware": [hardware_create(workspace=workspace, document=HARDWARE, actor="test").pk],
        "offers": [ODD],
        "price-feeds": [_feed_with_price(odd)],
        "prices": [price.pk for price in prices],
        "results": [_imported(odd)],
        "scenarios": [_scenario()],
        "schemas": ["host"],
        "subscriptions": [_subscription()],
        "table-mappings": [_mapping()],
        "table-templates": ["quotes"],
        "tokens": [
            token_create(workspace=workspace, owner=factories.owner(), name="old", scope="read")[
                0
            ].pk
        ],
    }
    _runs(world)
    _views(world)
    world.words = {
        "host": [str(world.ids["hosts"][0])],
        "campaign": [str(world.ids["campaigns"][0])],
        "offer": [ODD],
        "view": list(world.ids["views"]),
    }
    world.calls = _calls(world, odd)
    world.ids = {word: [str(one) for one in found] for word, found in world.ids.items()}
    return world


def _runs(world: World) -> None:
    host = factories.host(scanned_key=KEY, host_key=KEY)
    done = factories.run(host, state="done")
    evidence = campaigns.measured(done, 12.5, 13.5)
    evidence.raw_gzip, evidence.size_bytes = gzip.compress(RAW), len(RAW)
    evidence.sha256, evidence.series = hashlib.sha256(RAW).hexdigest(), SERIES
    evidence.save()
    campaign = campaigns.campaign(host)
    own = factories.offer(OWN, provider_slug="own", workspace=factories.workspace())
    elsewhere = factories.host(driver="archive")
    world.ids |= {
        "archived runs": [factories.run(elsewhere, state="done").pk],
        "own offers": [own.slug],
        "hosts": [host.pk, factories.host().pk],
        "runs": [done.pk, factories.run(host).pk],
        "evidence": [evidence.n],
        "samples": list(evidence.samples.values_list("pk", flat=True)),
        "campaigns": [campaign.pk],
        "schedules": [_schedule(campaign)],
    }


def _account(*, with_machine: bool) -> Any:
    account = clouds.account()
    if with_machine:
        clouds.charged(clouds.machine(account), "0.5")
    return account.pk


def _discount(workspace: Any) -> Any:
    return discount_create(
        workspace=workspace, provider="aws", service="all", percent=Decimal(5), actor="test"
    ).pk


def _feed_with_price(odd: Offer) -> Any:
    """A list of which one price waits for a review."""
    feed_id = _feed()
    factories.price(odd, "9.5", zone="c", is_published=False, anomaly="far", feed_id=feed_id)
    return feed_id


def _feed() -> Any:
    return feed_enable(
        workspace=factories.workspace(),
        provider="ecb",
        kind="fx",
        region="",
        every_s=None,
        actor="test",
    ).pk


def _imported(offer: Offer) -> Any:
    made = result_import(
        workspace=factories.workspace(),
        offer=offer,
        tool="dd",
        text=DD,
        parameters=None,
        actor="test",
    )
    return made.evidence.pk


def _scenario() -> str:
    document: dict[str, Any] = dict(TEMPLATES["game_night"].document)
    # Sized by a score as well, so that offers can be compared.
    document["capacity"] = {
        **document["capacity"],
        "metric": "cmips_score",
        "units_per_score": "0.01",
    }
    made = scenario_create(workspace=factories.workspace(), document=document, actor="test")
    return made.slug


def _jobs() -> list[Any]:
    """One that is done, and one that waits."""
    document = TEMPLATES["game_night"].document
    done, waiting = (
        job_create(workspace=factories.workspace(), document=document, actor="test")
        for _ in range(2)
    )
    while scenario_jobs.work(done.pk):
        pass
    return [done.pk, waiting.pk]


def _bill() -> str:
    table = b"type,hours,cost,month,currency\nm5.large,730,70,2026-10,USD\n"
    upload_keep(
        workspace=factories.workspace(),
        name="October",
        file_name="october.csv",
        content=[table],
        actor="test",
    )
    bills.read_waiting()
    return Bill.objects.get().slug


def _schedule(campaign: Any) -> Any:
    return schedule_create(
        campaign=campaign,
        when=Recurrence.read({"cron": "0 3 * * 1", "time_zone": "Europe/Dublin"}),
        actor="test",
    ).pk


def _subscription() -> Any:
    return factories.subscription(address="https://hooks.example/rackrate").pk


def _mapping() -> Any:
    return TableMapping.objects.create(
        workspace=factories.workspace(), kind="quotes", provider="hosty", columns={"P": "-"}
    ).pk


def _views(world: World) -> None:
    view = view_create(
        workspace=factories.workspace(),
        name="Large ones",
        slug="large",
        params={"vcpu__gte": ["8"], "sort": ["price"]},
        visibility="shared",
        actor="test",
    )
    key, _ = feed_key_create(view=view, name="sheet", expires_days=30, actor="test")
    world.ids |= {"views": [view.slug], "feed-keys": [key.pk]}


def _archive() -> bytes:
    """A run that was measured elsewhere."""
    run = finished_run()
    content = run_archive(run)
    gone(run)
    return content


QUOTES = "provider,model,monthly_net,currency,quoted_on\nHosty,EX44,49,EUR,2026-01-01\n"


def _calls(world: World, odd: Offer) -> dict[str, Call]:
    """How each operation is called that needs more than what exists."""
    entry = {"offer": ODD, "amount": "0.1", "currency": "EUR", "unit": "hour", "reason": "why"}
    return {
        "GET /compare": Call(query={"o": ODD}),
        "GET /prices/difference": Call(query={"from": "2026-10-01", "to": "2026-11-02"}),
        "GET /prices/history": Call(query={"offer": ODD}),
        "GET /value": Call(query={"offer": ODD, "column": "price"}),
        "GET /requirements": Call(query={"target": "cmips_score:1000"}),
        "POST /requirements/solve": Call({"targets": {"cmips_score": "1000"}}),
        "GET /search": Call(query={"q": ODD}),
        "POST /feed-keys": Call({"view": "large", "name": "another sheet"}),
        "POST /discounts": Call({"provider": "aws", "service": "egress", "percent": "9"}),
        "PATCH /discounts/{discount_id}": Call({"percent": "10"}),
        "POST /price-feeds/{feed_id}/review": Call({"accept": True, "reason": "announced"}),
        "POST /hardware": Call(HARDWARE | {"name": "Another"}),
        "POST /price-feeds": Call({"provider": "hetzner", "kind": "on_demand"}),
        "PATCH /price-feeds/{feed_id}": Call({"enabled": False}),
        "POST /prices": Call(entry),
        "POST /tables/import": Call({"kind": "quotes", "text": QUOTES}),
        "DELETE /prices/{price_id}": Call(ids={"price_id": world.ids["prices"][2]}),
        "POST /prices/{price_id}/review": Call(
            {"accept": True, "reason": "looked it up"}, ids={"price_id": world.ids["prices"][1]}
        ),
        "POST /results/import": Call(
            {"offer": ODD, "tool": "dd", "text": DD.replace("8.2", "8.4")}
        ),
        "POST /results/import-batch": Call(
            {"results": [{"offer": ODD, "tool": "dd", "text": DD.replace("8.2", "8.5")}]}
        ),
        "POST /samples/{sample_id}/exclude": Call({"reason": "a fan failed"}),
        "POST /samples/mark": Call(
            {"samples": [{"sample_id": world.ids["samples"][0], "excluded_reason": None}]}
        ),
        "PATCH /offers/{slug}": Call({"note": "in the cellar"}, ids={"slug": OWN}),
        "DELETE /offers/{slug}": Call(ids={"slug": OWN}),
        "DELETE /runs/{run_id}": Call(ids={"run_id": world.ids["archived runs"][0]}),
        "POST /bills": Call(b"type,hours,cost,month,currency\nm5.large,1,1,2026-10,USD\n"),
        "DELETE /jobs/{job_id}": Call(ids={"job_id": world.ids["jobs"][1]}),
        "POST /arrays": Call(ARRAY),
        "POST /contention": Call(LINKS),
        "POST /scenarios": Call(SCENARIO | {"name": "Another"}),
        "POST /scenarios/simulate": Call(SCENARIO),
        "PUT /documents/scenarios": Call({"items": [{"slug": "x", "document": SCENARIO}]}),
        "PUT /documents/setup": Call({"hosts": []}),
        "PUT /documents/views": Call({"items": [{"name": "X", "slug": "x", "params": {}}]}),
        "PATCH /scenarios/{slug}": Call({"name": "Longer nights"}),
        "POST /scenarios/{slug}/freeze": Call({"note": "decided"}),
        "POST /subscriptions": Call(
            {
                "channel": "webhook",
                "address": "https://hooks.example/other",
                "secret": "a secret of some length",
                "kinds": ["regression"],
            }
        ),
        "PATCH /subscriptions/{subscription_id}": Call({"enabled": False}),
        "POST /tokens": Call({"name": "new", "scope": "read"}),
        "POST /views": Call({"name": "Cheap ones", "params": {"price__lte": ["1"]}}),
        "PATCH /views/{slug}": Call({"name": "Larger ones"}),
        **_calls_to_measure(world, odd),
        **_calls_of_accounts(world),
    }


def _calls_to_measure(world: World, odd: Offer) -> dict[str, Call]:
    """Hosts, runs, campaigns and schedules."""
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    host, campaign = str(world.ids["hosts"][0]), str(world.ids["campaigns"][0])
    return {
        "POST /hosts": Call(
            {"name": "new", "address": "192.0.2.1", "username": "bench", "private_key": pem}
        ),
        "POST /hosts/import": Call({"format": "csv", "text": "address\n192.0.2.77\n"}),
        "POST /hosts/{host_id}/approve": Call({"fingerprint_sha256": fingerprint(KEY)}),
        "DELETE /hosts/{host_id}": Call(ids={"host_id": world.ids["hosts"][1]}),
        "POST /runs": Call({"host": host, "profile": "quick"}),
        "GET /runs/{run_id}/comparison": Call(query={"before": str(world.ids["runs"][0])}),
        "POST /runs/import": Call(_archive(), query={"offer": odd.slug}),
        "POST /campaigns": Call({"name": "new", "hosts": [host], "profile": "quick"}),
        "PATCH /campaigns/{campaign_id}": Call({"name": "renamed"}),
        "POST /schedules": Call({"campaign": campaign, "every_s": 86_400}),
        "PATCH /schedules/{schedule_id}": Call({"every_s": 7_200}),
    }


def _calls_of_accounts(world: World) -> dict[str, Call]:
    secret = {"secret": {"token": clouds.TOKEN}}
    account = {"name": "new", "provider": "hetzner", "access": "token"}
    return {
        "POST /cloud-accounts": Call(account | {"settings": {"regions": ["fsn1"]}} | secret),
        "PATCH /cloud-accounts/{account_id}": Call({"max_machines": 3}),
        "DELETE /cloud-accounts/{account_id}": Call(
            ids={"account_id": world.ids["cloud-accounts"][1]}
        ),
        "POST /cloud-accounts/{account_id}/secret": Call(secret),
    }


def scanned_at_once(*, host: Any, actor: str) -> None:
    """As by a worker that answers at once."""
    host_scan(host=host, actor=actor)
    host_scan_record(host_id=host.pk, key=KEY, error="")


def checked_at_once(*, account: Any, actor: str) -> None:
    """The same."""
    account_check(account=account, actor=actor)
    account_mark_checked(account_id=account.pk, identity="project 7", error="")
