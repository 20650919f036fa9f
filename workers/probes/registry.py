"""Probes as data: how each series is measured, and by which parser its output becomes samples.

What a run may ask for (names, profiles, parameters) is in backend.domain.profiles.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any

from backend.domain.metrics import METRICS
from backend.domain.profiles import DIRECTORY, PROBE_SERIES, Profile
from backend.domain.stats import StoppingRule

INVENTORY = "inventory"


@dataclass(frozen=True)
class Series:
    """One variant of a probe, repeated. Placeholders in the command are the plan's values."""

    variant: str
    command: tuple[str, ...]
    expected_s: str
    """Seconds of one repeat: a number, or the name of a plan value plus a number."""
    timeout_s: str
    metric: str
    """The metric whose repeats end the series when their interval is narrow enough."""
    parser_arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Probe:
    """One tool with its series."""

    name: str
    version: str
    series: tuple[Series, ...]
    parser: str
    """Dotted path `module:function` of text → samples."""
    metrics: tuple[str, ...]
    needs: tuple[str, ...]
    """What of the bundle it runs, beside the runner itself."""

    def parse(self, text: str, variant: str) -> Any:
        """Samples of one output, host facts of the inventory; raises ProbeError."""
        module, _, function = self.parser.partition(":")
        parser = getattr(import_module(module), function)
        return parser(text, **series(self.name, variant).parser_arguments)


PROBES: Mapping[str, Probe] = MappingProxyType(
    {
        probe.name: probe
        for probe in (
            Probe(
                name=INVENTORY,
                version="1",
                series=(Series("host", ("inventory", "{directory}"), "1", "20", ""),),
                parser="backend.domain.parsing.inventory:parse",
                metrics=(),
                needs=(),
            ),
            Probe(
                name="cmips",
                version="1",
                series=(
                    Series(
                        "all",
                        ("bin/cmips", "--threads", "all", "--seconds", "{seconds:g}"),
                        "seconds+0.5",
                        "seconds+20",
                        "cmips_score",
                        {"variant": "all"},
                    ),
                    Series(
                        "single",
                        ("bin/cmips", "--threads", "1", "--seconds", "{seconds:g}"),
                        "seconds+0.5",
                        "seconds+20",
                        "cmips_single_score",
                        {"variant": "single"},
                    ),
                ),
                parser="backend.domain.parsing.cmips:parse",
                metrics=("cmips_score", "cmips_single_score"),
                needs=("cmips",),
            ),
            Probe(
                name="memory",
                version="1",
                series=(
                    Series(
                        "bandwidth",
                        ("bin/memory", "--test", "bandwidth", "--threads", "all", "--seconds", "1"),
                        "2",
                        "60",
                        "memory_bandwidth_bytes_per_s",
                    ),
                    Series(
                        "latency",
                        ("bin/memory", "--test", "latency", "--threads", "1"),
                        "3",
                        "60",
                        "memory_latency_ns",
                    ),
                ),
                parser="backend.domain.parsing.memory:parse",
                metrics=("memory_bandwidth_bytes_per_s", "memory_latency_ns"),
                needs=("memory",),
            ),
            Probe(
                name="dd",
                version="1",
                series=(
                    Series(
                        "write",
                        ("dd_write", "{directory}", "{file_bytes}", "{disk_s}"),
                        "usual_disk_s+0",
                        "disk_s+60",
                        "disk_write_bytes_per_s",
                    ),
                    Series(
                        "read",
                        ("dd_read", "{directory}", "{file_bytes}", "{disk_s}"),
                        "usual_disk_s+0",
                        "disk_s+60",
                        "disk_read_bytes_per_s",
                    ),
                ),
                parser="backend.domain.parsing.dd:parse",
                metrics=("disk_write_bytes_per_s", "disk_read_bytes_per_s"),
                needs=("memory",),  # makes the incompressible source
            ),
        )
    }
)
LEAST_BYTES_PER_DISK_S = 32 * 2**20
"""A file size that a person asked for is copied whole unless the disk is slower than this."""
USUAL_BYTES_PER_DISK_S = 256 * 2**20
"""What the progress and the remaining time reckon with."""


@dataclass(frozen=True)
class Plan:
    """One run in full: its series, how often, and with which values."""

    profile: Profile
    series: tuple[tuple[str, str], ...]
    """Pairs (probe, variant) in the order of a round."""
    repeats: int
    rule: Mapping[tuple[str, str], StoppingRule]
    """Empty where the number of repeats is fixed."""
    values: Mapping[str, float | int | str]

    @property
    def programs(self) -> tuple[str, ...]:
        """Binaries the target needs; `observe` records every step."""
        needed = {name for probe, _ in self.series for name in PROBES[probe].needs}
        return ("observe", *sorted(needed))

    @property
    def expected_s(self) -> float:
        """Planned seconds of the runner when every repeat is taken."""
        total_s = seconds_of(PROBES[INVENTORY].series[0].expected_s, self.values)
        for probe, variant in self.series:
            total_s += self.repeats * seconds_of(series(probe, variant).expected_s, self.values)
        return total_s

    @property
    def deadline_s(self) -> float:
        """Seconds after which a runner that has not finished is given up."""
        slowest_s = max(
            (seconds_of(series(*pair).timeout_s, self.values) for pair in self.series), default=20
        )
        return (
            max(self.expected_s, self.profile.time_cap_s)
            + float(self.values["quiet_budget_s"])
            + (2 * slowest_s + 30)
        )


def series(probe: str, variant: str) -> Series:
    """KeyError for a pair that does not exist."""
    for candidate in PROBES[probe].series:
        if candidate.variant == variant:
            return candidate
    raise KeyError((probe, variant))


def seconds_of(formula: str, values: Mapping[str, float | int | str]) -> float:
    """A number, or `value+number` with the name of a plan value."""
    name, plus, number = formula.rpartition("+")
    return float(values[name]) + float(number) if plus else float(number)


def plan(
    profile: Profile,
    probes: Iterable[str] | None,
    parameters: Mapping[str, float | int | str],
    *,
    run_directory: str,
) -> Plan:
    """The plan of a run: all probes, or those named, under the profile and the parameters."""
    chosen = tuple(
        (probe, variant)
        for probe, variants in PROBE_SERIES.items()
        for variant in variants
        if probes is None or probe in probes
    )
    fixed = parameters.get("repeats")
    file_bytes = int(parameters.get("file_bytes", profile.file_bytes))
    disk_s = profile.disk_s
    if "file_bytes" in parameters:
        disk_s = max(disk_s, file_bytes // LEAST_BYTES_PER_DISK_S)
    values: dict[str, float | int | str] = {
        "seconds": float(parameters.get("seconds", profile.seconds)),
        "file_bytes": file_bytes,
        "quiet_budget_s": int(parameters.get("quiet_budget_s", profile.quiet_budget_s)),
        "disk_s": disk_s,
        "usual_disk_s": min(disk_s, max(1, file_bytes // USUAL_BYTES_PER_DISK_S)),
        DIRECTORY: parameters.get(DIRECTORY, run_directory),
    }
    is_fixed = fixed is not None or profile.min_repeats == profile.max_repeats
    return Plan(
        profile=profile,
        series=chosen,
        repeats=int(fixed) if fixed is not None else profile.max_repeats,
        rule={} if is_fixed else {pair: _rule(profile, pair) for pair in chosen},
        values=values,
    )


def _rule(profile: Profile, pair: tuple[str, str]) -> StoppingRule:
    target = METRICS[series(*pair).metric].target_half_width_ratio
    return StoppingRule(profile.min_repeats, profile.max_repeats, target)


def plan_script(plan: Plan) -> str:
    """The text of plan.sh, in rounds: repeat 0 of every series, then repeat 1 of every series, …

    Drift of the machine then meets all series alike. Every word is quoted.
    """
    lines = [f"quiet_budget {plan.values['quiet_budget_s']}"]
    for probe, variant in ((INVENTORY, "host"), *plan.series):
        expected_s = seconds_of(series(probe, variant).expected_s, plan.values)
        lines.append(shlex.join(("expected", probe, variant, f"{expected_s:g}")))
    lines += (shlex.join(words) for words in _steps(plan))
    return "\n".join(lines) + "\n"


def _steps(plan: Plan) -> Iterator[tuple[str, ...]]:
    yield _step(plan, INVENTORY, "host", 0)
    for repeat in range(plan.repeats):
        for probe, variant in plan.series:
            yield _step(plan, probe, variant, repeat)


def _step(plan: Plan, probe: str, variant: str, repeat: int) -> tuple[str, ...]:
    found = series(probe, variant)
    timeout_s = seconds_of(found.timeout_s, plan.values)
    command = (word.format(**plan.values) for word in found.command)
    return ("step", probe, variant, str(repeat), f"{timeout_s:g}", *command)
