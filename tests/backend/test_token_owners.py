"""API tokens belong to a person: they may no more than that person, and end with them."""

import base64
import io
import json
from collections.abc import Callable

import pytest
from django.core.management import call_command
from django.test import Client

from backend.accounts.models import ApiToken, Membership, User
from backend.accounts.selectors.tokens import token_in_force
from backend.accounts.services.people import user_switch
from backend.accounts.services.tokens import token_create, token_revoke
from backend.foundation.errors import InvalidValue
from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
VIEW = {"name": "Mine", "params": {"metric": ["cmips_score"]}, "visibility": "private"}


def made(owner: User, scope: str = "admin", name: str = "ci") -> str:
    return token_create(workspace=factories.workspace(), owner=owner, name=name, scope=scope)[1]


def client_of(text: str) -> Client:
    return Client(headers={"authorization": f"Bearer {text}"})


def test_token_of_a_disabled_person_is_refused() -> None:
    factories.user(is_superuser=True)
    owner = factories.user(role="admin")
    client = client_of(made(owner))
    assert client.get(f"{API}/tokens").status_code == 200
    user_switch(user=owner, is_active=False, workspace=factories.workspace(), actor="boss")
    assert client.get(f"{API}/tokens").status_code == 401


def test_token_ends_with_the_membership_of_its_owner() -> None:
    owner = factories.user(role="admin")
    text = made(owner)
    Membership.objects.filter(user=owner).delete()
    assert token_in_force(text) is None


def test_token_may_no_more_than_its_owner_may_now() -> None:
    owner = factories.user(role="admin")
    client = client_of(made(owner))
    Membership.objects.filter(user=owner).update(role="read")
    assert client.get(f"{API}/offers").status_code == 200
    assert client.get(f"{API}/tokens").status_code == 403


@pytest.mark.parametrize("days", [0, 366])
def test_token_lives_a_day_to_a_year(caller: Callable[..., Client], days: int) -> None:
    with pytest.raises(InvalidValue, match="365 days"):
        token_create(
            workspace=factories.workspace(),
            owner=factories.owner(),
            name="x",
            scope="read",
            expires_days=days,
        )
    document = json.dumps({"name": "x", "scope": "read", "expires_days": days})
    answer = caller("admin").post(f"{API}/tokens", document, content_type="application/json")
    assert answer.status_code == 400


def test_new_token_of_a_revoked_name_inherits_nothing() -> None:
    ada, bob = factories.user(role="write"), factories.user(role="write")
    before = client_of(made(ada, "write"))
    answer = before.post(f"{API}/views", json.dumps(VIEW), content_type="application/json")
    assert answer.status_code == 201
    token_revoke(token=ApiToken.objects.get())
    after = client_of(made(bob, "write"))
    assert after.get(f"{API}/views").json()["count"] == 0
    assert after.get(f"{API}/views/mine").status_code == 404
    assert client_of(made(ada, "write", "laptop")).get(f"{API}/views/mine").status_code == 200


def test_list_names_the_owner(caller: Callable[..., Client]) -> None:
    assert caller("admin").get(f"{API}/tokens").json()["results"][0]["owner"] == "owner"


def test_command_makes_the_administrator_where_there_is_nobody() -> None:
    call_command("token", "create", "ci", stdout=io.StringIO())
    assert ApiToken.objects.get().owner == User.objects.get(username="admin")


def basic(text: str) -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"x:{text}".encode()).decode()}


def test_basic_reads_and_never_writes() -> None:
    factories.offer()
    client = Client(headers=basic(made(factories.owner())))
    assert client.get(f"{API}/offers").status_code == 200
    answer = client.post(f"{API}/views", json.dumps(VIEW), content_type="application/json")
    assert answer.status_code == 403
    assert "Bearer" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://evil.example", 403), ("null", 403), ("http://testserver", 201), (None, 201)],
)
def test_write_from_a_page_of_another_site_is_refused(origin: str | None, status: int) -> None:
    client = client_of(made(factories.owner()))
    headers = {} if origin is None else {"origin": origin}
    answer = client.post(
        f"{API}/views", json.dumps(VIEW), content_type="application/json", headers=headers
    )
    assert answer.status_code == status
