"""Results that somebody imports: one text of one tool, and what is known of how it was made."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from backend.domain.errors import InvalidValue, ProbeError
from backend.domain.parsing import (
    ParsedSample,
    bonnie,
    cmips_program,
    coremark,
    dd,
    fio,
    iperf3,
    passmark,
    stated,
    sysbench,
    yabs,
)
from backend.domain.parsing.texts import checked_text, why_not_kept
from backend.domain.stats import ABORTED, LOWER_BOUND

MAX_BYTES = 2**50
MAX_NAME = 40
ZERO_ALLOWED = frozenset({"net_udp_loss_ratio"})
NO_RAM = (
    "ram_bytes is not given, so memory may stand in for the disk: flagged cached, and takes no rank"
)


@dataclass(frozen=True)
class Parameters:
    """How a text was made, as far as known; None = not stated."""

    direction: str | None = None
    conditions: str | None = None
    file_bytes: int | None = None
    ram_bytes: int | None = None


@dataclass(frozen=True)
class Imported:
    """What one text says; `tool_version` is empty where it does not say."""

    samples: tuple[ParsedSample, ...]
    warnings: tuple[str, ...]
    tool_version: str


def checked_parameters(parameters: Mapping[str, object] | None) -> Parameters:
    """Raises InvalidValue with a JSON pointer for an unknown key or value."""
    given = dict(parameters or {})
    known = Parameters.__dataclass_fields__
    for key in given:
        if key not in known:
            pointer = str(key).replace("~", "~0").replace("/", "~1")
            raise InvalidValue(f"/parameters/{pointer}", f"not one of {', '.join(known)}")
    return Parameters(
        direction=_word(given, "direction", dd.DIRECTIONS),
        conditions=_word(given, "conditions", dd.CONDITIONS),
        file_bytes=_bytes(given, "file_bytes"),
        ram_bytes=_bytes(given, "ram_bytes"),
    )


def _word(given: Mapping[str, object], key: str, words: tuple[str, ...]) -> str | None:
    value = given.get(key)
    if value is None or (isinstance(value, str) and value in words):
        return value
    raise InvalidValue(f"/parameters/{key}", f"{value!r} is not one of {', '.join(words)}")


def _bytes(given: Mapping[str, object], key: str) -> int | None:
    value = given.get(key)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if value is None or (is_whole and isinstance(value, int) and 0 < value <= MAX_BYTES):
        return value
    raise InvalidValue(f"/parameters/{key}", f"{value!r} is not a whole number of bytes")


def imported(tool: str, text: str, parameters: Mapping[str, object] | None) -> Imported:
    """The samples of one text, with what its reader should know.

    Raises InvalidValue for an unknown tool or parameter (with its JSON pointer), ProbeError for a
    text that is no whole result of the tool.
    """
    if tool not in TOOLS:
        raise InvalidValue("/tool", f"{tool!r} is not one of {', '.join(TOOLS)}")
    known = checked_parameters(parameters)
    reader, used = _READERS[tool]
    made = reader(checked_text(tool, text), known)
    unused = [
        f"{key} is not used for {tool}"
        for key in Parameters.__dataclass_fields__
        if getattr(known, key) is not None and key not in used
    ]
    _check(tool, made)
    return Imported(made.samples, (*made.warnings, *unused), made.tool_version)


def takes(tool: str, parameter: str) -> bool:
    """Whether the parameter changes what a text of the tool means."""
    return tool in TOOLS and parameter in _READERS[tool][1]


def _check(tool: str, made: Imported) -> None:
    """No parser hands on what cannot be stored or is no measurement, whatever the text was."""
    if not made.samples:
        raise ProbeError(tool, "the text holds no result")
    for sample in made.samples:
        if not math.isfinite(sample.value) or sample.value < 0:
            raise ProbeError(tool, f"{sample.metric} is {sample.value}")
        if max(len(sample.variant), len(sample.metric)) > MAX_NAME:
            raise ProbeError(tool, f"the variant {sample.variant[:MAX_NAME]}… is too long")
        if sample.value == 0 and sample.metric not in ZERO_ALLOWED:
            raise ProbeError(tool, f"{sample.metric} is 0")
    values = [[dict(sample.parameters), sample.variant] for sample in made.samples]
    why = why_not_kept([values, made.tool_version, made.warnings])
    if why is not None:
        raise ProbeError(tool, why)


def _dd(text: str, known: Parameters) -> Imported:
    if text.startswith("=== "):
        return Imported(tuple(dd.parse(text)), (), "")
    if known.direction is None and known.conditions is not None:
        raise InvalidValue("/parameters/direction", "write or read is needed with conditions")
    if known.direction is None:
        warning = (
            "without direction and conditions it is unknown what was measured: kept as "
            "dd_bytes_per_s, which takes no rank"
        )
        return Imported(tuple(dd.parse(text)), (warning,), "")
    conditions = dd.DdConditions(
        direction=known.direction,
        conditions=known.conditions or "unknown",
        ram_bytes=known.ram_bytes,
        file_bytes=known.file_bytes,
    )
    samples = tuple(dd.parse(text, conditions))
    warnings = {
        "unknown": "the conditions are unknown: kept, and takes no rank",
        "fdatasync": NO_RAM if known.ram_bytes is None else _cached(samples),
        "cached": "buffered copies measure memory: flagged cached, and takes no rank",
        "direct": "",
    }
    return Imported(samples, tuple(filter(None, [warnings[conditions.conditions]])), "")


def _cached(samples: tuple[ParsedSample, ...]) -> str:
    if any("cached" in sample.flags for sample in samples):
        return "the file is smaller than twice the memory: flagged cached, and takes no rank"
    return ""


def _bonnie(text: str, known: Parameters) -> Imported:
    lines = bonnie.lines(text)
    samples = tuple(bonnie.parse(text, ram_bytes=known.ram_bytes))
    warnings = [NO_RAM if known.ram_bytes is None else _cached(samples)]
    too_fast = sorted({name for line in lines for name in line.too_fast})
    if too_fast:
        warnings.append(f"too fast to be timed, so left out: {', '.join(too_fast)}")
    return Imported(samples, tuple(filter(None, warnings)), f"bonnie++ {lines[0].version}")


def _sysbench(text: str, _known: Parameters) -> Imported:
    return Imported(tuple(sysbench.parse(text)), (), f"sysbench {sysbench.version(text)}")


def _cmips(text: str, _known: Parameters) -> Imported:
    samples = tuple(cmips_program.parse(text))
    version = f"CMIPS {cmips_program.version(text)}"
    return Imported(samples, cmips_program.warnings(text), version)


def _coremark(text: str, _known: Parameters) -> Imported:
    samples = tuple(coremark.parse(text))
    warning = "a run of one context is kept as variant single, and takes no rank"
    return Imported(samples, (warning,) if samples[0].variant == "single" else (), "CoreMark 1.0")


def _passmark(text: str, _known: Parameters) -> Imported:
    return Imported(tuple(passmark.parse(text)), (), "")


def _fio(text: str, known: Parameters) -> Imported:
    made = fio.parse_json(text, ram_bytes=known.ram_bytes)
    return Imported(made.samples, made.warnings, made.version)


def _iperf3(text: str, _known: Parameters) -> Imported:
    made = iperf3.parse_json(text)
    return Imported(made.samples, made.warnings, made.version)


def _yabs(text: str, _known: Parameters) -> Imported:
    made = yabs.parse(text)
    return Imported(made.samples, made.warnings, made.version)


def _stated(text: str, _known: Parameters) -> Imported:
    samples = tuple(stated.parse(text))
    warnings = {
        LOWER_BOUND: "a bound says that the true figure is larger: kept, and takes no rank",
        ABORTED: "an aborted job has no time of its own: kept, and takes no rank",
    }
    seen = {flag for sample in samples for flag in sample.flags}
    return Imported(samples, tuple(warnings[flag] for flag in warnings if flag in seen), "")


Reader = Callable[[str, Parameters], Imported]
_READERS: Mapping[str, tuple[Reader, tuple[str, ...]]] = {
    "dd": (_dd, ("direction", "conditions", "file_bytes", "ram_bytes")),
    "fio": (_fio, ("ram_bytes",)),
    "iperf3": (_iperf3, ()),
    "bonnie": (_bonnie, ("ram_bytes",)),
    "sysbench": (_sysbench, ()),
    "cmips": (_cmips, ()),
    "yabs": (_yabs, ()),
    "coremark": (_coremark, ()),
    "passmark": (_passmark, ()),
    "stated": (_stated, ()),
}
TOOLS = tuple(_READERS)
