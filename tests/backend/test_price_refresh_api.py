"""A refresh over the API: begun by an analyst, seen by readers, one at a time."""

from collections.abc import Callable

import pytest
from django.test import Client

from backend.catalog.models import PriceFeed
from backend.core import clock
from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
REFRESH = f"{API}/price-refresh"
Caller = Callable[..., Client]


@pytest.mark.parametrize(("role", "status"), [("read", 403), ("write", 202), ("run", 202)])
def test_refresh_is_begun_by_analysts_and_above(caller: Caller, role: str, status: int) -> None:
    answer = caller(role).post(REFRESH, content_type="application/json")
    assert answer.status_code == status
    assert PriceFeed.objects.exclude(requested_at=None).exists() == (status == 202)


def test_refresh_shows_its_progress_and_refuses_a_second_one(caller: Caller) -> None:
    factories.offer(
        "west", provider_slug="azure", region=factories.region("westeurope", provider_slug="azure")
    )
    client = caller("write")
    before = client.get(REFRESH).json()
    assert (before["running"], before["requested_at"], before["sentence"]) == (False, None, None)
    answer = client.post(REFRESH, content_type="application/json")
    assert answer["Location"].endswith(REFRESH)
    begun = answer.json()
    assert begun["running"] is True
    assert begun["total"] == sum(entry["lists"] for entry in begun["providers"]) > 5
    assert client.post(REFRESH, content_type="application/json").status_code == 409
    feed = PriceFeed.objects.get(provider__slug="azure")
    PriceFeed.objects.filter(pk=feed.pk).update(
        tried_at=clock.now(), failures=1, trouble="unreachable", last_error="prices.azure.com: no"
    )
    seen = caller("read").get(REFRESH).json()
    assert seen["done"] == 1
    azure = next(entry for entry in seen["providers"] if entry["provider"] == "azure")
    assert (azure["failed"], azure["waiting"], azure["trouble"]) == (1, 0, "unreachable")
    assert azure["cause"] == "Azure could not be reached."
    assert "firewall" in azure["remedy"]
    assert azure["detail"] == "prices.azure.com: no"
    google = next(entry for entry in seen["providers"] if entry["provider"] == "gcp")
    assert (google["lists"], google["trouble"]) == (0, "no_account")
