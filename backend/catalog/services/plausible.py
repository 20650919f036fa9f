"""Which prices that people state wait for a second look, as those of price lists do."""

from collections import defaultdict
from collections.abc import Collection
from decimal import Decimal
from uuid import UUID

from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.rates import rate_table
from backend.foundation.errors import UnknownRate
from backend.money.pricing.plausible import implausible, per_month
from backend.money.pricing.purchase import PurchaseModel

DOLLAR = "USD"


class PriceJudge:
    """Prices of some offers beside those that are published of them."""

    def __init__(self, offers: Collection[Offer]) -> None:
        self._rates = rate_table()
        self._beside: dict[tuple[UUID, str], list[Decimal]] = defaultdict(list)
        # Spot prices are a tenth of the others and less, and mean it.
        rows = PriceObservation.objects.filter(offer__in=offers, is_published=True)
        rows = rows.exclude(purchase_model=PurchaseModel.SPOT)
        for offer_id, currency, amount, unit in rows.values_list(
            "offer_id", "currency", "amount", "unit"
        ):
            month = per_month(amount, unit)
            if month is not None:
                self._beside[offer_id, currency].append(month)

    def leave_out(self, price: PriceObservation) -> None:
        """Compare nothing with a price that is corrected."""
        month = per_month(price.amount, price.unit)
        beside = self._beside[price.offer_id, price.currency]
        if month in beside:
            beside.remove(month)

    def anomaly(
        self, offer: Offer, *, amount: Decimal, currency: str, unit: str, purchase_model: str
    ) -> str:
        """Why a price has to wait; "" for a plausible one."""
        try:
            rate, _ = self._rates.rate(currency, DOLLAR)
        except UnknownRate:
            rate = None
        is_spot = purchase_model == PurchaseModel.SPOT
        beside = [] if is_spot else self._beside.get((offer.pk, currency), [])
        reasons = implausible(
            amount, unit, usd_per_unit=rate, vcpu_count=offer.vcpu_count, beside=beside
        )
        return "; ".join(reasons)
