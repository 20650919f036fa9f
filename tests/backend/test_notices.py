"""Subscriptions over the API, and which notices are queued for them."""

import datetime as dt
from uuid import uuid4

import jsonschema
import pytest

from backend.accounts.models import AuditEntry
from backend.benchmarks.models import Run
from backend.benchmarks.pages.schedules.subscription_form import SubscriptionForm
from backend.benchmarks.services.campaigns import campaign_retry_failed, campaign_start
from backend.core import clock
from backend.notifications.models import Notice, NoticeKind, Subscription
from backend.notifications.selectors.notices import has_due_notices
from backend.notifications.services.notices import (
    LEASE,
    MAX_ATTEMPTS,
    notice_claim,
    notice_mark_failed,
    notice_mark_sent,
    notice_queue,
)
from backend.notifications.services.subscriptions import subscription_secret
from tests import factories
from tests.backend.campaigns import campaign, ended
from tests.backend.conftest import API, fields, rows

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]

SECRET = "correct horse battery"
# Of the audit trail every write would be notified.
KINDS = [kind for kind in NoticeKind.values if kind != NoticeKind.AUDIT]
HOOK = "https://hooks.example/rackrate"


@pytest.fixture(autouse=True)
def _mail(settings):
    settings.EMAIL_HOST = "mail.example"
    settings.WEBHOOK_ALLOW_PRIVATE = False


def document(**given):
    return {
        "channel": "webhook", "address": HOOK, "secret": SECRET,
        "kinds": ["run_failed", "campaign_done"], **given,
    }  # fmt: skip


def posted(client, body):
    return client.post(f"{API}/subscriptions", body, content_type="application/json")


def patched(client, subscription_id, body):
    return client.patch(
        f"{API}/subscriptions/{subscription_id}", body, content_type="application/json"
    )


def subscription(**given) -> Subscription:
    address = f"{HOOK}/{Subscription.objects.count()}"
    return factories.subscription(**{"address": address, "secret": SECRET, "kinds": KINDS, **given})


def queue(key="run_failed:1", kind=NoticeKind.RUN_FAILED, campaign=None):
    notice_queue(
        workspace=factories.workspace(),
        kind=kind,
        key=key,
        document={"title": "It failed", "detail": "why", "url": "http://x/"},
        campaign=campaign,
    )


def test_notice_of_a_campaign_goes_to_its_own_alerts_too():
    one, other = uuid4(), uuid4()
    everything, of_one, of_other = (
        subscription(campaign=campaign) for campaign in (None, one, other)
    )
    queue("a", campaign=one)
    queue("b")
    keys = {
        row.pk: {notice.key for notice in row.notices.all()} for row in Subscription.objects.all()
    }
    assert keys == {everything.pk: {"a", "b"}, of_one.pk: {"a"}, of_other.pk: set()}


# --- subscriptions --------------------------------------------------------------------------------


def test_secret_is_kept_sealed_and_never_shown(caller):
    client = caller("admin")
    response = posted(client, document())
    assert response.status_code == 201
    made = response.json()
    assert made["has_secret"] is True
    row = Subscription.objects.get()
    assert SECRET.encode() not in bytes(row.sealed_secret or b"")
    assert subscription_secret(subscription=row) == SECRET.encode()
    answers = [
        response.content,
        client.get(f"{API}/subscriptions/{made['id']}").content,
        client.get(f"{API}/subscriptions").content,
        client.get(f"{API}/subscriptions.csv").content,
        patched(client, made["id"], {"secret": f"{SECRET} new"}).content,
        str(list(AuditEntry.objects.values_list("detail", flat=True))).encode(),
    ]
    assert not any(SECRET.encode() in answer for answer in answers)
    row.refresh_from_db()
    assert subscription_secret(subscription=row) == f"{SECRET} new".encode()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"channel": "pager"}, "/channel"),
        ({"address": "http://hooks.example/"}, "/address"),
        ({"address": "https://127.0.0.1/"}, "/address"),
        ({"address": "https://[::ffff:10.0.0.1]/"}, "/address"),
        ({"channel": "email", "address": "not one", "secret": None}, "/address"),
        ({"channel": "email", "address": "a@example.org"}, "/secret"),
        ({"secret": None}, "/secret"),
        ({"secret": "short"}, "/secret"),
        ({"secret": 12345678901234567890}, "/secret"),
        ({"kinds": []}, "/kinds"),
        ({"kinds": ["run_failed", "lunch"]}, "/kinds/1"),
        ({"enabled": 1}, "/enabled"),
        ({"owner": "me"}, "/owner"),
    ],
)
def test_subscription_is_refused_with_the_field_that_is_wrong(caller, changes, field):
    response = posted(caller("admin"), document(**changes))
    assert response.status_code == 400
    assert fields(response) == [field]
    assert SECRET.encode() not in response.content
    assert not Subscription.objects.exists()


def test_subscription_by_email_needs_a_mail_server(caller, settings):
    body = document(channel="email", address="a@example.org")
    del body["secret"]
    client = caller("admin")
    settings.EMAIL_HOST = ""
    assert fields(posted(client, body)) == ["/channel"]
    settings.EMAIL_HOST = "mail.example"
    assert posted(client, body).json()["has_secret"] is False
    assert fields(posted(client, body)) == ["/address"]
    made = Subscription.objects.get()
    assert fields(patched(client, made.pk, {"secret": SECRET})) == ["/secret"]


def test_form_of_a_recipient_shows_the_hints_of_every_channel():
    form = SubscriptionForm(campaigns=[])
    assert form.fields["address"].help_text == "An e-mail address or an https URL."
    assert form.fields["secret"].help_text.endswith("Only for: webhook.")
    assert list(form.fields["channel"].choices) == [("email", "e-mail"), ("webhook", "webhook")]


def test_subscription_needs_its_secret_anew_for_another_address(caller):
    client = caller("admin")
    made = posted(client, document()).json()
    other = {"address": "https://other.example/"}
    assert fields(patched(client, made["id"], other)) == ["/secret"]
    changed = patched(client, made["id"], other | {"secret": SECRET, "kinds": ["regression"]})
    assert changed.json()["address"] == "https://other.example/"
    assert changed.json()["kinds"] == ["regression"]
    assert patched(client, made["id"], {"enabled": False}).json()["enabled"] is False
    assert fields(patched(client, made["id"], {"channel": "email"})) == ["/channel"]


def test_subscriptions_are_for_admins_alone(caller, client):
    made = subscription()
    operator = caller("run")
    path = f"{API}/subscriptions/{made.pk}"
    assert client.get(f"{API}/subscriptions").status_code == 401
    assert operator.get(f"{API}/subscriptions").status_code == 403
    assert operator.get(path).status_code == 403
    assert posted(operator, document()).status_code == 403
    assert patched(operator, made.pk, {"enabled": False}).status_code == 403
    assert operator.delete(path).status_code == 403
    assert caller("admin").delete(path).status_code == 204
    assert AuditEntry.objects.filter(action="subscription_delete").exists()


def test_document_fits_its_published_schema(client):
    schema = client.get(f"{API}/schemas/subscription.json").json()
    jsonschema.validate(document(), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document(secret="short"), schema)


# --- the queue ------------------------------------------------------------------------------------


def test_notice_is_queued_once_for_each_subscription_to_its_kind(queued):
    first, second = subscription(), subscription(kinds=["run_failed"])
    subscription(kinds=["regression"])
    subscription(enabled=False)
    for _ in range(2):
        queue()
    notices = Notice.objects.order_by("subscription__created_at")
    assert [notice.subscription for notice in notices] == [first, second]
    assert notices[0].document["kind"] == "run_failed"
    assert notices[0].document["title"] == "It failed"
    queue(kind=NoticeKind.CAMPAIGN_DONE, key="other")
    assert Notice.objects.count() == 3


def test_notice_is_claimed_by_one_and_again_when_that_one_died():
    subscription()
    queue()
    assert has_due_notices()
    claimed = notice_claim()
    assert claimed is not None
    assert notice_claim() is None
    Notice.objects.update(next_due_at=clock.now() - dt.timedelta(seconds=1))
    again = notice_claim()
    assert again is not None
    assert (again.pk, again.attempt) == (claimed.pk, 2)
    # the first one comes back late: its word does not count any more
    notice_mark_failed(notice=claimed, error="late")
    notice_mark_sent(notice=again)
    notice_mark_failed(notice=claimed, error="later")
    row = Notice.objects.get()
    assert row.sent_at is not None
    assert row.last_error == ""
    assert not has_due_notices()


def test_notice_is_tried_later_and_later_and_given_up_visibly(caller):
    made = subscription()
    queue()
    waits = []
    for _ in range(MAX_ATTEMPTS):
        Notice.objects.update(next_due_at=clock.now() - dt.timedelta(seconds=1))
        claimed = notice_claim()
        assert claimed is not None
        assert claimed.next_due_at == pytest.approx(clock.now() + LEASE, abs=dt.timedelta(5))
        notice_mark_failed(notice=claimed, error="answered 500")
        row = Notice.objects.get()
        if row.next_due_at is not None:
            waits.append(round((row.next_due_at - clock.now()).total_seconds() / 60))
    # minutes: doubled each time
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256]
    assert notice_claim() is None
    seen = caller("admin").get(f"{API}/subscriptions/{made.pk}").json()
    assert (seen["sent"], seen["waiting"], seen["given_up"]) == (0, 0, 1)
    assert seen["last_error"] == "given up after 10 attempts: answered 500"
    listed = rows(caller("admin", name="2").get(f"{API}/subscriptions.csv"))
    assert listed[0]["given_up"] == "1"
    assert listed[0]["kinds"] == "run_failed run_done campaign_done regression leak prices"


# --- what people are notified of ------------------------------------------------------------------


def queued_notices(kind):
    return [
        (notice.key, notice.document["title"])
        for notice in Notice.objects.order_by("id")
        if notice.document["kind"] == kind
    ]


def test_failed_and_lost_runs_are_notified_and_others_are_not(settings):
    settings.PUBLIC_URL = "https://rackrate.example/"
    subscription()
    host = factories.host(name="db1")
    runs = {state: factories.run(host) for state in ("failed", "lost", "done", "cancelled")}
    for state, run in runs.items():
        ended(run, state, failure_reason="timeout" if state != "done" else "")
    assert queued_notices("run_failed") == [
        (f"run_failed:{runs['failed'].pk}", "db1: the run failed (timeout)"),
        (f"run_failed:{runs['lost'].pk}", "db1: the run was lost (timeout)"),
    ]
    url = Notice.objects.order_by("id")[0].document["url"]
    assert url == f"https://rackrate.example/runs/{runs['failed'].pk}/"


def test_each_end_of_a_campaign_is_notified_once():
    subscription(kinds=["campaign_done"])
    made = campaign(name="Nightly")
    campaign_start(campaign=made, actor="tester")
    first, second = Run.objects.filter(campaign=made)
    ended(first, "failed")
    assert queued_notices("campaign_done") == []
    ended(second)
    (campaign_retry_failed(campaign=made, actor="tester"),)
    ended(Run.objects.get(state="queued"))
    assert queued_notices("campaign_done") == [
        (f"campaign_done:{made.pk}:1:2", "Campaign Nightly, round 1, has ended"),
        (f"campaign_done:{made.pk}:1:3", "Campaign Nightly, round 1, has ended"),
    ]
    details = [notice.document["detail"] for notice in Notice.objects.order_by("id")]
    assert details == ["2 runs: 1 done, 1 failed", "3 runs: 2 done, 1 failed"]
    about = Notice.objects.order_by("id")[0].document
    assert (about["campaign"], about["round"]) == (str(made.pk), 1)
    assert about["runs"] == {"done": 1, "failed": 1}


def test_run_that_is_done_is_notified_with_the_ids_to_ask_with(caller):
    subscription(kinds=["run_done"])
    run = factories.run(factories.host(name="db1"))
    for repeat in range(2):
        factories.sample(run.offer, 1.0, run=run, repeat=repeat)
    ended(run, "done")
    about = Notice.objects.get().document
    assert (about["kind"], about["title"]) == ("run_done", "db1: the run is done")
    assert (about["run_state"], about["results"], about["campaign"]) == ("done", 2, None)
    reader = caller("read")
    for name, path in (("run", "runs"), ("host", "hosts"), ("offer", "offers")):
        assert reader.get(f"{API}/{path}/{about[name]}").status_code == 200
