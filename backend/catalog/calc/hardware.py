"""Monthly cost of one's own servers: a bill of materials and its assumptions, as a price.

Per month, for the whole set of N servers (M = what all items cost, s = spare servers):

    capital + spares   (M + s·M/N) · CRF(i, n)
    or a lease         its rate, instead of what is bought and sold
    − residual         (M + s·M/N) · residual ratio · CRF(i, n) · (1 + i/12)^−n
    + energy           PUE · watts / 1000 · hours · price of a kWh
    + space            rack units · price of a unit
    + support          M · ratio / 12
    + staff            hours · wage
    + network          as stated
    + transit          Mbit/s · price
    + remote hands     hours a year · price / 12
    + failed disks     disks · failures a year · price / 12
    + installation     price · CRF(i, n); migration likewise

CRF(i, n) = (i/12) / (1 − (1 + i/12)^−n) is the capital recovery factor, 1/n at 0 %: the equal
payment at the end of each of n months that is worth 1 today. The residual value is received at the
end of the life and spread over it in the same way. Spares lie on the shelf: they are bought and
sold again, but need no power, room or support contract. Where energy or wages rise, a month counts
the level amount that is worth the same over the life; `costs_by_year` has each year as it comes.

What a document means. `items` are the bill of materials of the whole set and `count` is the total
number, so that switches, cables and half a storage box can be listed beside the servers; `watts` is
the mean draw of one piece. `cpu`, `cores`, `threads` and `memory_gib` describe one server; everything
else is of the whole set: disks, rack units, staff, network, transit, remote hands, lease. A **price**
is what one server of the set costs, because it is compared with prices of single servers and joined
with the score of one: the set's cost / N. The costs of the whole set stand beside it under names that
begin with `set_`.
"""

from dataclasses import asdict, dataclass, fields
from decimal import Decimal, localcontext
from typing import Any

from backend.catalog.calc.hardware_document import HardwareDocument, plain
from backend.foundation.units import EXACT, HOURS_PER_MONTH, MONTHS_PER_YEAR
from backend.money.pricing import price_per_period

# One time in a hundred a failed server has to wait for its repair.
SERVICE_LEVEL = Decimal("0.99")
DAYS_PER_YEAR = 365
WATTS_PER_KILOWATT = 1000
# Parts of a cost that are paid month by month.
RECURRING = (
    "energy", "space", "support", "staff", "network", "transit", "remote_hands", "disks",
)  # fmt: skip


@dataclass(frozen=True)
class CostBreakdown:
    """Cost per month by its parts; the residual value is what comes back, so never above 0."""

    capital: Decimal
    spares: Decimal
    residual: Decimal
    energy: Decimal
    space: Decimal
    support: Decimal
    staff: Decimal
    network: Decimal
    transit: Decimal
    remote_hands: Decimal
    disks: Decimal
    installation: Decimal
    migration: Decimal
    lease: Decimal

    @property
    def running(self) -> Decimal:
        """Everything that ends when the servers are switched off."""
        with localcontext(EXACT):
            return sum((getattr(self, name) for name in RECURRING), Decimal(0))

    @property
    def total(self) -> Decimal:
        # The default context of a thread has 28 digits and may have been changed by others.
        with localcontext(EXACT):
            return sum(self.amounts.values(), Decimal(0))

    @property
    def amounts(self) -> dict[str, Decimal]:
        """Amount by name, in the order of a stack."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def divide(self, divisor: int) -> "CostBreakdown":
        with localcontext(EXACT):
            return CostBreakdown(**{name: part / divisor for name, part in self.amounts.items()})


@dataclass(frozen=True)
class HardwareCost:
    """Cost of a set: prices and `breakdown` are those of one server, `set_…` those of all.

    `capital_total` is the cash that buys the set and its spares (0 with a lease), `residual_total`
    what they are worth at the end of the life. Amounts carry 34 digits and are not rounded.
    """

    currency: str
    price_per_month: Decimal
    price_per_hour: Decimal
    breakdown: CostBreakdown
    set_price_per_month: Decimal
    set_price_per_hour: Decimal
    set_breakdown: CostBreakdown
    spares: int
    capital_total: Decimal
    residual_total: Decimal
    one_off_total: Decimal
    """Installation and migration."""
    set_watts: Decimal
    set_energy_kwh_per_month: Decimal


def monthly_cost(
    hardware: HardwareDocument, *, hours_per_month: Decimal = Decimal(HOURS_PER_MONTH)
) -> HardwareCost:
    """Cost of the hardware per month and per hour of such a month."""
    spares = spares_needed(hardware.servers, hardware.annual_failure_rate, hardware.repair_days)
    with localcontext(EXACT):
        bought, shelved = _purchase(hardware, spares)
        watts = sum((item.count * item.watts for item in hardware.items), Decimal(0))
        energy_kwh = _energy_kwh(hardware, hours_per_month)
        residual = (bought + shelved) * hardware.residual_ratio
        whole = _set_breakdown(hardware, bought, shelved, residual, hours_per_month)
        single = whole.divide(hardware.servers)
        return HardwareCost(
            currency=hardware.currency,
            price_per_month=single.total,
            price_per_hour=price_per_period(single.total, "month", "hour", hours_per_month),
            breakdown=single,
            set_price_per_month=whole.total,
            set_price_per_hour=price_per_period(whole.total, "month", "hour", hours_per_month),
            set_breakdown=whole,
            spares=spares,
            capital_total=bought + shelved,
            residual_total=residual,
            one_off_total=hardware.installation_price + hardware.migration_price,
            set_watts=watts,
            set_energy_kwh_per_month=energy_kwh,
        )


def _purchase(hardware: HardwareDocument, spares: int) -> tuple[Decimal, Decimal]:
    """Cash for the set and for its spares; to be called in the context EXACT."""
    if hardware.lease is not None:
        return Decimal(0), Decimal(0)
    # A spare costs what one server of the set does, with its share of everything else.
    return hardware.purchase_price, spares * hardware.purchase_price / hardware.servers


def _energy_kwh(hardware: HardwareDocument, hours_per_month: Decimal) -> Decimal:
    """To be called in the context EXACT."""
    watts = sum((item.count * item.watts for item in hardware.items), Decimal(0))
    # Spares are switched off, so they cost capital and no energy.
    return hardware.pue * watts * hours_per_month / WATTS_PER_KILOWATT


def _recurring(hardware: HardwareDocument, hours_per_month: Decimal) -> dict[str, Decimal]:
    """Recurring costs of the first month, by RECURRING; to be called in the context EXACT."""
    remote_hours = hardware.remote_hands_hours_per_year / MONTHS_PER_YEAR
    failing = (disk.failures_per_year * disk.unit_price for disk in hardware.disks)
    return {
        "energy": _energy_kwh(hardware, hours_per_month) * hardware.energy_price_per_kwh,
        "space": hardware.rack_units * hardware.rack_price_per_unit_month,
        # Support is paid for machines in use, not for spares.
        "support": hardware.purchase_price * hardware.support_ratio_per_year / MONTHS_PER_YEAR,
        "staff": hardware.staff_hours_per_month * hardware.staff_price_per_hour,
        "network": hardware.network_price_per_month,
        "transit": hardware.transit_mbit_per_s * hardware.transit_price_per_mbit_month,
        "remote_hands": remote_hours * hardware.remote_hands_price_per_hour,
        "disks": sum(failing, Decimal(0)) / MONTHS_PER_YEAR,
    }


def _inflation(hardware: HardwareDocument, part: str) -> Decimal:
    """By which ratio a recurring cost rises with each year."""
    if part == "energy":
        return hardware.energy_inflation_per_year
    return hardware.wage_inflation_per_year if part in ("staff", "remote_hands") else Decimal(0)


def _set_breakdown(
    hardware: HardwareDocument,
    bought: Decimal,
    shelved: Decimal,
    residual: Decimal,
    hours_per_month: Decimal,
) -> CostBreakdown:
    """To be called in the context EXACT."""
    rate, life_months = hardware.discount_rate_per_year, hardware.life_months
    worth = annuity(rate, life_months)
    # The residual value comes at the end of the life: it is worth less today.
    today = _monthly_discount(rate) ** life_months
    first = _recurring(hardware, hours_per_month)
    level = {
        name: amount * annuity(rate, life_months, _inflation(hardware, name)) / worth
        if _inflation(hardware, name)
        else amount
        for name, amount in first.items()
    }
    return CostBreakdown(
        capital=bought / worth,
        spares=shelved / worth,
        residual=-residual * today / worth,
        **level,
        installation=hardware.installation_price / worth,
        migration=hardware.migration_price / worth,
        lease=hardware.lease.price_per_month if hardware.lease else Decimal(0),
    )


@dataclass(frozen=True)
class YearCost:
    """A year of the whole set: cash as it is paid, and with purchases spread evenly over the life."""

    year: int
    cash: Decimal
    straight_line: Decimal


def costs_by_year(
    hardware: HardwareDocument, *, hours_per_month: Decimal = Decimal(HOURS_PER_MONTH)
) -> tuple[YearCost, ...]:
    """Each year of the life; purchase and one-off costs are paid in the first one, and the residual
    value comes back in the last. Both columns have the same sum."""
    cost = monthly_cost(hardware, hours_per_month=hours_per_month)
    with localcontext(EXACT):
        first = _recurring(hardware, hours_per_month)
        lease = hardware.lease.price_per_month if hardware.lease else Decimal(0)
        start = cost.capital_total + cost.one_off_total
        a_month = (start - cost.residual_total) / hardware.life_months
        years = []
        for n in range(-(-hardware.life_months // MONTHS_PER_YEAR)):
            months = min(MONTHS_PER_YEAR, hardware.life_months - n * MONTHS_PER_YEAR)
            paid = months * lease + sum(
                months * amount * (1 + _inflation(hardware, name)) ** n
                for name, amount in first.items()
            )
            is_last = (n + 1) * MONTHS_PER_YEAR >= hardware.life_months
            cash = paid + (start if n == 0 else 0) - (cost.residual_total if is_last else 0)
            years.append(YearCost(n + 1, cash, paid + months * a_month))
        return tuple(years)


def annuity(rate_per_year: Decimal, months: int, growth_per_year: Decimal = Decimal(0)) -> Decimal:
    """Worth today of 1 at the end of each month, at `rate_per_year` / 12 a month: 1 / CRF.
    The payment grows with each year by `growth_per_year`.

    The sum Σ (1 + i/12)^−k over k = 1 … months equals the closed form, needs no case for 0 % and
    loses no digits near it.
    """
    with localcontext(EXACT):
        discount = _monthly_discount(rate_per_year)
        worth, factor = Decimal(0), Decimal(1)
        # At most some hundred months: cheaper than a case for a rate of 0 %, where the closed form divides
        # by zero.
        for month in range(months):
            if growth_per_year and month and month % MONTHS_PER_YEAR == 0:
                factor *= 1 + growth_per_year
            factor *= discount
            worth += factor
        return worth


def _monthly_discount(rate_per_year: Decimal) -> Decimal:
    """Value today of 1 in a month; to be called in the context EXACT."""
    return 1 / (1 + rate_per_year / MONTHS_PER_YEAR)


def spares_needed(servers: int, annual_failure_rate: Decimal, repair_days: Decimal) -> int:
    """The fewest spares that cover the servers under repair with the probability SERVICE_LEVEL.

    Smallest s with P(X ≤ s) ≥ SERVICE_LEVEL (below 1) for X Poisson with the mean
    N · AFR · repair / year.
    """
    with localcontext(EXACT):
        under_repair = servers * annual_failure_rate * repair_days / DAYS_PER_YEAR
        # Each term of the Poisson sum follows from the one before, so no factorial grows large.
        # In decimals of 34 digits: as a float the term of a thousand machines under repair would be 0, and
        # the sum never end.
        term = (-under_repair).exp()
        covered, spares = term, 0
        while covered < SERVICE_LEVEL:
            spares += 1
            term *= under_repair / spares
            covered += term
        return spares


def cost_document(cost: HardwareCost) -> dict[str, Any]:
    """The cost with amounts as decimal strings, not rounded."""
    return {name: plain(value) for name, value in asdict(cost).items()}


def years_document(hardware: HardwareDocument) -> list[dict[str, Any]]:
    """The cost by year, amounts as decimal strings."""
    return [plain(asdict(year)) for year in costs_by_year(hardware)]
