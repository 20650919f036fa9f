"""Remarks on how a bill was read: each with the number of lines that it is about."""

from enum import StrEnum

from backend.foundation.texts import text as _


class BillNote(StrEnum):
    """Readings that somebody should check."""

    MONTH_ON_A_DAY = "month_on_a_day"
    HOURS_NOT_BLOCKS = "hours_not_blocks"
    MORE_HOURS_THAN_TIME = "more_hours_than_time"
    PRICE_OF_A_UNIT = "price_of_a_unit"


def note_text(note: str, lines: int) -> str:
    """The remark as a sentence for people."""
    match BillNote(note):
        case BillNote.MONTH_ON_A_DAY:
            return _(
                "{lines} lines have more machine hours than their day or hour can hold. They were "
                "read as the hours of a whole month.",
                lines=lines,
            )
        case BillNote.HOURS_NOT_BLOCKS:
            return _(
                "{lines} lines have a unit such as 10 Hours. Their quantity was read as hours and "
                "not as blocks, because their prices say so.",
                lines=lines,
            )
        case BillNote.MORE_HOURS_THAN_TIME:
            return _(
                "{lines} machines have more hours than the bill is long. Check that no line is in "
                "it twice.",
                lines=lines,
            )
    return _(  # BillNote.PRICE_OF_A_UNIT
        "The column price of {lines} lines was read as the price of one machine, or of one hour where "
        "the table has hours. If it is the total of the line, import the table again with "
        "price_is=total.",
        lines=lines,
    )
