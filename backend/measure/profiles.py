"""How long and how often a run measures, and the parameters that a person sets.

What it may measure is in backend.measure.probes.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from uuid import UUID

from backend.foundation.addresses import check_address
from backend.foundation.decimals import read_decimal
from backend.foundation.errors import InvalidValue
from backend.foundation.texts import text as _
from backend.measure.credits import CREDIT_MODES
from backend.measure.probes import CHOICES, INVENTORY, PROBES, RENTED

MIB = 2**20
GIB = 2**30
GB = 10**9
Value = float | int | str | bool | list[int] | list[str]


@dataclass(frozen=True)
class Profile:
    """How long and how often a run measures. `values` are the defaults of PARAMETERS.

    `time_cap_s` is the runner's time after which no further repeat is begun where a series has
    one.
    """

    name: str
    min_repeats: int
    max_repeats: int
    time_cap_s: int
    series: Mapping[str, tuple[str, ...]]
    """Probe → its series in this profile."""
    values: Mapping[str, float | int]


# The most that either end may send in the network tests of one run.
SENT_BYTES = "sent_bytes"
# Of a machine that is rented for the run. At 0.09 USD a GB: 0.9, 4.5 and 9 USD.
RENTED_SENT_BYTES: Mapping[str, int] = MappingProxyType(
    {"quick": 10 * GB, "standard": 50 * GB, "full": 100 * GB, "general": 10 * GB}
)
# Powers of two, since fio reports how deep the queue was in those steps.
MATRIX_DEPTHS = (1, 2, 4, 8, 16, 32, 64)
MATRIX_JOBS = (1, 4)


@dataclass(frozen=True)
class RunParameter:
    """A number within [low, high] that a run may set in place of its profile's."""

    label: str
    unit: str
    low: float
    high: float
    values: tuple[float | int, ...] = ()
    """Values of the profiles quick, standard, full and general: where there are fewer, they begin
    again."""
    is_whole: bool = True


PARAMETERS: Mapping[str, RunParameter] = MappingProxyType(
    {
        "repeats": RunParameter(_("Repeats of each series"), "", 1, 50),
        "quiet_budget_s": RunParameter(
            _("All waiting for a quiet host"), "s", 0, 3600, (15, 120, 300)
        ),
        "seconds": RunParameter(_("One CPU repeat"), "s", 0.2, 120, (1.5, 8, 15), is_whole=False),
        # Published figures are of ten seconds.
        "stress_ng_s": RunParameter(_("One repeat of stress-ng"), "s", 1, 120, (2, 10, 10)),
        "cpu_tool_s": RunParameter(_("One repeat of openssl or sysbench"), "s", 1, 120, (2, 3, 10)),
        # Published figures are of ten seconds each for Redis, and of three for an algorithm.
        "redis_s": RunParameter(_("One test of Redis"), "s", 1, 120, (2, 10, 10, 2)),
        "web_s": RunParameter(_("One test of the web server"), "s", 1, 120, (2, 10, 10, 2)),
        "algorithm_s": RunParameter(_("One algorithm of OpenSSL"), "s", 1, 60, (1, 3, 3, 1)),
        "sustained_s": RunParameter(_("Sustained CPU test"), "s", 2, 86_400, (60, 600, 900)),
        "sustained_window_s": RunParameter(
            _("Window of the sustained test"), "s", 1, 600, (5, 30, 30)
        ),
        "file_bytes": RunParameter(
            _("File of dd"), "bytes", MIB, 2**40, (1024 * MIB, 1024 * MIB, 4096 * MIB)
        ),
        "disk_s": RunParameter(_("One copy of dd at most"), "s", 1, 3600, (2, 30, 60)),
        # Of 500 files a quick disk is done within a fifth of a second, of which one look of our own at
        # the run's progress is more than a twentieth: the repeat would count as disturbed.
        "small_files": RunParameter(_("Small files"), "files", 10, 1_000_000, (1000, 3000, 3000)),
        "fio_file_bytes": RunParameter(
            _("File of fio"), "bytes", 16 * MIB, 2**40, (256 * MIB, 2048 * MIB, 8192 * MIB)
        ),
        "fio_s": RunParameter(_("One fio test"), "s", 0.5, 3600, (1.5, 8, 20), is_whole=False),
        "fio_ramp_s": RunParameter(
            _("Ramp before a fio test"), "s", 0, 600, (0.3, 2, 5), is_whole=False
        ),
        "matrix_s": RunParameter(
            _("One cell of the fio matrix"), "s", 0.5, 600, (2, 4, 8), is_whole=False
        ),
        "steady_s": RunParameter(
            _("Disk to settle before a steady test, at most"), "s", 5, 86_400, (300, 600, 1800)
        ),
        "steady_window_s": RunParameter(
            _("Window that has to be steady"), "s", 2, 3600, (30, 60, 60)
        ),
        "steady_bytes": RunParameter(
            _("Written before a steady test, at most"),
            "bytes",
            64 * MIB,
            2**44,
            (64 * GIB, 256 * GIB, 1024 * GIB),
        ),
        "network_s": RunParameter(_("One network test"), "s", 1, 600, (2, 10, 10)),
        "network_streams": RunParameter(_("Parallel TCP streams"), "streams", 2, 128, (8,)),
        "udp_bits_per_s": RunParameter(
            _("UDP rate"), "bits/s", 100_000, 100_000_000_000, (100_000_000,)
        ),
        # Of machines that are rented it has a default (most_sent_bytes): what they send is paid for.
        SENT_BYTES: RunParameter(_("Sent in the network tests at most"), "bytes", 10 * MIB, 2**50),
        "ping_count": RunParameter(_("Round trips"), "requests", 2, 10_000, (50,)),
    }
)


def _profile(
    index: int, name: str, *, min_repeats: int, max_repeats: int, time_cap_s: int
) -> Profile:
    """The profile at the index of RunParameter.values, with the series that name it."""
    series = {
        probe: tuple(series.variant for series in PROBES[probe].series if name in series.profiles)
        for probe in CHOICES
    }
    return Profile(
        name,
        min_repeats,
        max_repeats,
        time_cap_s,
        {probe: variants for probe, variants in series.items() if variants},
        {
            key: parameter.values[index % len(parameter.values)]
            for key, parameter in PARAMETERS.items()
            if parameter.values
        },
    )


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        profile.name: profile
        for profile in (
            _profile(0, "quick", min_repeats=3, max_repeats=3, time_cap_s=75),
            _profile(1, "standard", min_repeats=5, max_repeats=12, time_cap_s=780),
            _profile(2, "full", min_repeats=5, max_repeats=20, time_cap_s=3300),
            _profile(3, "general", min_repeats=3, max_repeats=3, time_cap_s=60),
        )
    }
)
DIRECTORY = "directory"
INSTALL_TOOLS = "install_tools"
# The parameter of a run on a host that is in production: it gives way to everybody else.
CAREFUL = "careful"
MAX_DIRECTORIES = 16
PURCHASE_MODELS = ("on_demand", "spot")
_DEVICE = re.compile(r"/dev/[A-Za-z0-9][A-Za-z0-9/_.:-]{0,200}", re.ASCII)


def profile_named(name: object) -> Profile:
    """Raises InvalidValue("/profile") for a name that is not in PROFILES."""
    if not isinstance(name, str) or name not in PROFILES:
        raise InvalidValue("/profile", f"{name!r} is not one of {', '.join(PROFILES)}")
    return PROFILES[name]


def check_probes(names: Sequence[object] | None) -> list[str] | None:
    """The probes asked for without repetition; None is all of them."""
    if names is None:
        return None
    chosen: list[str] = []
    for index, name in enumerate(names):
        if not isinstance(name, str) or name not in (*CHOICES, INVENTORY):
            known = ", ".join((INVENTORY, *CHOICES))
            raise InvalidValue(f"/probes/{index}", f"{name!r} is not one of {known}")
        if name not in chosen:
            chosen.append(name)
    if not chosen:
        raise InvalidValue("/probes", "at least one probe is needed")
    return chosen


def check_parameters(given: Mapping[str, object]) -> dict[str, Value]:
    """The parameters of a run, typed; raises InvalidValue naming the first bad one."""
    checked: dict[str, Value] = {}
    for name, value in given.items():
        field = f"/parameters/{name}"
        if name in PARAMETERS:
            checked[name] = _number(field, value, PARAMETERS[name])
        elif name in _CHECKS:
            checked[name] = _CHECKS[name](field, value)
        else:
            raise InvalidValue(field, f"unknown; known are {', '.join((*PARAMETERS, *_CHECKS))}")
    # Packages change what the host runs for others, and stay when removal fails.
    if checked.get(CAREFUL) and checked.get(INSTALL_TOOLS):
        raise InvalidValue(
            "/parameters/install_tools", "nothing is installed on a host that is in production"
        )
    return checked


def rental_parameters(given: Mapping[str, object]) -> dict[str, object]:
    """The parameters of a run on a machine that is rented for it, with what is usual there."""
    # A machine that is thrown away may be changed; a peer, on which iperf3 would be installed, too, may not.
    is_usual = "peer" not in given and not given.get(CAREFUL)
    usual = {RENTED: "on_demand", **({INSTALL_TOOLS: True} if is_usual else {})}
    return {**usual, **given}


def most_sent_bytes(profile: str, parameters: Mapping[str, object]) -> int:
    """Limit of bytes that either end may send in the network tests; 0 = no limit, on machines of
    one's own."""
    asked = parameters.get(SENT_BYTES)
    if isinstance(asked, int):
        return asked
    return RENTED_SENT_BYTES[profile] if RENTED in parameters else 0


def may_measure(probe: str, parameters: Mapping[str, object]) -> bool:
    """True if a run with these parameters takes the probe: none that uses the disk in production."""
    return not (parameters.get(CAREFUL) and PROBES[probe].io == "disk")


def check_own(probes: Sequence[str] | None) -> None:
    """Raises InvalidValue for a probe that is named and that no machine of one's own may have."""
    for index, probe in enumerate(probes or ()):
        if all(series.needed_parameter == RENTED for series in PROBES[probe].series):
            detail = f"{probe} formats a disk: only a machine that is rented for the run has it"
            raise InvalidValue(f"/probes/{index}", detail)


def _number(field: str, value: object, parameter: RunParameter) -> float | int:
    number = read_decimal(value)
    if number is None:
        raise InvalidValue(field, f"{value!r} is not a number")
    # As floats: the decimal 0.2 lies below the float of that name.
    if not parameter.low <= float(number) <= parameter.high:
        raise InvalidValue(field, f"{value} is not within {parameter.low:g} … {parameter.high:g}")
    if parameter.is_whole and number != int(number):
        raise InvalidValue(field, f"{value} is not a whole number")
    return int(number) if parameter.is_whole else float(number)


def _directory(field: str, value: object) -> str:
    """An absolute path of printable characters without `..`, for the files of the disk tests."""
    if (
        not isinstance(value, str)
        or not value.startswith("/")
        or len(value) > 500
        # It goes into a shell script and into log lines.
        or not value.isprintable()
        or ".." in value.split("/")
    ):
        raise InvalidValue(field, "an absolute path without '..' is needed")
    return value


def _directories(field: str, value: object) -> list[str]:
    """Directories that are written and read at the same time, each on a disk of its own."""
    if not isinstance(value, list) or not 2 <= len(value) <= MAX_DIRECTORIES:
        raise InvalidValue(field, f"a list of 2 to {MAX_DIRECTORIES} directories is needed")
    checked = [_directory(f"{field}/{index}", path) for index, path in enumerate(value)]
    # Two streams to one disk would halve each other and be added up as two disks.
    if len(set(checked)) != len(checked):
        raise InvalidValue(field, "a directory is named twice")
    return checked


def _device(field: str, value: object) -> str:
    """A block device, which is only ever read."""
    if not isinstance(value, str) or not _DEVICE.fullmatch(value) or ".." in value.split("/"):
        raise InvalidValue(field, "the path of a device such as /dev/sdb is needed")
    return value


def _peer(field: str, value: object) -> str:
    """The id of the host at the other end of the network tests."""
    try:
        # In one spelling: it is compared with stored ids as text.
        return str(UUID(str(value)))
    except ValueError:
        raise InvalidValue(field, f"{value!r} is not the id of a host") from None


def _peer_address(field: str, value: object) -> str:
    """Where the measured host reaches its peer, when that is not the peer's own address."""
    if not isinstance(value, str):
        raise InvalidValue(field, "an address is needed")
    try:
        return check_address(value)
    except InvalidValue as error:
        raise InvalidValue(field, error.detail) from None


def _flag(field: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidValue(field, "true or false is needed")
    return value


def _purchase_model(field: str, value: object) -> str:
    """How a rented machine is bought."""
    if value not in PURCHASE_MODELS:
        raise InvalidValue(field, f"{value!r} is not one of {', '.join(PURCHASE_MODELS)}")
    return str(value)


def _credit_mode(field: str, value: object) -> str:
    """Behaviour of a rented machine without CPU credits, for types that have some."""
    if value not in CREDIT_MODES:
        raise InvalidValue(field, f"{value!r} is not one of {', '.join(CREDIT_MODES)}")
    return str(value)


def _lifetime_s(field: str, value: object) -> int:
    """Seconds after which a rented machine ends itself, whatever becomes of us."""
    return int(_number(field, value, RunParameter("", "s", 60, 604_800)))


def _counts(field: str, value: object) -> list[int]:
    """Queue depths or numbers of jobs of the matrix, ascending."""
    if not isinstance(value, list) or not 1 <= len(value) <= 12:
        raise InvalidValue(field, "a list of 1 to 12 numbers is needed")
    limits = RunParameter("", "", 1, 1024)
    # Each cell of the matrix once, and in an order that a chart can draw.
    return sorted({int(_number(f"{field}/{i}", n, limits)) for i, n in enumerate(value)})


_CHECKS: Mapping[str, Callable[[str, object], Value]] = MappingProxyType(
    {
        DIRECTORY: _directory,
        "directories": _directories,
        "device": _device,
        "peer": _peer,
        "peer_address": _peer_address,
        INSTALL_TOOLS: _flag,
        CAREFUL: _flag,
        "matrix_depths": _counts,
        "matrix_jobs": _counts,
        RENTED: _purchase_model,
        "credit_mode": _credit_mode,
        "lifetime_s": _lifetime_s,
    }
)
# Parameters that are not numbers.
OTHER_PARAMETERS = tuple(_CHECKS)
# Those of machines that are rented for the run.
RENTED_ONLY = (RENTED, "credit_mode", "lifetime_s")
# Of those, the ones that take several values.
LISTS = ("directories", "matrix_depths", "matrix_jobs")
