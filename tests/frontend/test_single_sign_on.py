"""Single sign-on, at a provider that answers over HTTP."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from django.test import Client
from django_otp.oath import totp

from backend.accounts.models import (
    AuditEntry,
    Authenticator,
    ExternalIdentity,
    Scope,
    User,
    Workspace,
)
from backend.accounts.services.second_factor import second_factor_begin
from backend.config.environment import Admission
from tests import factories
from tests.fakes.openid import CLIENT, SECRET, OpenIdProvider

pytestmark = pytest.mark.django_db
BEGIN, RETURN, LOGIN = (
    "/accounts/single-sign-on/",
    "/accounts/single-sign-on/return/",
    "/accounts/login/",
)
LINK, UNLINK = "/accounts/single-sign-on/link/", "/accounts/single-sign-on/unlink/"
PASSWORD = "a horse with correct batteries"
SITE = "http://rackrate.example"
ANNA = {"sub": "248289761001", "email": "Anna@example.org", "email_verified": True}


@pytest.fixture
def provider(settings) -> Iterator[OpenIdProvider]:
    with OpenIdProvider(f"{SITE}{RETURN}") as made:
        made.person = dict(ANNA)
        settings.PUBLIC_URL = SITE
        settings.OIDC_ISSUER = made.url
        settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET = CLIENT, SECRET
        settings.OIDC_NAME = "Example ID"
        settings.OIDC_ADMIT = [Admission("email_domain", "example.org", "analyst", "default")]
        settings.THROTTLE_SIGN_IN = settings.THROTTLE_REFUSED = "1000000/min"
        yield made


def led_back(client: Client) -> str:
    """Where the provider sends the browser after it was led there."""
    begun = client.get(BEGIN)
    assert begun.status_code == 302
    return httpx.get(begun["Location"]).headers["Location"]


def came_back(client: Client, address: str) -> Any:
    split = urlsplit(address)
    return client.get(f"{split.path}?{split.query}")


def tried(client: Client) -> Any:
    return came_back(client, led_back(client))


def is_signed_in(client: Client) -> bool:
    return client.get("/accounts/").status_code == 200


def refused(client: Client) -> str:
    """The reason in the audit trail of a sign-in that lets nobody in."""
    answer = tried(client)
    assert answer.status_code == 403
    assert not is_signed_in(client)
    return reason()


def reason() -> str:
    return str(AuditEntry.objects.filter(action="login_failed").latest("id").detail["reason"])


def test_person_comes_in_with_the_role_of_the_rule(provider, client):
    client.get(f"{LOGIN}?next=/runs/")
    answer = tried(client)
    assert (answer.status_code, answer["Location"]) == (302, "/runs/")
    assert is_signed_in(client)
    person = User.objects.get(username="anna@example.org")
    assert (person.scope, person.is_superuser) == (Scope.WRITE, False)
    assert not person.has_usable_password()
    actions = AuditEntry.objects.filter(object_id=str(person.pk)).values_list("action", flat=True)
    assert set(actions) == {"user_create", "member_join", "login"}


def test_second_sign_in_is_the_same_person(provider, client):
    tried(client)
    provider.person["email"] = "anna.new@example.org"
    assert tried(Client()).status_code == 302
    assert User.objects.count() == 1
    identity = ExternalIdentity.objects.get()
    assert (identity.issuer, identity.subject) == (provider.url, ANNA["sub"])


def test_another_subject_with_the_same_address_is_let_in_nowhere(provider, client):
    tried(client)
    provider.person["sub"] = "another"
    assert refused(Client()) == "name_taken"
    assert User.objects.count() == 1


def test_account_with_a_password_is_not_taken_over(provider, client):
    factories.user(username="anna@example.org", email="anna@example.org", password="x" * 20)
    assert refused(client) == "name_taken"
    assert not ExternalIdentity.objects.exists()


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"nonce": "of another sign-in"}, "claim_nonce"),
        ({"nonce": None}, "claim_nonce"),
        ({"aud": "another client"}, "claim_aud"),
        ({"aud": [CLIENT, "another client"]}, "claim_azp"),
        ({"iss": "https://other.example"}, "claim_iss"),
        ({"exp": int(time.time()) - 120}, "claim_exp"),
        ({"iat": int(time.time()) + 86_400}, "claim_iat"),
        ({"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, "claim_at_hash"),
        ({"sub": None}, "claim_sub"),
        ({"sub": "a\0b"}, "claim_sub"),
        ({"sub": 7}, "claim_sub"),
        ({"email_verified": False}, "email_not_verified"),
        ({"email_verified": "true"}, "email_not_verified"),
        ({"email": "anna@example.com"}, "not_admitted"),
        ({"email": "anna@example.org.example.com"}, "not_admitted"),
    ],
)
def test_token_that_is_not_right_lets_nobody_in(provider, client, wrong, why):
    provider.wrong = wrong
    assert refused(client) == why
    assert not User.objects.exists()


def test_new_key_of_the_provider_is_known_at_once(provider, client):
    tried(client)
    provider.key_change("ES256")
    other = Client()
    assert tried(other).status_code == 302
    assert is_signed_in(other)


def test_key_that_the_provider_does_not_publish_is_refused(provider, client):
    provider.key_change(is_published=False)
    assert refused(client) == "signature"


def test_other_algorithms_are_refused(provider, client):
    provider.key_change("RS512")
    assert refused(client) == "signature"


def test_answer_without_the_state_of_this_browser_is_refused(provider, client):
    address = led_back(client)
    # Of a browser that asked for nothing, and of one that asked for something else.
    stranger, other = Client(), Client()
    assert came_back(stranger, address).status_code == 403
    led_back(other)
    assert came_back(other, address).status_code == 403
    assert reason() == "state"
    without = address.replace("state=", "other=")
    assert came_back(client, without).status_code == 403
    # What was begun is used up by whatever comes back.
    assert came_back(client, address).status_code == 403
    assert "/token" not in provider.calls


def test_error_of_the_provider_is_said(provider, client):
    state = led_back(client).partition("state=")[2]
    answer = client.get(f"{RETURN}?error=access_denied&state={state}")
    assert (answer.status_code, reason()) == (403, "provider_refused")


def test_provider_that_calls_itself_otherwise_is_refused(provider, client):
    provider.discovery = {"issuer": "https://other.example"}
    assert client.get(BEGIN).status_code == 403
    assert reason() == "claim_iss"


def test_provider_that_is_away_is_said(provider, client, settings):
    settings.OIDC_ISSUER = "http://127.0.0.1:1"
    answer = client.get(BEGIN)
    assert (answer.status_code, reason()) == (403, "provider_failed")
    assert "cannot be reached" in answer.content.decode()


def test_disabled_account_stays_out(provider, client):
    tried(client)
    User.objects.update(is_active=False)
    assert refused(Client()) == "account_disabled"


def test_address_is_verified_by_user_info_too(provider, client):
    provider.is_told_by_user_info = True
    assert tried(client).status_code == 302
    assert "/userinfo" in provider.calls
    provider.user_info = {"sub": "somebody else"}
    assert refused(Client()) == "claim_sub"


def test_secret_is_posted_where_the_provider_wants_that(provider, client):
    provider.discovery = {"token_endpoint_auth_methods_supported": ["client_secret_post"]}
    assert tried(client).status_code == 302
    assert is_signed_in(client)


def test_rules_by_claim_give_roles_in_workspaces(provider, client, settings):
    Workspace.objects.create(slug="team", name="Team")
    settings.OIDC_ADMIT = [
        Admission("groups", "urn:x:ops", "operator", "team"),
        Admission("groups", "staff", "viewer", "team"),
        Admission("groups", "staff", "admin", "default"),
    ]
    assert refused(client) == "not_admitted"
    provider.person["groups"] = ["staff", "urn:x:ops"]
    assert tried(client).status_code == 302
    person = User.objects.get()
    roles = dict(person.memberships.values_list("workspace__slug", "role"))
    assert roles == {"team": "run", "default": "admin"}
    # Of the default workspace an admin by such a rule does not run the installation.
    assert not person.is_superuser


def test_rule_for_a_workspace_that_is_not_there_admits_nobody(provider, client, settings):
    settings.OIDC_ADMIT = [Admission("email_domain", "example.org", "viewer", "gone")]
    assert refused(client) == "workspace_unknown"


def test_second_factor_is_asked_for_unless_the_provider_does(provider, client, settings):
    tried(client)
    person = User.objects.get()
    device = second_factor_begin(user=person)
    Authenticator.objects.update(confirmed=True)
    other = Client()
    assert tried(other)["Location"] == "/accounts/code/"
    assert not is_signed_in(other)
    other.post("/accounts/code/", {"code": f"{totp(device.key()):06}"})
    assert is_signed_in(other)
    settings.OIDC_SECOND_FACTOR = True
    third = Client()
    assert tried(third)["Location"] == "/"
    assert is_signed_in(third)


@pytest.fixture
def ada(client) -> User:
    """Somebody with a password, who is signed in."""
    person = factories.user(username="ada", email="ada@example.org", password=PASSWORD)
    client.force_login(person)
    return person


def linked(client: Client, password: str = PASSWORD) -> Any:
    """The answer to whoever comes back from the provider after the page of linking."""
    page = client.post(LINK, {"password": password}).content.decode()
    assert (f'href="{BEGIN}"' in page) == (password == PASSWORD)
    return tried(client)


def test_person_links_the_account_and_comes_in_by_it(provider, client, ada):
    assert f'href="{LINK}"' in client.get("/accounts/").content.decode()
    assert linked(client)["Location"] == "/accounts/"
    other = Client()
    assert tried(other).status_code == 302
    assert "ada" in other.get("/accounts/").content.decode()
    assert (User.objects.count(), ada.external_identities.get().subject) == (1, ANNA["sub"])
    entry = AuditEntry.objects.get(action="identity_link")
    assert (entry.actor, entry.object_id) == ("ada", str(ada.pk))
    assert entry.detail == {"issuer": provider.url}


def test_unlinked_account_is_entered_by_its_password_alone(provider, client, ada):
    linked(client)
    assert "Wrong password" in client.post(UNLINK, {"password": "another one"}).content.decode()
    assert ada.external_identities.exists()
    assert client.post(UNLINK, {"password": PASSWORD})["Location"] == "/accounts/"
    assert not ada.external_identities.exists()
    assert AuditEntry.objects.filter(action="identity_unlink", object_id=str(ada.pk)).count() == 1
    # Whoever comes now is a newcomer, whatever address they have.
    provider.person["email"] = "ada@example.org"
    other = Client()
    assert tried(other).status_code == 302
    assert User.objects.get(username="ada@example.org") != ada


def test_account_is_not_linked_without_its_password(provider, client, ada):
    linked(client, "another one")
    # It was a sign-in like any other, by which a newcomer came in.
    assert not ada.external_identities.exists()
    assert AuditEntry.objects.filter(action="login_failed", object_id=str(ada.pk)).exists()
    assert User.objects.filter(username="anna@example.org").exists()


def test_two_accounts_never_share_a_subject(provider, client, ada):
    tried(Client())
    answer = linked(client)
    assert (answer.status_code, reason()) == (403, "subject_taken")
    assert ExternalIdentity.objects.get().user.username == "anna@example.org"
    assert not AuditEntry.objects.filter(action="identity_link").exists()


def test_who_may_not_come_in_is_not_linked(provider, client, ada):
    provider.person["email"] = "anna@example.com"
    assert (linked(client).status_code, reason()) == (403, "not_admitted")
    assert not ExternalIdentity.objects.exists()


def test_link_is_of_who_gave_the_password(provider, client, ada):
    client.post(LINK, {"password": PASSWORD})
    address = led_back(client)
    client.force_login(factories.user(username="eve", password=PASSWORD))
    assert came_back(client, address).status_code == 403
    client.post(LINK, {"password": PASSWORD})
    address = led_back(client)
    client.logout()
    assert came_back(client, address).status_code == 403
    assert not ExternalIdentity.objects.exists()


def test_password_counts_for_one_link_and_five_minutes(provider, client, ada):
    client.post(LINK, {"password": PASSWORD})
    session = client.session
    session["single_sign_on_link"] -= 301
    session.save()
    tried(client)
    assert not ada.external_identities.exists()


def test_account_without_a_password_cannot_be_linked(provider, client):
    tried(client)
    page = client.get(UNLINK).content.decode()
    assert "/accounts/password/" in page
    client.post(UNLINK, {"password": ""})
    assert ExternalIdentity.objects.count() == 1


def test_sign_ins_from_one_address_are_limited(provider, settings):
    settings.THROTTLE_SIGN_IN = "2/h"
    client = Client(REMOTE_ADDR="192.0.2.88")
    assert [client.get(BEGIN).status_code for _ in range(3)] == [302, 302, 429]


def test_refusals_do_not_fill_the_trail(provider, settings):
    settings.THROTTLE_REFUSED = "2/h"
    client = Client(REMOTE_ADDR="192.0.2.89")
    assert {client.get(RETURN).status_code for _ in range(5)} == {403}
    assert AuditEntry.objects.filter(action="login_failed").count() == 2


def test_it_is_off_unless_an_issuer_is_named(client):
    assert client.get(BEGIN).status_code == client.get(RETURN).status_code == 404
    assert BEGIN not in client.get(LOGIN).content.decode()
    client.force_login(factories.user())
    assert client.get(LINK).status_code == client.get(UNLINK).status_code == 404
    assert LINK not in client.get("/accounts/").content.decode()


def test_sign_in_page_has_one_button_and_passwords_can_be_off(provider, client, settings):
    factories.user(username="ada", password=PASSWORD)
    form = {"username": "ada", "password": PASSWORD}
    page = client.get(LOGIN).content.decode()
    assert page.count(f'href="{BEGIN}"') == 1
    assert "Sign in with Example ID" in page
    assert 'type="password"' in page
    settings.PASSWORD_SIGN_IN = False
    assert 'type="password"' not in client.get(LOGIN).content.decode()
    client.post(LOGIN, form)
    assert not is_signed_in(client)
    settings.PASSWORD_SIGN_IN = True
    client.post(LOGIN, form)
    assert is_signed_in(client)


@pytest.mark.parametrize(
    ("language", "said"),
    [("de", "Mit Example ID anmelden"), ("es", "Iniciar sesión con Example ID")],
)
def test_texts_are_translated(provider, client, language, said):
    page = client.get(LOGIN, headers={"Accept-Language": language}).content.decode()
    assert said in page
    provider.person["email_verified"] = False
    address = led_back(client)
    split = urlsplit(address)
    answer = client.get(
        f"{split.path}?{split.query}", headers={"Accept-Language": language}
    ).content.decode()
    assert "is verified" not in answer
    assert "did not sign you in" not in answer
    assert "Example ID" in answer
