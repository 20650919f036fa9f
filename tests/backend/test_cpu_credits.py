"""Facts about CPU credits reach every offer of a type, wherever the offer comes from."""

from decimal import Decimal

import pytest
from django.conf import settings
from django.test import Client

from backend.catalog.models import Offer
from backend.catalog.selectors.cpu_credits import CREDIT_FIELDS, credit_figures
from backend.catalog.services.tables import table_import
from backend.providers.aws import credit_surcharge
from backend.providers.registry import provider
from tests import factories
from tests.backend.conftest import API
from tests.backend.price_lists import machine, price, record
from tests.pure.parsing.test_quotes import OFFER, PRICED
from tests.pure.parsing.test_quotes import table as own_table
from tests.pure.test_fixtures import table

pytestmark = pytest.mark.django_db

# A vendor's total for the machine, divided by its vCPUs: B8ms sustains 135 % of one vCPU with 8,
# t4g.nano 5 % of each of 2, e2-micro a quarter of a vCPU with 2.
KNOWN = {
    ("aws", "t4g.nano"): ("0.05", "0.04", "unlimited"),
    ("aws", "t3a.2xlarge"): ("0.4", "0.05", "unlimited"),
    ("aws", "t2.xlarge"): ("0.225", "0.05", "standard"),
    ("azure", "Standard_B1ls"): ("0.05", None, "standard"),
    ("azure", "Standard_B8ms"): ("0.16875", None, "standard"),
    ("azure", "Standard_B2ats_v2"): ("0.2", None, "standard"),
    ("gcp", "e2-micro"): ("0.125", None, "standard"),
    ("gcp", "g1-small"): ("0.5", None, "standard"),
}


def stored(offer: Offer) -> tuple[Decimal | None, Decimal | None, str]:
    ratio, amount, mode = (getattr(offer, name) for name in CREDIT_FIELDS)
    return ratio, amount, mode


@pytest.mark.parametrize(("machine_type", "expected"), KNOWN.items())
def test_credit_figures_are_the_shares_that_vendors_state(
    machine_type: tuple[str, str], expected: tuple[str, str | None, str]
) -> None:
    ratio, amount, mode = expected
    figures = credit_figures(*machine_type)
    assert tuple(figures[name] for name in CREDIT_FIELDS) == (
        Decimal(ratio),
        None if amount is None else Decimal(amount),
        mode,
    )


def test_credit_figures_agree_with_what_providers_sell() -> None:
    for row in table("catalog/cpu_credits.csv"):
        slug, machine_type = row["provider"], row["type"]
        figures = credit_figures(slug, machine_type)
        assert 0 < figures["cpu_baseline_ratio"] < 1
        surcharge = figures["cpu_credit_price_usd_per_vcpu_hour"]
        # Only unlimited types can run on for money, and rented machines reserve the same charge.
        assert (surcharge is None) == (slug != "aws")
        if surcharge is not None:
            assert surcharge == credit_surcharge(machine_type).amount
        modes = provider(slug).credit_modes or ("standard",)
        assert figures["cpu_credit_default"] in modes


def test_demo_offers_of_credit_types_have_their_facts(market: None) -> None:
    nano = Offer.objects.get(slug="aws-t4g-nano-us-east-1")
    assert stored(nano) == (Decimal("0.05"), Decimal("0.04"), "unlimited")
    b20 = Offer.objects.get(slug="azure-standard-b20ms-westeurope")
    assert stored(b20) == (Decimal("0.1685"), None, "standard")
    fixed = Offer.objects.get(slug="aws-m6i-large-us-east-1")
    assert stored(fixed) == (None, None, "")


def test_demo_types_that_earn_credits_are_all_known(market: None) -> None:
    """No burstable type of the three clouds is left without its baseline."""
    names = ("aws", "azure", "gcp")
    known = set(
        Offer.objects.exclude(cpu_baseline_ratio=None).values_list("provider__slug", "name")
    )
    by_name = {
        (slug, name)
        for slug, name in Offer.objects.filter(
            provider__slug__in=names, discontinued_on=None
        ).values_list("provider__slug", "name")
        if provider(slug).vcpu_kind_of(name) == "burstable" or name.startswith(("t2.", "t3", "t4g"))
    }
    assert by_name == known


def test_price_list_gives_known_and_new_offers_the_facts() -> None:
    old = factories.offer(
        "aws-t3-micro-eu-west-1", name="t3.micro", region=factories.region("eu-west-1")
    )
    assert old.cpu_baseline_ratio is None
    record([machine("t3.micro"), machine("t4g.small"), machine("m5.large")])
    by_name = {offer.name: stored(offer) for offer in Offer.objects.all()}
    assert by_name["t3.micro"] == (Decimal("0.1"), Decimal("0.05"), "unlimited")
    assert by_name["t4g.small"] == (Decimal("0.2"), Decimal("0.04"), "unlimited")
    assert by_name["m5.large"] == (None, None, "")


def test_price_without_a_type_gives_the_facts_as_well() -> None:
    record([price("0.0104", "t3.micro")])
    assert Offer.objects.get().cpu_baseline_ratio == Decimal("0.1")


def test_own_table_of_offers_gives_the_facts() -> None:
    row = PRICED | {"provider": "aws", "region": "eu-west-1", "offer": "T3.Medium"}
    table_import(
        kind="offers", workspace=factories.workspace(), text=own_table(OFFER | row), actor="test"
    )
    assert stored(Offer.objects.get()) == (Decimal("0.2"), Decimal("0.05"), "unlimited")


def test_offer_shows_the_share_that_it_sustains(client: Client, market: None) -> None:
    shown = client.get(f"{API}/offers/aws-t4g-nano-us-east-1").json()
    assert [shown[name] for name in CREDIT_FIELDS] == ["0.05", "0.04", "unlimited"]
    fixed = client.get(f"{API}/offers/aws-m6i-large-us-east-1").json()
    assert [fixed[name] for name in CREDIT_FIELDS] == [None, None, None]
    page = client.get("/offers/aws-t4g-nano-us-east-1/").content.decode()
    assert "5% of each vCPU; beyond that 0.04 USD for each hour of a vCPU" in page
    page = client.get("/offers/azure-standard-b1ls-eastus/").content.decode()
    assert "5% of each vCPU; slower once its CPU credits are used up" in page
    assert "of each vCPU" not in client.get("/offers/aws-m6i-large-us-east-1/").content.decode()


def test_table_has_as_many_types_as_the_readme_says() -> None:
    text = (settings.FIXTURE_DIR / "README.md").read_text(encoding="utf-8")
    assert f"| `cpu_credits.csv` | {len(table('catalog/cpu_credits.csv'))} |" in text
