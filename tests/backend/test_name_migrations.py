"""Databases in which names were taken twice before they were unique."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from backend.accounts.models import ApiToken
from backend.benchmarks.models import Campaign
from backend.common import clock
from backend.rankings.models import SavedView
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
