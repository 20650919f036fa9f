"""Remarks on how a bill was read."""

import pytest

from backend.bills.calc.notes import BillNote, note_text

SAID = {
    BillNote.MONTH_ON_A_DAY: "read as the hours of a whole month",
    BillNote.HOURS_NOT_BLOCKS: "read as hours and not as blocks",
    BillNote.MORE_HOURS_THAN_TIME: "more hours than the bill is long",
    BillNote.PRICE_OF_A_UNIT: "import the table again with price_is=total",
}


@pytest.mark.parametrize("note", BillNote)
def test_every_note_is_a_sentence_with_its_count(note):
    text = note_text(note.value, 17)
    assert text.startswith("17 ") or " 17 lines " in text
    assert SAID[note] in text
    assert text.endswith(".")


def test_note_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="rumour"):
        note_text("rumour", 1)
