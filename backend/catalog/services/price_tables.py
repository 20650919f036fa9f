"""The list of prices read back: lines of known observations are compared, others are prices of one's own."""

from collections.abc import Collection, Iterable
from typing import Any
from uuid import UUID

from backend.catalog.calc.tables.offer_rows import OfferRow, PriceRow
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.current_prices import prices_visible
from backend.catalog.services.plausible import PriceJudge
from backend.catalog.services.prices import is_entered
from backend.catalog.services.table_rows import TableImport, price_key, provider_slug
from backend.money.pricing.quoted import GROSS

# What a line says of a price; its source and times cannot be corrected.
STATED = (
    "amount", "currency", "unit", "zone", "operating_system", "tenancy", "purchase_model", "term",
    "upfront", "plan", "basis", "setup_amount", "tax_basis", "tax_rate", "minimum_months",
    "valid_until",
)  # fmt: skip


class PriceTableImport(TableImport):
    """The list of prices on its way back; no offer is made or changed.

    A line of a known observation that says the same changes nothing; one that differs corrects it if
    that `is_replacing` and a person stated it. Other lines are prices of the workspace's own offers,
    which have to be there.
    """

    def _read(self, rows: Iterable[OfferRow]) -> None:
        rows = list(rows)
        ids = {column for row in rows if (column := _identifier(row.price_id))}
        observed = prices_visible(self.workspace.slug).filter(pk__in=ids)
        exported: dict[UUID | None, PriceObservation] = {
            price.pk: price for price in observed.select_related("offer")
        }
        own = Offer.objects.filter(workspace=self.workspace).select_related("provider", "region")
        by_slug = {offer.slug: offer for offer in own}
        by_name = {_name_of(offer): offer for offer in own}
        self.judge = PriceJudge(list(by_slug.values()))
        stored = PriceObservation.objects.filter(offer__in=own).select_related("offer")
        self.stored = {price_key(price): price for price in stored}
        for row in rows:
            price: Any = row.price
            known = exported.get(_identifier(row.price_id))
            if known is not None:
                self._compare(row.line, known, price)
                continue
            name = (
                provider_slug(row.provider),
                row.region.casefold(),
                row.name.casefold(),
            )
            offer = by_slug.get(row.slug) or by_name.get(name)
            if offer is None:
                detail = f"no offer of this workspace is {row.slug or row.name!r}: import it first"
                self._refuse(row.line, "offer", detail)
            elif price.tax_basis == GROSS and price.tax_rate is None:
                self._refuse(row.line, "tax_rate", "a gross price needs its rate of tax")
            else:
                self._price(row.line, offer, price)

    def _compare(self, line: int, known: PriceObservation, row: PriceRow) -> None:
        differing = [
            name
            for name in STATED
            if (stated := getattr(row, name)) not in {None, ""} and stated != getattr(known, name)
        ]
        if not differing:
            self.report.prices_unchanged += 1
            self._note(line, known, "unchanged")
            return
        names = ", ".join(name.removesuffix("_amount") for name in differing)
        if not is_entered(known) or known.offer.workspace_id != self.workspace.pk:
            detail = (
                f"a price of a list, or for everybody, stays as it is: the line differs in {names}"
            )
            self._refuse(line, "", detail)
        elif not self.is_replacing:
            self._refuse(line, "", f"it differs from the stored price in {names}")
        else:
            price = _correct(known, row, differing)
            key = price_key(price)
            if key in self.prices or self.stored.get(key, known).pk != known.pk:
                self._refuse(line, "", "another price of the same kind and time is known")
            else:
                self._take(line, price, known)


def _correct(known: PriceObservation, row: PriceRow, names: Collection[str]) -> PriceObservation:
    """The same price, only right: what the table does not say (traffic, source, time) stays."""
    kept = {
        concrete_field.attname: getattr(known, concrete_field.attname)
        for concrete_field in PriceObservation._meta.concrete_fields
        if not concrete_field.primary_key
    }
    kept |= {name: getattr(row, name) for name in names}
    return PriceObservation(**kept | {"reviewed_by": "", "reviewed_at": None})


def _identifier(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def _name_of(offer: Offer) -> tuple[str, str, str]:
    region = offer.region.code.casefold() if offer.region else ""
    return offer.provider.slug, region, offer.name.casefold()
