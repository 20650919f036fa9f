"""The admin: rows are looked at, and a sample can be left out for a reason."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.accounts.services.tokens import token_create
from backend.benchmarks.models import Sample
from backend.catalog.selectors.data_version import data_version
from tests import factories
from tests.backend.clouds import account

pytestmark = pytest.mark.django_db
APPS = ("accounts", "notifications", "catalog", "benchmarks")


@pytest.fixture
def person(client: Client) -> Client:
    client.force_login(factories.user(is_staff=True, is_superuser=True))
    return client


def addresses() -> list[str]:
    models = [model for app in APPS for model in apps.get_app_config(app).get_models()]
    registered = [model._meta for model in models if admin.site.is_registered(model)]
    return [f"/admin/{meta.app_label}/{meta.model_name}/" for meta in registered]


def test_every_list_opens(person: Client, demo: None) -> None:
    factories.sample(factories.offer("one"), 1.0, run=factories.run())
    assert len(addresses()) >= 13
    for address in addresses():
        assert person.get(address).status_code == 200, address


def test_tokens_and_audit_can_only_be_looked_at(person: Client) -> None:
    token, plaintext = token_create(
        workspace=factories.workspace(), owner=factories.owner(), name="x", scope="read"
    )
    shown = person.get(f"/admin/accounts/apitoken/{token.pk}/change/")
    assert shown.status_code == 200
    assert plaintext not in shown.content.decode()
    assert bytes(token.digest).hex() not in shown.content.decode()
    for address in ("/admin/accounts/apitoken/add/", "/admin/accounts/auditentry/add/"):
        assert person.get(address).status_code == 403
    entry = AuditEntry.objects.get(action="token_create")
    assert person.post(f"/admin/accounts/auditentry/{entry.pk}/delete/").status_code == 403


def test_cloud_accounts_are_shown_without_their_secret(person: Client, queued: list[Any]) -> None:
    held = account()
    shown = person.get(f"/admin/accounts/cloudaccount/{held.pk}/change/")
    assert shown.status_code == 200
    assert held.name in shown.content.decode()
    assert "sealed" not in shown.content.decode()
    assert person.get("/admin/accounts/cloudaccount/add/").status_code == 403


def test_leaving_a_sample_out_needs_a_reason_and_is_recorded(person: Client) -> None:
    sample = factories.sample(factories.offer("odd"), 5.0)
    version = data_version()
    address = f"/admin/benchmarks/sample/{sample.pk}/change/"
    answer = person.post(address, {"excluded_reason": "a noisy neighbour", "value": "9"})
    assert answer.status_code == 302
    sample = Sample.objects.get()
    assert (sample.excluded_reason, sample.value) == ("a noisy neighbour", 5.0)
    assert data_version() == version + 1
    entry = AuditEntry.objects.get(action="sample_exclude")
    assert entry.detail == {"reason": "a noisy neighbour", "before": ""}


def test_changing_an_offer_counts_the_data_version_up(person: Client) -> None:
    offer = factories.offer("edited")
    version = data_version()
    form = {"provider": offer.provider.pk, "name": "New name", "kind": "cloud"}
    assert person.post(f"/admin/catalog/offer/{offer.pk}/change/", form).status_code == 302
    offer.refresh_from_db()
    assert offer.name == "New name"
    assert data_version() == version + 1
