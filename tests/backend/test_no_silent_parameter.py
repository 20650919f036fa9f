"""Every parameter of a ranking changes its answer, and every column filters or refuses."""

import datetime as dt
from decimal import Decimal

import pytest
from django.test import Client

from backend.rankings.selectors.columns import COLUMNS
from backend.rankings.selectors.parameters import PARAMETERS
from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
BASIS = "basis=disk,ip,egress&period=month"
# By parameter: what must be asked for it to matter, and another value of it.
CHANGES = {
    "metric": ("", "metric=coremark_score"),
    "weights": ("", "weights=cmips_score:1,coremark_score:1"),
    "base": ("weights=cmips_score:1,coremark_score:1", "base=dedicated"),
    "load": ("", "load=burst"),
    "period": ("", "period=month"),
    "currency": ("", "currency=EUR"),
    "hours_per_month": ("period=month", "hours_per_month=720"),
    "hours_run": ("period=month", "hours_run=100"),
    "setup_months": ("period=month", "setup_months=24"),
    "term": ("", "term=spot"),
    "basis": ("period=month", "basis=list"),
    "basis_disk_gb": (BASIS, "basis_disk_gb=7"),
    "basis_ipv4": (BASIS, "basis_ipv4=7"),
    "basis_egress_gb": (BASIS, "basis_egress_gb=7"),
    "tax_rate": ("", "tax_rate=0.19"),
    "tax_unknown": ("", "tax_unknown=ranked"),
    "as_of": ("", "as_of=2026-10-15"),
    "q": ("", "q=dedicated"),
    "measured": ("", "measured=0"),
    "sort": ("", "sort=-offer_id"),
    "cols": ("", "cols=offer_id,score"),
    "page": ("per_page=1", "page=2"),
    "per_page": ("", "per_page=1"),
}


@pytest.fixture(autouse=True)
def _world(db: None) -> None:
    """A cloud with all kinds of prices, a dedicated server with a set-up fee, and a gross price."""
    for currency in ("USD", "EUR"):
        factories.rate(currency, "1.25" if currency == "USD" else "1", dt.date(2026, 10, 1))
    cloud = factories.offer("cloud", region=factories.region())
    earlier = dt.datetime(2026, 10, 1, tzinfo=dt.UTC)
    factories.price(cloud, "0.2", observed_at=earlier)
    factories.price(cloud, "0.1", sustained_use="n1")
    factories.price(cloud, "0.03", purchase_model="spot", zone="a")
    monthly = {"unit": "month", "purchase_model": "monthly", "observed_at": earlier}
    dedicated = factories.offer("dedicated", provider_slug="hetzner", kind="dedicated")
    factories.price(dedicated, "70", setup_amount=Decimal(120), **monthly)
    gross = factories.offer("gross", provider_slug="ovh")
    factories.price(gross, "60", tax_basis="unknown", **monthly)
    for score, one in ((1000, cloud), (900, dedicated), (500, gross)):
        factories.sample(one, score, measured_at=earlier)
    for score, one in ((30_000, cloud), (40_000, dedicated)):
        factories.sample(one, score, metric="coremark_score", variant="standard")
    for kind, amount in (("disk", "0.08"), ("ipv4", "0.005"), ("egress", "0.09")):
        factories.extra(kind, amount)
    factories.price(factories.offer("bare"), "0.5")


@pytest.mark.parametrize("name", [parameter.name for parameter in PARAMETERS])
def test_parameter_changes_the_answer(client: Client, name: str) -> None:
    asked, changed = CHANGES[name]
    first, second = (
        client.get(f"{API}/rankings.csv?{query}") for query in (asked, f"{asked}&{changed}")
    )
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.content != second.content


def test_every_column_filters_or_refuses_what_it_does_not_have(client: Client) -> None:
    silent = []
    for column in COLUMNS:
        response = client.get(f"{API}/rankings?{column.name}=987654321")
        if response.status_code != 400 and response.json()["results"]:
            silent.append(column.name)
    assert not silent
