"""`manage.py token create|revoke`."""

import datetime as dt
import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from backend.accounts.models import ApiToken, User
from backend.accounts.selectors.tokens import token_in_force
from backend.core import clock
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _somebody(db: None) -> None:
    factories.user(username="boss", is_superuser=True)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("token", *arguments, stdout=out)
    return out.getvalue()


def test_create_prints_a_token_that_works_for_90_days() -> None:
    made = json.loads(run("create", "sheet", "--scope", "run", "--json"))
    token = token_in_force(made["token"])
    assert token is not None
    assert (token.name, token.scope, token.workspace.slug) == ("sheet", "run", "default")
    assert token.owner is not None
    assert token.owner.username == made["owner"] == "boss"
    assert abs(token.expires_at - clock.now() - dt.timedelta(days=90)) < dt.timedelta(minutes=1)


def test_create_without_json_prints_the_bare_token() -> None:
    assert token_in_force(run("create", "plain", "--expires-days", "1").strip()) is not None


def test_revoke_ends_the_token_of_that_name() -> None:
    plaintext = run("create", "old").strip()
    run("revoke", "old")
    assert token_in_force(plaintext) is None
    assert token_in_force(run("create", "old").strip()) is not None
    assert ApiToken.objects.filter(name="old").count() == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("create", "twice"), "exists"),
        (("create", " "), "characters"),
        (("create", "x", "--expires-days", "0"), "between 1 and"),
        (("create", "x", "--expires-days", "366"), "between 1 and 365"),
        (("create", "x", "--owner", "nemo"), "nobody active"),
        (("create", "x", "--workspace", "nowhere"), "no workspace"),
        (("create", "x", "--scope", "root"), "invalid choice"),
        (("revoke", "nobody"), "no active token"),
    ],
)
def test_wrong_use_is_one_clear_error(arguments: tuple[str, ...], message: str) -> None:
    run("create", "twice")
    with pytest.raises(CommandError, match=message):
        run(*arguments)


def test_first_token_makes_the_account_that_answers_for_it() -> None:
    User.objects.all().delete()
    made = json.loads(run("create", "ci", "--scope", "admin", "--json"))
    assert made["owner"] == "admin"
    token = token_in_force(made["token"])
    assert token is not None
    assert token.granted == "admin"
    # The second one is answered for by the same person.
    assert json.loads(run("create", "other", "--json"))["owner"] == "admin"


def test_token_is_refused_where_nobody_active_runs_the_installation() -> None:
    User.objects.update(is_active=False)
    with pytest.raises(CommandError, match="nobody active runs the installation"):
        run("create", "ci")
