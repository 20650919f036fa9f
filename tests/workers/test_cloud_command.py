"""`manage.py cloud`: whether machines could be rented, from a shell."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from backend.accounts.services.installation import installation_id
from tests.fakes.fake.cloud import Fault
from tests.fakes.fake_provider import FakeProvider
from tests.workers.clouds import REGION, account

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def provider(tmp_path, queued):
    return FakeProvider(tmp_path)


def said(*words):
    out = io.StringIO()
    error = ""
    try:
        call_command("cloud", *words, stdout=out)
    except CommandError as refusal:
        error = str(refusal)
    return out.getvalue(), error


def test_region_that_lacks_something_ends_with_an_error(provider):
    settings = {
        "folder": str(provider.folder),
        "regions": [REGION, "fake-2"],
        "closed_regions": ["fake-2"],
    }
    made = account(provider, name="bench", settings=settings)
    printed, error = said("check", "bench")
    assert error == "not everything is ready"
    lines = [line.split() for line in printed.splitlines()]
    assert ["ok", "region", "it", "answers"] in lines
    assert ["NOT", "region", "fake-2", "is", "not", "opted", "into"] in lines
    assert ["Enable", "fake-2."] in lines
    made.refresh_from_db()
    assert made.preflight_at >= made.checked_at
    assert [line["state"] for line in made.preflight] == ["ready", "not_ready"]
    settings["closed_regions"] = []
    made.settings = settings
    made.save()
    printed, error = said("check", "--json")
    (document,) = json.loads(printed)
    assert (error, {line["state"] for line in document["preflight"]}) == ("", {"ready"})


def test_account_that_is_not_let_in_says_so(provider):
    account(provider, name="bench")
    provider.cloud.fault(Fault.AUTH, times=1)
    printed, error = said("check")
    assert error == "not everything is ready"
    assert "the provider does not know us" in printed
    assert said("check", "another")[1] == "no account that is on is named another"


def test_former_site_is_taken_over_by_the_command(settings):
    installation_id()
    settings.INSTALLATION = "elsewhere"
    assert said("adopt") == ("1 former sites are taken over\n", "")
