"""Price lists as observations: what is new is appended, what vanished is stale, what is not
plausible waits for a person. The same list again changes nothing."""

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import islice
from typing import Any

from django.db import transaction
from django.db.models import Max

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import demand_owner
from backend.catalog.models import (
    Offer,
    PriceFeed,
    PriceObservation,
    Provider,
    Region,
    UnpricedType,
)
from backend.catalog.selectors.price_before import price_before, price_words
from backend.catalog.selectors.published_prices import (
    PRICE_COLUMNS,
    StoredPrice,
    on_demand,
    prices_in_force,
    prices_not_accepted,
    prices_to_come,
)
from backend.catalog.selectors.waiting_prices import waiting_lists
from backend.catalog.services.current_prices import prices_refresh
from backend.catalog.services.data_version import data_version_bump
from backend.catalog.services.extras import record_list_extras
from backend.catalog.services.feeds import payload_keep
from backend.catalog.services.offers import provider_get, region_get
from backend.catalog.services.price_changes import PriceChanges, StoredList, price_changes
from backend.catalog.services.price_list_offers import ListedOffers, offers_record
from backend.core import clock
from backend.foundation.errors import InvalidValue
from backend.money.price_lists import ParsedExtra, ParsedPrice, ParsedType, Result
from backend.money.price_lists.answers import shown
from backend.money.price_lists.collected import Collected
from backend.money.price_lists.quarantine import LIMITS
from backend.money.pricing.purchase import PurchaseModel
from backend.providers.registry import provider as provider_record
from backend.providers.spool import Payload

BATCH = 2000
# What counts when a person knows that much of a list is gone for good.
SHRINKING = replace(LIMITS, missing=Decimal(1), is_currency_free=True)
MOMENT = dt.timedelta(microseconds=1)
# What a feed keeps of the report on its last list.
SUMMARY = (
    "priced",
    "published",
    "unchanged",
    "announced",
    "quarantined",
    "refused",
    "missing",
    "returned",
    "new_types",
    "unpriced",
    "skipped",
)


@dataclass
class ImportReport:
    """How many of each; `skipped` are rows without a price by their reason.

    `quarantined` are prices that wait for a person, those of earlier lists among them; `refused`
    are as a person refused them before; `announced` begin on a later day. `incomplete`
    names regions of which so much was missing that nothing new was published.
    """

    priced: int = 0
    published: int = 0
    unchanged: int = 0
    announced: int = 0
    quarantined: int = 0
    refused: int = 0
    missing: int = 0
    returned: int = 0
    new_types: int = 0
    unpriced: int = 0
    extras: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    incomplete: list[str] = field(default_factory=list)
    movements: list[str] = field(default_factory=list)
    """How the prices of each list that wait differ from those in force, a sentence a list."""
    feeds: list[str] = field(default_factory=list)
    """provider/kind/region of each list."""
    is_changed: bool = False
    """True if any row of the catalog is not as before."""

    def add(self, other: "ImportReport") -> None:
        """Count what became of another list, too."""
        for name, value in vars(other).items():
            if name not in {"skipped", "is_changed"}:
                setattr(self, name, getattr(self, name) + value)
        self.skipped = dict(Counter(self.skipped) + Counter(other.skipped))
        self.is_changed |= other.is_changed


def feed_get(*, provider: str, kind: str, region: str = "") -> PriceFeed:
    """The list, made on first use; one that is made here is not fetched by itself."""
    feed, _ = PriceFeed.objects.get_or_create(
        provider=provider_get(slug=provider),
        kind=kind,
        region=region,
        defaults={"is_enabled": False},
    )
    return feed


def prices_record(
    *,
    provider: str,
    feed_kind: str,
    region: str | None,
    results: Iterable[Result] | Collected,
    observed_at: dt.datetime,
    payload: Payload | None = None,
    is_shrinking_ok: bool = False,
) -> ImportReport:
    """Take over a whole list: all of it or, when its parser or the database raises, nothing.

    `region` is the one that the list is of, "" for a list of all regions, None for one that is
    to be divided into lists of a region each. The list is compared with the prices published
    last of the same list. Results that are already Collected, on the day of
    `observed_at`, are used up by it.
    `is_shrinking_ok`: a person knows that much of it is gone for good, or is stated in another
    currency now.
    """
    answer = (
        results if isinstance(results, Collected) else Collected.of(results, observed_at.date())
    )
    with transaction.atomic():
        maker = provider_get(slug=provider)
        # Two lists of one provider make the same offers.
        Provider.objects.select_for_update(no_key=True).get(pk=maker.pk)
        regions = (answer.regions or [""]) if region is None else [region]
        feeds = [feed_get(provider=provider, kind=feed_kind, region=code) for code in regions]
        report = ImportReport()
        for feed in feeds:
            own = answer if region is not None else _part(answer, feed, is_first=feed is feeds[0])
            at = _after_all_before(feed, observed_at)
            report.add(_List(feed, own, at, payload, is_shrinking_ok).record())
        # One answer may hold the lists of many regions; it is kept once, with the first of them.
        if payload is not None:
            payload_keep(feed=feeds[0], payload=payload, fetched_at=observed_at)
        if report.is_changed:
            prices_refresh()
            data_version_bump()
    return report


def _after_all_before(feed: PriceFeed, observed_at: dt.datetime) -> dt.datetime:
    """The time, or the first behind all that was read of the list.

    What is read later supersedes, whatever the clock did in between.
    """
    newest = PriceObservation.objects.filter(feed=feed).aggregate(at=Max("observed_at"))["at"]
    return observed_at if newest is None else max(observed_at, newest + MOMENT)


def _part(answer: Collected, feed: PriceFeed, *, is_first: bool) -> Collected:
    """Part of an answer for a list of one region; what belongs to none goes to the first."""
    code, known = feed.region, set(answer.regions)

    def is_own(region: str) -> bool:
        return region == code or (is_first and region not in known)

    return Collected(
        prices={code: answer.prices.get(code, [])},
        announced={code: answer.announced.get(code, [])},
        types={code: answer.types.get(code, [])},
        extras=[extra for extra in answer.extras if is_own(extra.region)],
        skipped=answer.skipped if is_first else Counter(),
        unpriced=[row for row in answer.unpriced if is_own(row.region)],
    )


@dataclass
class _List:
    """A list on its way into the catalog."""

    feed: PriceFeed
    answer: Collected
    at: dt.datetime
    payload: Payload | None
    is_shrinking_ok: bool
    report: ImportReport = field(default_factory=ImportReport)
    incomplete: dict[str, str] = field(default_factory=dict)
    """Region → since when its list has not been whole."""

    def record(self) -> ImportReport:
        """Write all of it, region by region."""
        before: Mapping[str, str] = self.feed.summary.get("incomplete", {})
        for code in self._regions():
            since = before.get(code)
            self._region(code, dt.datetime.fromisoformat(since) if since else None)
            # Each region is let go when it is done.
            self.answer.prices.pop(code, None)
            self.answer.announced.pop(code, None)
            self.answer.types.pop(code, None)
        self._store_reasons()
        self.report.is_changed |= record_list_extras(
            provider=self.feed.provider, extras=self.answer.extras, observed_on=self.at.date()
        )
        self.report.incomplete = list(self.incomplete)
        names = (self.feed.provider.slug, self.feed.kind, self.feed.region)
        self.report.feeds = ["/".join(filter(None, names))]
        self.report.unpriced = len(self.answer.unpriced)
        self.report.extras = len(self.answer.extras)
        skipped = sorted(self.answer.skipped.items())
        self.report.skipped = {str(reason): count for reason, count in skipped}
        self._finish()
        if self.report.quarantined:
            waiting = waiting_lists([self.feed])
            self.report.movements = list(
                filter(None, (price.movement.sentence for price in waiting))
            )
        return self.report

    def _regions(self) -> list[str]:
        """Regions of the answer, and those that it had before."""
        rows = PriceObservation.objects.filter(feed=self.feed, missing_since=None)
        codes = rows.order_by().values_list("offer__region__code", flat=True).distinct()
        return sorted({*self.answer.regions, *(code or "" for code in codes)})

    def _region(self, code: str, incomplete_since: dt.datetime | None) -> None:
        prices, day = self.answer.prices.get(code, []), self.at.date()
        announced_prices = self.answer.announced.get(code, [])
        region = region_get(provider=self.feed.provider, code=code) if code else None
        machines = self._machines(
            region, [*prices, *announced_prices], self.answer.types.get(code, [])
        )
        changes = price_changes(
            prices,
            announced_prices,
            StoredList(
                prices_in_force(self.feed, region, day),
                prices_not_accepted(self.feed, region, day),
                prices_to_come(self.feed, region, day),
            ),
            incomplete_since=incomplete_since,
            beside=self._beside(prices, region),
            vcpus={
                (self.feed.provider.slug, code, name): offer.vcpu_count
                for name, offer in machines.offers.items()
            },
            family=provider_record(self.feed.provider.slug).family_of,
            limits=SHRINKING if self.is_shrinking_ok else LIMITS,
        )
        if changes.is_incomplete:
            self.incomplete[code] = (incomplete_since or self.at).isoformat()
        self._write(changes, machines.offers)
        self._count(changes, machines, len(prices))

    def _machines(
        self, region: Region | None, prices: Sequence[ParsedPrice], types: Sequence[ParsedType]
    ) -> ListedOffers:
        return offers_record(
            provider=self.feed.provider,
            region=region,
            names=[price.offer for price in prices],
            types=types,
            source=prices[0].source if prices else f"{self.feed.provider.name} price list",
            stated_on=self.at.date(),
        )

    def _beside(self, prices: Sequence[ParsedPrice], region: Region | None) -> list[StoredPrice]:
        if all(price.purchase_model is PurchaseModel.ON_DEMAND for price in prices):
            return []
        return on_demand(self.feed.provider, region, but=self.feed)

    def _write(self, changes: PriceChanges, offers: Mapping[str, Offer]) -> None:
        stamp = {
            "feed": self.feed,
            "observed_at": self.at,
            "payload_sha256": self.payload.sha256 if self.payload else "",
        }
        # A generator: of the rows of a long list only one batch is in memory.
        new = (
            observation(price, anomaly, offers[price.offer], stamp)
            for price, anomaly in changes.append
        )
        while batch := list(islice(new, BATCH)):
            PriceObservation.objects.bulk_create(batch)
        vanished = [*changes.missing, *changes.withdrawn]
        # Flags only: what a price says is never changed, so that the past can be ranked again.
        rows = PriceObservation.objects
        rows.filter(pk__in=changes.publish).update(is_published=True)
        rows.filter(pk__in=changes.returned).update(missing_since=None)
        rows.filter(pk__in=vanished).update(missing_since=self.at)

    def _count(self, changes: PriceChanges, machines: ListedOffers, priced: int) -> None:
        report = self.report
        report.priced += priced
        report.published += changes.published
        report.unchanged += changes.unchanged
        report.announced += changes.announced
        report.quarantined += changes.quarantined
        report.refused += changes.refused
        report.missing += len(changes.missing)
        report.returned += len(changes.returned)
        report.new_types += machines.new
        report.is_changed |= bool(
            machines.new
            or machines.changed
            or changes.append
            or changes.publish
            or changes.returned
            or changes.missing
            or changes.withdrawn
        )

    def _store_reasons(self) -> None:
        """Make the stored reasons those of this list."""
        unpriced = {
            (row.region, row.offer): (str(row.reason), row.detail) for row in self.answer.unpriced
        }
        gone = []
        for row in UnpricedType.objects.filter(feed=self.feed):
            if unpriced.get((row.region, row.name)) == (row.reason, row.detail):
                del unpriced[row.region, row.name]
            else:
                gone.append(row.pk)
        if gone:
            UnpricedType.objects.filter(pk__in=gone).delete()
        UnpricedType.objects.bulk_create(
            [
                UnpricedType(feed=self.feed, region=region, name=name, reason=reason, detail=detail)
                for (region, name), (reason, detail) in unpriced.items()
            ],
            batch_size=BATCH,
        )
        self.report.is_changed |= bool(gone or unpriced)

    def _finish(self) -> None:
        """Note on the feed what is on this list, and that the provider sent it now."""
        summary = {name: value for name, value in vars(self.report).items() if name in SUMMARY}
        summary["incomplete"] = self.incomplete
        summary["extras"] = [_extra(extra) for extra in self.answer.extras]
        stamps = {"checked_at": self.at} | (
            {"changed_at": self.at} if self.report.is_changed else {}
        )
        PriceFeed.objects.filter(pk=self.feed.pk).update(summary=summary, **stamps)


def observation(
    price: ParsedPrice, anomaly: str, offer: Offer, stamp: Mapping[str, Any]
) -> PriceObservation:
    """A new row for the price, unpublished when there is an anomaly; `stamp` are the columns that
    all rows of one reading share."""
    columns = {name: getattr(price, name) for name in PRICE_COLUMNS}
    columns["raw_id"] = shown(price.raw_id)
    # Amounts within are decimals; JSON columns know none.
    columns["included"] = json.loads(json.dumps(dict(price.included), default=str))
    return PriceObservation(
        offer=offer,
        purchase_model=price.purchase_model,
        unit=price.unit,
        is_published=not anomaly,
        anomaly=anomaly,
        **columns,
        **stamp,
    )


def _extra(extra: ParsedExtra) -> dict[str, str | None]:
    return {
        "region": extra.region,
        "name": extra.name,
        "amount": format(extra.amount, "f"),
        "currency": extra.currency,
        "unit": extra.unit,
        "monthly_cap": None if extra.monthly_cap is None else format(extra.monthly_cap, "f"),
        "note": extra.note,
    }


@transaction.atomic
def price_review(
    *,
    workspace: Workspace,
    observation: PriceObservation,
    is_accepted: bool,
    actor: str,
    reason: str,
) -> PriceObservation:
    """A person's word on a price in quarantine: it is published, or stays out for good.

    The same price is not asked about again. Raises InvalidValue for one that does not wait (any
    more) and without a reason, NotOwned for one of another workspace.
    """
    demand_owner(workspace, observation)
    row = PriceObservation.objects.select_for_update().get(pk=observation.pk)
    if not reason.strip():
        raise InvalidValue("/reason", "a reason is needed")
    if row.is_published or row.reviewed_at is not None:
        raise InvalidValue("/price", "does not wait for anybody")
    if row.missing_since is not None:
        raise InvalidValue("/price", "is not on the provider's list any more")
    old = price_before(row)
    row.is_published = is_accepted
    row.reviewed_by, row.reviewed_at = actor, clock.now()
    row.save(update_fields=["is_published", "reviewed_by", "reviewed_at"])
    audit_record(
        workspace=workspace,
        actor=actor,
        action="price_accept" if is_accepted else "price_refuse",
        target=row,
        detail={
            "offer": row.offer.slug,
            "price": price_words(row),
            "old_price": old and price_words(old),
            "doubt": row.anomaly,
            "reason": reason.strip(),
        },
    )
    data_version_bump()
    return row
