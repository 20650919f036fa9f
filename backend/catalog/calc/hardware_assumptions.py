"""Assumptions of own hardware's cost, and those that others have published: every figure with a
source.

A default is a figure that somebody published or, where nobody did for a case like the reader's, one
of our own that says so. All of them are meant to be changed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

from backend.foundation.texts import text as _

D = Decimal


@dataclass(frozen=True)
class HardwareAssumption:
    """A field of the document: its default, and the range [low, high] that is accepted.

    `currency` in a unit is that of the document.
    """

    name: str
    label: str
    default: Decimal
    unit: str
    low: Decimal
    high: Decimal
    source: str


@dataclass(frozen=True)
class Published:
    """A figure that somebody stands for, to choose instead of a default or to compare with."""

    name: str
    value: Decimal
    unit: str
    source: str


_TABLE = (
    HardwareAssumption(
        "life_months", _("Life"), D(60), _("months"), D(1), D(240), "37signals: five years"
    ),
    HardwareAssumption(
        "residual_ratio", _("Residual value"), D(0), _("ratio of the purchase price"), D(0), D(1),
        _("our own assumption: old servers are given away"),
    ),
    HardwareAssumption(
        "resale_ratio_at_start", _("Resale value at the start"),
        D("0.6"), _("ratio of the purchase price"), D(0), D(1),
        _("our own assumption: a used server loses 30 to 50% at once"),
    ),
    HardwareAssumption(
        "discount_rate_per_year", _("Discount rate"),
        D("0.05"), _("ratio per year, a twelfth each month"), D(0), D(1),
        _("our own assumption: a company’s cost of capital"),
    ),
    HardwareAssumption(
        "pue", "PUE", D("1.56"), _("power drawn by the site / by the machines"), D(1), D(5),
        "mean of the Uptime Institute's survey of data centres, 2024",
    ),
    HardwareAssumption(
        "energy_price_per_kwh", _("Energy price"),
        D("0.20"), _("currency per kWh"), D(0), D(1_000_000),
        "Eurostat: mean of the EU for users other than households, second half of 2023, in EUR "
        "without VAT (countries: 0.089 to 0.276)",
    ),
    HardwareAssumption(
        "rack_units", _("Rack units"), D(1), _("rack units of the whole set"), D(0), D(1_000_000),
        _("our own assumption: one unit per server"),
    ),
    HardwareAssumption(
        "rack_price_per_unit_month", _("Price of a rack unit"),
        D(30), _("currency per rack unit and month"),
        D(0), D(1_000_000_000),
        _("our own assumption: the middle of 500 to 2,000 EUR a month asked for cabinets of 42 units"),
    ),
    HardwareAssumption(
        "support_ratio_per_year", _("Support contract"),
        D("0.05"), _("share of the purchase price per year (0.05 = 5%)"), D(0), D(1),
        _("our own assumption: parts on the next working day"),
    ),
    HardwareAssumption(
        "staff_hours_per_month", _("Staff hours"),
        D(2), _("hours per month for the whole set"), D(0), D(1_000_000),
        _("our own assumption: 2 hours more per server than a rented one needs"),
    ),
    HardwareAssumption(
        "staff_price_per_hour", _("Staff price"),
        D(60), _("currency per hour"), D(0), D(1_000_000_000),
        _("our own assumption: a wage of 60 EUR including all overheads"),
    ),
    HardwareAssumption(
        "network_price_per_month", _("Network"), D(0), _("currency per month for the whole set"),
        D(0), D(9_999_999_999), _("our own assumption: the port comes with the rack"),
    ),
    HardwareAssumption(
        "transit_mbit_per_s", _("Transit"), D(0), _("Mbit/s of the whole set, 95th percentile"),
        D(0), D(100_000_000), _("our own assumption: transit comes with the port"),
    ),
    HardwareAssumption(
        "transit_price_per_mbit_month", _("Price of transit"),
        D(0), _("currency per Mbit/s and month"),
        D(0), D(1_000_000), _("no default: state it with the transit"),
    ),
    HardwareAssumption(
        "remote_hands_hours_per_year", _("Remote hands"),
        D(0), _("hours per year for the whole set"),
        D(0), D(1_000_000), _("our own assumption: your staff does the work on site"),
    ),
    HardwareAssumption(
        "remote_hands_price_per_hour", _("Price of remote hands"),
        D(0), _("currency per hour"), D(0), D(1_000_000),
        _("no default: state it with the hours"),
    ),
    HardwareAssumption(
        "installation_price", _("Installation"),
        D(0), _("currency, once for the whole set"), D(0), D(9_999_999_999),
        _("our own assumption: your staff installs it"),
    ),
    HardwareAssumption(
        "migration_price", _("Migration"),
        D(0), _("currency, once for the whole set"), D(0), D(9_999_999_999),
        _("our own assumption: nothing has to move"),
    ),
    HardwareAssumption(
        "energy_inflation_per_year", _("Rise of energy prices"),
        D(0), _("ratio per year"), D(0), D(1),
        _("our own assumption: the price of energy stays"),
    ),
    HardwareAssumption(
        "wage_inflation_per_year", _("Rise of wages"),
        D(0), _("ratio per year, of staff and remote hands"), D(0), D(1),
        _("our own assumption: wages stay"),
    ),
    HardwareAssumption(
        "annual_failure_rate", _("Failure rate"),
        D("0.024"), _("failures per server and year"), D(0), D(1),
        "OSDI 2023, quoted by GreenSKU (ISCA 2024): a server without its memory and disks; "
        "each DIMM adds 0.001 and each SSD 0.002",
    ),
    HardwareAssumption(
        "repair_days", _("Repair time"),
        D(7), _("days from a failure to the server's return"), D(0), D(365),
        _("our own assumption: found, ordered and fitted within a week"),
    ),
)  # fmt: skip

ASSUMPTIONS: Mapping[str, HardwareAssumption] = MappingProxyType(
    {assumption.name: assumption for assumption in _TABLE}
)
# Amounts whose default is in euros; a document in another currency has it converted.
IN_EUROS = ("energy_price_per_kwh", "rack_price_per_unit_month", "staff_price_per_hour")
# Amounts of work or traffic, each with the price that gives it a cost.
PRICED = {
    "transit_mbit_per_s": "transit_price_per_mbit_month",
    "remote_hands_hours_per_year": "remote_hands_price_per_hour",
}
# Failures of a disk in a year, by its kind.
DISK_FAILURE_RATES: Mapping[str, Decimal] = MappingProxyType(
    {"ssd": D("0.002"), "nvme": D("0.002"), "hdd": D("0.0157")}
)
# Fields of the whole set whose default is that of one server.
OF_A_SERVER = ("rack_units", "staff_hours_per_month")
# Units of a currency for a euro: reference rates of the European Central Bank of 2026-10-30. Fixed,
# so that a document means the same every day; a default is an assumption of that size.
EURO_RATES: Mapping[str, Decimal] = MappingProxyType(
    {
        "EUR": D(1), "USD": D("1.1172"), "GBP": D("0.8338"), "CHF": D("0.9194"),
        "JPY": D("175.68"), "CNY": D("7.4326"), "SEK": D("10.978"), "PLN": D("4.4038"),
        "CAD": D("1.5606"), "AUD": D("1.5904"), "INR": D("106.084"), "BRL": D("6.0692"),
    }
)  # fmt: skip

PUBLISHED = (
    Published("pue", D("1.56"), _("ratio"), "survey mean 2024 (Uptime Institute)"),
    Published("pue", D("1.58"), _("ratio"), "survey mean 2023 (Uptime Institute)"),
    Published("pue", D("1.42"), _("ratio"), "Equinix, 2023"),
    Published("pue", D("1.12"), _("ratio"), "Azure, in the GreenSKU data (ISCA 2024)"),
    Published("life_months", D(72), _("months"), "Azure, in the GreenSKU data (ISCA 2024)"),
    Published("life_months", D(60), _("months"), "37signals"),
    Published("life_months", D(36), _("months"), "Hamilton, 2010"),
    Published("facility_life_years", D(10), _("years"), "least of the published models"),
    Published("facility_life_years", D(15), _("years"), "most of the published models"),
    Published(
        "annual_failure_rate", D("0.024"), _("per server and year"), "OSDI 2023: without parts"
    ),
    Published("dimm_failure_rate", D("0.001"), _("per DIMM and year"), "OSDI 2023"),
    Published("ssd_failure_rate", D("0.002"), _("per SSD and year"), "OSDI 2023"),
    Published("hdd_failure_rate", D("0.0157"), _("per disk and year"), "Backblaze, all of 2024"),
    Published("carbon_kg_per_kwh", D("0.35"), _("kg of CO2 per kWh"), "GreenSKU data (ISCA 2024)"),
    Published("share_servers", D("0.57"), _("ratio of the cost at scale"), "Hamilton, 2010"),
    Published("share_network", D("0.08"), _("ratio of the cost at scale"), "Hamilton, 2010"),
    Published("share_plant", D("0.18"), _("ratio of the cost at scale"), "Hamilton, 2010"),
    Published("share_energy", D("0.13"), _("ratio of the cost at scale"), "Hamilton, 2010"),
    Published("share_other", D("0.04"), _("ratio of the cost at scale"), "Hamilton, 2010"),
)
