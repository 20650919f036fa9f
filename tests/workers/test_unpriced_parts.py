"""Parts of rented machines without a known price: named beside every amount, never nothing."""

from decimal import Decimal

import pytest

from backend.benchmarks.calc.campaign_document import CampaignPlan
from backend.benchmarks.models import Campaign, Resource
from backend.benchmarks.selectors.costs import campaign_cost, campaign_estimate
from backend.benchmarks.selectors.rental_prices import parts_without_price, resource_cost
from backend.benchmarks.services.campaigns import campaign_create
from backend.core import clock
from backend.providers.rentals import Budget
from backend.rentals.selectors.spending import account_month
from backend.rentals.services.budgets import BudgetExceeded, resource_reserve
from backend.rentals.services.resources import resource_mark_gone
from backend.site.machines import line
from tests import factories
from tests.workers.clouds import account, offer, rented_run

pytestmark = pytest.mark.django_db(transaction=True)
REGIONS = {"aws": "us-east-1", "gcp": "us-central1"}
HOUR = {"lifetime_s": 3600}
PARTS = ("disk of m6i.large", "address of m6i.large")


@pytest.fixture(autouse=True)
def _no_broker(queued):
    """Messages are recorded."""


def machine_type(name="m6i.large", provider="aws"):
    """At 0.36 an hour."""
    account(provider=provider, settings={"regions": [REGIONS[provider]]})
    region = factories.region(REGIONS[provider], provider_slug=provider)
    return offer("of", provider_slug=provider, name=name, region=region)


def priced(provider="aws", **given):
    """A disk of 20 GiB costs 1.46 a month, which is 0.002 an hour; an address 0.005."""
    factories.extra("disk", "0.073", provider_slug=provider, **given)
    factories.extra("ipv4", "0.005", provider_slug=provider, **given)


def reserved(of, **given):
    run = rented_run(of, parameters=HOUR, **given)
    resource_reserve(run=run)
    return Resource.objects.select_related("account", "run", "workspace").get(run=run)


@pytest.mark.parametrize(
    ("name", "most", "unpriced"),
    [("n2-standard-4", "0.367", []), ("c4-standard-4", "0.365", ["disk"])],
)
def test_disk_has_a_price_when_it_is_for_its_type(name, most, unpriced):
    """Hyperdisks, which the newest families take, have other prices than balanced disks."""
    priced("gcp")
    resource = reserved(machine_type(name, "gcp"))
    assert (resource.reserved_amount, parts_without_price(resource)) == (Decimal(most), unpriced)


def test_launch_is_refused_when_the_budget_lacks_the_parts():
    priced()
    with pytest.raises(BudgetExceeded, match=r"0\.367 USD do not fit"):
        reserved(machine_type(), budget="0.365")


@pytest.mark.parametrize("elsewhere", ["region", "currency"])
def test_machine_says_which_parts_have_no_price(elsewhere):
    # None of its region, or in another currency than its own price.
    given = {"region": factories.region("eu-west-9")} if elsewhere == "region" else {}
    priced(**given, **({"currency": "EUR"} if elsewhere == "currency" else {}))
    resource = reserved(machine_type())
    assert resource.reserved_amount == Decimal("0.36")
    (warning,) = resource.run.events.filter(kind="warning")
    assert warning.detail.startswith("disk, address: no price is known in us-east-1")
    assert line(resource).unpriced == "disk, public address"
    month = account_month(resource.account)
    assert (month.known, month.unknown) == (Decimal("0.36"), PARTS)
    # Nothing was launched: nothing is unknown any more.
    resource_mark_gone(resource=resource, ended_at=None)
    assert (parts_without_price(resource), resource_cost(resource)) == ([], 0)
    assert account_month(resource.account).amount == 0


def test_estimate_of_a_campaign_names_its_parts_until_they_have_prices():
    of = machine_type()
    plan = CampaignPlan(
        offers=[of.slug], profile="quick", repeats=2, parameters=HOUR,
        budget=Budget(Decimal(5), "USD"),
    )  # fmt: skip
    campaign = campaign_create(workspace=factories.workspace(), name="C", plan=plan, actor="tester")
    estimate = campaign_estimate(campaign, [], [of])
    assert (estimate.amount, estimate.known, estimate.unknown) == (None, Decimal("0.72"), PARTS)
    priced()
    assert campaign_estimate(campaign, [], [of]).amount == Decimal("0.734")


def test_cost_of_a_campaign_names_the_parts_that_it_lacks():
    of = machine_type()
    campaign = Campaign.objects.create(
        workspace=factories.workspace(), name="C", profile="quick", round=1
    )
    run = rented_run(of, campaign=campaign, round=1, parameters=HOUR)
    resource_reserve(run=run)
    type(run).objects.filter(pk=run.pk).update(started_at=clock.now())
    cost = campaign_cost(campaign)
    assert (cost.amount, cost.unknown) == (None, PARTS)
