"""Machines whose model of CPU is not known, and CPUs that a container may use."""

import pytest

from backend.benchmarks.selectors.scores import computed
from backend.benchmarks.services.results import offer_facts_record
from backend.catalog.models import Offer
from tests import factories

pytestmark = pytest.mark.django_db


def flags_of(*models: str | None) -> tuple[str, ...]:
    """Flags of the score of an offer with a machine of each model."""
    offer = factories.offer()
    for model in models:
        environment = {"vcpu_count": 4, "cpu_model": model}
        host = factories.host(offer)
        run = factories.run(host, environment=environment)
        factories.sample(offer, 100.0, host=host, run=run)
    [(_, score)] = computed(offer_id=offer.pk)
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
