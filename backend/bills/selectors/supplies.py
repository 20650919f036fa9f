"""Disk and traffic included by servers, and the price of more where they stand."""

from collections.abc import Iterable
from decimal import Decimal
from uuid import UUID

from backend.bills.calc.beside import FloatTiers, Supply
from backend.catalog.models import Offer, OfferKind, PriceObservation
from backend.catalog.selectors.extras import tariffs, tariffs_of
from backend.catalog.selectors.rates import rate_table
from backend.foundation.errors import UnknownRate
from backend.foundation.units import BYTES_PER_GB
from backend.money.pricing.extras import DISK, EGRESS, Included, Tariff, inclusions_of
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.rows import RankingRow


class Supplies:
    """By row of a ranking, in its currency (four queries)."""

    def __init__(self, rows: Iterable[RankingRow], query: RankingQuery) -> None:
        self._currency, self._factor = query.currency, 1 + (query.tax_rate or Decimal(0))
        self._rates, self._tariffs = rate_table(query.as_of), tariffs(query.as_of)
        offers = Offer.objects.order_by().values_list("slug", "provider_id", "region_id")
        self._regions = {slug: (provider, region) for slug, provider, region in offers}
        self._included = _price_inclusions({row.price_id for row in rows if row.price_id})

    def of(self, row: RankingRow) -> Supply:
        """Supplies of one server of a row."""
        stated = self._included.get(row.price_id) if row.price_id else None
        own = tariffs_of(self._tariffs, *self._regions[row.offer_id])
        traffic_gb = (stated.traffic_bytes or 0) / BYTES_PER_GB if stated else 0.0
        # The network of one's own rack is part of what its servers cost.
        is_unlimited = row.kind == OfferKind.ONPREM or bool(stated and stated.is_traffic_unlimited)
        return Supply(
            disk_gb=float(row.disk_gb or 0),
            egress_gb=float("inf") if is_unlimited else traffic_gb,
            disk=self._tiers(own.get(DISK)),
            egress=self._tiers((stated and stated.egress) or own.get(EGRESS)),
        )

    def _tiers(self, tariff: Tariff | None) -> FloatTiers | None:
        if tariff is None:
            return None
        try:
            rate, _ = self._rates.rate(tariff.currency, self._currency)
        except UnknownRate:
            return None
        factor = float(rate * self._factor)
        return [
            (None if bound is None else float(bound), float(price) * factor)
            for bound, price in tariff.tiers
        ]


def _price_inclusions(price_ids: set[UUID]) -> dict[UUID, Included]:
    rows = PriceObservation.objects.filter(pk__in=price_ids).exclude(included={})
    return {
        price_id: inclusions_of(included, None, currency)
        for price_id, included, currency in rows.values_list("pk", "included", "currency")
    }
