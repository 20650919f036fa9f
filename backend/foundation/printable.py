"""Text of machines and providers without characters that steer a terminal or forge a line."""

import re

MAX_LINE_CHARACTERS = 2000
# C0 and C1 controls except tab and line feed, separators of lines and paragraphs, overrides of the
# direction, and half a surrogate pair, which has no form in UTF-8.
_CONTROLS = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
# PostgreSQL's texts have no NUL character, and half a surrogate pair has no form in UTF-8.
NOT_TEXT = re.compile("[\0\ud800-\udfff]")
_BREAKS = re.compile(r"[\t\r\n]+")


def printable(text: str) -> str:
    """The text with tabs and line feeds; every other control character becomes U+FFFD."""
    return _CONTROLS.sub("\ufffd", text.replace("\r\n", "\n"))


def printable_line(text: str) -> str:
    """The text in one line of at most MAX_LINE_CHARACTERS."""
    line = _CONTROLS.sub("\ufffd", _BREAKS.sub(" ", text))
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    # Both ends: the first says what failed, the last why.
    half = MAX_LINE_CHARACTERS // 2 - 1
    return f"{line[:half]}…{line[-half:]}"
