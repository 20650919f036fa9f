"""Machines whose model of CPU is not known, and CPUs that a container may use."""

from decimal import Decimal

import pytest

from backend.benchmarks.models import Host, HostState, Run, RunState
from backend.benchmarks.selectors.scores import compute_scores
from backend.benchmarks.services.offered_machine import (
    architecture_contradiction,
    offer_contradiction,
    offer_facts_record,
)
from backend.catalog.models import Offer
from backend.catalog.services.offers import offer_update
from tests import factories

pytestmark = pytest.mark.django_db
GIB = 2**30


def flags_of(*models: str | None) -> tuple[str, ...]:
    """Flags of the score of an offer with a machine of each model."""
    offer = factories.offer()
    for model in models:
        environment = {"vcpu_count": 4, "cpu_model": model}
        host = factories.host(offer)
        run = factories.run(host, environment=environment)
        factories.sample(offer, 100.0, host=host, run=run)
    [(_, score)] = compute_scores(offer_id=offer.pk)
    assert score.summary.n_instances == len(models)
    return score.flags


def test_machines_of_unknown_models_never_pool_in_silence() -> None:
    """Two hosts whose inventory names no model were one kind of machine, without a word."""
    assert "unknown_hardware" in flags_of(None, None)
    assert "unknown_hardware" in flags_of("EPYC 7763", None)
    assert {"unknown_hardware", "mixed_hardware"} <= {*flags_of("EPYC 7763", "EPYC 7452", None)}


def test_known_models_and_a_lone_machine_are_not_doubted() -> None:
    for models in (("EPYC 7763", "EPYC 7763"), (None,), ("EPYC 7763",)):
        assert "unknown_hardware" not in flags_of(*models)


@pytest.mark.parametrize(
    ("quota", "usable", "vcpus", "threads"),
    [
        (None, 4, 4, 4),  # a cpuset of 4 of 32 filled in 32
        (1.5, 4, 1.5, 4),
        (8, 4, 4, 4),
        (2, None, 2, 32),
        (None, None, 32, 32),
    ],
)
def test_own_offer_counts_the_cpus_that_may_be_used(
    quota: float | None, usable: int | None, vcpus: float, threads: int
) -> None:
    own = factories.offer(provider_slug="own")
    facts = {"vcpu_count": 32, "usable_cpu_count": usable, "cgroup_quota_cpus": quota}
    host = factories.host(own, facts=facts)
    offer_facts_record(run=factories.run(host))
    stored = Offer.objects.get(pk=own.pk)
    assert (stored.vcpu_count, stored.thread_count) == (vcpus, threads)


def recorded(host: Host, **facts: object) -> Offer:
    """The host's offer after an inventory of it with such facts, as the next step reads it."""
    Host.objects.filter(pk=host.pk).update(facts={"arch": "x86_64", **facts})
    host = Host.objects.get(pk=host.pk)
    Run.objects.exclude(state=RunState.DONE).update(state=RunState.DONE)
    offer_facts_record(run=factories.run(host))
    return Offer.objects.get(pk=host.offer_id)


def own_host(offer: Offer | None = None) -> Host:
    return factories.host(offer or factories.offer(provider_slug="own", kind="dedicated"))


def test_facts_of_an_inventory_follow_a_machine_that_was_resized() -> None:
    """A6: price per vCPU and per GiB were those of the first run for ever."""
    host = own_host()
    recorded(host, vcpu_count=2, memory_bytes=4 * GIB, cpu_model="EPYC 7763")
    offer = recorded(host, vcpu_count=8, memory_bytes=16 * GIB, cpu_model="EPYC 9454")
    assert (offer.vcpu_count, offer.thread_count) == (8, 8)
    assert (offer.memory_bytes, offer.cpu_model) == (16 * GIB, "EPYC 9454")
    offer = recorded(host, vcpu_count=8, memory_bytes=16 * GIB, cgroup_memory_bytes=2 * GIB)
    assert offer.memory_bytes == 2 * GIB


@pytest.mark.parametrize("is_first", [True, False])
def test_facts_that_a_person_stated_stay_and_are_compared(is_first: bool) -> None:
    host = own_host()
    if not is_first:
        recorded(host, vcpu_count=4, memory_bytes=4 * GIB)
    workspace = factories.workspace()
    Offer.objects.filter(pk=host.offer_id).update(workspace=workspace)
    offer_update(
        workspace=workspace,
        offer=Offer.objects.get(pk=host.offer_id),
        changes={"vcpu_count": Decimal(16)},
        actor="tester",
    )
    offer = recorded(host, vcpu_count=2, memory_bytes=8 * GIB)
    assert (offer.vcpu_count, offer.memory_bytes) == (16, 8 * GIB)
    sentence = offer_contradiction(factories.run(Host.objects.get(pk=host.pk)))
    assert f"the offer {offer.slug} states: it has 2 CPUs instead of 16. " in sentence


def test_figure_that_other_machines_of_the_offer_have_stays() -> None:
    first, second = own_host(), None
    recorded(first, vcpu_count=8, memory_bytes=16 * GIB)
    second = own_host(first.offer)
    offer = recorded(second, vcpu_count=2, memory_bytes=16 * GIB)
    assert offer.vcpu_count == 8
    assert "2 CPUs instead of 8" in offer_contradiction(
        factories.run(Host.objects.get(pk=second.pk))
    )
    # Once the first one is no more, the offer is what the second one is.
    Host.objects.filter(pk=first.pk).update(state=HostState.GONE)
    assert recorded(second, vcpu_count=2, memory_bytes=16 * GIB).vcpu_count == 2


@pytest.mark.parametrize(
    ("stated", "machine", "is_refused"),
    [
        ("arm64", "x86_64", True),
        ("x86_64", "aarch64", True),
        ("arm64", "aarch64", False),
        ("", "aarch64", False),
    ],
)
def test_run_on_another_architecture_is_refused(
    stated: str, machine: str, is_refused: bool
) -> None:
    offer = factories.offer(arch=stated)
    why = architecture_contradiction(factories.run(factories.host(offer)), machine)
    assert bool(why) is is_refused
    assert not is_refused or f"the offer {offer.slug} states {stated}" in why


def test_architecture_that_an_inventory_filled_in_refuses_no_run() -> None:
    """The machine behind a host may be exchanged: the next inventory replaces what it had."""
    host = own_host()
    recorded(host, vcpu_count=2, arch="aarch64")
    assert architecture_contradiction(factories.run(Host.objects.get(pk=host.pk)), "x86_64") == ""
    assert recorded(host, vcpu_count=2, arch="x86_64").arch == "x86_64"
