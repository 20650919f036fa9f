"""Campaign plans, checked against the hosts and offers that there are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from backend.accounts.models import Workspace
from backend.benchmarks.calc.campaign_document import STORED, CampaignPlan, NetworkPairs
from backend.benchmarks.models import Campaign, Host
from backend.benchmarks.selectors.costs import pair_count, rental_pairs
from backend.benchmarks.selectors.rentals import check_currency, rentals
from backend.catalog.models import Offer
from backend.catalog.selectors.offers import offers_visible
from backend.foundation.errors import InvalidValue
from backend.measure.probes import NETWORK
from backend.measure.profiles import (
    INSTALL_TOOLS,
    RENTED_ONLY,
    Value,
    check_own,
    check_parameters,
    check_probes,
)
from backend.providers.rentals import Budget

# Of one round.
MAX_RUNS = 50_000


@dataclass(frozen=True)
class CheckedPlan:
    """A plan that can be stored, with the rows that it names."""

    hosts: Sequence[Host]
    offers: Sequence[Offer]
    plan: CampaignPlan

    def put(self, campaign: Campaign) -> None:
        """Into the columns of the campaign; its hosts and offers are set when it is saved."""
        for name in STORED:
            setattr(campaign, name, getattr(self.plan, name))


def plan_checked(workspace: Workspace, plan: CampaignPlan) -> CheckedPlan:
    """The plan with the rows that it names; raises InvalidValue with the field as a JSON pointer."""
    pairs = plan.network_pairs
    check_currency(plan.budget)
    chosen = check_probes(plan.probes)
    values = _check_values(workspace, plan.parameters, pairs)
    if NETWORK in (chosen or ()) and pairs == NetworkPairs.NONE and "peer" not in values:
        raise InvalidValue("/network_pairs", "the probe network needs ring or all, or a peer")
    if not plan.hosts and not plan.offers:
        raise InvalidValue("/hosts", "at least one host or offer is needed")
    rented = _offers(workspace, plan.offers)
    if chosen == [NETWORK] and rented and not rental_pairs(pairs, rented):
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
    typed = plan.model_copy(update={"probes": chosen, "parameters": values})
    return CheckedPlan(own_hosts, rented, typed)


def _check_rented(
    workspace: Workspace,
    offers: Sequence[Offer],
    values: Mapping[str, Value],
    budget: Budget | None,
) -> None:
    """Check the needs of machines to rent, and parameters that mean nothing without them."""
    if not offers:
        for key in RENTED_ONLY:
            if key in values:
                raise InvalidValue(f"/parameters/{key}", "only machines that are rented have it")
        return
    if budget is None:
        raise InvalidValue("/budget", "machines to rent need a budget")
    rentals(workspace=workspace, offers=offers, parameters=values, field="/offers/{}")


def _check_values(
    workspace: Workspace, parameters: Mapping[str, object], pairs: str
) -> dict[str, Value]:
    values = check_parameters(parameters)
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
