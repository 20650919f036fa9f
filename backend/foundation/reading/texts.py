"""Text that somebody pastes or a tool prints: bounded and free of what no tool writes."""

import codecs
import json
import re

from backend.foundation.errors import ProbeError
from backend.foundation.printable import NOT_TEXT, printable

MAX_CHARACTERS = 8 * 2**20
# Behind an odd number of other backslashes the first two are one backslash of the text, and no
# escape begins.
NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def text_of(content: bytes) -> str:
    """Output of a machine, as text that a database and a terminal take (`printable`)."""
    return printable(content.decode(errors="replace"))


def decode_text(content: bytes) -> str:
    """A file of text in UTF-8, or in UTF-16 with its mark, as PowerShell redirects output.

    Raises UnicodeDecodeError.
    """
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if is_utf16 else "utf-8-sig")


def check_text(tool: str, text: str, *, most: int = MAX_CHARACTERS) -> str:
    """The text without a byte order mark, every line ending a line feed.

    Raises ProbeError for more than `most` characters, a NUL character, half a surrogate pair, and
    for no text at all.
    """
    if len(text) > most:
        raise ProbeError(tool, f"{len(text)} characters are too many, {most} the most", 1)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    wrong = NOT_TEXT.search(text)
    if wrong is not None:
        what = "a NUL character" if wrong[0] == "\0" else "half a character"
        raise ProbeError(tool, what, text.count("\n", 0, wrong.start()) + 1)
    if not text.strip():
        raise ProbeError(tool, "the text is empty", 1)
    return text


def why_not_kept(value: object) -> str | None:
    """Why a database cannot keep a value of JSON: NaN, a NUL character, half a surrogate pair."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except ValueError as error:
        return f"a value that cannot be kept: {error}"
    return "a NUL character" if NUL.search(text) else None
