"""`manage.py user create|link|enable|list`."""

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from backend.accounts.models import AuditEntry, SignInLink, User
from backend.accounts.services.people import user_switch
from backend.foundation.errors import InvalidValue
from tests import factories

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("user", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture(autouse=True)
def _address(settings) -> None:
    settings.PUBLIC_URL = "https://rackrate.example"
    settings.SECURE_SSL_REDIRECT = False


@pytest.mark.parametrize(
    ("role", "scope"),
    [("viewer", "read"), ("analyst", "write"), ("operator", "run"), ("admin", "admin")],
)
def test_create_makes_the_role_and_prints_a_link_that_signs_in(role, scope):
    made = json.loads(run("create", "ada", "--role", role, "--json"))
    user = User.objects.get(username="ada")
    assert (user.scope, user.is_superuser, user.has_usable_password()) == (
        scope,
        role == "admin",
        False,
    )
    assert (made["name"], made["role"]) == ("ada", role)
    assert made["login_url"].startswith("https://rackrate.example/accounts/link/")
    client = Client()
    assert (
        client.post(made["login_url"].removeprefix("https://rackrate.example")).status_code == 302
    )
    assert client.session["_auth_user_id"] == str(user.pk)


def test_create_prints_the_link_on_a_line_of_its_own():
    first, second = run("create", "ada", "--role", "operator").splitlines()
    assert re.fullmatch(r"ada \(operator\) signs in once, until [-0-9]+ [0-9:]+ UTC, at", first)
    assert re.fullmatch(r"  https://rackrate.example/accounts/link/[0-9a-f]{48}/", second)


@pytest.mark.django_db(transaction=True)
def test_one_superuser_is_left_when_two_disable_each_other_at_once():
    people = [factories.user(username=name, is_superuser=True) for name in ("ada", "ben")]
    workspace = factories.workspace()
    both = threading.Barrier(2)

    def disable(user: User) -> str:
        both.wait(5)
        try:
            user_switch(user=user, is_active=False, workspace=workspace, actor="x")
        except InvalidValue as error:
            return error.detail
        finally:
            connection.close()
        return "disabled"

    with ThreadPoolExecutor(2) as pool:
        said = sorted(pool.map(disable, people))
    assert said[0].endswith("is the last one who runs this installation")
    assert said[1] == "disabled"
    assert User.objects.filter(is_superuser=True, is_active=True).count() == 1


def test_enable_lets_a_disabled_person_sign_in_again():
    user = factories.user(username="ada", is_superuser=True)
    User.objects.filter(pk=user.pk).update(is_active=False)
    with pytest.raises(CommandError, match="not active"):
        run("link", "ada")
    assert run("enable", "ada") == "ada (admin) may sign in.\n"
    assert "signs in once" in run("link", "ada")
    assert AuditEntry.objects.filter(action="user_enable", actor="command").count() == 1


def test_create_does_nothing_when_a_person_exists_and_it_is_asked_to():
    assert run("create", "admin", "--role", "admin", "--if-nobody") != ""
    assert run("create", "other", "--role", "admin", "--if-nobody") == ""
    assert [user.username for user in User.objects.all()] == ["admin"]


def test_link_replaces_the_one_before():
    run("create", "ada")
    before = bytes(SignInLink.objects.get().digest)
    assert "ada (viewer) signs in once" in run("link", "ada")
    assert bytes(SignInLink.objects.get().digest) != before


def test_list_names_everybody_with_the_role():
    run("create", "grace", "--role", "admin")
    factories.user(username="ada", role="write", is_active=False)
    assert run("list").splitlines() == [
        "ada: analyst, last signed in: never, not active",
        "grace: admin, last signed in: never",
    ]
    assert [user["role"] for user in json.loads(run("list", "--json"))["users"]] == [
        "analyst",
        "admin",
    ]


def test_audit_trail_names_who_was_made_and_holds_no_secret():
    url = json.loads(run("create", "ada", "--json"))["login_url"]
    entries = AuditEntry.objects.order_by("id")
    assert [entry.action for entry in entries] == ["user_create", "sign_in_link_create"]
    assert not any(url.split("/")[-2] in json.dumps(entry.detail) for entry in entries)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("create", "twice"), "'twice': A user with that username already exists."),
        (("create", "a b"), "'a b': Enter a valid username"),
        (("create", ""), "'': This field cannot be blank."),
        (("create", "x", "--role", "root"), "invalid choice: 'root'"),
        (("link", "nobody"), "'nobody': nobody has this name"),
        (("link", "gone"), "'gone': gone is not active"),
    ],
)
def test_wrong_use_is_one_clear_error(arguments, message):
    factories.user(username="twice")
    factories.user(username="gone", is_active=False)
    with pytest.raises(CommandError, match=re.escape(message)):
        run(*arguments)
    assert User.objects.count() == 2
