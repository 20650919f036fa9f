"""The machine of a run by its inventory, and the offer that the run is for."""

from dataclasses import asdict, fields
from decimal import Decimal
from typing import Any

from backend.benchmarks.calc.offered import MachineSize, differences, machine_size
from backend.benchmarks.models import Host, HostState, Run
from backend.catalog.models import Offer, OfferKind
from backend.catalog.services.data_version import data_version_bump
from backend.catalog.services.offers import OWN_PROVIDER
from backend.measure.architectures import architecture

WHOLE_MACHINES = frozenset({OfferKind.DEDICATED, OfferKind.ONPREM})


def offer_facts_record(*, run: Run) -> None:
    """Fill in what an offer of one's own does not have from the host's inventory.

    What an earlier inventory filled in follows a machine that was resized, unless another machine of
    the offer still has it. What a person or a list stated stays, and is compared.
    """
    offer = run.offer
    if offer.provider.slug != OWN_PROVIDER:
        return
    others = Host.objects.filter(offer=offer).exclude(pk=run.host_id).exclude(facts={})
    sizes = [
        asdict(machine_size(facts))
        for facts in others.exclude(state=HostState.GONE).values_list("facts", flat=True)
    ]
    changes = {
        name: value
        for name, value in asdict(machine_size(run.host.facts)).items()
        if value
        and value != (current := _plain(offer, name))
        and _is_ours(offer, name)
        and not (current and any(size[name] == current for size in sizes))
    }
    if not changes:
        return
    for name, value in changes.items():
        setattr(offer, name, value)
    offer.inventory_facts = {**offer.inventory_facts, **changes}
    offer.save(update_fields=[*changes, "inventory_facts"])
    data_version_bump()


def offer_contradiction(run: Run) -> str:
    """A sentence on how the run's machine differs from its offer; "" where it does not."""
    if not run.host.facts:
        return ""
    stated = {field.name: _plain(run.offer, field.name) for field in fields(MachineSize)}
    # Our own count of threads says nothing of whether a person stated cores or threads.
    if run.offer.inventory_facts.get("thread_count") == stated["thread_count"]:
        stated["thread_count"] = None
    contradictions = differences(
        MachineSize(**stated),
        machine_size(run.host.facts),
        is_whole=run.offer.kind in WHOLE_MACHINES,
    )
    if not (figures := ", ".join(contradictions)):
        return ""
    return (
        f"the machine is not what the offer {run.offer.slug} states: it has {figures}. Its figures "
        "take no rank; correct the offer or the host, and measure again"
    )


def architecture_contradiction(run: Run, machine: str) -> str:
    """Why the run cannot measure its offer on a machine of that architecture; "" where it can."""
    stated, seen = run.offer.arch, architecture(machine)
    if not stated or stated == seen or _is_ours(run.offer, "arch"):
        return ""
    return (
        f"the machine is {seen}, and the offer {run.offer.slug} states {stated}: correct the offer, or "
        "measure the machine for an offer of its architecture"
    )


def _is_ours(offer: Offer, name: str) -> bool:
    """True for a field that is empty, or as an inventory filled it in."""
    current = _plain(offer, name)
    return not current or current == offer.inventory_facts.get(name)


def _plain(offer: Offer, name: str) -> Any:
    value = getattr(offer, name)
    return float(value) if isinstance(value, Decimal) else value
