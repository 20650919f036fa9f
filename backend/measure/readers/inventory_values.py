"""The forms in which sections of the inventory state their values."""

import re

KIB = 1024
MAX_CPUS = 8192
CPU_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


def colon_values(text: str) -> dict[str, str]:
    """`key : value` lines; of a key that occurs more than once, the first."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        key, colon, value = line.partition(":")
        if colon and value.strip() not in {"", "-"}:
            values.setdefault(key.strip(), value.strip())
    return values


def tab_values(text: str) -> dict[str, str]:
    """`key value` lines with a tab or a blank between."""
    pairs = (line.split(maxsplit=1) for line in text.split("\n"))
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


def words_of(text: str) -> dict[str, dict[str, str]]:
    """`name key=value key=value …` lines."""
    rows = {}
    for line in text.split("\n"):
        name, *words = line.split() or [""]
        if name:
            rows[name] = {key: value for key, _, value in (word.partition("=") for word in words)}
    return rows


def whole(text: str | None) -> int | None:
    """A count above zero, else None."""
    if text is None or not (text.isascii() and text.isdigit() and len(text) < 16):
        return None
    return int(text) or None


def cpu_list_count(text: str) -> int | None:
    """How many CPUs a list like `0-3,8` names."""
    count = 0
    for part in text.strip().split(","):
        bounds = CPU_RANGE.fullmatch(part)
        if bounds is None:
            return None
        count += max(0, int(bounds[2] or bounds[1]) - int(bounds[1]) + 1)
    return count if 0 < count <= MAX_CPUS else None
