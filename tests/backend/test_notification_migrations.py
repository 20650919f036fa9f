"""Subscriptions and notices of an existing database when they move to an app of their own."""

from collections.abc import Iterator

import pytest
from django.apps.registry import Apps
from django.db import IntegrityError, connection
from django.db.migrations.executor import MigrationExecutor

from backend.notifications.models import Notice, Subscription

pytestmark = pytest.mark.django_db(transaction=True)

# To the newest of the app, whose models read the rows afterwards.
AFTER = [("benchmarks", "0008_notifications_moved"), ("notifications", "0003_alerts_of_a_campaign")]
BEFORE = [("benchmarks", "0007_evidence_file_hashes"), ("notifications", None)]


def migrated(targets: list[tuple[str, str | None]]) -> Apps:
    return MigrationExecutor(connection).migrate(targets).apps


@pytest.fixture
def before() -> Iterator[Apps]:
    """The models before the move; afterwards the database is as new as the code."""
    newest = [node for node in MigrationExecutor(connection).loader.graph.leaf_nodes() if node[1]]
    try:
        yield migrated(BEFORE)
    finally:
        migrated(newest)


def queried(query: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return sorted(row[0] for row in cursor.fetchall())


def names() -> list[str]:
    """Tables, indexes, sequences and constraints that bear the name of a subscription or notice."""
    relations = queried("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
    constraints = queried("SELECT conname FROM pg_constraint WHERE conrelid <> 0")
    return [
        name for name in {*relations, *constraints} if "notice" in name or "subscription" in name
    ]


def test_rows_names_and_content_types_follow_when_moved(before: Apps) -> None:
    """In one test: to go back and forth again takes seconds."""
    types = "SELECT app_label FROM django_content_type WHERE model IN ('subscription', 'notice')"
    assert queried(types) == ["benchmarks", "benchmarks"]
    assert not any(name.startswith("notifications_") for name in names())
    workspace = before.get_model("accounts", "Workspace").objects.create(slug="w", name="W")
    old = before.get_model("benchmarks", "Subscription").objects.create(
        workspace=workspace, channel="email", address="a@example.org", kinds=["leak"],
        sealed_secret=b"sealed",
    )  # fmt: skip
    before.get_model("benchmarks", "Notice").objects.create(
        subscription=old, key="leak:1", document={"title": "x"}, attempt=3
    )

    migrated(AFTER)

    assert queried(types) == ["notifications", "notifications"]
    assert not any("benchmarks" in name for name in names())
    assert {"notifications_notice", "notifications_subscription", "notice_due_open"} <= set(names())
    new = Subscription.objects.get()
    assert (new.pk, new.workspace_id, bytes(new.sealed_secret or b"")) == (
        old.pk, workspace.pk, b"sealed",
    )  # fmt: skip
    assert (new.channel, new.address, new.kinds) == ("email", "a@example.org", ["leak"])
    notice = new.notices.get()
    assert (notice.key, notice.document, notice.attempt) == ("leak:1", {"title": "x"}, 3)
    later = Notice.objects.create(subscription=new, key="leak:2", document={})
    assert later.pk > notice.pk
    with pytest.raises(IntegrityError, match="notice_once"):
        Notice.objects.create(subscription=new, key="leak:2", document={})
    new.delete()
    assert not Notice.objects.exists()
