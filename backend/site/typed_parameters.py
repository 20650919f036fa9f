"""Numbers that people type into the forms of an address, as the decimals that its readers take."""

import re
from collections.abc import Mapping

from backend.rankings.selectors.answer import NEEDS
from backend.rankings.selectors.columns import COLUMN
from backend.site import number_fields
from backend.site.number_fields import Units, read_typed
from backend.site.state import Params

_NO_UNITS: Units = {}
# Parameters that are numbers, and the units that people type with them.
_NUMBERS: Mapping[str, Units] = {
    "hours_per_month": _NO_UNITS,
    "hours_run": _NO_UNITS,
    "setup_months": _NO_UNITS,
    "tax_rate": number_fields.RATIO,
    "basis_disk_gb": number_fields.DISK_GB,
    "basis_egress_gb": number_fields.DISK_GB,
    "ram_gib": number_fields.MEMORY_GIB,
    "disk_gb": number_fields.DISK_GB,
    "egress_gb_per_month": number_fields.DISK_GB,
    "max_servers": _NO_UNITS,
}
_BOUND = re.compile(r"(.+)__(?:gte|lte|gt|lt)")
# A point before three digits would be asked about when the address is opened in another language.
_ASKED_ABOUT = re.compile(r"[+-]?[1-9][0-9]{0,2}\.[0-9]{3}")


def read_numbers(params: Params) -> tuple[dict[str, list[str]], list[tuple[str, str]]]:
    """The parameters with their numbers as decimals, and (name, words) of those that stay as typed."""
    read: dict[str, list[str]] = {}
    errors = []
    for name, values in params.items():
        units = _units(name)
        try:
            read[name] = [text if units is None else read_number(text, units) for text in values]
        except ValueError as error:
            read[name] = list(values)
            errors.append((name, str(error)))
    return read, errors


def read_number(text: str, units: Units = _NO_UNITS) -> str:
    """A number as a decimal string; empty text stays so."""
    if not text.strip():
        return text
    shown = format(read_typed(text, units), "f")
    return f"{shown}0" if _ASKED_ABOUT.fullmatch(shown) else shown


def _units(name: str) -> Units | None:
    """The units of a parameter; None where it is no number."""
    if name in _NUMBERS:
        return _NUMBERS[name]
    match = _BOUND.fullmatch(NEEDS.get(name, name))
    column = match[1] if match else ""
    if column not in COLUMN or not COLUMN[column].kind.is_numeric:
        return None
    return _NUMBERS.get(column, _NO_UNITS)
