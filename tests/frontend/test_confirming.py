"""What deletes asks first, and addresses that only take forms lead to them."""

import pytest

from backend.notifications.models import Notice, Subscription
from backend.rankings.models import SavedView
from backend.rankings.services.feeds import feed_key_create
from backend.rankings.services.views import view_create
from tests import factories
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client):
    client.force_login(factories.user(role="admin", username="ada"))
    return client


def test_deletion_of_a_view_names_its_feeds_and_happens_on_post_only(admin):
    view = view_create(
        workspace=factories.workspace(), name="Ours", params={"provider": ["aws"]}, actor="ada"
    )
    feed_key_create(view=view, name="board sheet", actor="ada")
    page = shown(admin.get("/views/ours/delete/"))
    assert "Delete the view Ours?" in page
    assert "Feed board sheet ends" in page
    assert SavedView.objects.filter(pk=view.pk).exists()
    assert admin.post("/views/ours/delete/").status_code == 302
    assert not SavedView.objects.filter(pk=view.pk).exists()


def test_question_is_asked_of_who_may_delete_only(client, admin):
    alert = Subscription.objects.create(
        workspace=factories.workspace(), channel="webhook", address="https://a.example/x", kinds=[]
    )
    assert "https://a.example/x" in shown(admin.get(f"/subscriptions/{alert.pk}/delete/"))
    client.logout()
    answer = client.get(f"/subscriptions/{alert.pk}/delete/")
    assert answer.status_code == 403
    assert "https://a.example/x" not in answer.content.decode()


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/subscriptions/new/", "/schedules/"),
        ("/import/run/", "/import/"),
        ("/prices/lists/", "/prices/"),
        ("/campaigns/00000000-0000-4000-8000-000000000000/start/",
         "/campaigns/00000000-0000-4000-8000-000000000000/"),
    ],
)  # fmt: skip
def test_address_that_only_takes_a_form_leads_to_its_page(client, path, form):
    answer = client.get(path)
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "POST"
    assert f'<a href="{form}">' in answer.content.decode()


def test_test_of_an_alert_is_queued_for_its_recipient_alone(admin, queued):
    for name in "ab":
        Subscription.objects.create(
            workspace=factories.workspace(), channel="webhook", address=f"https://{name}.example/x",
            kinds=["run_failed"],
        )  # fmt: skip
    alert = Subscription.objects.get(address="https://b.example/x")
    assert "Send a test to https://b.example/x" in shown(admin.get("/schedules/"))
    admin.post(f"/subscriptions/{alert.pk}/test/")
    notice = Notice.objects.get()
    assert (notice.subscription, notice.document["kind"]) == (alert, "test")


def test_alert_form_says_which_channel_is_not_set_up(admin, settings):
    settings.EMAIL_HOST = ""
    page = shown(admin.get("/schedules/"))
    assert "e-mail (not set up: EMAIL_URL)" in page
    assert page.index('<option value="webhook"') < page.index('<option value="email"')
