"""Signing in: how often one may try, and the second factor."""

import re

import pytest
from axes.models import AccessAttempt
from django.test import Client
from django_otp.oath import totp
from django_otp.plugins.otp_static.models import StaticToken

from backend.accounts.models import Authenticator, User
from backend.accounts.services.people import sign_in_link_create
from backend.core.crypto import SealBroken
from tests import factories
from tests.keys import NEW, set_keys

pytestmark = pytest.mark.django_db
PASSWORD = "a horse with correct batteries"
LOGIN = "/accounts/login/"


@pytest.fixture(autouse=True)
def _roomy_throttle(settings) -> None:
    """No limit but the one under test."""
    settings.THROTTLE_SIGN_IN = "1000000/min"
    settings.THROTTLE_SIGN_IN_NAME = "1000000/hour"


@pytest.fixture
def ada() -> User:
    return factories.user(username="ada", role="admin", password=PASSWORD)


def tried(client: Client, password: str, name: str = "ada"):
    return client.post(LOGIN, {"username": name, "password": password})


def is_signed_in(client: Client) -> bool:
    return client.get("/accounts/").status_code == 200


def code_of(user: User) -> str:
    return f"{totp(Authenticator.objects.get(user=user).key()):06}"


def with_factor(user: User) -> list[str]:
    """Sets one up as a person does; its recovery codes."""
    client = Client()
    client.force_login(user)
    assert "data:image/svg+xml" in client.get("/accounts/second-factor/").content.decode()
    page = client.post("/accounts/second-factor/", {"code": code_of(user)}).content.decode()
    # A code works once, and the next one only comes in half a minute.
    Authenticator.objects.update(last_t=-1)
    return re.findall(r"\b[a-z2-7]{16}\b", page)


def test_guessing_is_stopped_and_recorded(ada, settings):
    client = Client()
    for _ in range(settings.AXES_FAILURE_LIMIT - 1):
        assert tried(client, "wrong").status_code == 200
    assert tried(client, "wrong").status_code == 429
    assert tried(client, PASSWORD).status_code == 429
    assert not is_signed_in(client)
    assert AccessAttempt.objects.get().failures_since_start >= settings.AXES_FAILURE_LIMIT


def test_guessing_is_stopped_while_the_broker_is_away(ada, settings):
    """Rates are counted there and let pass then; what guards an account is in the database."""
    settings.THROTTLE_SIGN_IN = "1/min"
    settings.CACHES = {
        "default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}
    }
    for _ in range(settings.AXES_FAILURE_LIMIT - 1):
        assert tried(Client(), "wrong").status_code == 200
    assert tried(Client(), "wrong").status_code == 429
    assert tried(Client(), PASSWORD).status_code == 429


def test_guesses_from_elsewhere_lock_nobody_out(ada, settings):
    for _ in range(settings.AXES_FAILURE_LIMIT):
        tried(Client(REMOTE_ADDR="192.0.2.1"), "wrong")
    client = Client(REMOTE_ADDR="192.0.2.2")
    assert tried(client, PASSWORD).status_code == 302
    assert is_signed_in(client)
    assert AccessAttempt.objects.get().ip_address == "192.0.2.1"


def test_guesses_from_one_ipv6_network_are_stopped(ada, settings):
    statuses = [
        tried(Client(REMOTE_ADDR=f"2001:db8:1:1::{n:x}"), "wrong").status_code for n in range(1, 13)
    ]
    assert statuses == [200] * (settings.AXES_FAILURE_LIMIT - 1) + [429] * 3
    assert tried(Client(REMOTE_ADDR="2001:db8:1:2::1"), PASSWORD).status_code == 302


def test_tries_of_many_names_from_one_ipv6_network_are_limited(settings):
    settings.THROTTLE_SIGN_IN = "3/h"
    statuses = [
        tried(Client(REMOTE_ADDR=f"2001:db8:2:{n // 5}:{n:x}::1"), "wrong", f"n{n}").status_code
        for n in range(10)
    ]
    assert statuses == [200, 200, 200, 429, 429] * 2


def test_name_is_guessed_slowly_from_many_networks(ada, settings):
    settings.THROTTLE_SIGN_IN_NAME, settings.THROTTLE_SIGN_IN_SLOW = "20/hour", "5/hour"
    name = "eve-of-many-networks"
    factories.user(username=name, password=PASSWORD)
    statuses = [
        tried(Client(REMOTE_ADDR=f"2001:db8:3:{n:x}::1"), "wrong", name).status_code
        for n in range(40)
    ]
    # 21 failures are free, as the count is looked at before; then five tries of the window.
    assert statuses.count(200) == 26
    assert statuses[-1] == 429
    settings.THROTTLE_SIGN_IN_SLOW = "6/min"
    assert tried(Client(REMOTE_ADDR="192.0.2.9"), PASSWORD, name).status_code == 302
    assert tried(Client(REMOTE_ADDR="192.0.2.9"), "wrong", "another-name").status_code == 200


def test_tries_of_many_names_from_one_address_are_limited(settings):
    settings.THROTTLE_SIGN_IN = "3/h"
    client = Client(REMOTE_ADDR="192.0.2.77")
    statuses = [tried(client, "wrong", f"name{n}").status_code for n in range(5)]
    assert statuses == [200, 200, 200, 429, 429]


def test_no_password_is_kept_with_the_record(ada):
    tried(Client(), "a secret that was mistyped")
    attempt = AccessAttempt.objects.get()
    assert "mistyped" not in str(vars(attempt))


def test_second_factor_is_asked_for_after_the_password(ada):
    assert len(with_factor(ada)) == 10
    client = Client()
    answer = client.post(LOGIN, {"username": "ada", "password": PASSWORD, "next": "/hosts/"})
    assert answer["Location"] == "/accounts/code/"
    assert not is_signed_in(client)
    assert client.post("/accounts/code/", {"code": "000000"}).status_code == 200
    assert not is_signed_in(client)
    Authenticator.objects.update(throttling_failure_count=0)
    answer = client.post("/accounts/code/", {"code": code_of(ada)})
    assert (answer.status_code, answer["Location"]) == (302, "/hosts/")
    assert is_signed_in(client)


def test_code_works_once(ada):
    with_factor(ada)
    first, second = Client(), Client()
    code = code_of(ada)
    for client in (first, second):
        tried(client, PASSWORD)
        client.post("/accounts/code/", {"code": code})
    assert (is_signed_in(first), is_signed_in(second)) == (True, False)


def test_recovery_code_works_once_and_only_a_digest_is_stored(ada):
    code, *_ = with_factor(ada)
    assert not StaticToken.objects.filter(token=code).exists()
    for expected in (True, False):
        client = Client()
        tried(client, PASSWORD)
        client.post("/accounts/code/", {"code": code})
        assert is_signed_in(client) is expected


def test_codes_are_refused_for_a_while_after_failures(ada):
    with_factor(ada)
    client = Client()
    tried(client, PASSWORD)
    for _ in range(3):
        client.post("/accounts/code/", {"code": "000000"})
    client.post("/accounts/code/", {"code": code_of(ada)})
    assert not is_signed_in(client)


def test_recovery_code_and_link_of_before_work_under_another_pepper(ada, settings):
    code, *_ = with_factor(ada)
    link = sign_in_link_create(user=ada)[1]
    before, settings.TOKEN_PEPPER = settings.TOKEN_PEPPER, "another pepper altogether, long enough"
    settings.TOKEN_PEPPERS_PREVIOUS = [before]
    client = Client()
    assert client.post(f"/accounts/link/{link}/")["Location"] == "/accounts/code/"
    client.post("/accounts/code/", {"code": code})
    assert is_signed_in(client)


def test_link_asks_for_the_second_factor_too(ada):
    with_factor(ada)
    client = Client()
    answer = client.post(f"/accounts/link/{sign_in_link_create(user=ada)[1]}/")
    assert answer["Location"] == "/accounts/code/"
    assert not is_signed_in(client)


def test_second_factor_is_removed_with_a_code(ada):
    with_factor(ada)
    client = Client()
    client.force_login(ada)
    client.post("/accounts/second-factor/remove/", {"code": "000000"})
    assert Authenticator.objects.filter(user=ada).exists()
    Authenticator.objects.update(throttling_failure_count=0)
    client.post("/accounts/second-factor/remove/", {"code": code_of(ada)})
    assert not Authenticator.objects.filter(user=ada).exists()


def test_code_page_without_a_password_leads_to_the_sign_in():
    assert Client().get("/accounts/code/")["Location"] == LOGIN


def test_admin_without_second_factor_is_an_operator_where_one_is_needed(ada, settings):
    settings.TOTP_FOR_ADMINS = True
    client = Client()
    client.force_login(ada)
    assert client.get("/accounts/people/").status_code == 403
    assert client.get("/hosts/new/").status_code == 200
    with_factor(ada)
    assert client.get("/accounts/people/").status_code == 200


def test_admin_pages_have_no_sign_in_of_their_own(ada):
    answer = Client().post("/admin/login/", {"username": "ada", "password": PASSWORD})
    assert answer.status_code == 302
    assert answer["Location"].startswith(LOGIN)
    client = Client()
    client.force_login(ada)
    assert client.get("/admin/", follow=True).status_code == 403


def test_key_is_stored_sealed_and_bound_to_its_row(ada):
    with_factor(ada)
    with_factor(factories.user(username="bob"))
    one, other = Authenticator.objects.order_by("created_at")
    assert one.key() not in bytes(one.sealed_key)
    other.sealed_key = one.sealed_key
    with pytest.raises(SealBroken):
        other.key()


def test_recovery_codes_let_in_where_the_key_is_lost(ada, settings):
    one, other, *_ = with_factor(ada)
    set_keys(settings, NEW)
    client = Client()
    tried(client, PASSWORD)
    assert client.post("/accounts/code/", {"code": one}).status_code == 302
    assert is_signed_in(client)
    Authenticator.objects.update(throttling_failure_timestamp=None)
    client.post("/accounts/second-factor/remove/", {"code": other})
    assert not Authenticator.objects.exists()
