"""Runs on machines that are rented for them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from django.db import transaction

from backend.accounts.models import Workspace
from backend.benchmarks.calc.labels import check_labels
from backend.benchmarks.models import Campaign, Run
from backend.benchmarks.selectors.rentals import (
    build_rental_host,
    build_resource,
    check_currency,
    rentals,
)
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.benchmarks.services.runs import run_peer, run_queue
from backend.catalog.models import Offer
from backend.measure.profiles import (
    check_parameters,
    check_probes,
    profile_named,
    rental_parameters,
)
from backend.providers.rentals import Budget


@transaction.atomic
def rented_run_create(
    *,
    workspace: Workspace,
    offer: Offer,
    profile: str,
    probes: Sequence[object] | None,
    parameters: Mapping[str, object],
    budget: Budget | None,
    actor: str,
    labels: Mapping[str, object] = MappingProxyType({}),
    campaign: Campaign | None = None,
    round: int = 0,  # noqa: A002
) -> Run:
    """A run on a machine of the offer that is rented for it and ends with it.

    Raises InvalidValue for an offer that cannot be rented and for what the profile does not know.
    Whether the budgets allow it is seen when it begins.
    """
    profile_named(profile)
    chosen = check_probes(probes)
    values, named = check_parameters(rental_parameters(parameters)), check_labels(labels)
    check_currency(budget)
    schedule_lock(workspace_id=workspace.pk)
    (rental,) = rentals(
        workspace=workspace,
        offers=[Offer.objects.select_related("provider", "region").get(pk=offer.pk)],
        parameters=values,
    )
    run = Run(
        workspace=workspace,
        peer=run_peer(workspace, None, values, chosen),
        campaign=campaign,
        round=round,
        offer=rental.offer,
        price_id=rental.price.observation_id,
        profile=profile,
        probes=chosen,
        parameters=values,
        labels=named,
        requested_by=actor,
    )
    run.host = build_rental_host(run, rental)
    run.host.save()
    run.save()
    build_resource(run, rental, budget).save()
    run_queue(run=run, actor=actor, detail={"offer": offer.slug, "profile": profile})
    return run
