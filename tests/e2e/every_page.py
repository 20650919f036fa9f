"""Every page of the site with something to show: its URL name → the addresses to open."""

import datetime as dt
import gzip
import io
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from backend.accounts.models import ApiToken, User
from backend.accounts.services.members import invitation_create
from backend.accounts.services.people import sign_in_link_create
from backend.benchmarks.models import Evidence, HostAuthority
from backend.bills.models import Bill
from backend.bills.services.importing import BillFile, bill_import
from backend.catalog.models import (
    HardwareModel,
    PriceFeed,
    PricePayload,
    UnpricedType,
)
from backend.catalog.services.data_version import data_version_bump
from backend.catalog.services.discounts import discount_create
from backend.core import clock
from backend.notifications.models import Subscription
from backend.rankings.models import Report
from backend.rankings.services.feeds import feed_key_create
from backend.rankings.services.views import view_create
from backend.scenarios.calc.templates import TEMPLATES
from backend.scenarios.models import Scenario
from backend.scenarios.services.job_requests import job_create
from backend.scenarios.services.scenarios import scenario_create, scenario_freeze
from tests import factories
from tests.frontend import cloud_rows, engine_rows
from tests.frontend.rows import measured_offer, published
from workers import scenario_jobs

BILL = Path(__file__).parents[2] / "fixtures/bills/focus/focus_1_0_sample.csv"
TYPED = Path(__file__).parents[2] / "fixtures" / "probes" / "sysbench-1.0.20-cpu.txt"
# URL names that answer GET and are no page of their own, each with its reason.
NO_PAGES: Mapping[str, str] = {
    "run-progress": "part of the page of a run",
    "campaign-progress": "part of the page of a campaign",
    "host-key": "part of the page of a host",
    "bills-state": "part of the page of bills",
    "price-refresh-state": "part of the page of prices",
    "cloud-state": "part of the page of an account",
    "schedule-preview": "answers to what is typed into a form",
    "offer-names": "answers to what is typed into a form",
    "price-payload": "a file as its provider sent it",
    "bill-template": "a table to fill in",
    "healthz": "one word for a supervisor",
    "readyz": "one word for a supervisor",
    "prometheus": "figures for a monitoring",
    "language": "leads back to the page where the language was chosen",
    "feed": "a list for spreadsheets",
    "report-pdf": "a report as a file for paper",
    "second-factor": "asked between the password and the first page (test_signing_in)",
    "single-sign-on": "leads to the provider of single sign-on (test_single_sign_on)",
    "single-sign-on-return": "where that provider leads back to (test_single_sign_on)",
    "identity-link": "only where single sign-on is set up (test_single_sign_on)",
    "identity-unlink": "only where single sign-on is set up (test_single_sign_on)",
    "feed-key-new": "leads to the page of its view but right after a form was sent",
}
# URL namespaces that the walk leaves out.
OTHERS_PAGES = {
    "admin": "Django's own pages",
    "api": "the API; the page that describes it has a test of its own",
}


def names(patterns: list[Any] | None = None) -> Iterator[str]:
    """The URL name of everything that may be opened; a namespace is one name."""
    for one in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(one, URLResolver):
            yield from [one.namespace] if one.namespace else names(one.url_patterns)
        elif isinstance(one, URLPattern):
            yield one.name or str(one.pattern)


def example(name: str) -> str:
    """An address of the name, of things that need not be there."""
    possible = get_resolver().reverse_dict.getlist(name)
    template, parameters = possible[0][0][0]
    converters = possible[0][3]
    stands: dict[str, object] = {"uuid": "0" * 8 + "-0000-4000-8000-" + "0" * 12, "int": 1}
    given = {
        key: stands.get(type(converters[key]).__name__.removesuffix("Converter").lower(), "x")
        for key in parameters
    }
    return "/" + template % given


def is_form_only(client: Client, name: str) -> bool:
    """Whether the address takes what a form sends and shows nothing itself."""
    return client.get(example(name)).status_code == 405


def everything(admin: User) -> dict[str, list[str]]:
    """Makes rows for every page; the queue has to be a fake."""
    client = Client()
    client.force_login(admin)
    measured = measured_offer()
    for number in range(3):
        given = {"vcpu_count": 2 + number, "memory_bytes": 8 * 2**30}
        published(f"aws-{number}", 400.0 + number, f"0.{number + 1}", **given)
    engine, clouds = engine_rows.engine(), cloud_rows.clouds()
    offer = f"/offers/{engine.full.offer.slug}/"
    pages = {
        **_correcting(client, engine),
        "answer": [
            "/",
            "/?vcpu=4&ram=8&region_group=&budget=&metric=fsync_p99_ns",
            "/?provider=aws&foo=1&hours_per_month=x",
        ],
        "offers": [
            "/offers/",
            "/offers/?metric=fsync_p99_ns",
            "/offers/?sort=offer&open=figures&open=columns&weights=cmips_score:1",
        ],
        "compare": [
            "/compare/",
            "/compare/?o=aws-0,aws-1,own-rack&base=aws-1",
            "/compare/?o=aws-0&add=nothing+like+it",
        ],
        "frontier": [
            "/frontier/?price__lte=0.5&score__gte=200",
            "/frontier/?metric=memory_latency_ns",
            "/frontier/?metric=fsync_p99_ns",
        ],
        "offer": [offer, f"/offers/{clouds.offer.slug}/", "/offers/aws-0/"],
        "score": [f"{offer}scores/cmips_score/", "/offers/aws-0/scores/cmips_score/"],
        "metrics": ["/metrics/"],
        "metric": ["/metrics/cmips_score/", "/metrics/fsync_p99_ns/"],
        "import": ["/import/"],
        "requirements": ["/requirements/", "/requirements/?target=cmips_score:1000"],
        "search": ["/search?q=aws", "/search?q=nothing+like+it"],
        "help": ["/help/"],
        "glossary": ["/glossary/"],
        "storage": ["/storage/"],
        "run": [
            *(f"/runs/{one.pk}/" for one in (engine.full, engine.going, engine.failed)),
            f"/runs/{measured.run.pk}/",
            *(f"/runs/{one.run_id}/" for one in (clouds.alive, clouds.gone)),
        ],
        **_accounts(),
        **_measuring(engine),
        **_clouds(clouds),
        **_prices(),
        **_kept(client, admin),
        **_scenarios(admin),
    }
    data_version_bump()
    return pages


def _accounts() -> dict[str, list[str]]:
    """Signing in, people and what they did."""
    return {
        "activity": ["/activity/", "/activity/?since=never"],
        "operations": ["/operations/"],
        "login": ["/accounts/login/"],
        "sign-in-link": [f"/accounts/link/{sign_in_link_create(user=factories.user())[1]}/"],
        "account": ["/accounts/"],
        "password": ["/accounts/password/"],
        "second-factor-set": ["/accounts/second-factor/"],
        "second-factor-remove": ["/accounts/second-factor/remove/"],
        "workspace-leave": ["/accounts/workspaces/default/leave/"],
        "invitation": [f"/accounts/invitation/{_invited()}/"],
        "people": ["/accounts/people/"],
        "member-remove": [f"/accounts/people/{factories.user().memberships.get().pk}/remove/"],
    }


def _measuring(engine: engine_rows.Engine) -> dict[str, list[str]]:
    """Runs, hosts, campaigns and schedules, and who is notified of them."""
    full, untrusted = engine.full, engine.untrusted
    authority = HostAuthority.objects.create(
        workspace=factories.workspace(), patterns="*.example.org", public_key=full.host.host_key
    )
    subscription = Subscription.objects.create(
        workspace=factories.workspace(),
        channel="webhook",
        address="https://example.com/hook",
        kinds=["run_failed"],
    )
    return {
        "runs": ["/runs/"],
        "run-compare": [
            "/runs/compare/",
            f"/runs/compare/?a={engine.full.pk}&b={engine.failed.pk}",
        ],
        "evidence": [f"/runs/{full.pk}/evidence/{_with_series(full.evidence).n}/"],
        "hosts": ["/hosts/"],
        "host-new": ["/hosts/new/"],
        "host-import": ["/hosts/import/"],
        "host-authorities": ["/hosts/authorities/"],
        "login-key": ["/hosts/login-key/"],
        "login-key-replace": ["/hosts/login-key/replace/"],
        "login-key-drop": ["/hosts/login-key/drop/"],
        "host-authority-remove": [f"/hosts/authorities/{authority.pk}/remove/"],
        "host": [f"/hosts/{full.host_id}/", f"/hosts/{untrusted.pk}/"],
        "host-change": [f"/hosts/{untrusted.pk}/change/"],
        "host-remove": [f"/hosts/{untrusted.pk}/remove/"],
        "campaigns": ["/campaigns/"],
        "campaign-new": ["/campaigns/new/"],
        "campaign": [f"/campaigns/{engine.campaign.pk}/"],
        "campaign-delete": [f"/campaigns/{engine.campaign.pk}/delete/"],
        "schedules": ["/schedules/"],
        "schedule-delete": [
            f"/schedules/{one.pk}/delete/" for one in engine.campaign.schedules.all()
        ],
        "subscription-delete": [f"/subscriptions/{subscription.pk}/delete/"],
    }


def _clouds(clouds: cloud_rows.Clouds) -> dict[str, list[str]]:
    """Accounts where machines are rented."""
    return {
        "clouds": ["/accounts/clouds/"],
        "cloud-new": ["/accounts/clouds/new/aws/", "/accounts/clouds/new/gcp/"],
        "cloud": [f"/accounts/clouds/{one.pk}/" for one in (clouds.hetzner, clouds.aws)],
        "cloud-delete": [f"/accounts/clouds/{clouds.hetzner.pk}/delete/"],
    }


def _with_series(evidence: Any) -> Evidence:
    found = evidence.filter(series__isnull=False).last()
    assert isinstance(found, Evidence)
    return found


def _correcting(client: Client, engine: engine_rows.Engine) -> dict[str, list[str]]:
    """Where what was entered is changed and deleted."""
    own = factories.offer("own-spare", provider_slug="own", workspace=factories.workspace())
    factories.price(own, "30", unit="month", purchase_model="monthly")
    imported, campaign = f"/evidence/{_imported(client).pk}/", engine.campaign
    return {
        "imported-evidence": [imported],
        "import-delete": [f"{imported}delete/"],
        "offer-change": ["/offers/own-spare/change/"],
        "offer-delete": ["/offers/own-spare/delete/"],
        "run-delete": [f"/runs/{engine.full.pk}/delete/"],
        "campaign-change": [f"/campaigns/{campaign.pk}/change/"],
    }


def _imported(client: Client) -> Evidence:
    fields = {"tool": "sysbench", "offer": "own-rack", "text": TYPED.read_text(), "store": "1"}
    assert client.post("/import/", fields).status_code == 302
    return Evidence.objects.get(run=None)


def _bill() -> str:
    """An hourly bill of the public sample, with a line that cannot be read."""
    content = BILL.read_bytes() + b"broken\n"
    made = bill_import(
        workspace=factories.workspace(),
        name="September",
        files=[BillFile("september.csv", lambda: io.BytesIO(content))],
        actor="test",
    )
    return made.slug


def _prices() -> dict[str, list[str]]:
    """A list with a price that changed, one in quarantine, and a type without one."""
    now = clock.now()
    feed = PriceFeed.objects.create(
        provider=factories.provider("aws"),
        kind="on_demand",
        region="us-east-1",
        checked_at=now,
        changed_at=now,
    )
    raw = gzip.compress(b"answer!")
    PricePayload.objects.create(
        feed=feed, fetched_at=now, raw_gzip=raw, sha256="ab" * 32, size_bytes=7
    )
    offer = factories.offer("aws-m5-large", name="m5.large", region=factories.region())
    before = now - dt.timedelta(days=1)
    factories.price(offer, "0.2", feed=feed)
    row = factories.price(
        offer, "0.107", feed=feed, payload_sha256="ab" * 32, raw_id="SKU.1", observed_at=before
    )
    doubtful = factories.price(
        offer,
        "0.5",
        feed=feed,
        observed_at=now,
        is_published=False,
        anomaly="0.107 before, 0.5 now",
    )
    UnpricedType.objects.create(
        feed=feed, region="us-east-1", name="u-6tb1.metal", reason="not_offered", detail="no term"
    )
    discount = discount_create(
        workspace=factories.workspace(),
        provider="aws",
        service="compute",
        percent=Decimal(7),
        actor="test",
    )
    return {
        "price-discounts": ["/prices/discounts/"],
        "price-discount-delete": [f"/prices/discounts/{discount.pk}/delete/"],
        "prices": ["/prices/", "/prices/?state=quarantined", "/prices/?state=odd"],
        "price": [f"/prices/{row.pk}/", f"/prices/{doubtful.pk}/"],
        "price-delete": [f"/prices/{row.pk}/delete/"],
        "price-changes": ["/prices/changes/"],
        "price-unpriced": ["/prices/unpriced/"],
        "price-tables": ["/prices/tables/"],
        "price-new": ["/offers/aws-m5-large/price/"],
    }


def _kept(client: Client, admin: User) -> dict[str, list[str]]:
    """A view with a feed, a token, a report and a machine of one's own."""
    view = view_create(
        workspace=factories.workspace(),
        name="Ours",
        params={"provider": ["aws"], "sort": ["price"]},
        actor=admin.username,
    )
    key, _ = feed_key_create(view=view, name="sheet", actor=admin.username)
    client.post("/accounts/tokens/", {"name": "sheet", "scope": "read", "expires_days": 7})
    client.post("/reports/new/", {"title": "Web 2027", "note": "We take it."})
    client.post("/hardware/new/", HARDWARE)
    client.post("/reports/new/comparison/?o=aws-0,own-rack", {"title": "Two"})
    client.post(f"/reports/new/hardware/{HardwareModel.objects.get().pk}/", {"title": "Rack"})
    return {
        "views": ["/views/"],
        "view": ["/views/ours/"],
        "view-new": ["/views/new/?provider=aws"],
        "view-delete": ["/views/ours/delete/"],
        "feed-key-revoke": [f"/views/ours/keys/{key.pk}/revoke/"],
        "token-revoke": [f"/accounts/tokens/{ApiToken.objects.get(name='sheet').pk}/revoke/"],
        "report-remove": ["/reports/web-2027/delete/"],
        "data": ["/data/", "/data/?view=ours", "/data/?provider=aws&vcpu__gte=2"],
        "tokens": ["/accounts/tokens/"],
        "reports": ["/reports/"],
        "report": [f"/reports/{one.slug}/" for one in Report.objects.all()],
        "report-new": ["/reports/new/?provider=aws"],
        "report-new-comparison": ["/reports/new/comparison/?o=aws-0,own-rack&base=own-rack"],
        "report-new-hardware": [f"/reports/new/hardware/{HardwareModel.objects.get().pk}/"],
        "bills": ["/bills/"],
        "bill": [f"/bills/{_bill()}/"],
        "report-new-prices": ["/reports/new/prices/?since=2026-01-01&until=2026-02-01"],
        "report-new-bill": [f"/reports/new/bill/{Bill.objects.get().slug}/"],
        "bill-delete": [f"/bills/{Bill.objects.get().slug}/delete/"],
        "hardware": ["/hardware/"],
        "hardware-delete": [f"/hardware/{HardwareModel.objects.get().pk}/delete/"],
        "hardware-new": ["/hardware/new/"],
        "hardware-model": [f"/hardware/{HardwareModel.objects.get().pk}/"],
    }


def _scenario_job(scenario: Scenario, admin: User) -> str:
    job = job_create(workspace=scenario.workspace, document=scenario.document, actor=admin.username)
    while scenario_jobs.work(job.pk):
        pass
    return str(job.pk)


def _scenarios(admin: User) -> dict[str, list[str]]:
    """One that may be changed, one that is frozen, and one that is sized by a score."""
    made = [
        scenario_create(
            workspace=factories.workspace(),
            document={**template.document, "name": f"Ours {n}"},
            actor=admin.username,
            template=template.key,
        )
        for n, template in enumerate(list(TEMPLATES.values())[:2])
    ]
    scenario_freeze(scenario=made[1], note="As it was.", actor=admin.username)
    capacity = {"units_per_server": "1", "metric": "cmips_score", "units_per_score": "0.001"}
    sized = scenario_create(
        workspace=factories.workspace(),
        document={**TEMPLATES["startup"].document, "name": "Sized", "capacity": capacity},
        actor=admin.username,
    )
    kept, frozen = (one.slug for one in made)
    return {
        "scenarios": ["/scenarios/"],
        "scenario": [f"/scenarios/{kept}/", f"/scenarios/{frozen}/"],
        "scenario-delete": [f"/scenarios/{kept}/delete/", f"/scenarios/{frozen}/delete/"],
        "report-new-scenario": [f"/reports/new/scenario/{one}/" for one in (kept, frozen)],
        "scenario-map": [f"/scenarios/{kept}/map/"],
        "scenario-curves": [f"/scenarios/{kept}/curves/"],
        "scenario-offers": [f"/scenarios/{one}/offers/" for one in (sized.slug, kept)],
        "scenario-trace": ["/scenarios/trace/"],
        "scenario-new": ["/scenarios/new/", "/scenarios/new/?template=startup"],
        "scenario-edit": [f"/scenarios/{kept}/edit/"],
        "scenario-job": [f"/scenarios/jobs/{_scenario_job(made[0], admin)}/"],
        "scenarios-compare": ["/scenarios/compare/", f"/scenarios/compare/?s={kept}&s={frozen}"],
    }


HARDWARE = {
    "name": "Rack 7",
    "currency": "EUR",
    "servers": "2",
    "items-TOTAL_FORMS": "1",
    "items-INITIAL_FORMS": "0",
    "items-0-name": "server",
    "items-0-count": "2",
    "items-0-unit_price": "8000",
    "items-0-watts": "200",
    "annual_failure_rate": "0",
    "rack_units": "2",
    "support_ratio_per_year": "0.1",
    "staff_hours_per_month": "1",
    "discount_rate_per_year": "0.05",
    "save": "1",
}


def _invited() -> str:
    return invitation_create(workspace=factories.workspace(), scope="read", actor="boss")[1]
