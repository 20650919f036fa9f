"""Signing in by a link, what the sign-in page says, and the page for those who may not."""

import datetime as dt
import logging
import re
import threading

import pytest
from django.db import connection
from django.test import Client

from backend.accounts.models import SignInLink
from backend.accounts.services.people import sign_in_link_create, sign_in_link_use
from backend.core import clock
from backend.core.logs import MaskingFormatter
from tests import factories
from tests.e2e.canaries import database_cells

pytestmark = pytest.mark.django_db


def path_for(user) -> str:
    return f"/accounts/link/{sign_in_link_create(user=user)[1]}/"


def test_link_page_asks_before_it_signs_in(client):
    user = factories.user(username="ada")
    path = path_for(user)
    for _ in range(2):  # a preview does not use it up
        page = client.get(path)
        assert page.status_code == 200
        assert "Sign in as ada" in page.content.decode()
        assert "_auth_user_id" not in client.session
    answer = client.post(path)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == str(user.pk)


@pytest.mark.parametrize(
    ("asked", "led_to"),
    [("/hosts/new/?name=a&kind=own", "/hosts/new/?name=a&kind=own"), ("https://x.example/", "/")],
)
def test_link_leads_on_to_the_page_that_was_asked_for(client, asked, led_to):
    client.get("/accounts/login/", {"next": asked})
    assert client.post(path_for(factories.user()))["Location"] == led_to
    client.cookies["next"] = "//x.example/"
    assert client.post(path_for(factories.user(username="b")))["Location"] == "/"


def test_link_page_is_neither_stored_nor_in_a_referrer(client):
    for path in (path_for(factories.user()), "/accounts/link/none/"):
        answer = client.get(path)
        assert "no-store" in answer["Cache-Control"]
        assert answer["Referrer-Policy"] == "strict-origin"


def test_link_form_needs_the_token_of_the_page():
    path = path_for(factories.user(username="ada"))
    client = Client(enforce_csrf_checks=True)
    refused = client.post(path)
    assert refused.status_code == 403
    assert "Open its page again." in refused.content.decode()
    assert "DEBUG" not in refused.content.decode()
    page = client.get(path).content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)[1]
    assert client.post(path, {"csrfmiddlewaretoken": token}).status_code == 302


def test_link_does_not_work_twice(client):
    path = path_for(factories.user())
    assert client.post(path).status_code == 302
    other = Client()
    for answer in (other.post(path), other.get(path)):
        assert answer.status_code == 404
        assert "It was used, has expired, or was replaced" in answer.content.decode()
    assert "_auth_user_id" not in other.session


@pytest.mark.parametrize("why", ["expired", "replaced", "not active", "changed"])
def test_link_does_not_work_when_it_is_not_in_force(client, why):
    user = factories.user()
    path = path_for(user)
    if why == "expired":
        SignInLink.objects.update(expires_at=clock.now() - dt.timedelta(seconds=1))
    elif why == "replaced":
        sign_in_link_create(user=user)
    elif why == "not active":
        type(user).objects.update(is_active=False)
    else:
        path = path.rstrip("/") + "0/"
    assert client.get(path).status_code == 404
    assert client.post(path).status_code == 404
    assert "_auth_user_id" not in client.session


@pytest.mark.django_db(transaction=True)
def test_link_signs_in_one_of_two_who_come_at_once():
    _, secret = sign_in_link_create(user=factories.user())
    gate, users = threading.Barrier(2), []

    def come() -> None:
        gate.wait(10)
        users.append(sign_in_link_use(secret=secret))
        connection.close()

    threads = [threading.Thread(target=come) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len([user for user in users if user is not None]) == 1
    assert len(users) == 2


def test_link_secret_is_in_no_log_line_and_in_no_cell(client, caplog):
    caplog.set_level(logging.DEBUG)
    caplog.handler.setFormatter(MaskingFormatter("%(message)s"))
    path = path_for(factories.user())
    secret = path.split("/")[-2]
    client.get(path)
    stored = [*database_cells()]  # the link is in force
    assert client.post(path).status_code == 302
    assert client.post(path).status_code == 404  # Django logs the address of this one
    assert "/accounts/link/***/" in caplog.text
    assert secret not in caplog.text
    assert not any(secret.encode() in cell for cell in [*stored, *database_cells()])


def test_login_page_says_how_an_account_is_made(client):
    text = client.get("/accounts/login/").content.decode()
    assert "./rackrate user create NAME --role analyst" in text


def test_refused_stranger_is_asked_to_sign_in_and_led_back(client):
    answer = client.get("/hosts/new/?name=a&kind=own")
    assert answer.status_code == 403
    text = answer.content.decode()
    assert (
        'href="/accounts/login/?next=%2Fhosts%2Fnew%2F%3Fname%3Da%26kind%3Down">Sign in</a>' in text
    )
    assert "somebody else" not in text


def test_refused_stranger_is_not_led_back_to_what_only_takes_a_form(client):
    text = client.post("/schedules/").content.decode()
    assert '<a href="/accounts/login/">Sign in</a> or' in text


def test_refused_person_may_sign_in_as_somebody_else(client):
    client.force_login(factories.user(role="read"))
    text = client.get("/hosts/new/").content.decode()
    assert "Sign in with another account" in text
