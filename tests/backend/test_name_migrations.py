"""Databases in which names were taken twice before they were unique."""

import datetime as dt
from importlib import import_module
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from backend.accounts.models import ApiToken, Workspace
from backend.benchmarks.models import Campaign
from backend.catalog.models import Offer
from backend.catalog.selectors.current_prices import best_prices
from backend.catalog.selectors.price_choice import PriceBasis
from backend.common import clock
from backend.rankings.models import SavedView
from backend.scenarios.models import Scenario
from tests import factories

pytestmark = pytest.mark.django_db


def renamed(app: str, migration: str) -> None:
    import_module(f"backend.{app}.migrations.{migration}").rename_doubles(apps, None)


def without(kind: str, constraint: str, table: str) -> None:
    """The database as it was: the test's transaction gives the constraint back."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"DROP INDEX {constraint}"
            if kind == "index"
            else f"ALTER TABLE {table} DROP CONSTRAINT {constraint}"
        )


def test_tokens_of_one_name_get_numbers() -> None:
    without("index", "token_name_once", "accounts_apitoken")
    for n, (name, revoked_at) in enumerate(
        [("a", clock.now()), ("a", None), ("a", None), ("a (2)", None), ("a", None)]
    ):
        ApiToken.objects.create(
            workspace=factories.workspace(), name=name, lookup=str(n), digest=b"", scope="read",
            expires_at=clock.now(), revoked_at=revoked_at,
        )  # fmt: skip
    renamed("accounts", "0011_kept_answers_and_names")
    names = ApiToken.objects.order_by("created_at").values_list("name", flat=True)
    assert list(names) == ["a", "a", "a (3)", "a (2)", "a (4)"]


def test_campaigns_and_views_of_one_name_get_numbers() -> None:
    without("constraint", "campaign_name_once", "benchmarks_campaign")
    without("constraint", "view_name_once", "rankings_savedview")
    for n, owner in enumerate(("ada", "ada", "bob")):
        Campaign.objects.create(workspace=factories.workspace(), name="x" * 100, profile="quick")
        SavedView.objects.create(
            workspace=factories.workspace(), name="v", slug=f"v{n}", owner=owner, params={}
        )
    renamed("benchmarks", "0029_campaign_names")
    renamed("rankings", "0005_view_names")
    campaigns = Campaign.objects.order_by("created_at").values_list("name", flat=True)
    assert list(campaigns) == ["x" * 100, f"{'x' * 90} (2)", f"{'x' * 90} (3)"]
    views = SavedView.objects.order_by("created_at").values_list("owner", "name")
    assert list(views) == [("ada", "v"), ("ada", "v (2)"), ("bob", "v")]


def joined() -> None:
    import_module("backend.scenarios.migrations.0002_doubled_offers").join_doubles(apps, None)


def doubled(slug: str, **given: Any) -> Offer:
    region = factories.region()
    return factories.offer(slug, **{"name": "c6a.large", "region": region} | given)


def test_offer_that_a_table_doubled_is_joined_to_that_of_the_catalogue() -> None:
    kept = doubled("aws-c6a-large-us-east-1")
    listed = factories.price(kept, "0.08")
    double = doubled("aws-c6alarge-us-east-1", workspace=factories.workspace())
    later = factories.AT + dt.timedelta(days=1)
    stated = factories.price(double, "0.05", observed_at=later)
    run = factories.run(factories.host(double), price=stated)
    factories.sample(double, 9.0, run=run)
    campaign = Campaign.objects.create(workspace=factories.workspace(), name="c", profile="quick")
    campaign.offers.add(double)
    given: dict[str, Any] = {"workspace": factories.workspace(), "slug": "s", "name": "s"}
    document = {"options": [{"servers": {"offer": double.slug}}, "aws-c6alarge-us-east-1b"]}
    Scenario.objects.create(document=document, created_by="ada", **given)
    SavedView.objects.create(owner="ada", params={"o": [double.slug]}, **given)
    joined()
    assert list(Offer.objects.filter(provider=kept.provider)) == [kept]
    # What was stated of the double waits: the price that everybody sees is the list's.
    assert best_prices(PriceBasis())[kept.pk].observation_id == listed.pk
    stated.refresh_from_db()
    assert (stated.offer, stated.is_published, "aws-c6alarge" in stated.anomaly) == (
        kept,
        False,
        True,
    )
    run.refresh_from_db()
    assert (run.offer, run.host.offer, kept.samples.count()) == (kept, kept, 1)
    assert list(campaign.offers.all()) == [kept]
    renamed_to = {"options": [{"servers": {"offer": kept.slug}}, "aws-c6alarge-us-east-1b"]}
    assert Scenario.objects.get().document == renamed_to
    assert SavedView.objects.get().params == {"o": [kept.slug]}


def test_doubles_of_one_workspace_are_joined_and_others_stay() -> None:
    other = Workspace.objects.create(slug="other", name="Other")
    shared = doubled("aws-c6a-large-us-east-1")
    first, second = doubled("a", workspace=other), doubled("b", workspace=other)
    factories.price(second, "0.05")
    one, two = (
        doubled("x", name="r1.1", workspace=other),
        doubled("y", name="R1.1", workspace=other),
    )
    for offer in (one, two):
        # Nobody knows which of two prices of one moment is right.
        factories.price(offer, "0.07")
    joined()
    assert set(Offer.objects.all()) == {shared, first, one, two}
    assert first.prices.get().is_published
    joined()
    assert Offer.objects.count() == 4
