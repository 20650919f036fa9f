"""The one reader of a decimal number in a document, an address or a body: JSON number or text."""

import re
from decimal import Decimal

MAX_CHARS = 40
# A typed exponent of thousands would make arithmetic take time that a stranger chose.
MAX_EXPONENT = 30
# Only ASCII: Python reads the digits of every script, and underscores between them.
PATTERN = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?"
_DECIMAL = re.compile(PATTERN)


def read_decimal(value: object) -> Decimal | None:
    """The number that `.5`, `5`, `5.0`, `5e3` or a JSON number says, exactly; None for anything else."""
    # A bool is an int to Python, and no number to people.
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str):
        return None
    if isinstance(value, int) and abs(value) >= 10**MAX_CHARS:
        # Thousands of digits need not be printed to be refused.
        return None
    # str of a float is the shortest text that reads back as the same, so 0.1 stays a tenth.
    text = str(value).strip()
    if len(text) > MAX_CHARS and not isinstance(value, Decimal):
        return None
    if not isinstance(value, Decimal) and not _DECIMAL.fullmatch(text):
        return None
    number = Decimal(text)
    if not number:
        return Decimal(0) if number == 0 else None
    return number if number.is_finite() and abs(number.adjusted()) <= MAX_EXPONENT else None
