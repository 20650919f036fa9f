"""Workspaces are made, entered, joined and left; people are listed, invited and disabled."""

import hashlib
import re
from typing import Any

import pytest
from django.contrib.auth.password_validation import validate_password
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client

from backend.accounts.models import AuditEntry, Invitation, Membership, User, Workspace
from backend.accounts.services.members import invitation_accept, invitation_create
from backend.accounts.services.passwords import Breached
from backend.accounts.services.people import sign_in_link_create
from backend.core import clock
from backend.rankings.services.feeds import feed_key_create, feed_key_match
from backend.rankings.services.views import view_create
from tests import factories

pytestmark = pytest.mark.django_db
LINK = re.compile(r"https?://[^<\s]+(/accounts/(?:invitation|link)/\w+/)")
PASSWORD = "a horse with correct batteries"


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def boss() -> User:
    return factories.user(username="boss", is_superuser=True, role="admin")


@pytest.fixture
def other(boss: User) -> Workspace:
    made = client_of(boss).post("/accounts/workspaces/new/", {"name": "Other", "slug": "other"})
    assert made["Location"] == "/accounts/people/"
    return Workspace.objects.get(slug="other")


def invited(client: Client, role: str = "run") -> str:
    page = client.post("/accounts/people/", {"role": role, "note": "for Ada"})
    return LINK.search(page.content.decode())[1]


def test_invitation_lets_one_person_join_once(boss):
    path = invited(client_of(boss))
    stranger = Client()
    assert "Join Default" in stranger.get(path).content.decode()
    answer = stranger.post(path, {"name": "ada"})
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/")
    assert stranger.get("/accounts/").status_code == 200
    member = Membership.objects.get(user__username="ada")
    assert (member.role, member.workspace.slug, member.user.is_superuser) == (
        "run",
        "default",
        False,
    )
    assert Client().post(path, {"name": "eve"}).status_code == 404
    assert not User.objects.filter(username="eve").exists()


def test_only_a_digest_of_an_invitation_is_stored(boss):
    secret = invited(client_of(boss)).split("/")[-2]
    row = Invitation.objects.get()
    assert len(bytes(row.digest)) == 32
    assert secret not in str(row.__dict__)


def test_expired_and_withdrawn_invitations_do_not_work(boss):
    client = client_of(boss)
    expired, withdrawn = invited(client), invited(client)
    first, second = Invitation.objects.order_by("created_at")
    Invitation.objects.filter(pk=first.pk).update(expires_at=clock.now())
    client.post(f"/accounts/people/invitations/{second.pk}/withdraw/")
    for path in (expired, withdrawn):
        assert Client().get(path).status_code == 404
        assert Client().post(path, {"name": "eve"}).status_code == 404


def test_admin_who_joins_by_invitation_does_not_run_the_installation(boss):
    stranger = Client()
    stranger.post(invited(client_of(boss), "admin"), {"name": "ada"})
    assert not User.objects.get(username="ada").is_superuser
    assert stranger.get("/accounts/people/").status_code == 200
    refused = stranger.post("/accounts/workspaces/new/", {"name": "x", "slug": "x"})
    assert refused.status_code == 403


def test_session_acts_in_the_workspace_that_was_chosen(other):
    ada = factories.user(role="read")
    Membership.objects.create(workspace=other, user=ada, role="run")
    mine = factories.host(workspace=other, name="hidden-host")
    client = client_of(ada)
    assert client.get(f"/hosts/{mine.pk}/").status_code == 404
    assert "hidden-host" not in client.get("/hosts/").content.decode()
    assert client.get("/hosts/new/").status_code == 403
    client.post("/accounts/workspaces/other/enter/")
    assert client.get(f"/hosts/{mine.pk}/").status_code == 200
    assert client.get("/hosts/new/").status_code == 200
    assert "Other" in client.get("/").content.decode()
    assert client.get(f"/api/v1/hosts/{mine.pk}").status_code == 200


def test_workspace_of_others_is_not_entered(other):
    client = client_of(factories.user())
    assert client.post("/accounts/workspaces/other/enter/").status_code == 404
    assert client.get("/accounts/workspaces/other/leave/").status_code == 404


def test_feeds_are_listed_where_a_person_is_removed_and_end_then(boss):
    ada = factories.user(username="ada", role="write")
    view = view_create(
        workspace=factories.workspace(), name="Ours", slug="ours", params={}, actor="ada"
    )
    _, key = feed_key_create(view=view, name="sheet", actor="ada")
    address = f"/accounts/people/{ada.memberships.get().pk}/remove/"
    question = client_of(boss).get(address).content.decode()
    assert "Feed sheet of the view Ours ends" in question
    assert "Feed sheet of the view Ours ends" in (
        client_of(ada).get("/accounts/workspaces/default/leave/").content.decode()
    )
    assert feed_key_match(key) is not None
    client_of(boss).post(address)
    assert feed_key_match(key) is None


def test_who_leaves_the_last_workspace_is_signed_out(boss):
    ada = factories.user(role="write")
    client = client_of(ada)
    assert "Leave Default?" in client.get("/accounts/workspaces/default/leave/").content.decode()
    client.post("/accounts/workspaces/default/leave/")
    assert client.get("/accounts/")["Location"].startswith("/accounts/login/")


def test_last_admin_of_a_workspace_stays(boss, other):
    client = client_of(boss)
    page = client.post("/accounts/workspaces/other/leave/", follow=True)
    assert "is its last admin" in page.content.decode()
    assert Membership.objects.filter(workspace=other).count() == 1


def test_role_is_changed_and_recorded_with_before_and_after(boss):
    member = factories.user(role="read").memberships.get()
    client_of(boss).post(f"/accounts/people/{member.pk}/role/", {"role": "run"})
    member.refresh_from_db()
    assert member.role == "run"
    detail = AuditEntry.objects.get(action="member_update").detail
    assert (detail["before"], detail["after"]) == ("read", "run")


def test_disabling_ends_sessions_at_once(boss):
    ada = factories.user(role="write")
    client, member = client_of(ada), ada.memberships.get()
    client_of(boss).post(f"/accounts/people/{member.pk}/switch/")
    assert client.get("/accounts/")["Location"].startswith("/accounts/login/")
    ada.refresh_from_db()
    assert not ada.is_active


def test_reset_link_lets_set_a_password_without_the_former_one(boss):
    ada = factories.user(username="ada", password="forgotten by everybody")
    member = ada.memberships.get()
    page = client_of(boss).post(f"/accounts/people/{member.pk}/link/").content.decode()
    client = Client()
    client.post(LINK.search(page)[1])
    new = {"new_password1": PASSWORD, "new_password2": PASSWORD}
    assert client.post("/accounts/password/", new)["Location"] == "/accounts/"
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


@pytest.fixture
def lab_member(other) -> tuple[User, Client]:
    """A member of the lab alone, and a session that the lab's admin opened with a link of them."""
    lab_admin = factories.user(username="lab-admin")
    ada = factories.user(username="ada")
    for user, role in ((lab_admin, "admin"), (ada, "run")):
        user.memberships.all().delete()
        Membership.objects.create(workspace=other, user=user, role=role)
    taken = Client()
    _, secret = sign_in_link_create(user=ada, actor="lab-admin")
    taken.post(f"/accounts/link/{secret}/")
    assert taken.get("/accounts/").status_code == 200
    return ada, taken


def join_default(user: User, client: Client) -> Any:
    _, secret = invitation_create(workspace=factories.workspace(), scope="admin", actor="boss")
    return client.post(f"/accounts/invitation/{secret}/")


def test_links_end_when_a_person_joins_another_workspace(lab_member):
    ada, taken = lab_member
    _, unused = sign_in_link_create(user=ada, actor="lab-admin")
    own = client_of(ada)
    assert join_default(ada, own).headers["Location"] == "/"
    assert own.get("/accounts/").status_code == 200
    assert taken.get("/accounts/").status_code == 302
    assert Client().post(f"/accounts/link/{unused}/").status_code == 404


def test_password_by_an_admins_link_ends_when_a_person_joins(
    lab_member,
):
    ada, taken = lab_member
    taken.post("/accounts/password/", {"new_password1": PASSWORD, "new_password2": PASSWORD})
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)
    intruder, own = client_of(ada), client_of(ada)
    answer = join_default(ada, own)
    assert answer.headers["Location"] == "/accounts/password/"
    assert "Choose a new password" in own.get("/accounts/password/").content.decode()
    assert intruder.get("/accounts/").status_code == 302
    assert taken.get("/accounts/").status_code == 302
    ada.refresh_from_db()
    assert not ada.check_password(PASSWORD)


@pytest.mark.parametrize("maker", ["command", "boss"])
def test_password_stays_when_who_runs_the_installation_made_the_link(lab_member, maker):
    ada, _ = lab_member
    client = Client()
    _, secret = sign_in_link_create(user=ada, actor=maker)
    client.post(f"/accounts/link/{secret}/")
    client.post("/accounts/password/", {"new_password1": PASSWORD, "new_password2": PASSWORD})
    assert join_default(ada, client).headers["Location"] == "/"
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


def test_admin_of_one_workspace_resets_nobody_of_another(other):
    ada = factories.user(role="read")
    member = Membership.objects.create(workspace=other, user=ada, role="read")
    admin = factories.user(workspace=other, role="admin")
    client = client_of(admin)
    assert client.post(f"/accounts/people/{member.pk}/link/").status_code == 403
    assert client.post(f"/accounts/people/{member.pk}/switch/").status_code == 403
    assert client.post(f"/accounts/people/{ada.memberships.first().pk}/link/").status_code in {
        403,
        404,
    }
    boss = Membership.objects.get(workspace=other, user__username="boss")
    assert client.post(f"/accounts/people/{boss.pk}/link/").status_code == 403


@pytest.mark.parametrize("role", ["read", "write", "run"])
def test_only_admins_see_people(role):
    client = client_of(factories.user(role=role))
    assert client.get("/accounts/people/").status_code == 403


def test_password_is_checked_by_the_rules():
    ada = factories.user(
        username="ada", email="ada.lovelace@example.com", password="the former password"
    )
    client = client_of(ada)
    for bad in ("short", "1q2w3e4r5t6y7u8i9o0p", "ada.lovelace@example.com"):
        form = {"old_password": "the former password", "new_password1": bad, "new_password2": bad}
        assert client.post("/accounts/password/", form).status_code == 200
    form = {"old_password": "wrong", "new_password1": PASSWORD, "new_password2": PASSWORD}
    assert client.post("/accounts/password/", form).status_code == 200
    client.post("/accounts/password/", form | {"old_password": "the former password"})
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)


@pytest.mark.parametrize("bad", ["Rackrate-Acme-2026!", "rackrate rackrate", "acmeacmeacmeacme1"])
def test_names_of_the_organisation_do_not_count_in_a_password(settings, bad):
    settings.PUBLIC_URL, settings.PASSWORD_WORDS = "https://rackrate.example", ["Acme"]
    with pytest.raises(ValidationError, match="besides the names of this site"):
        validate_password(bad)
    validate_password(f"{PASSWORD} of acme")


def test_stolen_password_is_refused_wherever_its_line_stands(tmp_path):
    stolen = [f"{PASSWORD} {number}" for number in range(40)]
    lines = sorted(hashlib.sha1(one.encode()).hexdigest().upper() for one in stolen)
    path = tmp_path / "stolen.txt"
    rule = Breached(str(path))
    for ending in ("\n", ":12\r\n"):  # a count is longer for some
        path.write_text("".join(f"{line}{ending}" for line in lines))
        for one in stolen:
            with pytest.raises(ValidationError, match="a list of stolen passwords"):
                rule.validate(one)
        for number in range(40, 80):
            rule.validate(f"{PASSWORD} {number}")


@pytest.mark.parametrize(
    ("password", "message"), [("a", "too short"), ("1q2w3e4r5t6y7u8i9o0p", "common")]
)
def test_superuser_of_the_command_line_needs_a_sound_password(monkeypatch, password, message):
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", password)
    given = {"username": "root", "email": "r@example.com", "interactive": False}
    with pytest.raises(CommandError, match=message):
        call_command("createsuperuser", **given)
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", PASSWORD)
    call_command("createsuperuser", **given)
    assert User.objects.get().check_password(PASSWORD)


def test_sessions_are_listed_and_ended():
    ada = factories.user()
    here, elsewhere = client_of(ada), Client(headers={"user-agent": "Other browser"})
    elsewhere.force_login(ada)
    page = here.get("/accounts/").content.decode()
    assert "Other browser" in page or page.count("/end/") == 2
    name = re.search(r"/accounts/sessions/(\w+)/end/", page)[1]
    assert not Session.objects.filter(session_key=name).exists()
    assert client_of(factories.user()).post(f"/accounts/sessions/{name}/end/").status_code == 404
    here.post(f"/accounts/sessions/{name}/end/")
    assert elsewhere.get("/accounts/")["Location"].startswith("/accounts/login/")
    assert here.get("/accounts/").status_code == 200


@pytest.mark.parametrize("key", ["seen_at", "signed_in_at"])
def test_session_ends_when_idle_and_when_old(key, settings):
    client = client_of(factories.user())
    session = client.session
    limit = settings.SESSION_IDLE_S if key == "seen_at" else settings.SESSION_LIFE_S
    session[key] = clock.now().timestamp() - limit - 1
    session.save()
    assert client.get("/accounts/")["Location"].startswith("/accounts/login/")


def test_password_change_ends_other_sessions():
    ada = factories.user(username="ada")
    here, elsewhere = client_of(ada), client_of(ada)
    here.post("/accounts/password/", {"new_password1": PASSWORD, "new_password2": PASSWORD})
    assert here.get("/accounts/").status_code == 200
    assert elsewhere.get("/accounts/").status_code == 302


def test_commands_make_and_list_workspaces_and_invite(capsys):
    factories.user(username="ada")
    call_command("workspace", "create", "lab", "--name", "Lab", "--admin", "ada")
    call_command("workspace", "invite", "lab", "--role", "analyst")
    secret = re.search(r"/accounts/invitation/(\w+)/", capsys.readouterr().out)[1]
    user = invitation_accept(secret=secret, user=factories.user())
    assert user is not None
    assert {one.role for one in Membership.objects.filter(workspace__slug="lab")} == {
        "admin",
        "write",
    }
    call_command("workspace", "list")
    assert "lab: Lab, 2 members" in capsys.readouterr().out
    for arguments in (("create", "lab"), ("create", "Not a slug"), ("invite", "nowhere")):
        with pytest.raises(CommandError):
            call_command("workspace", *arguments)


def test_used_invitation_of_a_member_is_refused(other):
    boss = User.objects.get(username="boss")
    _, secret = invitation_create(workspace=other, scope="read", actor="x")
    page = client_of(boss).post(f"/accounts/invitation/{secret}/")
    assert "a member already" in page.content.decode()
    assert Invitation.objects.exists()
