"""A copy of the database leaves alone what the original has rented."""

import pytest

from backend.accounts.models import Installation
from backend.accounts.services.installation import (
    installation_adopt,
    installation_id,
    own_installations,
)
from backend.benchmarks.models import Resource, Run, RunState
from backend.benchmarks.services.steps import step_create_claimed
from backend.notifications.models import Notice
from tests.fakes.fake_provider import FakeProvider
from tests.workers.clouds import account, offer
from tests.workers.reaping import created, end_run, leaks_are_reported, look, machines
from tests.workers.test_rented import over

pytestmark = pytest.mark.django_db(transaction=True)


def test_installation_is_the_same_until_the_site_is_another(settings):
    first = installation_id()
    assert (installation_id(), own_installations()) == (first, {first})
    settings.INSTALLATION = "staging"
    copy = installation_id()
    assert copy != first
    assert own_installations() == {copy}
    settings.INSTALLATION = ""
    assert own_installations() == {first}


def test_moved_database_takes_its_machines_back_when_asked(settings):
    first = installation_id()
    settings.INSTALLATION = "new-site"
    assert installation_adopt() == 1
    assert first in own_installations()
    assert Installation.objects.count() == 2


@pytest.fixture
def copied(tmp_path, queued, settings):
    """A machine of a run, and then this database at another site, by whose books the run is over."""
    settings.PROVIDER_SETTLE_S = 0
    provider = FakeProvider(tmp_path)
    account(provider, access="workload_identity")
    resource = created(offer())
    settings.INSTALLATION = "copy"
    end_run(resource)
    return provider.cloud


def test_copy_ends_no_machine_of_the_original_and_the_original_does(copied, settings):
    leaks_are_reported()
    for _ in range(2):
        seen = look()
        assert (seen.machines, seen.ended, seen.error) == (0, [], "")
        assert seen.strangers
    # People are to know of a machine that costs money and that nobody here ends; once is enough.
    (notice,) = Notice.objects.all()
    assert notice.document["title"].endswith(" has machines of another installation")
    assert notice.document["detail"].startswith("1 of them carry the tag of this workspace")
    assert len(machines(copied)) == 1
    settings.INSTALLATION = ""
    seen = look()
    assert (seen.strangers, len(seen.ended)) == (0, 1)
    assert machines(copied) == []


def test_copy_ends_its_run_and_leaves_the_machine_when_it_tears_down(copied):
    run = Resource.objects.get().run
    Run.objects.filter(pk=run.pk).update(state=RunState.TEARING_DOWN, finished_at=None)
    step_create_claimed(run=run, state=RunState.TEARING_DOWN)
    assert over(run).is_finished
    assert len(machines(copied)) == 1
