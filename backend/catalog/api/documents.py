"""Documents of prices and own hardware as they go over the wire (schema 1)."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from backend.catalog.services.prices import MOST_REASON
from backend.core.rest.documents import AmountField, FlagField, Strict, TextField
from backend.foundation.documents.values import NUMBER
from backend.money.pricing.effective import TERM_HOURS
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.money.pricing.quoted import ALL_MACHINES, APPLIES_TO, MOST_DECIMALS

Fields = dict[str, "serializers.Field[Any, Any, Any, Any]"]
# Without the format "decimal": openapi-generator imports nothing for it within a choice of types.
EITHER = {"oneOf": [{"type": "string", "pattern": NUMBER}, {"type": "number"}]}


@extend_schema_field(EITHER)
class AnyNumberField(serializers.Field[Any, Any, Any, Any]):
    """A decimal string, or a JSON number, both with all their digits; only described here."""


# --- prices ---------------------------------------------------------------------------------------


class PriceEntry(Strict):
    """A price that a person knows better than any list, with why."""

    offer = TextField(max_length=120)
    amount = AmountField(decimals=MOST_DECIMALS)
    currency = serializers.RegexField(r"^[A-Z]{3}\Z")
    unit = serializers.ChoiceField(choices=tuple(PriceUnit))
    setup = AmountField(decimals=MOST_DECIMALS, required=False, allow_null=True, default=None)
    purchase_model = serializers.ChoiceField(
        choices=tuple(PurchaseModel),
        required=False,
        allow_null=True,
        default=None,
        help_text="by default that of the unit: on_demand, monthly or purchase",
    )
    term = serializers.ChoiceField(
        choices=list(TERM_HOURS), required=False, allow_null=True, default=None
    )
    valid_from = serializers.DateField(
        required=False,
        allow_null=True,
        default=None,
        help_text="first day; a later one than today announces the price",
    )
    valid_until = serializers.DateField(
        required=False, allow_null=True, default=None, help_text="last day"
    )
    applies_to = serializers.ChoiceField(
        choices=APPLIES_TO,
        required=False,
        default=ALL_MACHINES,
        help_text="new: machines ordered before keep the price that they are billed at",
    )
    reason = TextField(max_length=MOST_REASON)


class PriceReview(Strict):
    """A person's word on a price in quarantine."""

    accept = FlagField()
    reason = TextField(max_length=MOST_REASON)


class PriceDetail(serializers.Serializer[Any]):
    """A price with everything that was stated beside it; amounts are decimal strings.

    `amount_net` and `amount_gross` are null while the rate of tax is not known. The setup fee is
    part of no amount; `setup_per_month` spreads it over `setup_months`.
    """

    price_id = serializers.UUIDField()
    offer_id = serializers.CharField()
    provider = serializers.CharField()
    offer = serializers.CharField()
    region = serializers.CharField(allow_null=True)
    zone = serializers.CharField(allow_null=True)
    os = serializers.CharField()
    tenancy = serializers.CharField()
    purchase_model = serializers.CharField()
    term = serializers.CharField(allow_null=True)
    upfront = serializers.CharField(allow_null=True)
    plan = serializers.CharField(allow_null=True)
    basis = serializers.CharField()
    amount = serializers.CharField()
    currency = serializers.CharField()
    unit = serializers.CharField()
    monthly_cap = serializers.CharField(allow_null=True)
    sustained_use = serializers.CharField(allow_null=True)
    tax_basis = serializers.CharField(allow_null=True)
    tax_rate = serializers.CharField(allow_null=True)
    amount_net = serializers.CharField(allow_null=True)
    amount_gross = serializers.CharField(allow_null=True)
    setup = serializers.CharField(allow_null=True)
    setup_months = serializers.IntegerField()
    setup_per_month = serializers.CharField(allow_null=True)
    minimum_months = serializers.IntegerField(allow_null=True)
    valid_until = serializers.DateField(allow_null=True)
    included = serializers.DictField()
    effective_from = serializers.DateField(allow_null=True)
    valid_from = serializers.DateField(allow_null=True)
    applies_to = serializers.CharField()
    observed_at = serializers.DateTimeField()
    missing_since = serializers.DateTimeField(allow_null=True)
    source = serializers.CharField()  # type: ignore[assignment]
    raw_id = serializers.CharField(allow_null=True)
    payload_sha256 = serializers.CharField(allow_null=True)
    note = serializers.CharField(allow_null=True)
    state = serializers.CharField()
    reviewed_by = serializers.CharField(allow_null=True)
    reviewed_at = serializers.DateTimeField(allow_null=True)

    def get_fields(self) -> Fields:
        # Version 1 of the schema calls the anomaly so.
        return {**super().get_fields(), "doubt": serializers.CharField(allow_null=True)}


# --- own hardware ---------------------------------------------------------------------------------


class YearDetail(serializers.Serializer[Any]):
    """A year of the whole set: cash as it is paid, and purchases spread evenly over the life."""

    year = serializers.IntegerField()
    cash = serializers.CharField()
    straight_line = serializers.CharField()


class HardwareDetail(serializers.Serializer[Any]):
    """A version of own hardware and what it costs; amounts are decimal strings, not rounded.

    Prices and `breakdown` are of one server, `set_…` of all of them.
    """

    id = serializers.UUIDField()
    name = serializers.CharField()
    version = serializers.IntegerField()
    offer = serializers.CharField(help_text="slug of the offer that it prices")
    price = serializers.UUIDField(help_text="identifier of the price observation")
    currency = serializers.CharField()
    price_per_month = serializers.CharField()
    price_per_hour = serializers.CharField(help_text="of a month of 730 hours")
    breakdown = serializers.DictField(child=serializers.CharField())
    spares = serializers.IntegerField()
    set_price_per_month = serializers.CharField()
    set_price_per_hour = serializers.CharField()
    set_breakdown = serializers.DictField(child=serializers.CharField())
    capital_total = serializers.CharField()
    residual_total = serializers.CharField()
    one_off_total = serializers.CharField(help_text="installation and migration")
    set_watts = serializers.CharField()
    set_energy_kwh_per_month = serializers.CharField()
    by_year = YearDetail(many=True)
    document = serializers.DictField()
    created_by = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


DOCUMENTS: Mapping[str, type[serializers.Serializer[Any]]] = {
    "price": PriceEntry,
    "price-review": PriceReview,
    "price-detail": PriceDetail,
    "hardware-detail": HardwareDetail,
}
