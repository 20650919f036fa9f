"""What a run may measure: probes with their series, profiles, and the parameters a person sets.

How each series is measured (commands, parsers, binaries) is in workers.probes.registry.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from backend.domain.errors import InvalidValue

MIB = 2**20

PROBE_SERIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "cmips": ("all", "single"),
        "memory": ("bandwidth", "latency"),
        "dd": ("write", "read"),
    }
)
"""Probe → its repeated series. The inventory always comes first, once, and is not chosen."""


@dataclass(frozen=True)
class Profile:
    """How long and how often a run measures.

    `time_cap_s` is the runner's time after which no further repeat is begun where a series has
    one; `quiet_budget_s` bounds all waiting for a quiet host.
    """

    name: str
    min_repeats: int
    max_repeats: int
    seconds: float
    """Length of one cmips repeat."""
    file_bytes: int
    """Size of the file that dd writes and reads."""
    disk_s: int
    """A slow disk is cut off after this time of one copy; what it copied by then counts."""
    quiet_budget_s: int
    time_cap_s: int


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            Profile("quick", 3, 3, 4, 1024 * MIB, 4, 15, 75),
            Profile("standard", 5, 12, 8, 1024 * MIB, 30, 120, 780),
            Profile("full", 5, 20, 15, 4096 * MIB, 60, 300, 3300),
        )
    }
)


@dataclass(frozen=True)
class Parameter:
    """A number within [low, high] that a run may set in place of its profile's."""

    low: float
    high: float
    is_whole: bool


PARAMETERS: Mapping[str, Parameter] = MappingProxyType(
    {
        "seconds": Parameter(0.2, 120, is_whole=False),
        "repeats": Parameter(1, 50, is_whole=True),
        "file_bytes": Parameter(MIB, 2**40, is_whole=True),
        "quiet_budget_s": Parameter(0, 3600, is_whole=True),
    }
)
DIRECTORY = "directory"


def profile_named(name: object) -> Profile:
    """Raises InvalidValue("/profile") for a name that is not in PROFILES."""
    if not isinstance(name, str) or name not in PROFILES:
        raise InvalidValue("/profile", f"{name!r} is not one of {', '.join(PROFILES)}")
    return PROFILES[name]


def checked_probes(names: Sequence[object] | None) -> list[str] | None:
    """The probes asked for without repetition; None is all of them."""
    if names is None:
        return None
    chosen: list[str] = []
    for index, name in enumerate(names):
        if not isinstance(name, str) or name not in (*PROBE_SERIES, "inventory"):
            known = ", ".join(("inventory", *PROBE_SERIES))
            raise InvalidValue(f"/probes/{index}", f"{name!r} is not one of {known}")
        if name not in chosen:
            chosen.append(name)
    if not chosen:
        raise InvalidValue("/probes", "at least one probe is needed")
    return chosen


def checked_parameters(given: Mapping[str, object]) -> dict[str, float | int | str]:
    """The parameters of a run, typed; raises InvalidValue naming the first bad one."""
    checked: dict[str, float | int | str] = {}
    for name, value in given.items():
        field = f"/parameters/{name}"
        if name == DIRECTORY:
            checked[name] = _directory(field, value)
        elif name in PARAMETERS:
            checked[name] = _number(field, value, PARAMETERS[name])
        else:
            known = ", ".join((*PARAMETERS, DIRECTORY))
            raise InvalidValue(field, f"unknown; known are {known}")
    return checked


def _number(field: str, value: object, parameter: Parameter) -> float | int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidValue(field, f"{value!r} is not a number")
    if not parameter.low <= value <= parameter.high:
        raise InvalidValue(field, f"{value} is not within {parameter.low:g} … {parameter.high:g}")
    if parameter.is_whole and value != int(value):
        raise InvalidValue(field, f"{value} is not a whole number")
    return int(value) if parameter.is_whole else float(value)


def _directory(field: str, value: object) -> str:
    """An absolute path of printable characters without `..`, for the files of the disk tests."""
    if (
        not isinstance(value, str)
        or not value.startswith("/")
        or len(value) > 500
        or not value.isprintable()
        or ".." in value.split("/")
    ):
        raise InvalidValue(field, "an absolute path without '..' is needed")
    return value
