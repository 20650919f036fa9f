"""Text of hosts and providers, as a person may see it."""

from backend.foundation.printable import MAX_LINE_CHARACTERS, printable, printable_line

# The title of a terminal, a cursor that goes up, and a line of somebody else's log.
HOSTILE = "\x1b]0;owned\x07\r\n\x1b[1AWARNING admin signed in"


def test_text_keeps_its_lines_and_no_control_character():
    assert printable(HOSTILE) == "\ufffd]0;owned\ufffd\n\ufffd[1AWARNING admin signed in"


def test_line_is_one_and_keeps_both_its_ends():
    assert printable_line(HOSTILE) == "\ufffd]0;owned\ufffd \ufffd[1AWARNING admin signed in"
    line = printable_line("first " + "x" * 5000 + " last")
    assert len(line) <= MAX_LINE_CHARACTERS
    assert (line[:6], line[-5:]) == ("first ", " last")
