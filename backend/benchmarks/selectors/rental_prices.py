"""Cost of machines to rent: an hour, at most, and so far."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, Decimal
from uuid import UUID

from django.conf import settings

from backend.accounts.models import CloudAccount
from backend.benchmarks.calc.rented_parts import (
    LedgerKind,
    Part,
    Sending,
    hourly_price_of_parts,
    kinds_without_price,
    parts_of,
    parts_of_rental,
    traffic_cost,
    traffic_part,
)
from backend.benchmarks.models import Campaign, Resource, ResourceState, Run
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.current_prices import NEWEST_FIRST, best_prices, has_begun
from backend.catalog.selectors.extras import Tariffs, tariffs_of
from backend.catalog.selectors.price_choice import ON_DEMAND, PriceBasis
from backend.core import clock
from backend.foundation.units import EXACT, HOURS_PER_MONTH
from backend.measure.credits import UNLIMITED
from backend.measure.probes import NETWORK
from backend.measure.profiles import PROFILES, Value, most_sent_bytes
from backend.money.money import Money
from backend.money.pricing.extras import DISK, IP, Included, inclusions_of
from backend.money.pricing.periods import price_per_period
from backend.money.pricing.purchase import PurchaseModel
from backend.providers.base import PRIVATE
from backend.providers.registry import provider as provider_record
from backend.providers.rentals import STORED, charges, cost_to_reserve, lifetime_s, round_to_column


@dataclass(frozen=True)
class RentalPrice:
    """Booked and highest price of an hour of a rented machine: of a spot machine the price on
    demand, above which no provider lets it run."""

    observation_id: UUID
    hourly: Decimal
    most_hourly: Decimal
    currency: str
    parts: tuple[Part, ...] = ()
    """Parts that are charged beside it."""
    included: Included = field(default_factory=Included)
    """Traffic terms of the price."""

    def reserved(self, provider: str, life_s: int) -> Money:
        """Highest cost of a machine that may live so many seconds."""
        hourly = self.most_hourly + hourly_price_of_parts(self.parts)
        increment = provider_record(provider).increment
        traffic = traffic_cost(self.parts, None).quantize(STORED, ROUND_CEILING)
        return Money(cost_to_reserve(increment, hourly, life_s) + traffic, self.currency)


def rental_prices(offer_ids: Iterable[UUID], *, is_spot: bool) -> dict[UUID, RentalPrice]:
    """By offer; one without a price on demand is absent: nothing could be reserved for it."""
    ids = list(offer_ids)
    spot = _spot_prices(ids) if is_spot else {}
    prices = {}
    for offer_id, choice in best_prices(PriceBasis(term=ON_DEMAND), ids).items():
        most = hourly_price(choice.charge.amount, choice.currency, choice.charge.unit)
        # Without a spot price the one on demand counts: no provider charges more than that for
        # spot.
        observation_id, hourly = spot.get(offer_id, (choice.observation_id, most))
        # One amount is to be capped by the other, which two currencies cannot be.
        if hourly.currency != most.currency:
            observation_id, hourly = choice.observation_id, most
        prices[offer_id] = RentalPrice(
            observation_id,
            round_to_column(hourly.amount),
            round_to_column(most.amount),
            most.currency,
            included=inclusions_of(choice.included, None, most.currency),
        )
    return prices


def rental_price(
    price: RentalPrice | None,
    offer: Offer,
    credit_mode: str,
    account: CloudAccount | None,
    known: Tariffs,
    *,
    sending: Sending | None = None,
) -> RentalPrice | None:
    """With all that a machine (with provider) of the account costs beside its price: its parts, what
    it sends in network tests, and CPU beyond its credits at most, every vCPU busy for its whole life.
    None where that is not known.
    """
    if price is None:
        return None
    parts = _parts(offer, price.currency, account, known)
    if sending is not None:
        own = tariffs_of(known, offer.provider_id, offer.region_id)
        parts += (traffic_part(own, price.included, price.currency, sending),)
    price = replace(price, parts=parts)
    surcharge_of = provider_record(offer.provider.slug).credit_surcharge
    if credit_mode != UNLIMITED:
        return price
    if surcharge_of is None or offer.vcpu_count is None:
        return None
    surcharge = surcharge_of(offer.name)
    # One amount by the hour is booked, which two currencies cannot be.
    if surcharge.currency != price.currency:
        return None
    hourly = round_to_column(EXACT.multiply(surcharge.amount, offer.vcpu_count))
    return replace(price, hourly=price.hourly + hourly, most_hourly=price.most_hourly + hourly)


def _parts(
    offer: Offer, currency: str, account: CloudAccount | None, known: Tariffs
) -> tuple[Part, ...]:
    record = provider_record(offer.provider.slug)
    volume = record.volume(offer.name) if record.volume is not None else None
    own = dict(tariffs_of(known, offer.provider_id, offer.region_id))
    if volume is not None and volume.type != record.priced_disk:
        own.pop(DISK, None)
    is_private = account is not None and account.settings.get("address") == PRIVATE
    return parts_of_rental(
        own,
        currency,
        disk_gib=volume.size_gib if volume is not None else None,
        # Where disks are charged for by themselves addresses are; elsewhere where a price says so.
        has_address=not is_private and (volume is not None or IP in own),
    )


def run_sending(run: Run) -> Sending | None:
    """Traffic that the run's rented machine may send; None where it measures no network."""
    client: Run | None = getattr(run, "client", None)
    other, measured = run.server or client, client or run
    if (other is None and run.peer_id is None) or not measures_network(measured):
        return None
    most = most_sent_bytes(measured.profile, measured.parameters)
    return Sending(most, other is not None and is_inside(run.resource, other.resource))


def measures_network(of: Run | Campaign) -> bool:
    """True if the network tests are among its probes."""
    return NETWORK in (PROFILES[of.profile].series if of.probes is None else of.probes)


def is_inside(resource: Resource, other: Resource) -> bool:
    """True if what the machines send each other stays in one region of one account."""
    return (resource.account_id, resource.region) == (other.account_id, other.region)


def _spot_prices(offer_ids: Sequence[UUID]) -> dict[UUID, tuple[UUID, Money]]:
    """The highest of the zones' newest spot prices of each offer."""
    rows = PriceObservation.objects.filter(
        offer__in=offer_ids,
        purchase_model=PurchaseModel.SPOT,
        operating_system="linux",
        tenancy="shared",
        is_published=True,
    )
    rows = rows.filter(has_begun(clock.now().date())).order_by("offer_id", "zone", *NEWEST_FIRST)
    newest = rows.distinct("offer_id", "zone")
    prices: dict[UUID, tuple[UUID, Money]] = {}
    for row in newest:
        if row.missing_since is not None:  # not sold there any more
            continue
        hourly = hourly_price(row.amount, row.currency, row.unit)
        highest = prices.get(row.offer_id)
        # Which zone it will be is open until it is launched, so the dearest is calculated with.
        if highest is None or highest[1].amount < hourly.amount:
            prices[row.offer_id] = (row.pk, hourly)
    return prices


def rental_life_s(profile: str, parameters: Mapping[str, Value | object]) -> int:
    """Seconds that a machine may live which is rented for a run of the profile."""
    asked = parameters.get("lifetime_s")
    if isinstance(asked, int):
        return asked
    return lifetime_s(PROFILES[profile].time_cap_s, settings.BOOT_LIMIT_S)


def resource_cost(resource: Resource) -> Decimal | None:
    """Cost of a rented machine so far, in its currency; None before it was launched.

    As long as it lives up to now, else what the ledger holds: 0 for one that never was.
    """
    if resource.state == ResourceState.GONE:
        # Added up here, so that who shows many machines reads all their entries at once.
        return sum((entry.amount for entry in resource.ledger.all()), Decimal(0))
    if resource.launched_at is None or resource.hourly_amount is None:
        return None
    life = charges(
        provider_record(resource.account.provider).increment,
        resource.hourly_amount + hourly_price_of_parts(parts_of(resource.parts)),
        resource.launched_at,
        clock.now(),
    )
    sent = traffic_cost(parts_of(resource.parts), resource.run.sent_bytes or 0)
    entries = resource.ledger.all() if resource.surplus else ()
    surplus = sum(entry.amount for entry in entries if entry.kind == LedgerKind.SURPLUS)
    return sum((charge.amount for charge in life), sent + surplus)


def parts_without_price(resource: Resource) -> list[str]:
    """Kinds of what the machine is charged for without a known price: in no amount of it."""
    if resource.state == ResourceState.GONE and not resource.provider_id:  # it never was
        return []
    return kinds_without_price(parts_of(resource.parts))


def hourly_price(amount: Decimal, currency: str, unit: str) -> Money:
    """Price of an hour, from a price by any unit."""
    return Money(price_per_period(amount, unit, "hour", Decimal(HOURS_PER_MONTH)), currency)
