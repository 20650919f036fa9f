"""Settings from the environment: database addresses, secrets in files, errors without secrets."""

import os
import socket
import subprocess
import sys

import psycopg
import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from redis.connection import parse_url

from backend.config import environment as env


@pytest.fixture
def entry(monkeypatch):
    """Django's database entry for an address, and a password given apart."""

    def make(url, password=""):
        monkeypatch.setenv("DATABASE_URL", url)
        return env.database("DATABASE_URL", password=password)

    return make


def test_database_takes_the_parts_of_its_address(entry):
    made = entry("postgresql://us%65r:a%2Fb%23@db.example:5433/rack")
    names = ("USER", "PASSWORD", "HOST", "PORT", "NAME")
    assert [made[name] for name in names] == ["user", "a/b#", "db.example", "5433", "rack"]


def test_database_takes_options_and_gives_up_soon_by_default(entry):
    url = "postgresql://u@h/n?sslmode=verify-full&sslrootcert=%2Fetc%2Fca.pem"
    made = entry(url)["OPTIONS"]
    assert (made["sslmode"], made["sslrootcert"]) == ("verify-full", "/etc/ca.pem")
    assert made["options"].startswith("-c jit=off -c tcp_")
    assert made["connect_timeout"] == 5
    assert entry("postgresql://u@h/n?connect_timeout=9")["OPTIONS"]["connect_timeout"] == 9
    made = entry("postgresql://u@h/n?options=-c%20jit%3Don")
    assert made["OPTIONS"]["options"].endswith(" -c jit=on")


def test_libpq_gets_the_options_when_django_connects(entry):
    made = entry("postgresql://u@h/n?sslmode=verify-full&application_name=rack")
    given = connections["default"].settings_dict | made
    wrapper = type(connections["default"])({**given, "TIME_ZONE": None})
    parameters = wrapper.get_connection_params()
    assert parameters["sslmode"] == "verify-full"
    assert parameters["application_name"] == "rack"
    assert parameters["connect_timeout"] == 5


@pytest.mark.services
def test_either_end_of_a_connection_takes_a_silent_other_one_for_gone(entry):
    here = settings.DATABASES["default"]
    made = entry("postgresql://u@h/n?options=-c%20tcp_keepalives_count%3D4")
    server = {"tcp_keepalives_idle": 30, "tcp_keepalives_interval": 10, "tcp_keepalives_count": 4}
    client = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 60_000}
    with psycopg.connect(
        host=here["HOST"], port=here["PORT"], user=here["USER"], password=here["PASSWORD"],
        dbname="postgres", **made["OPTIONS"],
    ) as connection:  # fmt: skip
        for name, value in {**server, "tcp_user_timeout": 60_000}.items():
            row = connection.execute("SELECT setting FROM pg_settings WHERE name = %s", [name])
            assert row.fetchone() == (str(value),)
        with socket.socket(fileno=os.dup(connection.fileno())) as wire:
            found = {
                name: wire.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) for name in client
            }
    assert found == client


@pytest.mark.services
def test_server_without_tls_is_refused_when_tls_is_asked_for(entry):
    here = settings.DATABASES["default"]
    made = entry("postgresql://u@h/n?sslmode=require")
    with pytest.raises(psycopg.OperationalError, match="SSL"):
        psycopg.connect(
            host=here["HOST"], port=here["PORT"], user=here["USER"], password=here["PASSWORD"],
            dbname=here["NAME"], **made["OPTIONS"],
        )  # fmt: skip


@pytest.mark.parametrize("password", ["ab/cd", "a#b", "a?b", "%cd", "a b", "ü:@[", "$x'\""])
def test_database_password_may_be_any_when_given_apart(entry, password):
    assert entry("postgresql://rackrate@postgres:5432/rackrate", password)["PASSWORD"] == password
    assert entry("postgresql://rackrate:own@h/rackrate", password)["PASSWORD"] == "own"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:hush/er@h:5432/n",
        "postgresql://u:hush#er@h/n",
        "postgresql://u:hush?er@h/n",
        "postgresql://u:pw/hush?hush=1@h/n",
        "postgresql://u:[hush@h/n",
        "postgresql://u@h/n?hush=1",
        "postgresql://u@h/n?sslmode=require&sslmode=hush",
        "postgresql://u@h/n?connect_timeout=hush",
        "postgresql://u@h",
        "mysql://u:hush@h/n",
    ],
)
def test_database_error_names_the_variable_and_no_part_of_a_password(entry, url):
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL") as refusal:
        entry(url)
    assert "hush" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__ or refusal.value.__context__ is None


def test_settings_say_what_is_wrong_and_not_the_password_when_they_load():
    """The whole of what a container would log."""
    command = [sys.executable, "-c", "import backend.config.settings"]
    variables = {
        "PATH": "/usr/bin:/bin",
        "DATABASE_URL": "postgresql://rackrate:hu/sh@postgres:5432/rackrate",
        "REDIS_URL": "redis://none", "SECRET_KEY": "s", "TOKEN_PEPPER": "p",
        "CREDENTIAL_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
    }  # fmt: skip
    done = subprocess.run(
        command, env=variables, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False
    )
    assert "DATABASE_URL must look like" in done.stderr
    assert "'hu'" not in done.stderr


def test_value_comes_from_a_file_when_name_file_is_set(monkeypatch, tmp_path):
    path = tmp_path / "secret"
    path.write_text("p/q #\n")
    monkeypatch.setenv("SOME_SECRET", "")
    monkeypatch.setenv("SOME_SECRET_FILE", str(path))
    assert env.text("SOME_SECRET") == "p/q #"
    path.write_text("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n")
    assert env.key_bytes("SOME_SECRET") == b"0123456789abcdef0123456789abcdef"
    assert env.keys_bytes("SOME_SECRET") == [b"0123456789abcdef0123456789abcdef"]
    path.write_text("postgresql://u:pw@h/n\n")
    assert env.database("SOME_SECRET")["PASSWORD"] == "pw"
    path.write_text("smtp://u:pw@mail.example\n")
    assert env.mail("SOME_SECRET").password == "pw"


def test_value_given_twice_or_in_no_readable_file_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("SOME_SECRET_FILE", str(tmp_path / "none"))
    with pytest.raises(ImproperlyConfigured, match="none cannot be read"):
        env.text("SOME_SECRET")
    monkeypatch.setenv("SOME_SECRET", "hush")
    with pytest.raises(ImproperlyConfigured, match="both set") as refusal:
        env.text("SOME_SECRET")
    assert "hush" not in str(refusal.value)


def test_secret_that_is_empty_counts_as_not_set(monkeypatch):
    monkeypatch.setenv("SOME_SECRET", "")
    with pytest.raises(ImproperlyConfigured, match="SOME_SECRET is not set"):
        env.text("SOME_SECRET")


@pytest.mark.parametrize("value", ["a b", "x" * 65, "ü", "a/b"])
def test_identifier_is_refused_when_it_cannot_name_a_queue(monkeypatch, value):
    monkeypatch.setenv("SOME_ID", value)
    with pytest.raises(ImproperlyConfigured, match="SOME_ID must be 1 to 64 letters"):
        env.identifier("SOME_ID", "default")


@pytest.mark.parametrize("password", ["ab/cd", "a#b", "a?b", "%cd", "a b", "ü:@[", "$x'\""])
def test_broker_password_may_be_any_when_given_apart(monkeypatch, password):
    monkeypatch.setenv("REDIS_URL", "redis://redis:6379/0")
    connection = parse_url(env.broker("REDIS_URL", password=password))
    assert connection == {"host": "redis", "port": 6379, "db": 0, "password": password}
    monkeypatch.setenv("REDIS_URL", "rediss://ada:own@[::1]:6379/0")
    assert parse_url(env.broker("REDIS_URL", password=password))["password"] == "own"


@pytest.mark.parametrize("url", ["redis://:hush/er@h:6379/0", "http://:hush@h", "hush"])
def test_broker_error_names_the_variable_and_no_part_of_a_password(monkeypatch, url):
    monkeypatch.setenv("REDIS_URL", url)
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL") as refusal:
        env.broker("REDIS_URL")
    assert "hush" not in str(refusal.value)


def _broker_is_well(url):
    command = [sys.executable, "-m", "backend.config.broker"]
    variables = {"PATH": "/usr/bin:/bin", "REDIS_URL": url}
    return subprocess.run(
        command, env=variables, cwd=settings.BASE_DIR, capture_output=True, text=True, check=False
    )


@pytest.mark.services
def test_health_check_of_the_broker_fails_when_it_is_gone():
    assert _broker_is_well(settings.REDIS_URL).returncode == 0
    # Nothing listens on port 1.
    done = _broker_is_well("redis://:hush@127.0.0.1:1/0")
    assert (done.returncode, "hush" in done.stderr) == (1, False)
    assert "does not answer" in done.stderr


@pytest.mark.parametrize(
    "value", ["http://login.example", "login.example", "https://", "ftp://127.0.0.1"]
)
def test_issuer_of_single_sign_on_is_reached_over_tls(monkeypatch, value):
    monkeypatch.setenv("OIDC_ISSUER", value)
    with pytest.raises(ImproperlyConfigured, match="OIDC_ISSUER"):
        env.address("OIDC_ISSUER")
    for good in ("", "https://login.example/realms/x", "http://127.0.0.1:9000"):
        monkeypatch.setenv("OIDC_ISSUER", good)
        assert env.address("OIDC_ISSUER") == good


def test_rules_of_admission_are_read(monkeypatch):
    monkeypatch.setenv("RULES", "email_domain=Example.org:viewer, groups=urn:x:Ops:admin@lab")
    assert env.admissions("RULES", ("viewer", "admin")) == [
        env.Admission("email_domain", "example.org", "viewer", "default"),
        env.Admission("groups", "urn:x:Ops", "admin", "lab"),
    ]


@pytest.mark.parametrize(
    "rule", ["example.org", "email_domain=example.org", "a=b:boss", "a=:viewer"]
)
def test_rule_of_admission_that_says_no_role_is_refused(monkeypatch, rule):
    monkeypatch.setenv("RULES", rule)
    with pytest.raises(ImproperlyConfigured, match="RULES"):
        env.admissions("RULES", ("viewer", "admin"))
