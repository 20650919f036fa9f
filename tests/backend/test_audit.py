"""The audit trail: what is in it, with before, after, address and request; and that it stays."""

import csv
import datetime as dt
import io
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import DatabaseError, connection, transaction
from django.test import Client

from backend.accounts.models import AuditEntry, User, Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import default_workspace
from backend.core import clock
from backend.notifications.models import Notice
from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough pass phrase"


@pytest.fixture
def admin() -> User:
    return User.objects.create_superuser("root", password=PASSWORD)


def entry(**given: Any) -> AuditEntry:
    workspace = default_workspace()
    return audit_record(
        **{"workspace": workspace, "actor": "ada", "action": "test", "target": workspace} | given
    )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_auditentry SET actor = 'nobody'",
        "DELETE FROM accounts_auditentry",
        "TRUNCATE accounts_auditentry",
    ],
)
def test_trail_is_only_appended_to(statement: str) -> None:
    entry()
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        with pytest.raises(DatabaseError, match="only appended to"), transaction.atomic():
            cursor.execute(statement)
    assert AuditEntry.objects.get().actor == "ada"


def test_trail_is_forgotten_through_its_function_alone_after_ninety_days() -> None:
    entry()
    old = AuditEntry(workspace=default_workspace(), actor="old", action="test")
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        old.save()
        AuditEntry.objects.filter(actor="old").update(at=clock.now() - dt.timedelta(days=100))
        cursor.execute("SET LOCAL session_replication_role = origin")
        cursor.execute("SELECT accounts_audit_forget(now() - interval '91 days', 10)")
        assert cursor.fetchone() == (1,)
        assert AuditEntry.objects.get().actor == "ada"
        # And it opens the table to nobody else, not even in the same transaction.
        with pytest.raises(DatabaseError, match="last 90 days"), transaction.atomic():
            cursor.execute("SELECT accounts_audit_forget(now(), 10)")
        with pytest.raises(DatabaseError, match="only appended to"), transaction.atomic():
            cursor.execute("DELETE FROM accounts_auditentry")


def test_role_of_the_application_cannot_change_the_trail() -> None:
    entry()
    with connection.cursor() as cursor:
        # As in docs/security.md.
        cursor.execute(
            "CREATE ROLE audit_test_app;"
            "GRANT USAGE ON SCHEMA public TO audit_test_app;"
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO audit_test_app;"
            "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO audit_test_app;"
            "REVOKE UPDATE, DELETE, TRUNCATE ON accounts_auditentry FROM audit_test_app;"
            "SET LOCAL ROLE audit_test_app"
        )
        entry(actor="app")
        for statement in (
            "SET LOCAL rackrate.audit_retention = 'on'; DELETE FROM accounts_auditentry",
            "ALTER TABLE accounts_auditentry DISABLE TRIGGER ALL",
            "SET LOCAL session_replication_role = replica",
            "SELECT accounts_audit_forget(now() - interval '91 days', 10)",
        ):
            with pytest.raises(DatabaseError), transaction.atomic():
                cursor.execute(statement)
        cursor.execute("RESET ROLE")
    assert AuditEntry.objects.count() == 2


def test_sign_in_and_out_are_recorded_with_address_and_request(client: Client, admin: User) -> None:
    refused = client.post("/accounts/login/", {"username": "root", "password": "wrong"})
    assert refused.status_code == 200
    client.post("/accounts/login/", {"username": "secret typed here", "password": "wrong"})
    entered = client.post("/accounts/login/", {"username": "root", "password": PASSWORD})
    client.post("/accounts/logout/")
    kept = list(AuditEntry.objects.order_by("id").values_list("action", "actor", "address"))
    assert kept == [
        ("login_failed", "root", "127.0.0.1"),
        ("login_failed", "unknown", "127.0.0.1"),
        ("login", "root", "127.0.0.1"),
        ("logout", "root", "127.0.0.1"),
    ]
    assert AuditEntry.objects.get(action="login").request_id == entered["X-Request-ID"]
    assert "secret typed here" not in str(list(AuditEntry.objects.values()))


def test_sign_ins_are_recorded_in_each_workspace_of_the_person(client: Client) -> None:
    """Those of a person who is in another workspace only stood in the default one alone."""
    lab = Workspace.objects.create(slug="lab", name="Lab")
    factories.user(username="eve", workspace=lab, password=PASSWORD)
    other = Workspace.objects.create(slug="other", name="Other")
    client.post("/accounts/login/", {"username": "eve", "password": "wrong"})
    client.post("/accounts/login/", {"username": "eve", "password": PASSWORD})
    client.post("/accounts/logout/")
    for workspace in (lab, default_workspace()):
        kept = AuditEntry.objects.filter(workspace=workspace).order_by("id")
        assert list(kept.values_list("action", "actor")) == [
            ("login_failed", "eve"),
            ("login", "eve"),
            ("logout", "eve"),
        ]
    assert not AuditEntry.objects.filter(workspace=other).exists()


def test_refused_tokens_and_feed_keys_are_recorded_and_then_throttled(
    client: Client, settings: LazySettings
) -> None:
    settings.THROTTLE_REFUSED = "3/hour"
    wrong = {"authorization": "Bearer rr_0123456789abcdefsecretpart"}
    here = {"REMOTE_ADDR": "192.0.2.1"}
    answers = [client.get(f"{API}/offers", headers=wrong, **here) for _ in range(3)]
    answers.append(client.get("/feeds/rf_0123456789abcdef/view.csv", **here))
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429]
    assert int(answers[-1]["Retry-After"]) > 0
    entries = AuditEntry.objects.filter(action="token_refused")
    assert {one.detail["begins"] for one in entries} == {"rr_01234567"}
    assert AuditEntry.objects.count() == 3


def test_right_token_is_taken_beside_wrong_ones_of_its_address(
    client: Client, settings: LazySettings, token: Callable[..., str]
) -> None:
    settings.THROTTLE_REFUSED = "1/hour"
    for status in (401, 429):
        wrong = {"authorization": "Bearer rr_wrong"}
        answer = client.get(f"{API}/offers", headers=wrong, REMOTE_ADDR="192.0.2.2")
        assert answer.status_code == status
    right = {"authorization": f"Bearer {token()}"}
    answer = client.get(f"{API}/offers", headers=right, REMOTE_ADDR="192.0.2.2")
    assert answer.status_code == 200


def test_change_in_the_admin_is_recorded_before_and_after(client: Client, admin: User) -> None:
    person = User.objects.create_user("ben", password=PASSWORD)
    client.force_login(admin)
    form = {
        "username": "ben",
        "first_name": "Ben",
        "is_active": "on",
        "date_joined_0": "2026-01-01",
        "date_joined_1": "00:00:00",
    }
    changed = client.post(f"/admin/accounts/user/{person.pk}/change/", form)
    assert changed.status_code == 302, changed.content
    kept = AuditEntry.objects.get(action="admin_change")
    assert (kept.actor, kept.object_id) == ("root", str(person.pk))
    assert (kept.before["first_name"], kept.after["first_name"]) == ("", "Ben")
    assert "password" not in {*kept.before, *kept.after}
    removed = client.post(f"/admin/accounts/user/{person.pk}/delete/", {"post": "yes"})
    assert removed.status_code == 302
    assert AuditEntry.objects.filter(action="admin_delete", object_id=str(person.pk)).exists()


def test_exports_and_refusals_of_known_callers_are_recorded(
    caller: Callable[..., Client], client: Client
) -> None:
    known = caller("read", name="export test")
    for _ in range(2):
        assert known.get(f"{API}/providers.csv?per_page=5").status_code == 200
    assert known.get(f"{API}/tokens").status_code == 403
    assert known.get(f"{API}/providers").status_code == 200
    assert client.get(f"{API}/regions.csv").status_code == 200
    kept = AuditEntry.objects.filter(actor="token export test").order_by("id")
    assert [(one.action, one.detail["path"]) for one in kept] == [
        ("export", f"{API}/providers.csv"),
        ("refused", f"{API}/tokens"),
    ]


def test_trail_is_listed_for_admins_and_filtered_in_every_format(
    caller: Callable[..., Client],
) -> None:
    entry(actor="=cmd", action="price_enter", detail={"offer": "m5"})
    entry(actor="ben", action="run_cancel")
    admin = caller("admin")
    assert caller("run").get(f"{API}/audit").status_code == 403
    listed = admin.get(f"{API}/audit?actor=ben&action=run_cancel&since=2020-01-01").json()
    assert [row["actor"] for row in listed["results"]] == ["ben"]
    assert admin.get(f"{API}/audit?until=2001-01-01").json()["count"] == 0
    text = admin.get(f"{API}/audit.csv?action=price_enter").content.decode("utf-8-sig")
    (row,) = csv.DictReader(io.StringIO(text))
    assert (row["actor"], row["detail"]) == ("'=cmd", '{"offer": "m5"}')


def test_entry_is_sent_to_who_subscribes_to_the_trail(settings: LazySettings) -> None:
    settings.EMAIL_HOST = "127.0.0.1"
    factories.subscription(
        channel="email", address="audit@example.com", secret=None, kinds=["audit"]
    )
    kept = entry(action="token_create", detail={"name": "hidden"})
    document = Notice.objects.get(key=f"audit:{kept.pk}:{kept.pk}").document
    assert document["title"] == "ada: token create"
    assert document["action"] == "token_create"
    assert "hidden" not in str(document)
