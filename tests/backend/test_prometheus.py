"""/metrics-prometheus: what it says, to whom; the rules and the dashboard that read it."""

import datetime as dt
import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import LazySettings
from django.db import connection, transaction
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from backend.accounts.models import AccessKind, CloudAccount
from backend.benchmarks.models import RunState, Step, Tick
from backend.catalog.models import PriceFeed
from backend.core import clock
from tests import factories

pytestmark = pytest.mark.django_db
ADDRESS = "/metrics-prometheus"
MONITORING = Path(__file__).parents[2] / "monitoring"
# Parts of a histogram, and words of the query language that look like a name of ours.
SUFFIX = re.compile(r"_(bucket|count|sum)$")


def figures(client: Client) -> dict[tuple[str, tuple[str, ...]], float]:
    """(name, values of its labels by their names) → value."""
    response = client.get(ADDRESS)
    assert response.status_code == 200, response.content
    families = text_string_to_metric_families(response.content.decode())
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


def _account(**given: Any) -> CloudAccount:
    return CloudAccount.objects.create(
        workspace=factories.workspace(),
        provider="hetzner",
        access=AccessKind.STATIC_KEY,
        settings={"regions": ["fsn1"]},
        budget_amount=Decimal(50),
        budget_currency="EUR",
        **given,
    )


@pytest.fixture
def late_step() -> Step:
    """Due for five minutes, under a lease that ended a minute ago."""
    now = clock.now()
    run = factories.run(state=RunState.QUEUED)
    Step.objects.filter(run=run).delete()
    return Step.objects.create(
        run=run,
        state=RunState.QUEUED,
        next_due_at=now - dt.timedelta(minutes=5),
        lease_until=now - dt.timedelta(minutes=1),
    )


def test_engine_says_what_waits_and_whether_it_moves(client, late_step):
    Tick.objects.create(at=clock.now() - dt.timedelta(seconds=90))
    said = figures(client)
    assert 90 <= said["rackrate_tick_age_seconds", ()] < 120
    assert said["rackrate_steps_due", ()] == 1
    assert 300 <= said["rackrate_step_oldest_due_seconds", ()] < 330
    assert said["rackrate_leases_expired", ()] == 1
    assert said["rackrate_runs", ("queued",)] == 1
    assert said["rackrate_runs", ("running",)] == 0
    assert ("rackrate_runs", ("done",)) not in said


def test_nothing_is_said_of_what_is_not_known(client, settings: LazySettings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # nothing listens on port 1
    names = {name for name, _ in figures(client)}
    assert "rackrate_tick_age_seconds" not in names
    assert "rackrate_queue_messages" not in names
    assert "rackrate_steps_due" in names


def test_accounts_say_what_is_spent_of_which_budget_without_their_names(client):
    account = _account(name="Secret project", failed_looks=2)
    response = client.get(ADDRESS).content.decode()
    assert "Secret" not in response
    said = figures(client)
    labels = (str(account.pk), "EUR", "hetzner")
    assert said["rackrate_account_budget", labels] == 50
    assert said["rackrate_account_spent", labels] == 0
    assert said["rackrate_account_failed_looks", labels[::2]] == 2


def test_price_lists_say_their_age_and_failures(client):
    provider = factories.provider("aws")
    checked = clock.now() - dt.timedelta(hours=3)
    PriceFeed.objects.create(
        provider=provider, kind="spot", region="eu-west-1", checked_at=checked, failures=4
    )
    said = figures(client)
    labels = ("spot", "aws", "eu-west-1")
    assert said["rackrate_price_list_failures", labels] == 4
    assert 10_800 <= said["rackrate_price_list_age_seconds", labels] < 10_830


def test_requests_are_counted_by_the_name_of_their_address(client):
    client.get("/feeds/rf_0123456789abcdef/nothing.csv")
    client.get("/nothing/of/the/kind")
    text = client.get(ADDRESS).content.decode()
    assert 'rackrate_request_seconds_count{status="4xx",view="feed"}' in text
    assert 'view="none"' in text
    assert "0123456789abcdef" not in text


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
def test_strangers_behind_a_proxy_see_nothing(client, caller, header, settings: LazySettings):
    settings.PUBLIC_READ = True
    assert client.get(ADDRESS, headers={header: "for=203.0.113.7"}).status_code == 401
    assert caller("read").get(ADDRESS, headers={header: "x"}).status_code == 200


def test_strangers_from_elsewhere_see_nothing(client, settings: LazySettings):
    settings.PUBLIC_READ = True
    assert client.get(ADDRESS, REMOTE_ADDR="203.0.113.7").status_code == 401
    assert client.get(ADDRESS, REMOTE_ADDR="::1").status_code == 200


@pytest.fixture
def production(settings: LazySettings) -> None:
    settings.SECURE_SSL_REDIRECT = settings.HTTPS_ONLY = True
    settings.ALLOWED_HOSTS = ["rackrate.example"]
    settings.PUBLIC_URL = "https://rackrate.example"
    settings.PUBLIC_READ = False


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "web:8000"])
def test_documented_job_gets_figures_under_production_settings(production, host):
    answer = Client().get(ADDRESS, headers={"Host": host}, REMOTE_ADDR="127.0.0.1")
    assert answer.status_code == 200
    assert "rackrate_steps_due" in answer.content.decode()


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"REMOTE_ADDR": "203.0.113.7"}, {400, 403}),
        ({"REMOTE_ADDR": "203.0.113.7", "HTTP_HOST": "rackrate.example"}, {403}),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "203.0.113.7"}, {400, 403}),
        (
            {
                "REMOTE_ADDR": "127.0.0.1",
                "HTTP_HOST": "rackrate.example",
                "HTTP_X_FORWARDED_FOR": "203.0.113.7",
                "HTTP_X_FORWARDED_PROTO": "https",
            },
            {401},
        ),
    ],
)
def test_others_get_no_figures_under_production_settings(production, settings, given, status):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert Client().get(ADDRESS, **given).status_code in status


def test_other_pages_keep_the_check_of_the_host_under_production_settings(production):
    answer = Client().get("/api/v1/offers", headers={"Host": "evil"}, REMOTE_ADDR="127.0.0.1")
    assert answer.status_code in {400, 403}


def test_token_gets_figures_through_the_proxy(production, settings, caller):
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    given = {
        "REMOTE_ADDR": "172.18.0.5",
        "HTTP_HOST": "rackrate.example",
        "HTTP_X_FORWARDED_FOR": "203.0.113.7",
        "HTTP_X_FORWARDED_PROTO": "https",
    }
    assert caller("read").get(ADDRESS, **given).status_code == 200


def test_each_rule_on_a_figure_has_one_for_its_absence():
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]
    text = " ".join(rule["expr"] for rule in rules)
    for figure in ('up{job="rackrate"}', "rackrate_tick_age_seconds", "rackrate_database_writes"):
        assert f"absent({figure})" in text
    assert 'up{job="rackrate"} == 0' in text


def test_database_that_does_not_write_is_a_figure(client):
    assert figures(client)["rackrate_database_writes", ()] == 1
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET temp_file_limit = '100kB'")
        said = figures(client)["rackrate_database_writes", ()]
        transaction.set_rollback(True)
    assert said == 0


def _names(expression: str) -> set[str]:
    return {SUFFIX.sub("", name) for name in re.findall(r"rackrate_\w+", expression)}


def _expressions() -> list[Any]:
    rules = yaml.safe_load((MONITORING / "alerts.yml").read_text())
    panels = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    return [
        *(rule["expr"] for group in rules["groups"] for rule in group["rules"]),
        *(target["expr"] for panel in panels for target in panel["targets"]),
    ]


def test_rules_and_dashboard_read_figures_that_there_are(client, late_step):
    Tick.objects.create(at=clock.now())
    _account(name="Benchmarks")
    PriceFeed.objects.create(
        provider=factories.provider("aws"), kind="spot", checked_at=clock.now()
    )
    client.get("/healthz")
    given = {SUFFIX.sub("", name) for name, _ in figures(client)}
    read = set().union(*(_names(one) for one in _expressions()))
    assert read - given == set()
    # What nobody looks at is not worth its query.
    assert {name for name in given - read if name.startswith("rackrate_")} <= {
        "rackrate_account_failed_looks",
        "rackrate_request_seconds_created",
    }
