"""`manage.py apply` and `manage.py export_config`: one YAML file, both ways."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from backend.benchmarks.models import Campaign, Host, Schedule
from backend.catalog.models import Offer
from backend.notifications.models import Subscription
from tests import factories
from tests.settings import BASE_DIR

pytestmark = pytest.mark.django_db

EXAMPLE = BASE_DIR / "docs/examples/rackrate.yaml"
TWO = """\
hosts:
  - name: gate
    address: gate.example.org
    username: bench
  - name: build1
    address: 198.51.100.7
    username: bench
    bastion: gate
campaigns:
  - name: nightly
    hosts: [build1]
    profile: quick
    probes: [cmips]
schedules:
  - campaign: nightly
    cron: "0 3 * * *"
    time_zone: Europe/Berlin
subscriptions:
  - channel: email
    address: ops@example.org
    kinds: [regression]
    campaign: nightly
"""


@pytest.fixture(autouse=True)
def _workspace(queued, settings):
    settings.EMAIL_HOST = "127.0.0.1"
    factories.workspace()


@pytest.fixture
def applied(tmp_path):
    def apply(text, *flags):
        path = tmp_path / "rackrate.yaml"
        path.write_text(text)
        out, err = io.StringIO(), io.StringIO()
        try:
            call_command("apply", str(path), "--json", *flags, stdout=out, stderr=err)
        except CommandError as error:
            return [*err.getvalue().splitlines(), str(error)]
        changes = json.loads(out.getvalue())["changes"]
        return [f"{one['action']} {one['kind']} {one['name']}" for one in changes]

    return apply


def exported():
    out = io.StringIO()
    call_command("export_config", stdout=out)
    return out.getvalue()


MADE = [
    "create host gate", "create host build1", "create campaign nightly",
    "create schedule nightly", "create subscription ops@example.org",
]  # fmt: skip


def test_file_is_applied_once_and_changes_nothing_again(applied):
    assert applied(TWO, "--dry-run") == MADE
    assert not Host.objects.exists()
    assert applied(TWO) == MADE
    assert Host.objects.get(name="build1").bastion.name == "gate"
    assert applied(TWO) == []


def test_export_is_the_same_after_it_was_applied(applied):
    applied(TWO)
    text = exported()
    assert applied(text, "--prune") == []
    Subscription.objects.all().delete()
    Campaign.objects.all().delete()
    Host.objects.exclude(bastion=None).delete()
    Host.objects.all().delete()
    Offer.objects.filter(slug__in=("own-gate", "own-build1")).delete()
    applied(text)
    assert exported() == text


def test_only_what_differs_is_changed(applied):
    applied(TWO)
    before = Campaign.objects.get().pk
    changed = (
        TWO.replace("bastion: gate", "bastion: gate\n    tags: [ci]")
        .replace("profile: quick", "profile: standard")
        .replace("0 3 *", "0 4 *")
    )
    assert applied(changed) == [
        "update host build1", "update campaign nightly", "update schedule nightly",
    ]  # fmt: skip
    assert (Campaign.objects.get().pk, Campaign.objects.get().profile) == (before, "standard")
    assert Schedule.objects.get().cron == "0 4 * * *"
    assert applied(changed) == []


def test_campaign_that_measured_keeps_what_it_measured_with(applied):
    applied(TWO)
    Campaign.objects.update(round=1)
    said = applied(TWO.replace("profile: quick", "profile: full"))
    assert "line 12: /campaigns/0/profile: 'nightly' has measured already" in said[0]
    assert Campaign.objects.get().profile == "quick"


def test_nothing_is_deleted_without_prune_which_lists_it_first(applied):
    applied(TWO)
    less = "hosts:\n  - name: gate\n    address: gate.example.org\n    username: bench\n"
    assert applied(less) == []
    empty = less + "campaigns: []\nschedules: []\nsubscriptions: []\n"
    gone = [
        "delete subscription email ops@example.org", "delete schedule nightly: 0 3 * * *",
        "delete campaign nightly", "delete host build1",
    ]  # fmt: skip
    assert applied(empty, "--prune", "--dry-run") == gone
    assert applied(empty, "--prune") == [
        "- subscription email ops@example.org", "- schedule nightly: 0 3 * * *",
        "- campaign nightly", "- host build1", "4 would be deleted: add --yes if that is right",
    ]  # fmt: skip
    assert Campaign.objects.exists()
    assert applied(empty, "--prune", "--yes") == gone
    assert applied(empty, "--prune", "--yes") == []


def test_every_fault_is_named_by_its_line_and_nothing_is_stored(applied):
    text = TWO.replace("[build1]", "[build2]").replace("campaign: nightly", "campaign: weekly")
    said = applied(text.replace("bastion: gate", "bastion: none"))
    assert [line.partition(":")[0] for line in said[:-1]] == sorted(
        {line.partition(":")[0] for line in said[:-1]}, key=lambda one: int(one.split()[1])
    )
    assert said[0] == "line 8: /hosts/1/bastion: no host is named 'none'"
    assert any(line == "line 11: /campaigns/0/hosts/0: no host is named 'build2'" for line in said)
    assert any("/schedules/0/campaign: no campaign is named 'weekly'" in line for line in said)
    assert said[-1].endswith("nothing was changed")
    assert not Host.objects.exists()
    needed = "minute, hour, day of month, month and day of week are needed"
    unreadable = TWO.replace("0 3 * * *", "every day").replace("gate.example.org", "-oProxy=x")
    address, cron, *_ = applied(unreadable)
    assert address.startswith("line 3: /hosts/0/address: '-oProxy=x' is not a host name")
    assert cron == f"line 16: /schedules/0/cron: {needed}"
    assert not Host.objects.exists()


def test_webhook_takes_its_secret_from_the_environment(applied, monkeypatch):
    text = (
        "subscriptions:\n  - channel: webhook\n    address: https://hooks.example.org/x\n"
        "    kinds: [leak]\n    secret_env: HOOK_SECRET\n"
    )
    assert applied(text)[0] == "line 5: /subscriptions/0/secret_env: no variable HOOK_SECRET is set"
    monkeypatch.setenv("HOOK_SECRET", "a-secret-of-enough-characters")
    assert applied(text) == ["create subscription https://hooks.example.org/x"]
    assert "a-secret" not in exported()


def test_example_of_the_documentation_is_applied(applied, monkeypatch):
    monkeypatch.setenv("HOOK_SECRET", "a-secret-of-enough-characters")
    assert all(line.startswith("create ") for line in applied(EXAMPLE.read_text()))
