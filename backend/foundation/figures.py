"""Numbers as people read them, in English: at most four significant digits and no exponents.

The one rounding rule of pages and terminals. `texts.number` makes a figure follow the reader's
language; exports and the API keep the full value.
"""

from decimal import ROUND_HALF_EVEN, Context, Decimal

Number = Decimal | float | int

MAX_DIGITS = 4
# With a scaled unit the prefix says the size, and three digits are as many as people compare.
SCALED_DIGITS = 3
# Money that a sentence states.
SENTENCE_DIGITS = 3
SIGNS = {"USD": "$", "EUR": "€", "GBP": "£"}
# Decimals of a price: parts of a cent count where a small machine is paid by the hour.
DECIMALS = {"hour": 4}
CENTS = 2
PERIODS = {"hour": "/h", "month": "/mo", "year": "/yr"}
# Above it an increase in percent is harder to read than the factor.
FACTOR_FROM = 10
# Nearer to nothing than anything that is measured or sold.
NOTHING = 1e-15
# Largest first.
PREFIXES = ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))
_TIMES = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"))
_SHORT = {"bytes/s": "B/s", "bits/s": "bit/s", "bytes": "B", "W": "W"}
# Sizes that are read with an SI prefix in place of zeros when they stand alone.
_COUNTED = frozenset({"operations/s", "bogo ops/s"})


def significant(value: Number, digits: int = MAX_DIGITS) -> Decimal:
    """The value with that many significant digits, without trailing zeros."""
    # Context.create_decimal takes a float exactly, so a half is one also in the last digit.
    return Context(prec=digits, rounding=ROUND_HALF_EVEN).create_decimal(value).normalize()


def decimals_of(size: float) -> int:
    """Decimals that give a size four digits; four for what is below one."""
    return next((d for limit, d in ((1000, 0), (100, 1), (10, 2), (1, 3)) if size >= limit), 4)


def figure(value: Number | None, digits: int = MAX_DIGITS) -> str:
    """The value with thousands separators; empty for None."""
    if value is None:
        return ""
    return "≈ 0" if 0 < abs(float(value)) < NOTHING else f"{significant(value, digits):,f}"


def prefix(unit: str, size: float) -> tuple[int, str]:
    """Factor and name of the unit in which a size reads as 1 to 999."""
    if unit == "ns":
        return next((name for name in _TIMES if size >= name[0]), (1, unit))
    if unit not in _SHORT:
        return 1, unit
    factor, letter = next((prefix for prefix in PREFIXES if size >= prefix[0]), (1, ""))
    return factor, letter + _SHORT[unit]


def measure(value: Number, unit: str) -> str:
    """A value with its unit scaled, as 1.64 GB/s, 388 µs or 65k operations/s."""
    # As it is printed: 999,999 B/s are 1 MB/s.
    size = abs(float(significant(value, SCALED_DIGITS)))
    factor, name = prefix(unit, size)
    if factor == 1 and unit in _COUNTED and abs(float(value)) >= 10 * PREFIXES[-1][0]:
        factor, letter = next(prefix for prefix in PREFIXES if size >= prefix[0])
        return f"{figure(float(value) / factor, SCALED_DIGITS)}{letter} {unit}"
    digits = MAX_DIGITS if factor == 1 else SCALED_DIGITS
    return f"{figure(float(value) / factor, digits)} {name}".rstrip()


def money(amount: Number, period: str = "", digits: int = MAX_DIGITS) -> str:
    """An amount with the decimals of its period: four an hour, two otherwise, none from 100 on."""
    decimals = DECIMALS.get(period, CENTS)
    least = Decimal(1).scaleb(-decimals)
    if 0 < Decimal(amount) <= least / 2:
        return f"< {least}"
    size = abs(float(significant(amount, digits)))
    if size <= least / 2:
        return f"{0:.{decimals}f}"
    if size >= 100:
        return f"{significant(round(amount), digits):,f}"
    if size >= 1:
        decimals = min(decimals, decimals_of(size))
    return f"{significant(amount, digits):,.{decimals}f}"


def price(amount: Number, currency: str, period: str = "", digits: int = MAX_DIGITS) -> str:
    """An amount with its currency and period, as $3.07/mo or CHF 189."""
    text = money(amount, period, digits)
    if period == "hour":
        text = _without_zeros(text)
    bound, minus, text = _parts(text)
    sign = SIGNS.get(currency, f"{currency} " if currency else "")
    return f"{bound}{minus}{sign}{text}{PERIODS.get(period, '')}"


def quote(amount: Decimal, currency: str, period: str = "") -> str:
    """A price exactly as its seller states it, with the cents."""
    text = f"{amount.normalize():,f}"
    missing = CENTS - len(text.partition(".")[2])
    if missing > 0:
        text = f"{amount:,.{CENTS}f}"
    _, minus, text = _parts(text)
    sign = SIGNS.get(currency, f"{currency} " if currency else "")
    return f"{minus}{sign}{text}{PERIODS.get(period, '')}"


def _without_zeros(text: str) -> str:
    """Without the zeros that follow the cents."""
    whole, point, part = text.partition(".")
    return whole + point + part[:CENTS] + part[CENTS:].rstrip("0")


def _parts(text: str) -> tuple[str, str, str]:
    """A bound, a minus sign and the digits of an amount, which a currency sign goes between."""
    bound = "< " if text.startswith("< ") else ""
    text = text.removeprefix("< ")
    return bound, "−" if text.startswith("-") else "", text.removeprefix("-")


def percent(ratio: float, decimals: int = 1) -> str:
    """A ratio in percent, as 95% or 98.9%."""
    size = 100 * Decimal(repr(float(ratio)))
    rounded = significant(round(size, decimals) if abs(size) < 1000 else size)
    return f"{rounded:,f}%"


def percent_change(ratio: Number) -> str:
    """A difference with its sign in percent; from ten times as much on the factor."""
    if ratio >= FACTOR_FROM:
        return f"{figure(1 + ratio, SCALED_DIGITS)}×"
    text = percent(float(ratio)).replace("-", "−")
    if text in {"0%", "−0%"}:
        return "±0%"
    return text if text.startswith("−") else f"+{text}"


def quantity(value: Number | None) -> str:
    """A count or size as stated: whole numbers exactly, others with at most two decimals or two
    significant digits, so that a small share never reads as 0."""
    if value is None:
        return ""
    if value == int(value):
        return f"{int(value):,}"
    size = abs(float(value))
    if size < 0.1:
        return figure(value, 2)
    return f"{round(significant(value), 2).normalize():,f}"
