"""Example prices that an older version stored name their table of discounts after the upgrade."""

import importlib

import pytest
from django.apps import apps

from backend.catalog.models import PriceObservation
from tests import factories

pytestmark = pytest.mark.django_db
LIST = "Google Compute Engine list prices"
MIGRATION = importlib.import_module("backend.catalog.migrations.0007_sustained_use_of_the_demo")


def test_example_months_go_and_hours_name_their_table() -> None:
    names = {
        "n2-standard-4": "n2",
        "n2d-standard-2": "n2",
        "m1-megamem-96": "n1",
        "n4-highcpu-2": "",
    }
    for name in names:
        offer = factories.offer(name, provider_slug="gcp", is_demo=True)
        factories.price(offer, "0.2", source=LIST)
        factories.price(offer, "110", source=LIST, unit="month", basis="sustained_use")
    own = factories.price(factories.offer("n2-own", provider_slug="gcp"), "0.2", source=LIST)
    MIGRATION.name_tables(apps, None)
    prices = PriceObservation.objects.exclude(pk=own.pk)
    assert dict(prices.values_list("offer__name", "sustained_use")) == names
    assert set(prices.values_list("unit", flat=True)) == {"hour"}
    own.refresh_from_db()
    assert own.sustained_use == ""
