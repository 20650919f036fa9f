"""Rented machines without public addresses: logged in to through a host of one's own."""

import pytest

from backend.benchmarks.models import Host, HostState, RunState
from backend.foundation.errors import InvalidValue
from tests.fakes.fake_provider import FakeProvider
from tests.workers.clouds import account, offer, rented_run
from tests.workers.test_hardened import bastion, bastion_sshd
from tests.workers.test_rented import over, stepped

__all__ = ["bastion", "bastion_sshd"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def behind(tmp_path, bastion, settings):
    """A provider with an account whose machines stand behind the bastion."""
    settings.PROVIDER_SETTLE_S = 1
    directory = tmp_path / "clouds"
    directory.mkdir()
    with FakeProvider(directory) as provider:
        made = account(provider)
        made.settings["bastion"] = bastion.name
        made.save()
        yield provider


def test_machine_behind_a_bastion_is_scanned_and_measured_through_it(behind, bastion_sshd):
    run = rented_run(offer(), probes=["inventory"])
    stepped(run, RunState.BOOTING)
    behind.look()
    ((address, server),) = behind.machines.alive.items()
    bastion_sshd.inside[address] = server.port
    assert over(run).state == RunState.DONE
    assert set(bastion_sshd.led_to) == {address}
    assert len(bastion_sshd.led_to) >= 2  # the scan and a login
    run.host.refresh_from_db()
    assert (run.host.state, run.host.bastion) == (HostState.GONE, None)


def test_run_is_refused_when_the_bastion_is_not_approved(behind, bastion):
    Host.objects.filter(pk=bastion.pk).update(state=HostState.UNVERIFIED)
    with pytest.raises(InvalidValue, match="bastion Bastion is no approved host"):
        rented_run(offer(), probes=["inventory"])
