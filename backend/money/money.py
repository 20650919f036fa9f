"""Amounts of money, and their conversion at stored, dated rates."""

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from backend.foundation.errors import InvalidValue, UnknownRate
from backend.foundation.units import EXACT

EURO = "EUR"
_PAYABLE = (
    "IES AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BRL BSD BTN "
    "BWP BYN BZD CAD CDF CHF CLP CNY COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD "
    "FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY "
    "KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP "
    "MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR "
    "RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT "
    "TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV WST XAF XCD XOF XPF YER ZAR "
    "ZMW "
)
# Codes of ISO 4217 in which something can be paid; XXX, XTS and metals are none.
CURRENCIES = frozenset(_PAYABLE.split())
_CURRENCY = re.compile(r"[A-Z]{3}")


def _check_currency(currency: str) -> None:
    if not _CURRENCY.fullmatch(currency):
        raise InvalidValue("currency", f"{currency!r} is not a three-letter code")


def _check_amount(amount: object) -> None:
    # A float that slips through an untyped edge would carry its binary error into every sum.
    if not isinstance(amount, Decimal) or not amount.is_finite():
        raise InvalidValue("amount", f"{amount!r} is not a finite Decimal")


@dataclass(frozen=True)
class Money:
    """An amount as quoted, never rounded, in one currency (ISO 4217 code)."""

    amount: Decimal
    currency: str

    def __post_init__(self) -> None:
        _check_amount(self.amount)
        _check_currency(self.currency)


@dataclass(frozen=True)
class EuroRate:
    """How many units of `currency` one euro bought on `date`."""

    date: dt.date
    currency: str
    units_per_eur: Decimal

    def __post_init__(self) -> None:
        _check_currency(self.currency)
        if not self.units_per_eur.is_finite() or self.units_per_eur <= 0:
            raise InvalidValue("units_per_eur", f"{self.units_per_eur} is not above zero")


@dataclass(frozen=True)
class RateTable:
    """A rate per currency code, each with its own date; the euro needs no entry."""

    rates: Mapping[str, EuroRate]
    _known: dict[tuple[str, str], tuple[Decimal, dt.date | None]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def rate(self, from_currency: str, to_currency: str) -> tuple[Decimal, dt.date | None]:
        """Units of `to_currency` per unit of `from_currency`, and the older date of the two used.

        The date is None where no stored rate is needed (one currency). Raises UnknownRate.
        """
        pair = from_currency, to_currency
        if pair not in self._known:
            self._known[pair] = self._rate(*pair)
        return self._known[pair]

    def _rate(self, from_currency: str, to_currency: str) -> tuple[Decimal, dt.date | None]:
        if from_currency == to_currency:
            return Decimal(1), None
        used = [self._stored(code) for code in (from_currency, to_currency) if code != EURO]
        quotient = EXACT.divide(self._per_euro(to_currency), self._per_euro(from_currency))
        return quotient, min(rate.date for rate in used)

    def convert(self, money: Money, currency: str) -> Money:
        """The same worth in `currency`: amount × rate, to 34 digits. Raises UnknownRate."""
        factor, _ = self.rate(money.currency, currency)
        return Money(EXACT.multiply(money.amount, factor), currency)

    def _stored(self, currency: str) -> EuroRate:
        try:
            return self.rates[currency]
        except KeyError:
            raise UnknownRate(currency) from None

    def _per_euro(self, currency: str) -> Decimal:
        return Decimal(1) if currency == EURO else self._stored(currency).units_per_eur
