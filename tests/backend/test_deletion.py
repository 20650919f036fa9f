"""What may be deleted, what stays of it, and what refuses while it is in use."""

import pytest

from backend.accounts.models import AuditEntry
from backend.benchmarks.models import Campaign, Host, Run, RunState
from backend.catalog.models import HardwareModel, PriceObservation
from tests import factories
from tests.e2e.every_page import HARDWARE
from tests.frontend.rows import measured_offer
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client):
    client.force_login(factories.user(role="admin", username="ada"))
    return client


@pytest.fixture
def host():
    made = measured_offer().run.host
    Host.objects.filter(pk=made.pk).update(
        driver="static", address="192.0.2.7", username="bench", sealed_private_key=b"sealed"
    )
    made.refresh_from_db()
    return made


def actions():
    return set(AuditEntry.objects.values_list("action", flat=True))


def test_removed_host_loses_key_and_address_and_keeps_its_results(admin, host):
    name, run = host.name, host.runs.get()
    scores = shown(admin.get(f"/offers/{host.offer.slug}/")).count(f"/runs/{run.pk}/")
    assert admin.delete(f"/api/v1/hosts/{host.pk}").status_code == 204
    host.refresh_from_db()
    assert (host.address, host.username, host.sealed_private_key) == ("", "", None)
    assert admin.get(f"/api/v1/hosts/{host.pk}").status_code == 404
    assert f">{name}<" not in shown(admin.get("/hosts/"))
    assert f"/hosts/{host.pk}/" not in shown(admin.get("/runs/"))
    assert admin.get(f"/runs/{run.pk}/").status_code == 200
    assert shown(admin.get(f"/offers/{host.offer.slug}/")).count(f"/runs/{run.pk}/") == scores > 0
    assert "host_remove" in actions()


def test_host_is_neither_moved_nor_removed_while_a_run_uses_it(admin, host):
    run = host.runs.get()
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING)
    path = f"/api/v1/hosts/{host.pk}"
    answers = [
        admin.patch(path, {"address": "192.0.2.8"}, content_type="application/json"),
        admin.delete(path),
    ]
    for answer in answers:
        assert answer.status_code == 409
        assert answer.json()["runs"] == [str(run.pk)]
    assert "unfinished run" in shown(admin.post(f"/hosts/{host.pk}/remove/", follow=True))
    renamed = admin.patch(path, {"name": "web 7"}, content_type="application/json")
    assert (renamed.status_code, renamed.json()["name"]) == (200, "web 7")


def test_host_changes_its_address_and_refuses_a_wrong_one(admin, host):
    fields = {"name": host.name, "address": "198.51.100.4", "port": "2222", "username": "bench"}
    assert admin.post(f"/hosts/{host.pk}/change/", fields).status_code == 302
    host.refresh_from_db()
    assert (host.address, host.port) == ("198.51.100.4", 2222)
    wrong = admin.patch(
        f"/api/v1/hosts/{host.pk}", {"port": 22, "username": "-x"}, content_type="application/json"
    )
    assert wrong.status_code == 400
    assert "host_update" in actions()


def test_campaign_is_deleted_with_its_schedule_and_leaves_its_runs(admin, host):
    campaign = Campaign.objects.create(
        workspace=host.workspace, name="Nightly", profile="quick", round=1
    )
    run = host.runs.get()
    Run.objects.filter(pk=run.pk).update(campaign=campaign, round=1, state=RunState.RUNNING)
    path = f"/campaigns/{campaign.pk}/delete/"
    assert "still running" in shown(admin.post(path, follow=True))
    Run.objects.filter(pk=run.pk).update(state=RunState.DONE)
    assert "Its runs and their results stay." in shown(admin.get(path))
    admin.post(path)
    assert not Campaign.objects.exists()
    assert Run.objects.get(pk=run.pk).campaign is None
    assert "campaign_delete" in actions()


def test_entered_price_is_deleted_and_the_one_of_the_list_counts_again(admin):
    offer = factories.offer("aws-m5", name="m5.large")
    listed = factories.price(offer, "0.10")
    fields = {"amount": "0.05", "currency": "USD", "unit": "hour", "reason": "our contract"}
    assert admin.post("/offers/aws-m5/price/", fields).status_code == 302
    entered = PriceObservation.objects.exclude(pk=listed.pk).get()
    assert "0.05" in shown(admin.get("/prices/"))
    assert "by hand" in shown(admin.post(f"/prices/{listed.pk}/delete/", follow=True))
    assert "Delete price" in shown(admin.get(f"/prices/{entered.pk}/"))
    admin.post(f"/prices/{entered.pk}/delete/")
    assert list(PriceObservation.objects.all()) == [listed]
    assert "0.05" not in shown(admin.get("/prices/"))
    assert "price_remove" in actions()


def test_cost_model_is_deleted_with_the_price_it_gave(admin):
    admin.post("/hardware/new/", HARDWARE)
    model = HardwareModel.objects.get()
    admin.post(f"/hardware/{model.pk}/delete/")
    assert not HardwareModel.objects.exists()
    assert not PriceObservation.objects.filter(offer=model.offer).exists()
    assert admin.get(f"/offers/{model.offer.slug}/").status_code == 200
    assert "hardware_delete" in actions()
