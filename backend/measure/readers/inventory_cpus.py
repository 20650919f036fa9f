"""Models of the CPUs of a host, which may be several and need not have names."""

import re
from collections import Counter
from collections.abc import Iterator
from math import prod

from backend.measure.readers.inventory_values import colon_values, whole

UNKNOWN = "unknown"
MODEL_NAME = "Model name"
# Their product is how many CPUs a block of lscpu stands for; some ARM machines have clusters for sockets.
BLOCK_COUNTS = (
    ("Thread(s) per core",),
    ("Core(s) per socket", "Core(s) per cluster"),
    ("Socket(s)", "Cluster(s)"),
)
# Keys of /proc/cpuinfo that hold a name: x86 and new ARM kernels, old ARM ones, POWER, MIPS.
NAME_KEYS = ("model name", "Processor", "cpu", "cpu model")
BLOCK_START = re.compile(rf"(?m)^(?=[ \t]*{re.escape(MODEL_NAME)}:)")
PROCESSOR_START = re.compile(r"(?m)^(?=processor[ \t]*:)")


def cpu_models(lscpu: str, cpuinfo: str) -> str | None:
    """The model, or each model with its count where there are several; None where nothing is known.

    A CPU without a name is known by its implementer and part.
    """
    listed, read = _count_models(lscpu), _read_models(cpuinfo)
    # lscpu names the first model alone where sockets differ, and the kernel's list knows parts.
    counts = read if len(read) > len(listed) or not set(listed) - {UNKNOWN} else listed
    names = [name for name in counts if name != UNKNOWN]
    if not names:
        return colon_values(lscpu).get("BIOS Model name")
    if len(counts) == 1:
        return names[0]
    return ", ".join(f"{name} ×{count}" for name, count in counts.items())


def _count_models(lscpu: str) -> Counter[str]:
    """CPUs by model: lscpu has a block for each."""
    _, *blocks = BLOCK_START.split(lscpu)
    models: Counter[str] = Counter()
    for block in blocks:
        values = colon_values(block)
        models[values.get(MODEL_NAME, UNKNOWN)] += prod(
            next((count for name in names if (count := whole(values.get(name)))), 1)
            for names in BLOCK_COUNTS
        )
    return models


def _read_models(cpuinfo: str) -> Counter[str]:
    return Counter(filter(None, map(_identity, _processors(cpuinfo))))


def _processors(cpuinfo: str) -> Iterator[dict[str, str]]:
    first, *others = PROCESSOR_START.split(cpuinfo)
    # Old kernels name the model once, above all processors.
    shared = colon_values(first)
    yield from (shared | colon_values(part) for part in others) if others else [shared]


def _identity(values: dict[str, str]) -> str | None:
    if name := next((values[key] for key in NAME_KEYS if values.get(key)), None):
        return name
    implementer, part = values.get("CPU implementer"), values.get("CPU part")
    return f"CPU implementer {implementer} part {part}" if implementer and part else None
