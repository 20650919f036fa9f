"""A call of a provider ends when its time is over, also one that blocks its thread."""

import asyncio
import threading
from dataclasses import replace

import pytest

from backend.foundation.errors import DriverError, Reason
from backend.providers.registry import provider as provider_record
from tests.fakes.fake_provider import FakeProvider
from tests.workers.clouds import account
from workers.rentals import provider_calls

CALL = "provider call"
pytestmark = pytest.mark.django_db(transaction=True)


def test_call_that_blocks_is_given_up_when_its_time_is_over(tmp_path, queued, monkeypatch):
    monkeypatch.setattr(provider_calls, "CALL_S", 0.2)
    released = threading.Event()
    provider = provider_calls.ProviderCalls(account(FakeProvider(tmp_path)))
    with pytest.raises(DriverError, match="does not answer") as caught:
        provider.ask(lambda _: asyncio.to_thread(released.wait, 60))
    left_behind = [one.name for one in threading.enumerate() if one.name == CALL]
    released.set()
    assert (caught.value.reason, caught.value.retryable) == (Reason.TIMEOUT, True)
    assert left_behind == [CALL]  # nobody waited for it


def test_calls_are_as_many_as_the_provider_lets_an_account_make(tmp_path, queued, monkeypatch):
    made = account(FakeProvider(tmp_path))
    record = replace(provider_record("fake"), calls_per_s=0.001, calls_at_once=2)
    monkeypatch.setattr(provider_calls, "provider", lambda _: record)
    for _ in range(2):
        provider_calls.ProviderCalls(made)
    with pytest.raises(provider_calls.NoCallLeft, match=r"no call of the provider is left"):
        provider_calls.ProviderCalls(made)
    provider_calls.ProviderCalls(made, is_end=True)
    assert (provider_record("hetzner").calls_per_s, provider_record("aws").calls_per_s) == (0.5, 5)


def test_refusal_of_a_call_is_the_callers(tmp_path, queued):
    provider = provider_calls.ProviderCalls(account(FakeProvider(tmp_path)))

    async def refused(_):
        raise DriverError(Reason.QUOTA, "no more", retryable=False)

    with pytest.raises(DriverError, match="no more") as caught:
        provider.ask(refused)
    assert caught.value.reason == Reason.QUOTA
