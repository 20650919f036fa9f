"""Comparison of the machine that a run measured with the offer that it was measured for."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from backend.foundation.figures import figure
from backend.foundation.units import BYTES_PER_GIB
from backend.measure.architectures import architecture

# Kinds of offers.
KINDS = ("cloud", "vps", "dedicated", "onprem")
MEMORY_TOLERANCE_RATIO = 0.10
# Kernel and firmware keep about as much, which is more than a tenth of the smallest machines.
RESERVED_BYTES = BYTES_PER_GIB // 8
# "AMD Ryzen 7 PRO 8700GE w/ Radeon 780M", "Xeon(R) E5-2680 v4 @ 2.40GHz": the graphics and the clock.
ADDITIONS = re.compile(r"@.*|\bw(?:ith|/).*|\(.*?\)", re.IGNORECASE)
# 8175M, 7R13, 8700GE, E5-2680 v4; "Ultra 7", "Q80-30" and "Neoverse-N1" name no number of that kind.
MODEL_NUMBER = re.compile(r"\b(?=(?:[A-Z]*\d){3})([A-Z]?\d[0-9A-Z]{2,6})\b(?:\s*(V\d))?")
MAKERS = {
    "Intel": re.compile(r"\b(?:intel|xeon|pentium|celeron)\b", re.IGNORECASE),
    "AMD": re.compile(r"\b(?:amd|epyc|ryzen|opteron)\b", re.IGNORECASE),
}


@dataclass(frozen=True)
class MachineSize:
    """Size that an offer states, or that programs may use of a machine; "" and None where unknown."""

    arch: str
    cpu_model: str
    vcpu_count: float | None
    thread_count: int | None
    memory_bytes: int | None


def machine_size(facts: Mapping[str, Any]) -> MachineSize:
    """The size by an inventory (asdict of HostFacts): a container sees all of its machine, and may use
    what affinity, quota and memory limit leave."""
    online = facts.get("vcpu_count")
    usable = facts.get("usable_cpu_count") or online
    vcpu_count = _least(online, usable, facts.get("cgroup_quota_cpus"))
    return MachineSize(
        arch=architecture(facts.get("arch") or ""),
        cpu_model=(facts.get("cpu_model") or "")[:150],
        # As offers store it.
        vcpu_count=vcpu_count and round(vcpu_count, 3),
        thread_count=usable,
        memory_bytes=_least(facts.get("memory_bytes"), facts.get("cgroup_memory_bytes")),
    )


def differences(offer: MachineSize, machine: MachineSize, *, is_whole: bool) -> Iterator[str]:
    """Each figure of the machine that contradicts the offer, with the offer's figure.

    A whole server has the processor that its offer names, and its CPUs may be stated as cores or as
    threads. Guests of one type run on several models, so only another maker contradicts.
    """
    if offer.arch and machine.arch and offer.arch != machine.arch:
        yield f"the architecture {machine.arch} instead of {offer.arch}"
    yield from _cpu_count(offer, machine, is_whole=is_whole)
    if _is_other_memory(offer.memory_bytes, machine.memory_bytes):
        yield f"{_gib(machine.memory_bytes)} of memory instead of {_gib(offer.memory_bytes)}"
    if _is_other_model(offer.cpu_model, machine.cpu_model, is_whole=is_whole):
        yield f"the processor {machine.cpu_model} instead of {offer.cpu_model}"


def _least(*counts: Any) -> Any:
    return min(filter(None, counts), default=None)


def _cpu_count(offer: MachineSize, machine: MachineSize, *, is_whole: bool) -> Iterator[str]:
    stated, seen = offer.vcpu_count or offer.thread_count, machine.vcpu_count
    if not stated or not seen:
        return
    # A share of a CPU is sold as a whole one that is slowed down.
    agreeing = {stated, math.ceil(stated), offer.thread_count if is_whole else None}
    if seen not in agreeing:
        yield f"{seen:g} {'CPU' if seen == 1 else 'CPUs'} instead of {stated:g}"


def _is_other_memory(stated_bytes: int | None, seen_bytes: int | None) -> bool:
    if not stated_bytes or not seen_bytes:
        return False
    tolerance_bytes = MEMORY_TOLERANCE_RATIO * stated_bytes
    missing_bytes = stated_bytes - seen_bytes
    return not -tolerance_bytes <= missing_bytes <= max(tolerance_bytes, RESERVED_BYTES)


def _gib(size_bytes: int | None) -> str:
    return f"{figure((size_bytes or 0) / BYTES_PER_GIB)} GiB"


def _is_other_model(stated: str, seen: str, *, is_whole: bool) -> bool:
    makers = _maker(stated), _maker(seen)
    if None not in makers and makers[0] != makers[1]:
        return True
    numbers = _model_numbers(stated), _model_numbers(seen)
    if not is_whole or not all(numbers):
        return False
    return not any(_is_same_number(a, b) for a in numbers[0] for b in numbers[1])


def _maker(model: str) -> str | None:
    return next((maker for maker, words in MAKERS.items() if words.search(model)), None)


def _model_numbers(model: str) -> list[tuple[str, str]]:
    """(number, version) of each processor that the text names."""
    return MODEL_NUMBER.findall(ADDITIONS.sub(" ", model).upper())


def _is_same_number(stated: tuple[str, str], seen: tuple[str, str]) -> bool:
    (number, version), (other, other_version) = stated, seen
    if version and other_version and version != other_version:
        return False
    # Lists leave the last letter out: 8175 is the 8175M.
    return other == number or (number.isdigit() and other[:-1] == number and other[-1].isalpha())
