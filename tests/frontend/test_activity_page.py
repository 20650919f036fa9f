"""The audit trail as a page."""

from typing import Any

import pytest
from django.test import Client

from backend.accounts.models import User
from backend.accounts.services.audit import audit_context, audit_record
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def analyst(client: Client) -> Client:
    client.force_login(factories.user(username="ada", role="write"))
    return client


def entry(actor: str, action: str, **detail: object) -> None:
    workspace = factories.workspace()
    audit_record(workspace=workspace, actor=actor, action=action, target=workspace, detail=detail)


def test_activity_lists_who_did_what_to_which_object(analyst: Client) -> None:
    entry("bob", "price_enter", amount="4.20", before=None, cells={"sort": ["price"]})
    page = analyst.get("/activity/").content.decode()
    for shown in ("bob", "price enter", "workspace", "4.20", "none", "sort: price"):
        assert shown in page


def test_activity_is_narrowed_by_author_action_and_day(analyst: Client) -> None:
    entry("bob", "price_enter", n=1)
    entry("eve", "run_cancel", n=2)
    assert "1 entry" in analyst.get("/activity/?actor=bob").content.decode()
    assert "1 entry" in analyst.get("/activity/?action=run_cancel").content.decode()
    assert "No entry matches" in analyst.get("/activity/?until=2001-01-01").content.decode()


def test_bad_day_is_an_error_and_narrows_nothing(analyst: Client) -> None:
    entry("bob", "price_enter")
    page = analyst.get("/activity/?since=rubbish").content.decode()
    assert "Ignored" in page
    # Theirs, and that the analyst has signed in.
    assert "2 entries" in page


def test_activity_is_not_for_everybody(client: Client) -> None:
    assert client.get("/activity/").status_code == 403


def test_activity_keeps_to_twelve_queries(
    analyst: Client, django_assert_max_num_queries: Any
) -> None:
    for n in range(60):
        entry("bob", "price_enter", n=n)
    with django_assert_max_num_queries(12):
        assert "page 1 of 2" in analyst.get("/activity/").content.decode()


def test_activity_shows_admins_where_from_and_what_it_was_before(client: Client) -> None:
    person = factories.user(username="ben", first_name="Ben", role="read")
    client.force_login(factories.user(username="root", role="admin"))
    person = User.objects.get(pk=person.pk)
    person.first_name = "Benedict"
    with audit_context(address="192.0.2.7", request_id="abcdef0123456789"):
        audit_record(
            workspace=factories.workspace(), actor="root", action="name_change", target=person
        )
    page = client.get("/activity/?action=name_change").content.decode()
    for shown in ("192.0.2.7", "<del>Ben</del>", "<ins>Benedict</ins>"):
        assert shown in page
    assert "/api/v1/audit.csv?action=name_change" in page
    client.force_login(factories.user(username="ada", role="write"))
    page = client.get("/activity/?action=name_change").content.decode()
    assert "192.0.2.7" not in page
    assert "<del>" not in page
