"""The reaper as a service of its own: it goes on through failures until it is asked to end."""

import os
import signal
import threading

import pytest
from django.core.management import CommandError, call_command

from backend.accounts.models import CloudAccount
from tests.fakes.fake.cloud import Fault
from tests.fakes.fake_provider import FakeProvider
from tests.workers import clouds
from tests.workers.reaping import launched, leaks_are_reported, machines

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def cloud(tmp_path, queued, settings):
    settings.PROVIDER_SETTLE_S = 0
    leaks_are_reported()
    provider = FakeProvider(tmp_path)
    account: CloudAccount = clouds.account(provider, name="main", access="workload_identity")
    launched(account, "")
    return provider.cloud


@pytest.fixture
def handlers():
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_reaper_goes_on_after_a_failure_until_it_is_asked_to_end(cloud, tmp_path, handlers, capsys):
    cloud.fault(Fault.AUTH, times=1)
    assert len(machines(cloud)) == 1

    def end_when_clean():
        while machines(cloud):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    watching = threading.Thread(target=end_when_clean)
    watching.start()
    call_command("reap", every=1, note=tmp_path / "reaped")
    watching.join()
    said = capsys.readouterr().out
    assert said.index("error:") < said.index("ending ")
    assert (tmp_path / "reaped").exists()


def test_reaper_is_refused_when_its_pause_is_no_time(cloud):
    with pytest.raises(CommandError, match="--every"):
        call_command("reap", every=0)
