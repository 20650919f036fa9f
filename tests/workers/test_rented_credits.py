"""CPU credits of rented machines: which mode is chosen, and that its surcharge is in every budget.

A vCPU-hour beyond the credits costs 0.05 USD, of T4g 0.04 (aws.amazon.com/ec2/pricing/on-demand/).
"""

import datetime as dt
from decimal import Decimal

import pytest
from django.db.models import Sum

from backend.benchmarks.calc.campaign_document import CampaignPlan
from backend.benchmarks.models import Resource
from backend.benchmarks.selectors.costs import campaign_estimate
from backend.benchmarks.services.campaigns import campaign_create
from backend.core import clock
from backend.foundation.errors import InvalidValue
from backend.providers.rentals import Budget
from backend.rentals.services.budgets import BudgetExceeded, resource_reserve
from backend.rentals.services.resources import (
    resource_mark_called,
    resource_mark_created,
    resource_mark_gone,
)
from tests import factories
from tests.workers.clouds import account, offer, rented_run

pytestmark = pytest.mark.django_db(transaction=True)
REGION = "eu-west-1"


@pytest.fixture(autouse=True)
def _no_broker(queued):
    """Messages are recorded."""


def aws_account(**settings):
    return account(provider="aws", settings={"regions": [REGION], **settings})


def burstable(name="t3.large", *, kind="burstable", price="0.0832"):
    """A type of two vCPUs."""
    return offer(
        f"aws-{name.replace('.', '-')}", provider_slug="aws", name=name, price=price,
        region=factories.region(REGION), vcpu_kind=kind, vcpu_count=2,
    )  # fmt: skip


def reserved(of, **parameters):
    run = rented_run(of, parameters={"lifetime_s": 3600, **parameters})
    resource_reserve(run=run)
    return Resource.objects.select_related("account", "run", "workspace").get(run=run)


@pytest.mark.parametrize(
    ("name", "of_account", "of_run", "mode", "most"),
    [
        ("t3.large", None, None, "standard", "0.0832"),
        ("t3.large", None, "unlimited", "unlimited", "0.1832"),
        ("t4g.large", None, "unlimited", "unlimited", "0.1632"),
        ("t3.large", "unlimited", None, "unlimited", "0.1832"),
        ("t3.large", "unlimited", "standard", "standard", "0.0832"),
    ],
)
def test_mode_of_credits_is_reserved_with_its_surcharge(name, of_account, of_run, mode, most):
    aws_account(**({"credit_mode": of_account} if of_account else {}))
    resource = reserved(burstable(name), **({"credit_mode": of_run} if of_run else {}))
    assert resource.credit_mode == mode
    assert (resource.hourly_amount, resource.reserved_amount) == (Decimal(most), Decimal(most))


def test_surcharge_of_credits_is_booked_for_the_life_of_the_machine():
    aws_account()
    resource = reserved(burstable(), credit_mode="unlimited")
    now = clock.now()
    resource_mark_called(resource=resource, zone="")
    began = now - dt.timedelta(minutes=30)
    resource_mark_created(resource=resource, provider_id="i-1", launched_at=began)
    resource_mark_gone(resource=resource, ended_at=now)
    assert resource.ledger.aggregate(Sum("amount"))["amount__sum"] == Decimal("0.0916")


def test_launch_is_refused_when_the_budget_lacks_the_surcharge():
    aws_account()
    run = rented_run(
        burstable(), budget="0.1", parameters={"lifetime_s": 3600, "credit_mode": "unlimited"}
    )
    with pytest.raises(BudgetExceeded, match=r"0\.1832"):
        resource_reserve(run=run)


def test_launch_is_refused_when_the_surcharge_is_in_another_currency():
    """Two currencies cannot be booked as one amount by the hour."""
    aws_account()
    of = burstable(price=None)
    factories.price(of, "0.5", currency="EUR")
    with pytest.raises(InvalidValue, match="no price is known"):
        rented_run(of, parameters={"credit_mode": "unlimited"})


@pytest.mark.parametrize("kind", ["dedicated", "shared"])
def test_mode_of_credits_is_refused_for_types_that_have_none(kind):
    aws_account()
    with pytest.raises(InvalidValue) as caught:
        rented_run(burstable("m5.large", kind=kind), parameters={"credit_mode": "unlimited"})
    assert caught.value.field == "/parameters/credit_mode"
    assert rented_run(burstable("m6i.large", kind=kind)).resource.credit_mode == ""


@pytest.mark.parametrize(("of_account", "each"), [(None, "0.0832"), ("unlimited", "0.1832")])
def test_estimate_of_a_campaign_has_the_surcharge(of_account, each):
    aws_account(**({"credit_mode": of_account} if of_account else {}))
    of = burstable()
    plan = CampaignPlan(
        offers=[of.slug], profile="quick", repeats=3, parameters={"lifetime_s": 3600},
        budget=Budget(Decimal(5), "USD"),
    )  # fmt: skip
    campaign = campaign_create(workspace=factories.workspace(), name="C", plan=plan, actor="tester")
    assert campaign_estimate(campaign, [], [of]).known == 3 * Decimal(each)
