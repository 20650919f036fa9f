"""Words that people put on a run to find and compare it: kernel=6.18, commit=abc."""

import re
from collections.abc import Mapping

from backend.foundation.errors import InvalidValue
from backend.foundation.reading.texts import why_not_kept

NAME = re.compile(r"[a-z][a-z0-9_.-]{0,39}")
MOST_LABELS = 20
MOST_CHARACTERS = 100


def check_labels(labels: Mapping[str, object]) -> dict[str, str]:
    """As they are stored, by name. InvalidValue with the pointer of one that cannot be."""
    if len(labels) > MOST_LABELS:
        raise InvalidValue("/labels", f"{len(labels)} labels; {MOST_LABELS} are the most")
    for name, value in labels.items():
        pointer = f"/labels/{name[:40]}"
        if not NAME.fullmatch(name):
            raise InvalidValue(pointer, "a name is a small letter and up to 39 of a-z 0-9 _ . -")
        if not isinstance(value, str) or not 1 <= len(value) <= MOST_CHARACTERS:
            raise InvalidValue(pointer, f"a text of 1 to {MOST_CHARACTERS} characters is needed")
        if why := why_not_kept(value):
            raise InvalidValue(pointer, why)
    return {name: str(labels[name]) for name in sorted(labels)}


def labels_text(labels: Mapping[str, str]) -> str:
    """In one line: `commit=abc, kernel=6.18`."""
    return ", ".join(f"{name}={value}" for name, value in labels.items())
