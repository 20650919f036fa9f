"""Prices as the database has them: what most rows share is sent as text, and read once."""

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import BigIntegerField, Func, QuerySet, TextField
from django.db.models.functions import Cast, TruncDate

from backend.catalog.selectors.price_choice import PriceChoice, Quote, QuoteKind
from backend.core import clock
from backend.core.reading import copy_rows, json_text, key_bytes
from backend.money.pricing.effective import Charge
from backend.money.pricing.quoted import GROSS, net

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)
QUOTE = (
    "amount",
    "unit",
    "term",
    "setup_amount",
    "monthly_cap",
    "sustained_use",
    "currency",
    "tax_basis",
    "tax_rate",
)
KIND = (
    "purchase_model",
    "upfront",
    "plan",
    "basis",
    "zone",
    "minimum_months",
    "tax_basis",
    "valid_until",
    "missing_since",
    "feed_id",
    "feed__checked_at",
    "is_questioned",
)


class ReadPrice(NamedTuple):
    """An observation; what `quote` and `kind` say is read by ReadPrices."""

    offer: bytes
    observation: bytes
    observed_us: int
    """Microseconds since 1970."""
    quote: str
    kind: str


class ReadPrices:
    """Prices that rows of observations state, on a day (`as_of`), or now for None.

    As choices they are read one by one. A table of many reads `rows`, of which few quotes and kinds
    are different.
    """

    def __init__(
        self, observations: QuerySet[Any], observation: str, as_of: dt.date | None
    ) -> None:
        """`observation` is the column of their ids."""
        self._observations, self._observation = observations, observation
        self._as_of = as_of
        self._today = as_of or clock.now().date()

    def rows(self) -> Iterator[ReadPrice]:
        """Every one, while they are read from the database."""
        read = self._observations.annotate(
            offer_key=key_bytes("offer_id"),
            observation_key=key_bytes(self._observation),
            observed_us=Func(
                "observed_at",
                template="(extract(epoch FROM %(expressions)s) * 1000000)::bigint",
                output_field=BigIntegerField(),
            ),
            quote=json_text(*QUOTE),
            kind=json_text(
                *KIND,
                TruncDate("observed_at", tzinfo=dt.UTC),
                Cast("included", TextField()),
            ),
        ).values_list("offer_key", "observation_key", "observed_us", "quote", "kind")
        return map(ReadPrice._make, copy_rows(read, "bytea", "bytea", "int8", "text", "text"))

    def quote(self, text: str) -> Quote:
        """Quote of rows of this text."""
        row = dict(zip(QUOTE, json.loads(text, parse_float=Decimal), strict=True))
        tax = row["tax_basis"], row["tax_rate"]
        charge = Charge(
            _net(row["amount"], *tax),
            row["unit"],
            row["term"],
            None if row["setup_amount"] is None else _net(row["setup_amount"], *tax),
            None if row["monthly_cap"] is None else _net(row["monthly_cap"], *tax),
            row["sustained_use"],
        )
        return Quote(charge, row["currency"], is_tax_unknown=net(Decimal(1), *tax) is None)

    def kind(self, text: str) -> QuoteKind:
        """Kind of price of rows of this text."""
        *values, observed_on, included_json = json.loads(text)
        row = dict(zip(KIND, values, strict=True))
        read_on = dt.date.fromisoformat(observed_on)
        is_missing = self._is_missing(row["missing_since"], row["valid_until"])
        # A list that states another price now does not confirm this one.
        if row["feed__checked_at"] and not (is_missing or row["is_questioned"]):
            # A list that was read and states nothing new appended no row.
            read_on = max(read_on, _moment(row["feed__checked_at"]).date())
        return QuoteKind(
            purchase_model=row["purchase_model"],
            upfront=row["upfront"],
            plan=row["plan"],
            basis=row["basis"],
            # The day asked for is the latest that could be known then.
            observed_on=min(read_on, self._as_of or read_on),
            is_listed=row["feed_id"] is not None,
            zone=row["zone"],
            is_missing=is_missing,
            is_gross=row["tax_basis"] == GROSS,
            included_json=included_json,
            minimum_months=row["minimum_months"],
            is_questioned=row["is_questioned"],
        )

    def __iter__(self) -> Iterator[PriceChoice]:
        quotes: dict[str, Quote] = {}
        kinds: dict[str, QuoteKind] = {}
        for row in self.rows():
            if row.quote not in quotes:
                quotes[row.quote] = self.quote(row.quote)
            if row.kind not in kinds:
                kinds[row.kind] = self.kind(row.kind)
            yield PriceChoice.of(
                UUID(bytes=row.offer),
                UUID(bytes=row.observation),
                EPOCH + row.observed_us * MICROSECOND,
                quotes[row.quote],
                kinds[row.kind],
            )

    def _is_missing(self, missing_since: str | None, valid_until: str | None) -> bool:
        """Dropped by its list or expired: shown still, and flagged, as providers drop series by
        mistake."""
        if valid_until is not None and dt.date.fromisoformat(valid_until) < self._today:
            return True
        if missing_since is None:
            return False
        return self._as_of is None or _moment(missing_since).date() <= self._as_of


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).astimezone(dt.UTC)


def _net(value: Decimal, tax_basis: str, tax_rate: Decimal | None) -> Decimal:
    """An amount without the tax that it includes at a known rate: net is compared with net."""
    # Without the column's zeros first, so that prices compare and print as they were quoted.
    amount = as_quoted(value)
    without = net(amount, tax_basis, tax_rate)
    return amount if without is None else without


def as_quoted(amount: Decimal) -> Decimal:
    """The amount without the zeros that its database column appends."""
    text = format(amount, "f")
    return Decimal(text.rstrip("0").rstrip(".") if "." in text else text)
