"""Results that somebody imports: one text of one tool, and what is known of how it was made."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from backend.foundation.errors import InvalidValue, ProbeError
from backend.foundation.reading.texts import check_text, why_not_kept
from backend.measure.cmips import cpu_share, is_disturbed
from backend.measure.credits import CREDIT_MODES, credit_flag
from backend.measure.readers import (
    ParsedSample,
    bonnie,
    cmips_program,
    coremark,
    dd,
    fio,
    iperf3,
    layouts,
    openssl,
    passmark,
    stated,
    stress_ng,
    sysbench,
    yabs,
)
from backend.measure.readers.disk_files import lies_in_memory
from backend.measure.readers.document import MAX_NOTES, shown
from backend.measure.readers.transcript import Transcript, transcript
from backend.measure.stats import ABORTED, CACHED, DISTURBED, LOWER_BOUND

# A pebibyte, more than a file or a memory has: a slip of the unit is refused, not stored.
MAX_BYTES = 2**50
# As long as the columns of a stored sample.
MAX_NAME = 40
# No loss is a result; every other metric that is 0 was not measured.
ZERO_ALLOWED = frozenset({"net_udp_loss_ratio"})
# What a device gives to dd (dd.SOURCES).
DEVICES = {"/dev/zero": "zero", "/dev/urandom": "random", "/dev/random": "random"}
ALL_CPUS = r" ?[\"']?\$\(nproc\)"
NO_RAM = (
    "ram_bytes is not given, so memory may stand in for the disk: flagged cached, and takes no rank"
)


@dataclass(frozen=True)
class Parameters:
    """How a text was made, as far as known; None = not stated."""

    direction: str | None = None
    conditions: str | None = None
    source: str | None = None
    file_bytes: int | None = None
    ram_bytes: int | None = None
    memory_bytes_per_s: float | None = None
    """Memory bandwidth of the machine: what is read faster was not read from a disk."""
    loopback: bool | None = None
    """True if a test whose ends are one machine is kept, unranked, instead of refused."""
    credit_mode: str | None = None
    """Behaviour of a burstable machine without CPU credits (measure.credits)."""


@dataclass(frozen=True)
class Imported:
    """Content of one text; `tool_version` is empty where it does not say."""

    samples: tuple[ParsedSample, ...]
    warnings: tuple[str, ...]
    tool_version: str
    command: str = ""
    """Typed command, where the text begins with it."""


def check_parameters(parameters: Mapping[str, object] | None) -> Parameters:
    """Raises InvalidValue with a JSON pointer for an unknown key or value."""
    given = dict(parameters or {})
    for key in given:
        if key not in PARAMETERS:
            pointer = str(key).replace("~", "~0").replace("/", "~1")
            raise InvalidValue(f"/parameters/{pointer}", f"not one of {', '.join(PARAMETERS)}")
    return Parameters(
        direction=_word(given, "direction", dd.DIRECTIONS),
        conditions=_word(given, "conditions", dd.CONDITIONS),
        source=_word(given, "source", dd.SOURCES),
        file_bytes=_bytes(given, "file_bytes"),
        ram_bytes=_bytes(given, "ram_bytes"),
        memory_bytes_per_s=_rate(given, "memory_bytes_per_s"),
        loopback=_flag(given, "loopback"),
        credit_mode=_word(given, "credit_mode", CREDIT_MODES),
    )


def _word(given: Mapping[str, object], key: str, words: tuple[str, ...]) -> str | None:
    value = given.get(key)
    # A list or an object is no word, and would not even be hashable in a lookup.
    if value is None or (isinstance(value, str) and value in words):
        return value
    raise InvalidValue(f"/parameters/{key}", f"{value!r} is not one of {', '.join(words)}")


def _bytes(given: Mapping[str, object], key: str) -> int | None:
    value = given.get(key)
    # True is an int to Python, and would be a file of one byte.
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if value is None or (is_whole and isinstance(value, int) and 0 < value <= MAX_BYTES):
        return value
    raise InvalidValue(f"/parameters/{key}", f"{value!r} is not a whole number of bytes")


def _rate(given: Mapping[str, object], key: str) -> float | None:
    value = given.get(key)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is None or (is_number and isinstance(value, int | float) and 0 < value <= MAX_BYTES):
        return value
    raise InvalidValue(f"/parameters/{key}", f"{value!r} is not a number of bytes a second")


def _flag(given: Mapping[str, object], key: str) -> bool | None:
    value = given.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise InvalidValue(f"/parameters/{key}", f"{value!r} is not true or false")


def read_text(tool: str, text: str, parameters: Mapping[str, object] | None) -> Imported:
    """The samples of one text, with what its reader should know.

    Raises InvalidValue for an unknown tool or parameter (with its JSON pointer), ProbeError for a
    text that is no whole result of the tool.
    """
    if tool not in TOOLS:
        raise InvalidValue("/tool", f"{tool!r} is not one of {', '.join(TOOLS)}")
    known = check_parameters(parameters)
    reader, used = _READERS[tool]
    try:
        pasted = transcript(tool, check_text(tool, text))
        made = reader(pasted, known)
        _check(tool, made)
    except ProbeError as error:
        detail = layouts.explanation(tool, text, error.detail)
        raise ProbeError(error.tool, detail, error.line) from error
    unused = [
        f"{key} is not used for {tool}"
        for key in PARAMETERS
        if getattr(known, key) is not None and key not in (*used, *OF_MACHINES)
    ]
    # Unused parameters are said and not refused: one set of them may go with texts of several tools.
    return replace(
        made,
        samples=_of_machine(made.samples, known),
        warnings=(*made.warnings, *unused),
        command=pasted.command,
    )


def _of_machine(samples: tuple[ParsedSample, ...], known: Parameters) -> tuple[ParsedSample, ...]:
    """The samples with what was stated of the machine, whatever the tool."""
    if known.credit_mode is None:
        return samples
    flag = credit_flag(known.credit_mode)
    return tuple(replace(sample, flags=(*sample.flags, flag)) for sample in samples)


def takes(tool: str, parameter: str) -> bool:
    """True if the parameter changes what a text of the tool means."""
    return tool in TOOLS and parameter in _READERS[tool][1]


def _check(tool: str, made: Imported) -> None:
    """No parser hands on what cannot be stored or is no measurement, whatever the text was."""
    if not made.samples:
        raise ProbeError(tool, "the text holds no result")
    for sample in made.samples:
        # JSON of these tools may hold 1e999, which Python reads as infinity.
        if not math.isfinite(sample.value) or sample.value < 0:
            raise ProbeError(tool, f"{sample.metric} is {sample.value}")
        if max(len(sample.variant), len(sample.metric)) > MAX_NAME:
            raise ProbeError(tool, f"the variant {sample.variant[:MAX_NAME]}… is too long")
        if sample.value == 0 and sample.metric not in ZERO_ALLOWED:
            raise ProbeError(tool, f"{sample.metric} is 0")
    # All that is stored as JSON or text is looked at, so that PostgreSQL refuses nothing later.
    values = [[dict(sample.parameters), sample.variant] for sample in made.samples]
    why = why_not_kept([values, made.tool_version, made.warnings])
    if why is not None:
        raise ProbeError(tool, why)


def _dd(pasted: Transcript, known: Parameters) -> Imported:
    text = pasted.output
    # Our own runner's text states its conditions itself.
    if text.startswith("=== "):
        return Imported(tuple(dd.parse(text)), (), "")
    known, path = _of_command(pasted.operands, known)
    # Conditions alone would be dropped without a word.
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
        source=known.source or "unknown",
        memory_bytes_per_s=known.memory_bytes_per_s,
        is_in_memory=lies_in_memory(path),
    )
    samples = tuple(dd.parse(text, conditions))
    return Imported(samples, tuple(_dd_warnings(conditions, samples)), "")


def _dd_warnings(made: dd.DdConditions, samples: Sequence[ParsedSample]) -> Iterator[str]:
    is_cached = any(CACHED in sample.flags for sample in samples)
    if made.conditions == "unknown":
        yield "the conditions are unknown: kept, and takes no rank"
        return
    if made.is_in_memory:
        yield "the file lies in memory: flagged cached, and takes no rank"
    elif made.conditions == "cached":
        yield "buffered copies measure memory: flagged cached, and takes no rank"
    # What was flushed is on the disk, yet a small file may have been read or rewritten in memory.
    elif made.conditions == "fdatasync":
        yield from filter(None, [NO_RAM if made.ram_bytes is None else _cache_words(samples)])
    elif is_cached:
        yield (
            "read faster than memory can be copied or one drive carries: flagged cached, and takes "
            "no rank; a file of twice the memory would settle it"
        )
    if made.source == "zero":
        yield "only zeros were copied, which many disks never store: takes no rank"
    elif made.source == "unknown":
        yield "source is not given, random or zero: kept, and takes no rank"


def _of_command(operands: Mapping[str, str], known: Parameters) -> tuple[Parameters, str]:
    """Stated parameters with those of dd's command, and the file that was written or read.

    Raises InvalidValue for a parameter that the command contradicts.
    """
    # A pasted text without its command, or a copy from or to a pipe, says nothing of a disk.
    if not {"if", "of"} <= operands.keys():
        return known, ""
    made: dict[str, str] = {}
    source = DEVICES.get(operands["if"])
    if operands["of"] == "/dev/null":
        made["direction"] = "read"
    elif source is not None:
        made["direction"], made["source"] = "write", source
    else:  # from one file to another both disks are measured
        return known, ""
    # O_DIRECT of the other side would be that of a device without a cache.
    side = "iflag" if made.get("direction") == "read" else "oflag"
    flags = {*operands.get(side, "").split(","), *operands.get("conv", "").split(",")}
    is_direct = "direct" in flags
    for key, value in made.items():
        # The command is what ran; a parameter that says otherwise is a slip that changes the figure's
        # meaning.
        _agree(key, getattr(known, key), value)
    if known.conditions == "direct" and not is_direct:
        raise InvalidValue(
            "/parameters/conditions", f"direct, and the command has no {side}=direct"
        )
    if known.conditions is None:
        # With one of these dd ends only when the data are on the disk; without any they may be in memory.
        is_flushed = not flags.isdisjoint(("fdatasync", "fsync", "dsync", "sync"))
        made["conditions"] = "direct" if is_direct else "fdatasync" if is_flushed else "cached"
    return replace(known, **made), operands["if" if side == "iflag" else "of"]  # type: ignore[arg-type]


def _agree(key: str, stated: str | None, value: str) -> None:
    if stated not in {None, value}:
        raise InvalidValue(f"/parameters/{key}", f"{stated}, and the command says {value}")


def _cache_words(samples: Sequence[ParsedSample]) -> str:
    if any(CACHED in sample.flags for sample in samples):
        return "the file is smaller than twice the memory: flagged cached, and takes no rank"
    return ""


def _bonnie(pasted: Transcript, known: Parameters) -> Imported:
    lines = bonnie.lines(pasted.output)
    samples = tuple(bonnie.parse(pasted.output, ram_bytes=known.ram_bytes))
    warnings = [NO_RAM if known.ram_bytes is None else _cache_words(samples)]
    too_fast = sorted({name for line in lines for name in line.too_fast})
    if too_fast:
        warnings.append(f"too fast to be timed, so left out: {', '.join(too_fast)}")
    return Imported(samples, tuple(filter(None, warnings)), f"bonnie++ {lines[0].version}")


def _sysbench(pasted: Transcript, _known: Parameters) -> Imported:
    said = (line.strip() for line in pasted.output.split("\n"))
    warnings = tuple(shown(line) for line in said if line.startswith("WARNING: "))[:MAX_NOTES]
    version = f"sysbench {sysbench.version(pasted.output)}"
    samples = tuple(sysbench.parse(pasted.output))
    if any(LOWER_BOUND in sample.flags for sample in samples):
        warnings += ("--rate held the test back: kept, and takes no rank",)
    return Imported(samples, warnings, version)


def _stress_ng(pasted: Transcript, _known: Parameters) -> Imported:
    # stress-ng takes `--cpu-method=div16` as well as two words.
    words = pasted.command.replace("=", " ")
    # Its default method runs all of them in turn, whose operations are of no common size.
    if f"--cpu-method {stress_ng.METHOD}" not in words:
        detail = (
            f"begin with the command as it was typed: its --cpu-method {stress_ng.METHOD} decides"
        )
        raise ProbeError(stress_ng.TOOL, detail, 1)
    # 0 is stress-ng's own word for all CPUs; any other number is known only beside the machine's.
    is_on_all = re.search(rf"(?:--cpu|-c)(?: ?0\b|{ALL_CPUS})", words) is not None
    (sample,) = stress_ng.parse(pasted.output)
    cpu_s, seconds, threads = (sample.parameters[key] for key in ("cpu_s", "seconds", "threads"))
    share = cpu_share(cpu_s, seconds, threads)  # type: ignore[arg-type]
    warnings = list(sample.parameters["warnings"])  # type: ignore[call-overload]
    if is_disturbed(share, None, None):
        sample = replace(sample, flags=tuple({*sample.flags, DISTURBED}))
        warnings.append(
            f"the workers got {share:.0%} of the CPU time of their run, other work had the rest: "
            "flagged disturbed, and takes no rank"
        )
    elif sample.flags:
        warnings.append("stress-ng itself doubts the figure: flagged disturbed, and takes no rank")
    made = _of_cpu([sample], is_on_all=is_on_all)
    return replace(made, warnings=(*warnings, *made.warnings))


def _openssl(pasted: Transcript, _known: Parameters) -> Imported:
    is_on_all = re.search(f"-multi{ALL_CPUS}", pasted.command) is not None
    made = _of_cpu(openssl.parse(pasted.output), is_on_all=is_on_all)
    # Several processes are always measured by the clock.
    if made.samples[0].variant == "single" and "-elapsed" not in pasted.command:
        warning = "without -elapsed a second may be one of CPU time: kept, and takes no rank"
        return replace(made, warnings=(*made.warnings, warning))
    return made


def _of_cpu(samples: Sequence[ParsedSample], *, is_on_all: bool) -> Imported:
    """The sample as that of all CPUs where the command says that it used them."""
    if is_on_all:
        return Imported(tuple(replace(sample, variant="all") for sample in samples), (), "")
    warning = (
        "it is not known that all CPUs were used: kept, and takes no rank; $(nproc) in the command "
        "would say so"
    )
    return Imported(tuple(samples), (warning,), "")


def _cmips(pasted: Transcript, _known: Parameters) -> Imported:
    samples = tuple(cmips_program.parse(pasted.output))
    version = f"CMIPS {cmips_program.version(pasted.output)}"
    return Imported(samples, cmips_program.warnings(pasted.output), version)


def _coremark(pasted: Transcript, _known: Parameters) -> Imported:
    samples = tuple(coremark.parse(pasted.output))
    warning = "a run of one context is kept as variant single, and takes no rank"
    return Imported(samples, (warning,) if samples[0].variant == "single" else (), "CoreMark 1.0")


def _passmark(pasted: Transcript, _known: Parameters) -> Imported:
    return Imported(tuple(passmark.parse(pasted.output)), (), "")


def _fio(pasted: Transcript, known: Parameters) -> Imported:
    made = fio.parse_json(
        pasted.output, ram_bytes=known.ram_bytes, memory_bytes_per_s=known.memory_bytes_per_s
    )
    return Imported(made.samples, made.warnings, made.version)


def _iperf3(pasted: Transcript, known: Parameters) -> Imported:
    made = iperf3.parse_json(pasted.output, takes_loopback=bool(known.loopback))
    return Imported(made.samples, made.warnings, made.version)


def _yabs(pasted: Transcript, _known: Parameters) -> Imported:
    made = yabs.parse(pasted.output)
    return Imported(made.samples, made.warnings, made.version)


def _state_parameters(pasted: Transcript, _known: Parameters) -> Imported:
    samples = tuple(stated.parse(pasted.output))
    warnings = {
        LOWER_BOUND: "a bound says that the true figure is larger: kept, and takes no rank",
        ABORTED: "an aborted job has no time of its own: kept, and takes no rank",
    }
    seen = {flag for sample in samples for flag in sample.flags}
    return Imported(samples, tuple(warnings[flag] for flag in warnings if flag in seen), "")


Reader = Callable[[Transcript, Parameters], Imported]
_READERS: Mapping[str, tuple[Reader, tuple[str, ...]]] = {
    "dd": (
        _dd,
        ("direction", "conditions", "source", "file_bytes", "ram_bytes", "memory_bytes_per_s"),
    ),
    "fio": (_fio, ("ram_bytes", "memory_bytes_per_s")),
    "iperf3": (_iperf3, ("loopback",)),
    "bonnie": (_bonnie, ("ram_bytes",)),
    "sysbench": (_sysbench, ()),
    "stress-ng": (_stress_ng, ()),
    "openssl": (_openssl, ()),
    "cmips": (_cmips, ()),
    "yabs": (_yabs, ()),
    "coremark": (_coremark, ()),
    "passmark": (_passmark, ()),
    "stated": (_state_parameters, ()),
}
TOOLS = tuple(_READERS)
# Parameters that say something of the machine, and so of every tool.
OF_MACHINES = ("credit_mode",)
PARAMETERS = tuple(Parameters.__dataclass_fields__)
