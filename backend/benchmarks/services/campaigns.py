"""Writes of campaigns: make one, start a round of it, end it early, do again what failed.

The workspace is locked before anything else, here and where a run is made or ends (services), so
that nobody waits for somebody who waits for them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.benchmarks.calc.campaign_document import CampaignPlan, NetworkPairs
from backend.benchmarks.models import (
    TERMINAL_STATES,
    Campaign,
    CampaignState,
    Host,
    HostState,
    RoundStart,
    Run,
)
from backend.benchmarks.selectors.campaign_documents import campaign_document
from backend.benchmarks.selectors.costs import (
    campaign_cost,
    campaign_estimate,
    host_probes,
    pairs_of_machines,
    rental_pairs,
    shown,
)
from backend.benchmarks.selectors.hosts import fingerprint
from backend.benchmarks.selectors.rentals import Rental
from backend.benchmarks.selectors.rounds import NOT_DONE, current_runs, round_runs
from backend.benchmarks.services.campaign_plans import CheckedPlan, plan_checked
from backend.benchmarks.services.queue_lock import schedule_lock
from backend.benchmarks.services.rounds import (
    Machine,
    campaign_offers,
    campaign_rentals,
    round_begin,
    round_continue,
)
from backend.benchmarks.services.run_batches import runs_cancel
from backend.catalog.models import Offer
from backend.foundation.errors import DomainError, InvalidValue
from backend.notifications.services.subscriptions import campaign_subscriptions_delete

# What may change between rounds: the rest decides what is measured.
CHANGED_LATER = frozenset({"concurrency", "budget"})


class CampaignActive(DomainError):
    """The action has to wait for the end of the round that is running."""


def _check_name(workspace: Workspace, name: str) -> None:
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise InvalidValue("/name", "1 to 100 printable characters are needed")
    if Campaign.objects.filter(workspace=workspace, name=name).exists():
        raise _name_taken(name)


def _name_taken(name: str) -> InvalidValue:
    return InvalidValue("/name", f"a campaign named {name!r} exists")


def _save(campaign: Campaign, checked: CheckedPlan) -> None:
    checked.put(campaign)
    try:
        # A savepoint: after the refusal the outer transaction must still be usable.
        with transaction.atomic():
            campaign.save()
    except IntegrityError:
        raise _name_taken(campaign.name) from None
    campaign.hosts.set(checked.hosts)
    campaign.offers.set(checked.offers)


@transaction.atomic
def campaign_create(*, workspace: Workspace, name: str, plan: CampaignPlan, actor: str) -> Campaign:
    """A campaign in draft; raises InvalidValue with the field as a JSON pointer."""
    _check_name(workspace, name)
    checked = plan_checked(workspace, plan)
    campaign = Campaign(workspace=workspace, name=name)
    _save(campaign, checked)
    sizes = {"hosts": len(checked.hosts), "offers": len(checked.offers)}
    _audit(campaign, "campaign_create", actor, **sizes, profile=plan.profile)
    return campaign


@transaction.atomic
def campaign_update(*, campaign: Campaign, changes: Mapping[str, Any], actor: str) -> Campaign:
    """Change fields of a campaign's document; what is not named stays.

    What it measures and how is fixed with its first round, so that its rounds can be compared.
    Raises CampaignActive while a round runs, InvalidDocument and InvalidValue with the field as a
    JSON pointer.
    """
    _lock(campaign)
    _check_over(campaign)
    before = campaign_document(campaign)
    after = before.merge(changes)
    if after.name != before.name:
        _check_name(campaign.workspace, after.name)
    differing = after.differs_in(before)
    if campaign.round and (fixed := [name for name in differing if name not in CHANGED_LATER]):
        detail = (
            f"{campaign.name!r} has measured already, so its {', '.join(fixed)} cannot change: make "
            "another one"
        )
        raise InvalidValue(f"/{fixed[0]}", detail)
    if after.name == before.name and not differing:
        return campaign
    campaign.name = after.name
    if differing:
        _save(campaign, plan_checked(campaign.workspace, after))
    else:
        campaign.save(update_fields=["name"])
    _audit(campaign, "campaign_update", actor, changed=differing)
    return campaign


def campaign_start(*, campaign: Campaign, actor: str) -> Campaign:
    """Begin the next round, and make its runs; raises as campaign_begin does."""
    campaign_begin(campaign=campaign, actor=actor)
    round_continue(campaign=campaign)
    return campaign


def campaign_begin(*, campaign: Campaign, actor: str) -> Campaign:
    """Begin the next round: a run of each host, then of each network pair, then of a machine of
    each offer and of each pair of those, repeat by repeat. The tick makes them, or whoever calls round_continue.

    Raises CampaignActive while a round runs, InvalidValue for a host that is not trusted or an
    offer that cannot be rented now, by its place in the campaign, and for an estimate above the
    budget. Nothing begins then.
    """
    campaign.refresh_from_db()
    _check_over(campaign)
    hosts = list(campaign.hosts.select_related("offer"))
    if not hosts and not campaign.offers.exists():
        raise InvalidValue("/hosts", "every host of the campaign was removed")
    _check_trust(hosts)
    has_runs = host_probes(campaign) != []
    offers = campaign_offers(campaign)
    to_rent = campaign_rentals(campaign, offers)
    _check_budget(campaign, hosts, offers)
    once: list[Machine] = [(host, None) for host in hosts if has_runs]
    once += pairs_of_machines(campaign.network_pairs, hosts)
    once += [(rental, None) for rental in to_rent if has_runs]
    rented_pairs = rental_pairs(campaign.network_pairs, to_rent)
    _check_limits(rented_pairs)
    once += rented_pairs
    # What takes long is done; others wait for no more than these rows.
    with transaction.atomic():
        _lock(campaign)
        _check_over(campaign)
        campaign.round += 1
        campaign.state = CampaignState.RUNNING
        campaign.save(update_fields=["round", "state"])
        _audit(campaign, "campaign_start", actor, round=campaign.round)
        # Repeat by repeat: a round that is cut short has measured every machine, if less often.
        round_begin(campaign=campaign, machines=once * campaign.repeats, actor=actor)
    return campaign


@transaction.atomic
def campaign_cancel(*, campaign: Campaign, actor: str) -> Campaign:
    """End the round: runs that wait end now, the others as soon as they can; results stay."""
    _lock(campaign)
    if campaign.state != CampaignState.RUNNING and not _has_unfinished(campaign):
        return campaign
    RoundStart.objects.filter(pk=campaign.pk).delete()
    campaign.state = CampaignState.CANCELLED
    campaign.save(update_fields=["state"])
    _audit(campaign, "campaign_cancel", actor, round=campaign.round)
    runs_cancel(campaign=campaign, actor=actor)
    return campaign


@transaction.atomic
def campaign_delete(*, campaign: Campaign, actor: str) -> None:
    """Delete a campaign with its schedules and alerts; its runs stay.

    Raises CampaignActive while one is left.
    """
    _lock(campaign)
    _check_over(campaign)
    _audit(campaign, "campaign_delete", actor, round=campaign.round)
    campaign_subscriptions_delete(campaign=campaign.pk, actor=actor)
    campaign.delete()


def campaign_retry_failed(*, campaign: Campaign, actor: str) -> list[Run]:
    """Do again, in the same round, every run that failed, was lost or was cancelled.

    Returns the new runs; none where nothing failed. After a cancellation this resumes the round.
    Raises InvalidValue for a host that is not trusted any more.
    """
    with transaction.atomic():
        _lock(campaign)
        current = current_runs(list(round_runs(campaign)), campaign.repeats)
        failed = [run for run in current if run.state in NOT_DONE]
        # While the round is still being made, what failed of it can wait until it is.
        if not failed or RoundStart.objects.filter(pk=campaign.pk).exists():
            return []
        _check_trust(list(campaign.hosts.select_related("offer")))
        again = {run.offer_id for run in failed if run.host.is_rented}
        again |= {run.server.offer_id for run in failed if run.server is not None}
        offers = [offer for offer in campaign_offers(campaign) if offer.pk in again]
        to_rent = {
            campaign_rental.offer.pk: campaign_rental
            for campaign_rental in campaign_rentals(campaign, offers)
        }
        campaign.state = CampaignState.RUNNING
        campaign.save(update_fields=["state"])
        _audit(campaign, "campaign_retry_failed", actor, round=campaign.round, runs=len(failed))
        machines: list[Machine] = [
            (to_rent[run.offer_id], to_rent[run.server.offer_id] if run.server else None)
            if run.host.is_rented
            else (run.host, _pair_peer(campaign, run))
            for run in failed
        ]
        round_begin(campaign=campaign, machines=machines, actor=actor)
    made = round_continue(campaign=campaign)
    return list(Run.objects.filter(pk__in=made).order_by("created_at", "id"))


def campaign_watch_budget() -> None:
    """Cancel every running campaign that has cost more than its budget."""
    running = Campaign.objects.filter(
        state=CampaignState.RUNNING, budget_amount__isnull=False
    ).exclude(budget_currency="")
    for campaign in running:
        cost = campaign_cost(campaign)
        # What is not known cannot be compared; what is known counts at once.
        if campaign.budget_amount is not None and cost.known > campaign.budget_amount:
            campaign_cancel(campaign=campaign, actor="budget")


# --- steps of these ---------------------------------------------------------------------------------


def _lock(campaign: Campaign) -> None:
    """Lock the campaign and read it anew."""
    schedule_lock(workspace_id=campaign.workspace_id)
    # FOR NO KEY UPDATE: workers add rows that refer to the campaign meanwhile.
    campaign.refresh_from_db(from_queryset=Campaign.objects.select_for_update(no_key=True))


def _check_over(campaign: Campaign) -> None:
    if _has_unfinished(campaign):
        raise CampaignActive(f"round {campaign.round} of {campaign.name} is still running")


def _has_unfinished(campaign: Campaign) -> bool:
    if RoundStart.objects.filter(pk=campaign.pk).exists():
        return True
    return Run.objects.filter(campaign=campaign).exclude(state__in=TERMINAL_STATES).exists()


def _check_limits(pairs: Sequence[tuple[Rental, Rental]]) -> None:
    """Raises InvalidValue for an account that never has a place for both: they would wait for ever."""
    for client, server in pairs:
        account = client.account
        if account == server.account and account.max_machines < 2:
            detail = f"a pair needs two machines, and the account {account.name} may have one"
            raise InvalidValue("/network_pairs", detail)


def _pair_peer(campaign: Campaign, run: Run) -> Host | None:
    """The peer of a network pair; one that the parameters name comes with them."""
    return None if campaign.network_pairs == NetworkPairs.NONE else run.peer


def _check_trust(hosts: Sequence[Host]) -> None:
    for index, host in enumerate(hosts):
        if host.state != HostState.TRUSTED:
            key = fingerprint(host.scanned_key) or "(not scanned yet)"
            raise InvalidValue(f"/hosts/{index}", f"the key {key} of {host.name} is not approved")


def _check_budget(campaign: Campaign, hosts: Sequence[Host], offers: Sequence[Offer]) -> None:
    """A part without a price cannot be calculated; what is known must be within the budget."""
    if campaign.budget_amount is None:
        return
    cost = campaign_estimate(campaign, hosts, offers)
    if cost.known > campaign.budget_amount:
        raise InvalidValue(
            "/budget",
            f"about {shown(cost.known)} {cost.currency} are expected, more than the "
            f"{shown(campaign.budget_amount)} {campaign.budget_currency} allowed",
        )


def _audit(campaign: Campaign, action: str, actor: str, **detail: object) -> None:
    audit_record(
        actor=actor, action=action, target=campaign, detail={"name": campaign.name, **detail}
    )
