"""Rows of tables that a person sends, on their way into the catalog: quotes, and offers of one's own.

Good rows are stored and bad ones told. What a table names belongs to the workspace: nobody else
sees an offer that was made for it, and what providers sell to everybody is left alone.
"""

import datetime as dt
import difflib
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.text import slugify

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record, audit_record_changes
from backend.catalog.calc.tables.offer_rows import FACTS, OfferRow, ParsedTable, PriceRow
from backend.catalog.calc.tables.tables import Remark
from backend.catalog.models import Offer, PriceObservation, Provider, Region
from backend.catalog.selectors.cpu_credits import credit_figures
from backend.catalog.selectors.current_prices import IDENTITY
from backend.catalog.selectors.read_prices import as_quoted
from backend.catalog.services.data_version import data_version_bump
from backend.catalog.services.offers import provider_get, region_get
from backend.catalog.services.plausible import PriceJudge
from backend.catalog.services.prices import price_delete
from backend.core.slugs import MOST_OF_OFFER, offer_slug
from backend.providers.registry import PROVIDERS

BATCH = 1000
# How alike two slugs of providers are of which one may be a slip of the other.
NEAR = 0.8
LEARNT = (*FACTS, "kind", "note")
# Fields in which an observation read again agrees with the one stored.
SAME = ("amount", "unit", "setup_amount", "tax_basis", "tax_rate", "minimum_months", "valid_until")


@dataclass(frozen=True)
class LineReading:
    """A line as it was read; `why` says what it waits for."""

    line: int
    offer: str
    price: str
    day: str
    state: str
    """new, replaced, unchanged or waiting."""
    why: str = ""


@dataclass
class TableReport:
    """The outcome of a table; `rows` counts the good and the refused ones."""

    is_dry: bool
    rows: int = 0
    offers_new: int = 0
    offers_changed: int = 0
    offers_unchanged: int = 0
    """Lines of an export whose offer is known with the same figures."""
    prices_new: int = 0
    prices_unchanged: int = 0
    prices_replaced: int = 0
    prices_waiting: int = 0
    refused: list[Remark] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    recalled: str = ""
    """Slug of the hoster whose last table says how this one is read."""
    lines: list[LineReading] = field(default_factory=list)
    """How each line with a price was read, and what comes of it."""

    def as_document(self) -> dict[str, Any]:
        return asdict(self)


class TableImport:
    """A table on its way into the catalog; `action` is its name in the audit trail.

    What a row tells of a known offer replaces what was known if it `is_learning`, else it only fills
    in. `is_replacing` corrects another price of the same day. `known_providers` are names that are
    no slips of a similar provider's.
    """

    def __init__(
        self,
        workspace: Workspace,
        action: str,
        actor: str,
        *,
        is_learning: bool,
        is_replacing: bool,
        known_providers: Collection[str],
    ) -> None:
        self.workspace = workspace
        self.action = action
        self.actor = actor
        self.is_learning = is_learning
        self.is_replacing = is_replacing
        self.known_providers = known_providers
        self.slugs: dict[tuple[str, str, str], str] = {}
        self.slips: dict[str, str] = {}
        self.stated: set[str] = set()
        self.replaced: list[tuple[PriceObservation, PriceObservation]] = []
        self.regions: dict[tuple[str, str], tuple[Provider, Region | None]] = {}
        self.offers: dict[str, Offer] = {}
        self.new: dict[str, Offer] = {}
        self.changed: dict[str, Offer] = {}
        self.prices: dict[tuple[Any, ...], tuple[int, PriceObservation]] = {}

    @transaction.atomic
    def run(self, table: ParsedTable, *, is_dry: bool) -> TableReport:
        self.report = TableReport(is_dry, table.total, warnings=list(table.warnings))
        self.report.refused = list(table.refused)
        if table.rows:
            # Two imports at once would both make the same offers.
            # Not its key, so that rows that refer to the workspace can be written meanwhile.
            Workspace.objects.select_for_update(no_key=True).get(pk=self.workspace.pk)
            self._read(table.rows)
            self._write()
        self.report.refused.sort(key=lambda remark: remark.line)
        if is_dry:
            transaction.set_rollback(True)
        return self.report

    def _read(self, rows: Iterable[OfferRow]) -> None:
        rows = list(rows)
        stated = Offer.objects.filter(
            Q(workspace=None) | Q(workspace=self.workspace), slug__in={row.slug for row in rows}
        )
        self.stated = set(stated.values_list("slug", flat=True))
        slugged = [(row, self._slug(row)) for row in rows]
        known = Offer.objects.filter(slug__in={slug for _, slug in slugged})
        self.offers = {offer.slug: offer for offer in known}
        self.judge = PriceJudge(list(self.offers.values()))
        stored = PriceObservation.objects.filter(offer__in=self.offers.values())
        self.stored = {price_key(price): price for price in stored}
        for row, slug in slugged:
            is_stated = row.slug in self.stated
            if not is_stated and (similar := self._slip_of(row.provider)):
                detail = f"{row.provider!r} is not known: write {similar!r}, or say that it is new"
                self._refuse(row.line, "provider", detail)
                continue
            offer = self._find_offer(row, slug) if is_stated else self._offer(row, slug)
            if offer is not None and row.price is not None:
                self._price(row.line, offer, row.price)

    def _slug(self, row: OfferRow) -> str:
        """Slug of an export; of the workspace's offer of this name, whatever it was made of; or a
        new one."""
        if row.slug in self.stated:
            return row.slug
        if not self.slugs:
            own = Offer.objects.filter(workspace=self.workspace)
            names = own.values_list("provider__slug", "region__code", "name", "slug")
            self.slugs = {
                (provider, (region or "").casefold(), name.casefold()): slug
                for provider, region, name, slug in names
            }
        provider = provider_slug(row.provider)
        known = self.slugs.get((provider, row.region.casefold(), row.name.casefold()))
        return known or offer_slug(provider, row.name, row.region)

    def _slip_of(self, name: str) -> str:
        """The provider that a name is likely to mean, if it is a new name; "" for none."""
        if name not in self.slips:
            stored = dict(Provider.objects.values_list("slug", "name"))
            known = {**{slug: provider.name for slug, provider in PROVIDERS.items()}, **stored}
            slug = provider_slug(name)
            is_new = slug not in known and name not in self.known_providers
            near = difflib.get_close_matches(slug, known, n=1, cutoff=NEAR) if is_new else []
            self.slips[name] = known[near[0]] if near else ""
        return self.slips[name]

    def _refuse(self, line: int, column: str, detail: str) -> None:
        self.report.refused.append(Remark(line, column, detail))

    def _find_offer(self, row: OfferRow, slug: str) -> Offer | None:
        """The offer that a line of an export is of, by its slug."""
        offer = self.offers[slug]
        differing = [
            name
            for name in LEARNT
            if (stated := getattr(row, name)) not in {None, ""} and stated != getattr(offer, name)
        ]
        if not differing:
            self.report.offers_unchanged += 1
        elif offer.workspace_id is None:
            names = ", ".join(differing)
            detail = f"{slug} is sold to everybody and stays as it is, though the line differs in {names}"
            self._refuse(row.line, "", detail)
            return None
        else:
            self._learn(row, offer)
        return offer

    def _offer(self, row: OfferRow, slug: str) -> Offer | None:
        parts = (provider_slug(row.provider), row.name, row.region)
        if (
            len("-".join(filter(None, parts))) > MOST_OF_OFFER
            or not slugify(row.name)
            or not slugify(row.provider)
        ):
            detail = "letters or digits are needed in provider and name, 120 of them at most"
            self._refuse(row.line, "", f"{slug[:MOST_OF_OFFER]!r} is no name of an offer: {detail}")
            return None
        offer = self.offers.get(slug)
        if offer is None:
            return self._make_offer(row, slug)
        if offer.workspace_id != self.workspace.pk:
            self._refuse(row.line, "", f"{slug} is not an offer of this workspace alone")
            return None
        if offer.name.casefold() != row.name.casefold():
            self._refuse(row.line, "", f"{slug} is the offer {offer.name!r} already")
            return None
        self._learn(row, offer)
        return offer

    def _make_offer(self, row: OfferRow, slug: str) -> Offer:
        provider, region = self._provider_and_region(row)
        price = row.price
        offer = Offer(
            slug=slug,
            workspace=self.workspace,
            provider=provider,
            region=region,
            name=row.name,
            kind=row.kind,
            note=row.note,
            source=price.source if price else "own list of offers",
            stated_on=price.observed_on if price else None,
            **{name: getattr(row, name) for name in FACTS},
            **credit_figures(provider.slug, row.name),
        )
        self.offers[slug] = self.new[slug] = offer
        return offer

    def _provider_and_region(self, row: OfferRow) -> tuple[Provider, Region | None]:
        if (row.provider, row.region) not in self.regions:
            provider = provider_get(slug=provider_slug(row.provider), name=row.provider)
            region = region_get(provider=provider, code=row.region) if row.region else None
            self.regions[row.provider, row.region] = provider, region
        return self.regions[row.provider, row.region]

    def _learn(self, row: OfferRow, offer: Offer) -> None:
        """Update the offer with what the row knows better."""
        for name in LEARNT:
            stated, known = getattr(row, name), getattr(offer, name)
            if stated in {None, ""} or stated == known:
                continue
            if known in {None, ""} or self.is_learning:
                setattr(offer, name, stated)
                if offer.slug not in self.new:
                    self.changed[offer.slug] = offer
            else:
                detail = f"{name} is known as {known} and stays, though the line says {stated}"
                self.report.warnings.append(Remark(row.line, "", detail))

    def _price(self, line: int, offer: Offer, row: PriceRow) -> None:
        price = observation_of(offer, row)
        key = price_key(price)
        stored = self.stored.get(key)
        if key in self.prices:
            self._refuse(line, "", f"the same price of the same day as line {self.prices[key][0]}")
            return
        if stored is not None:
            if all(getattr(stored, name) == getattr(price, name) for name in SAME):
                self.report.prices_unchanged += 1
                self._note(line, price, "unchanged")
                return
            if not self.is_replacing:
                amount = f"{stored.amount.normalize():f} {stored.currency}"
                detail = f"another price of {row.observed_on} is stored, of {amount}"
                self._refuse(line, "", detail)
                return
        self._take(line, price, stored)

    def _take(self, line: int, price: PriceObservation, stored: PriceObservation | None) -> None:
        """A price to be written, in place of a stored one or as a new one."""
        if stored is not None:
            self.replaced.append((stored, price))
            self.judge.leave_out(stored)
        price.anomaly = self.judge.anomaly(
            price.offer,
            amount=price.amount,
            currency=price.currency,
            unit=price.unit,
            purchase_model=price.purchase_model,
        )
        price.is_published = not price.anomaly
        self.report.prices_waiting += bool(price.anomaly)
        state = "waiting" if price.anomaly else "replaced" if stored else "new"
        self._note(line, price, state)
        self.prices[price_key(price)] = line, price

    def _note(self, line: int, price: PriceObservation, state: str) -> None:
        amount = f"{price.amount.normalize():f} {price.currency}/{price.unit}"
        day = str(price.valid_from or "")
        self.report.lines.append(
            LineReading(line, price.offer.slug, amount, day, state, price.anomaly)
        )

    def _write(self) -> None:
        Offer.objects.bulk_create(self.new.values(), batch_size=BATCH)
        Offer.objects.bulk_update(self.changed.values(), LEARNT, batch_size=BATCH)
        new = [price for _, price in self.prices.values()]
        changes = [(new, _terms(old), _terms(new)) for old, new in self.replaced]
        for old, _ in self.replaced:
            # Also of what costs of runs are made: then the whole table is refused, and nothing lost.
            price_delete(observation=old)
        self.report.prices_replaced = len(self.replaced)
        # After the deletions: a corrected price agrees with the one that it replaces in what is
        # unique.
        PriceObservation.objects.bulk_create(new, batch_size=BATCH)
        report = self.report
        report.offers_new, report.offers_changed = len(self.new), len(self.changed)
        report.prices_new = len(new)
        if not (self.new or self.changed or new):
            return
        data_version_bump()
        audit_record_changes(
            workspace=self.workspace, actor=self.actor, action="price_replace", changes=changes
        )
        audit_record(
            actor=self.actor,
            action=self.action,
            target=self.workspace,
            detail={
                "offers_new": report.offers_new,
                "offers_changed": report.offers_changed,
                "prices_new": report.prices_new,
                "prices_replaced": report.prices_replaced,
                "prices_waiting": report.prices_waiting,
                "refused": len(report.refused),
            },
        )


def _terms(price: PriceObservation) -> dict[str, object]:
    """Terms of a replaced or replacing price, for the trail."""
    terms: dict[str, object] = {"offer": price.offer.slug, "currency": price.currency}
    for name in SAME:
        value = getattr(price, name)
        if isinstance(value, Decimal):
            value = format(as_quoted(value), "f")
        terms[name] = value if value is None or isinstance(value, int) else str(value)
    return terms


def observation_of(offer: Offer, row: PriceRow) -> PriceObservation:
    """The unsaved price that a line states of an offer; a day without a time is its begin."""
    terms = asdict(row)
    day = dt.datetime.combine(terms.pop("observed_on"), dt.time(), dt.UTC)
    return PriceObservation(offer=offer, **terms | {"observed_at": row.observed_at or day})


def provider_slug(name: str) -> str:
    """The slug of a provider by its name or slug."""
    slugs = {record.name.casefold(): slug for slug, record in PROVIDERS.items()}
    return slugs.get(name.casefold()) or slugify(name)


def price_key(price: PriceObservation) -> tuple[Any, ...]:
    """Key that two observations of one price share."""
    return (*(getattr(price, name) for name in IDENTITY), price.observed_at)
