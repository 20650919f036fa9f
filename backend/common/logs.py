"""Log lines without secrets: an address may hold the key of a feed, or sign somebody in."""

import logging
import re

# Keys stand in the path since a spreadsheet cannot send a header, and every log prints paths.
FEED_PREFIX = "rf_"
FEED_PATH = "/feeds/"
SIGN_IN_PATH = "/accounts/link/"
_IN_PATH = re.compile(rf"({FEED_PATH}|{SIGN_IN_PATH})[^/\s?'\"]+")
# The eight characters that look a key up stay: they say in a log which key it was.
_KEY = re.compile(r"\b(r[rf]_[0-9a-f]{8})[0-9a-f]{8,}")


def masked(text: str) -> str:
    """The text with the keys of feeds and API tokens cut to the part that names them, and no secret of a link."""
    return _IN_PATH.sub(r"\1***", _KEY.sub(r"\1***", text))


class MaskingFormatter(logging.Formatter):
    """A formatter whose whole output, traceback included, is masked."""

    def format(self, record: logging.LogRecord) -> str:
        # After formatting: an address may stand in the arguments, in an exception or in a traceback.
        return masked(super().format(record))
