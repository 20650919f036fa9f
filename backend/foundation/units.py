"""Units used in every name of the project, and the one passage from float to Decimal.

Decimal prefixes are powers of ten (GB, Gbit/s), binary ones powers of two (GiB).
"""

import math
from decimal import Context, Decimal

from backend.foundation.errors import InvalidValue

BYTES_PER_GB = 10**9
BYTES_PER_GIB = 2**30
BITS_PER_BYTE = 8
MONTHS_PER_YEAR = 12
# 8,760 / 12, as the providers calculate a month: for commitments, and where prices of different
# units are compared and no reader has chosen the hours of a month.
HOURS_PER_MONTH = 730

# Sums of quoted amounts carry 34 significant digits (IEEE 754 decimal128).
EXACT = Context(prec=34)


def exact_decimal(value: float) -> Decimal:
    """The Decimal that prints like the float: the shortest text that reads back to it.

    Measured figures enter decimal arithmetic here alone.
    Raises InvalidValue for infinities and NaN.
    """
    if not math.isfinite(value):
        raise InvalidValue("value", f"{value} is not a finite number")
    return Decimal(repr(float(value)))


def round_derived(value: float) -> Decimal:
    """A derived figure as it is printed and compared: at 12 significant digits."""
    text = f"{value:.12g}"
    # Without an exponent, which a spreadsheet would show.
    return Decimal(text).quantize(Decimal(1)) if "e+" in text else Decimal(text)


def gib(size_bytes: int) -> Decimal:
    """A size in bytes as GiB, exactly."""
    return EXACT.divide(Decimal(size_bytes), Decimal(BYTES_PER_GIB))
