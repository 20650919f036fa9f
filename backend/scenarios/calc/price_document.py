"""The price of a server as the document of a scenario states it, and the rule that bills it."""

from fractions import Fraction
from typing import Annotated, Any, ClassVar

from backend.catalog.calc.hardware_document import HardwareDocument
from backend.foundation.documents.model import Document, Faults
from backend.foundation.documents.values import DAY_S, Flag, Number, Text, WholeNumber, Word
from backend.foundation.texts import text as _
from backend.foundation.units import HOURS_PER_MONTH
from backend.money.pricing.billing.lifetimes import CALENDAR
from backend.money.pricing.billing.sustained_use import N1
from backend.money.pricing.billing.terms import Terms
from backend.scenarios.calc.document_values import (
    HOUR,
    MONTH,
    ZERO,
    AfterPrice,
    AmountNumber,
    Convention,
    Currency,
    OwnHardware,
    Ratio,
    ShareTiers,
)

PURCHASE = "purchase"
BILLINGS = {
    "per_second": _("by the second"),
    "per_minute": _("by the minute"),
    "hour_ceil": _("per started hour"),
    "hour_ceil_cap": _("per started hour, capped a month"),
    "monthly": _("per started month"),
    "reserved": _("reserved, used or not"),
    "savings": _("savings plan"),
    "sustained_use": _("sustained use"),
    "spot": "spot",
    PURCHASE: _("own hardware"),
    "dedicated": _("dedicated, with set-up and term"),
}
BY_MONTH = ("monthly", PURCHASE, "dedicated")
UNITS_OF_BILLINGS = {billing: MONTH if billing in BY_MONTH else HOUR for billing in BILLINGS}
# Rules that bill an amount; so does one that is not known.
RENTED = ("", *(billing for billing in BILLINGS if billing != PURCHASE))
# Rules that pay for a term, used or not.
COMMITTED = ("reserved", "savings", PURCHASE)
OF_A_MONTH = ("hour_ceil_cap", "monthly", "sustained_use", "dedicated")


class ServerPriceDocument(Document):
    """Price of a server, and the rule that bills it."""

    switch: ClassVar[str] = "billing"

    offer: Annotated[
        str | None, Text(_("Slug of an offer: its price and score are taken"), label=_("Offer"))
    ] = None
    term: Annotated[
        str | None,
        Text(
            _("Payment option of the offer: on_demand, monthly, spot, reserved_1y, …"),
            label=_("Term"),
            stand_in="on_demand",
        ),
    ] = None
    amount: Annotated[
        Fraction,
        AmountNumber(_("Price of the unit"), label=_("Price"), needed_with=RENTED, is_above=True),
    ] = Fraction(1)
    currency: Annotated[
        str, Currency(_("One for all prices"), _("three-letter code"), needed_with=RENTED)
    ] = ""
    unit: Annotated[
        str,
        Word(
            _("What the amount is for; month with monthly, dedicated and purchase"),
            choices=(HOUR, MONTH),
        ),
    ] = ""
    billing: Annotated[
        str, Word(_("Rule of the bill"), label=_("Billed"), choices=BILLINGS, needed_with=("",))
    ] = ""
    price_observation: Annotated[
        str | None, Text(_("Id of one price instead of an offer"), label=_("Price observation"))
    ] = None
    minimum_s: Annotated[
        int,
        WholeNumber(
            _("Shortest time that is billed of a launch"),
            "s",
            label=_("Minimum billing time"),
            when=("per_second", "reserved", "savings", "spot"),
            source="EC2 and Compute Engine: by the second, at least a minute",
            high=DAY_S,
        ),
    ] = 60
    minimum_minutes: Annotated[
        int,
        WholeNumber(
            _("Fewest minutes that are billed of a launch"),
            "min",
            label=_("Minimum billing minutes"),
            when=("per_minute",),
            source="Compute Engine before 2017: ten minutes",
            high=1440,
        ),
    ] = 10
    cap: Annotated[
        Fraction | None,
        AmountNumber(
            _("Most that a server costs in a month"),
            label=_("Cap a month"),
            when=("hour_ceil_cap",),
            is_needed=True,
            is_above=True,
        ),
    ] = None
    month_convention: Annotated[
        str | int,
        Convention(
            _("What a month is: calendar (UTC), 30d, or a number of hours"),
            label=_("A month counts as"),
            when=OF_A_MONTH,
        ),
    ] = CALENDAR
    upfront: Annotated[
        Fraction,
        AmountNumber(
            _("Paid at the start of the term"), label=_("Paid at the start"), when=("reserved",)
        ),
    ] = ZERO
    term_months: Annotated[
        int,
        WholeNumber(
            _("Length of the commitment"),
            _("months of 730 h"),
            label=_("Term"),
            when=("reserved", "savings"),
            low=1,
            high=120,
        ),
    ] = 12
    renews: Annotated[
        bool,
        Flag(
            _("Whether a term is followed by the next, and own hardware bought again"),
            label=_("Renews"),
            when=COMMITTED,
        ),
    ] = True
    after: Annotated[
        Any,
        AfterPrice(
            _("Price of the unit after the only term; by the second, a month by its share"),
            label=_("Price after the term"),
            when=COMMITTED,
        ),
    ] = None
    commit_per_hour: Annotated[
        Fraction,
        AmountNumber(
            _("Paid every hour, used or not"),
            _("currency/h"),
            label=_("Commitment an hour"),
            when=("savings",),
            is_needed=True,
        ),
    ] = ZERO
    discount: Annotated[
        Fraction,
        Ratio(
            _("Discount of the plan on the amount; below 1"),
            label=_("Discount"),
            when=("savings",),
            is_needed=True,
        ),
    ] = ZERO
    tiers: Annotated[
        tuple[tuple[Fraction, Fraction], ...],
        ShareTiers(
            _("[cumulative share of the month, factor]; the last share is 1"),
            label=_("Tiers"),
            when=("sustained_use",),
            source="Compute Engine, N1: 1, 0.8, 0.6, 0.4 by quarters of the month, by default",
        ),
    ] = N1
    interruptions_per_month: Annotated[
        Fraction,
        Number(
            _("Expected of one server"),
            _("per 730 h"),
            label=_("Interruptions a month"),
            high="100000",
            when=("spot",),
            source=_("our assumption: none; providers state less than 5% a month for many types"),
        ),
    ] = ZERO
    setup: Annotated[
        Fraction, AmountNumber(_("Paid once a server"), label=_("Set-up"), when=("dedicated",))
    ] = ZERO
    minimum_months: Annotated[
        int,
        WholeNumber(
            _("Shortest length of the contract"),
            _("months"),
            label=_("Minimum months"),
            when=("dedicated",),
            low=1,
            high=120,
        ),
    ] = 1
    example: Annotated[
        str | None,
        Text(
            _("Amount that a template proposed; nothing is compared until you replace it"),
            label=_("Example price"),
        ),
    ] = None
    notice: Annotated[
        str, Text(_("How the contract ends"), label=_("Notice"), when=("dedicated",))
    ] = ""
    hardware: Annotated[
        HardwareDocument | None,
        OwnHardware(_("Document of own hardware"), when=(PURCHASE,), is_needed=True),
    ] = None

    @property
    def after_per_hour(self) -> Fraction | None:
        """Price of a server-hour after the only term; None where the term renews."""
        if self.after is None:
            return None
        unit = self.after.unit or UNITS_OF_BILLINGS[self.billing]
        return Fraction(self.after.amount) / (1 if unit == HOUR else HOURS_PER_MONTH)

    @property
    def terms(self) -> Terms:
        """Terms of a rented server for the rule."""
        return Terms(
            price=self.amount,
            minimum_s=self.minimum_s,
            minimum_minutes=self.minimum_minutes,
            cap=self.cap,
            month_convention=self.month_convention,
            tiers=self.tiers if self.billing == "sustained_use" else (),
            upfront=self.upfront,
            term_months=self.term_months,
            commit_per_hour=self.commit_per_hour,
            discount=self.discount,
            setup=self.setup,
            minimum_months=self.minimum_months,
            interruptions_per_month=self.interruptions_per_month,
        )

    def faults(self) -> Faults:
        names = {
            "offer": self.offer,
            "price_observation": self.price_observation,
            "term": self.term,
        }
        for name, value in names.items():
            if value is not None:
                yield name, "a price by its name needs the catalog of offers"
        unit = UNITS_OF_BILLINGS[self.billing]
        if self.unit not in ("", unit) and self.billing != PURCHASE:
            yield "unit", f"{self.billing} needs a price for a {unit}"
        yield from self._faults_after()
        if self.discount == 1:
            yield "discount", "1 would make the use free"

    def _faults_after(self) -> Faults:
        if self.after is None:
            if not self.renews:
                yield "after", "state what a server costs after the term, or leave renews true"
            return
        if self.renews:
            yield "after", "the term renews: it counts only where renews is false"
        own = self.hardware.currency if self.hardware else self.currency
        if self.after.currency not in ("", own):
            yield "after/currency", f"{self.after.currency} beside {own}"
        unit = self.after.unit or UNITS_OF_BILLINGS[self.billing]
        billing = "per_second" if unit == HOUR else "monthly"
        if self.after.billing not in ("", billing):
            yield "after/billing", f"a price by the {unit} is billed {billing}"
