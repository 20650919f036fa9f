"""Expected and actual cost of a campaign: time on each machine × its price.

Amounts carry 34 digits and are never rounded to cents here: twenty minutes of a machine at 0.004 an
hour are 0.00133…, not nothing. A price that is not known makes the whole unknown, and is named.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median
from typing import Any, TypeVar
from uuid import UUID

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import DecimalField, F, Func, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, Now

from backend.accounts.models import CloudAccount
from backend.benchmarks.calc.campaign_document import NetworkPairs
from backend.benchmarks.calc.rented_parts import Sending, kinds_without_price
from backend.benchmarks.models import (
    Campaign,
    Host,
    Resource,
    Run,
    RunState,
)
from backend.benchmarks.selectors.rental_accounts import (
    accounts_enabled,
    credit_mode,
    renting_account,
)
from backend.benchmarks.selectors.rental_prices import (
    hourly_price,
    measures_network,
    parts_without_price,
    rental_life_s,
    rental_price,
    rental_prices,
    resource_cost,
)
from backend.catalog.models import Offer
from backend.catalog.selectors.current_prices import best_prices
from backend.catalog.selectors.extras import tariffs
from backend.catalog.selectors.price_choice import PriceBasis
from backend.catalog.selectors.rates import rate_table
from backend.foundation.errors import UnknownRate
from backend.foundation.units import EXACT, exact_decimal
from backend.measure.probes import NETWORK, RENTED
from backend.measure.profiles import PROFILES, most_sent_bytes
from backend.money.money import Money, RateTable
from backend.money.pricing.purchase import PriceUnit, PurchaseModel

SECONDS_PER_HOUR = Decimal(3600)
# Newest first, so that hosts that are measured by a schedule for years stay one small query.
HISTORY_RUNS = 2000
DEFAULT_CURRENCY = "USD"
SHOWN_DIGITS = Decimal(1).scaleb(-10)
PAIR_PROBES = [NETWORK]

T = TypeVar("T")


class IntervalSeconds(Func):
    """An interval as a number."""

    template = "EXTRACT(EPOCH FROM %(expressions)s)"


class FirstNames(Func):
    """So many of an array as a note names, and one more."""

    template = "(%(expressions)s)[1:11]"


@dataclass(frozen=True)
class Cost:
    """An amount of money: `known` is the sum of what is known, and the whole if `unknown`,
    the names of the hosts without a price or exchange rate, is empty."""

    known: Decimal
    currency: str
    unknown: tuple[str, ...] = ()

    @property
    def amount(self) -> Decimal | None:
        """The whole; None while a part of it is unknown."""
        return None if self.unknown else self.known

    @property
    def note(self) -> str | None:
        """Why the whole is unknown, in a sentence; None when it is known."""
        return self.note_with(shown(self.known))

    def note_with(self, known: str) -> str | None:
        """The same with what is known in the digits of one's choice."""
        if not self.unknown:
            return None
        names = ", ".join(self.unknown[:10]) + (" …" if len(self.unknown) > 10 else "")
        return f"no price is known for {names}; all else is {known} {self.currency}"


def shown(amount: Decimal) -> str:
    """The amount with up to ten decimals, as the database keeps prices."""
    text = format(EXACT.quantize(amount, SHOWN_DIGITS), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def part_of(kind: str, machine_type: str) -> str:
    """A part of a machine, for the note that its price is not known."""
    return f"{kind} of {machine_type}"


# --- what is to be done ---------------------------------------------------------------------------


def pairs_of_machines(kind: str, hosts: Sequence[T]) -> list[tuple[T, T]]:
    """Pairs (client, server) of a campaign's network tests, of its hosts or of the machines that it
    rents; each is measured both ways.

    A ring of two hosts is one pair.
    """
    if kind == NetworkPairs.RING:
        ends = [*hosts[1:], hosts[0]] if len(hosts) > 2 else hosts[1:]
        return list(zip(hosts, ends, strict=False))
    if kind == NetworkPairs.ALL:
        return [(first, other) for at, first in enumerate(hosts) for other in hosts[at + 1 :]]
    return []


def rental_pairs(kind: str, rented: Sequence[T]) -> list[tuple[T, T]]:
    """The same of machines to rent, of which each can be had twice."""
    return (
        [(rental, rental) for rental in rented]
        if kind == NetworkPairs.TWINS
        else pairs_of_machines(kind, rented)
    )


def pair_count(kind: str, hosts: int) -> int:
    """How many pairs so many hosts make; those of ten thousand are too many to be listed."""
    if kind == NetworkPairs.RING:
        return hosts if hosts > 2 else max(hosts - 1, 0)
    return hosts * (hosts - 1) // 2 if kind == NetworkPairs.ALL else 0


def host_probes(campaign: Campaign) -> list[str] | None:
    """Probes of the hosts' own runs; [] = there are none of these runs."""
    if campaign.probes is None or campaign.network_pairs == NetworkPairs.NONE:
        return campaign.probes
    return [probe for probe in campaign.probes if probe != NETWORK]


@dataclass(frozen=True)
class Durations:
    """Expected seconds of a run: the median of the finished ones of the same host, else the
    profile's time cap."""

    past: Mapping[tuple[UUID, tuple[str, ...] | None], float]
    cap_s: float

    def of(self, host_id: UUID, probes: Sequence[str] | None) -> float:
        return self.past.get((host_id, _key(probes)), self.cap_s)


def durations(profile: str, host_ids: Iterable[UUID]) -> Durations:
    """How long runs of the profile took on the hosts (one query)."""
    rows = Run.objects.filter(
        host__in=list(host_ids), profile=profile, state=RunState.DONE, runner_s__isnull=False
    ).order_by("-finished_at")
    past: dict[tuple[UUID, tuple[str, ...] | None], list[float]] = defaultdict(list)
    for host_id, probes, runner_s in rows.values_list("host_id", "probes", "runner_s")[
        :HISTORY_RUNS
    ]:
        past[host_id, _key(probes)].append(runner_s or 0.0)
    return Durations(
        {key: median(seconds) for key, seconds in past.items()}, PROFILES[profile].time_cap_s
    )


def _key(probes: Sequence[str] | None) -> tuple[str, ...] | None:
    # The order in which probes are named changes nothing of what they take.
    return None if probes is None else tuple(sorted(probes))


# --- estimate and bill ------------------------------------------------------------------------------


def campaign_estimate(
    campaign: Campaign, hosts: Sequence[Host], offers: Sequence[Offer] = ()
) -> Cost:
    """Expected cost of one round of the campaign.

    The time is that of the machines: a network pair occupies two. A machine to rent is calculated
    with all the time that it may live and all that it may send, for which its budget is reserved.
    """
    expected = durations(campaign.profile, [host.pk for host in hosts])
    bill = _Bill.of(campaign, {host.offer_id for host in hosts})
    probes = host_probes(campaign)
    is_spot = campaign.parameters.get("purchase_model") == PurchaseModel.SPOT
    life_s = rental_life_s(campaign.profile, campaign.parameters)
    prices = rental_prices([offer.pk for offer in offers], is_spot=is_spot)
    accounts = accounts_enabled(campaign.workspace_id) if offers else []
    known = tariffs() if offers else {}
    for offer, sending in _to_rent(campaign, offers, accounts, is_alone=probes != []):
        account = renting_account(accounts, offer)
        mode = credit_mode(account, offer, campaign.parameters)
        price = rental_price(prices.get(offer.pk), offer, mode, account, known, sending=sending)
        for kind in kinds_without_price(price.parts) if price else ():
            bill.add_amount([part_of(kind, offer.name)], None)
        for _ in range(campaign.repeats):
            cost = price.reserved(offer.provider.slug, life_s) if price else None
            bill.add_amount([offer.name], cost)
    for host in hosts if probes != [] else ():
        bill.add(host.offer_id, [host.name], expected.of(host.pk, probes) * campaign.repeats)
    for client, server in pairs_of_machines(campaign.network_pairs, hosts):
        seconds = expected.of(client.pk, PAIR_PROBES) * campaign.repeats
        bill.add(client.offer_id, [client.name], seconds)
        bill.add(server.offer_id, [server.name], seconds)
    return bill.total()


def _to_rent(
    campaign: Campaign,
    offers: Sequence[Offer],
    accounts: Sequence[CloudAccount],
    *,
    is_alone: bool,
) -> Iterator[tuple[Offer, Sending | None]]:
    """Each machine by itself, and two machines of each pair, with what it may send."""
    parameters = {RENTED: "", **campaign.parameters}
    most, measures = most_sent_bytes(campaign.profile, parameters), measures_network(campaign)
    for offer in offers if is_alone else ():
        has_peer = measures and "peer" in campaign.parameters
        yield offer, Sending(most, is_inside=False) if has_peer else None
    for pair in rental_pairs(campaign.network_pairs, offers):
        rented = {(renting_account(accounts, offer), offer.region_id) for offer in pair}
        sending = Sending(most, is_inside=len(rented) == 1) if measures else None
        yield from ((offer, sending) for offer in pair)


def campaign_cost(campaign: Campaign) -> Cost:
    """Cost of the campaign's newest round so far, in a few queries whatever its size.

    From the first claim to the end, or to now, at the price in force when the run began, or where
    that was no price by the time, at the one in force now; of a rented machine what its ledger says.
    """
    begun = Run.objects.filter(
        campaign=campaign, round=campaign.round, started_at__isnull=False
    ).order_by()
    took = Coalesce("finished_at", Now()) - F("started_at")
    is_hourly = Q(price__isnull=False) & ~Q(price__unit=PriceUnit.ONCE)

    def groups(runs: QuerySet[Run], end: str, *keys: str, **sums: Sum) -> list[dict[str, Any]]:
        names = FirstNames(ArrayAgg(f"{end}__name", distinct=True))
        return list(runs.values(*keys).annotate(**sums, names=names))

    own = begun.filter(resource=None)
    spent = Sum(F("price__amount") * IntervalSeconds(took, output_field=DecimalField()))
    priced = groups(own.filter(is_hourly), "host", "price__currency", "price__unit", spent=spent)
    others = groups(own.exclude(is_hourly), "host", "host__offer_id", took=Sum(took))
    has_peers = campaign.network_pairs != NetworkPairs.NONE or "peer" in campaign.parameters
    # A rented peer has a run of its own.
    paired_runs = begun.filter(peer__is_rented=False) if has_peers else Run.objects.none()
    peers = groups(paired_runs, "peer", "peer__offer_id", took=Sum(took))
    bill = _Bill.of(
        campaign,
        {*(row["host__offer_id"] for row in others), *(peer["peer__offer_id"] for peer in peers)},
    )
    for group in priced:
        hourly = hourly_price(group["spent"], group["price__currency"], group["price__unit"])
        bill.add_amount(group["names"], _per_second(hourly))
    for group in others:
        bill.add(group["host__offer_id"], group["names"], group["took"].total_seconds())
    for group in peers:
        bill.add(group["peer__offer_id"], group["names"], group["took"].total_seconds())
    rented = Resource.objects.filter(run__in=begun).exclude(currency="")
    for resource in rented.select_related("account", "run__host").prefetch_related("ledger"):
        amount = resource_cost(resource) or Decimal(0)
        bill.add_amount([resource.run.host.name], Money(amount, resource.currency))
        for kind in parts_without_price(resource):
            bill.add_amount([part_of(kind, resource.machine_type)], None)
    return bill.total()


class _Bill:
    """Adds up machine time at hourly prices in one currency."""

    def __init__(self, currency: str, prices: Mapping[UUID, Money], rates: RateTable) -> None:
        self._currency = currency
        self._prices = prices
        """Offer → price of an hour, as quoted."""
        self._rates = rates
        self._known = Decimal(0)
        self._unknown: dict[str, None] = {}

    @classmethod
    def of(cls, campaign: Campaign, offer_ids: Collection[UUID]) -> "_Bill":
        """With the prices in force of the offers."""
        currency = campaign.budget_currency or DEFAULT_CURRENCY
        chosen = best_prices(PriceBasis(currency=currency), list(offer_ids)) if offer_ids else {}
        prices = {
            offer_id: hourly_price(choice.charge.amount, choice.currency, choice.charge.unit)
            for offer_id, choice in chosen.items()
        }
        return cls(currency, prices, rate_table())

    def add(self, offer_id: UUID, names: Iterable[str], seconds: float) -> None:
        """Charge the time of machines of an offer, at the price in force."""
        hourly = self._prices.get(offer_id)
        if hourly is None:
            self.add_amount(names, None)
            return
        amount = EXACT.multiply(hourly.amount, exact_decimal(seconds))
        self.add_amount(names, _per_second(Money(amount, hourly.currency)))

    def add_amount(self, names: Iterable[str], cost: Money | None) -> None:
        """Charge what machines of these names cost; None when that is not known."""
        try:
            if cost is None:
                raise UnknownRate(self._currency)
            charged = self._rates.convert(cost, self._currency)
        except UnknownRate:
            self._unknown |= dict.fromkeys(names)
            return
        self._known = EXACT.add(self._known, charged.amount)

    def total(self) -> Cost:
        return Cost(self._known, self._currency, tuple(self._unknown))


def _per_second(hourly: Money) -> Money:
    return Money(EXACT.divide(hourly.amount, SECONDS_PER_HOUR), hourly.currency)
