"""Writes of campaigns: make one, start a round of it, end it early, do again what failed.

The workspace is locked before anything else, here and where a run is made or ends (services), so
that nobody waits for somebody who waits for them.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db import IntegrityError, transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.benchmarks.models import (
    TERMINAL_STATES,
    Campaign,
    CampaignState,
    Host,
    HostState,
    NetworkPairs,
    RoundStart,
    Run,
)
from backend.benchmarks.selectors.costs import (
    campaign_cost,
    campaign_estimate,
    host_probes,
    pair_count,
    paired,
    paired_rentals,
    shown,
)
from backend.benchmarks.selectors.hosts import fingerprint
from backend.benchmarks.selectors.rentals import Rental, check_currency, rentals
from backend.benchmarks.selectors.rounds import NOT_DONE, current_runs, round_runs
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
from backend.catalog.selectors.offers import offers_visible
from backend.domain.errors import DomainError, InvalidValue
from backend.domain.probes import NETWORK
from backend.domain.profiles import (
    INSTALL_TOOLS,
    RENTED_ONLY,
    Value,
    check_own,
    checked_parameters,
    checked_probes,
    profile_named,
)
from backend.domain.rentals import Budget
from backend.notifications.services.subscriptions import campaign_subscriptions_delete

MAX_REPEATS = 50
MAX_CONCURRENCY = 10_000
# Of one round.
MAX_RUNS = 50_000


class CampaignActive(DomainError):
    """What was asked for has to wait for the end of the round that is running."""


def _check_name(workspace: Workspace, name: str) -> None:
    if not name.strip() or len(name) > 100 or not name.isprintable():
        raise InvalidValue("/name", "1 to 100 printable characters are needed")
    if Campaign.objects.filter(workspace=workspace, name=name).exists():
        raise _name_taken(name)


def _name_taken(name: str) -> InvalidValue:
    return InvalidValue("/name", f"a campaign named {name!r} exists")


def _insert(campaign: Campaign) -> None:
    try:
        # A savepoint: after the refusal the outer transaction must still be usable.
        with transaction.atomic():
            campaign.save(force_insert=True)
    except IntegrityError:
        raise _name_taken(campaign.name) from None


@transaction.atomic
def campaign_create(
    *,
    workspace: Workspace,
    name: str,
    hosts: Sequence[UUID] = (),
    offers: Sequence[str] = (),
    profile: str,
    probes: Sequence[object] | None = None,
    parameters: Mapping[str, object] | None = None,
    repeats: int = 1,
    concurrency: int = 4,
    budget: Budget | None = None,
    install_tools: bool | None = None,
    network_pairs: str = NetworkPairs.NONE,
    actor: str,
) -> Campaign:
    """A campaign in draft; raises InvalidValue with the field as a JSON pointer.

    `offers` are slugs of machines to rent, for which a budget is needed. Tools that are missing are
    installed there and not on hosts, unless `install_tools` says the same of both.
    """
    _check_name(workspace, name)
    profile_named(profile)
    _check_number("/repeats", repeats, MAX_REPEATS)
    _check_number("/concurrency", concurrency, MAX_CONCURRENCY)
    if network_pairs not in NetworkPairs.values:
        known = ", ".join(NetworkPairs.values)
        raise InvalidValue("/network_pairs", f"{network_pairs!r} is not one of {known}")
    check_currency(budget)
    chosen = checked_probes(probes)
    values = _checked_values(workspace, parameters or {}, network_pairs)
    if NETWORK in (chosen or ()) and network_pairs == NetworkPairs.NONE and "peer" not in values:
        raise InvalidValue("/network_pairs", "the probe network needs ring or all, or a peer")
    if not hosts and not offers:
        raise InvalidValue("/hosts", "at least one host or offer is needed")
    rented = _offers(workspace, offers)
    if chosen == [NETWORK] and rented and not paired_rentals(network_pairs, rented):
        detail = "machines to rent are measured with each other: network_pairs of them are needed"
        raise InvalidValue("/probes", detail)
    _check_rented(workspace, rented, values, budget)
    own_hosts = _hosts(workspace, hosts)
    if own_hosts:
        check_own(chosen)
    for index, host in enumerate(own_hosts):
        if str(host.pk) == values.get("peer"):
            raise InvalidValue(f"/hosts/{index}", "a host cannot be its own peer")
    _check_size(own_hosts, rented, repeats, network_pairs)
    campaign = Campaign(
        workspace=workspace,
        name=name,
        profile=profile,
        probes=chosen,
        parameters=values,
        repeats=repeats,
        concurrency=concurrency,
        budget_amount=budget.amount if budget else None,
        budget_currency=budget.currency if budget else "",
        install_tools=install_tools,
        network_pairs=network_pairs,
    )
    _insert(campaign)
    campaign.hosts.set(own_hosts)
    campaign.offers.set(rented)
    sizes = {"hosts": len(own_hosts), "offers": len(rented)}
    _audit(campaign, "campaign_create", actor, **sizes, profile=profile)
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
    once += paired(campaign.network_pairs, hosts)
    once += [(rental, None) for rental in to_rent if has_runs]
    rented_pairs = paired_rentals(campaign.network_pairs, to_rent)
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
        to_rent = {one.offer.pk: one for one in campaign_rentals(campaign, offers)}
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


def _check_rented(
    workspace: Workspace,
    offers: Sequence[Offer],
    values: Mapping[str, Value],
    budget: Budget | None,
) -> None:
    """What machines to rent need, and what means nothing without them."""
    if not offers:
        for key in RENTED_ONLY:
            if key in values:
                raise InvalidValue(f"/parameters/{key}", "only machines that are rented have it")
        return
    if budget is None:
        raise InvalidValue("/budget", "machines to rent need a budget")
    rentals(workspace=workspace, offers=offers, parameters=values, field="/offers/{}")


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


def _check_number(field: str, value: int, high: int) -> None:
    # A JSON true is an int to Python.
    if isinstance(value, bool) or not 1 <= value <= high:
        raise InvalidValue(field, f"{value} is not within 1 … {high}")


def _checked_values(
    workspace: Workspace, parameters: Mapping[str, object], pairs: str
) -> dict[str, Value]:
    values = checked_parameters(parameters)
    if INSTALL_TOOLS in values:
        raise InvalidValue(f"/parameters/{INSTALL_TOOLS}", "it is a field of the campaign itself")
    for name in ("peer", "peer_address"):
        if name in values and pairs != NetworkPairs.NONE:
            raise InvalidValue(f"/parameters/{name}", "network_pairs names the peers already")
    peer = values.get("peer")
    if peer is not None and not Host.objects.filter(workspace=workspace, pk=str(peer)).exists():
        raise InvalidValue("/parameters/peer", f"no host has the id {peer}")
    return values


def _hosts(workspace: Workspace, ids: Sequence[UUID]) -> list[Host]:
    known = Host.objects.select_related("offer").filter(workspace=workspace).in_bulk(list(ids))
    named: set[UUID] = set()
    for index, identifier in enumerate(ids):
        if identifier not in known:
            raise InvalidValue(f"/hosts/{index}", f"no host has the id {identifier}")
        if identifier in named:
            raise InvalidValue(f"/hosts/{index}", "the host is named twice")
        if known[identifier].is_rented:
            raise InvalidValue(
                f"/hosts/{index}", "the host is rented for one run, and ends with it"
            )
        named.add(identifier)
    return [known[identifier] for identifier in ids]


def _offers(workspace: Workspace, slugs: Sequence[str]) -> list[Offer]:
    known = {offer.slug: offer for offer in offers_visible(workspace.slug).filter(slug__in=slugs)}
    for index, slug in enumerate(slugs):
        if slug not in known:
            raise InvalidValue(f"/offers/{index}", f"no offer is called {slug!r}")
        if slug in slugs[:index]:
            raise InvalidValue(f"/offers/{index}", "the offer is named twice")
    return [known[slug] for slug in slugs]


def _check_size(hosts: Sequence[Host], offers: Sequence[Offer], repeats: int, pairs: str) -> None:
    rented = len(offers) if pairs == NetworkPairs.TWINS else pair_count(pairs, len(offers))
    if pairs != NetworkPairs.NONE and not rented and not pair_count(pairs, len(hosts)):
        raise InvalidValue("/network_pairs", "a pair needs two hosts or two machines to rent")
    count = repeats * (len(hosts) + len(offers) + pair_count(pairs, len(hosts)) + 2 * rented)
    if count > MAX_RUNS:
        field = "/repeats" if pairs == NetworkPairs.NONE else "/network_pairs"
        raise InvalidValue(field, f"{count} runs are more than the {MAX_RUNS} of a round")


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
        workspace=campaign.workspace,
        actor=actor,
        action=action,
        target=campaign,
        detail={"name": campaign.name, **detail},
    )
