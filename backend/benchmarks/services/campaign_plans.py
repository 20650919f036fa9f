"""What a campaign is asked to measure, checked against what there is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal
from uuid import UUID

from backend.accounts.models import Workspace
from backend.benchmarks.models import Campaign, Host, NetworkPairs
from backend.benchmarks.selectors.costs import pair_count, paired_rentals
from backend.benchmarks.selectors.rentals import check_currency, rentals
from backend.catalog.models import Offer
from backend.catalog.selectors.offers import offers_visible
from backend.domain.errors import InvalidValue
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

MAX_REPEATS = 50
MAX_CONCURRENCY = 10_000
# Of one round.
MAX_RUNS = 50_000


@dataclass(frozen=True, kw_only=True)
class CampaignPlan:
    """What a person states of a campaign; `offers` are slugs of machines to rent.

    Those need a budget. Tools that are missing are installed there and not on hosts, unless
    `install_tools` says the same of both.
    """

    hosts: Sequence[UUID] = ()
    offers: Sequence[str] = ()
    profile: str
    probes: Sequence[object] | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    repeats: int = 1
    concurrency: int = 4
    budget: Budget | None = None
    install_tools: bool | None = None
    network_pairs: str = NetworkPairs.NONE

    def differs_in(self, other: "CampaignPlan") -> list[str]:
        """Fields in which two plans are not alike; the order of a list means nothing."""
        return [
            one.name
            for one in fields(self)
            if _unordered(getattr(self, one.name)) != _unordered(getattr(other, one.name))
        ]


@dataclass(frozen=True)
class CheckedPlan:
    """A plan that can be stored: the rows that it names, and its values as they are kept."""

    hosts: Sequence[Host]
    offers: Sequence[Offer]
    probes: list[str] | None
    parameters: dict[str, Value]
    plan: CampaignPlan

    def put(self, campaign: Campaign) -> None:
        """Into the columns of the campaign; its hosts and offers are set when it is saved."""
        plan = self.plan
        campaign.profile, campaign.probes = plan.profile, self.probes
        campaign.parameters, campaign.network_pairs = self.parameters, plan.network_pairs
        campaign.repeats, campaign.concurrency = plan.repeats, plan.concurrency
        campaign.budget_amount = plan.budget.amount if plan.budget else None
        campaign.budget_currency = plan.budget.currency if plan.budget else ""
        campaign.install_tools = plan.install_tools


def plan_of(campaign: Campaign) -> CampaignPlan:
    """What is stored of a campaign, as a person would state it."""
    amount: Decimal | None = campaign.budget_amount
    return CampaignPlan(
        hosts=list(campaign.hosts.values_list("pk", flat=True)),
        offers=list(campaign.offers.values_list("slug", flat=True)),
        profile=campaign.profile,
        probes=campaign.probes,
        parameters=campaign.parameters,
        repeats=campaign.repeats,
        concurrency=campaign.concurrency,
        budget=None if amount is None else Budget(amount, campaign.budget_currency),
        install_tools=campaign.install_tools,
        network_pairs=campaign.network_pairs,
    )


def plan_checked(workspace: Workspace, plan: CampaignPlan) -> CheckedPlan:
    """The plan with the rows that it names; raises InvalidValue with the field as a JSON pointer."""
    profile_named(plan.profile)
    _check_within("/repeats", plan.repeats, MAX_REPEATS)
    _check_within("/concurrency", plan.concurrency, MAX_CONCURRENCY)
    pairs = plan.network_pairs
    if pairs not in NetworkPairs.values:
        known = ", ".join(NetworkPairs.values)
        raise InvalidValue("/network_pairs", f"{pairs!r} is not one of {known}")
    check_currency(plan.budget)
    chosen = checked_probes(plan.probes)
    values = _checked_values(workspace, plan.parameters, pairs)
    if NETWORK in (chosen or ()) and pairs == NetworkPairs.NONE and "peer" not in values:
        raise InvalidValue("/network_pairs", "the probe network needs ring or all, or a peer")
    if not plan.hosts and not plan.offers:
        raise InvalidValue("/hosts", "at least one host or offer is needed")
    rented = _offers(workspace, plan.offers)
    if chosen == [NETWORK] and rented and not paired_rentals(pairs, rented):
        detail = "machines to rent are measured with each other: network_pairs of them are needed"
        raise InvalidValue("/probes", detail)
    _check_rented(workspace, rented, values, plan.budget)
    own_hosts = _hosts(workspace, plan.hosts)
    if own_hosts:
        check_own(chosen)
    for index, host in enumerate(own_hosts):
        if str(host.pk) == values.get("peer"):
            raise InvalidValue(f"/hosts/{index}", "a host cannot be its own peer")
    _check_size(own_hosts, rented, plan.repeats, pairs)
    return CheckedPlan(own_hosts, rented, chosen, values, plan)


def _unordered(value: object) -> object:
    return frozenset(value) if isinstance(value, list | tuple) else value


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


def _check_within(field: str, value: int, high: int) -> None:
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
