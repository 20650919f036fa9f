"""The plan of one run: its series, how often each is repeated, and the script that says so."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from backend.measure.metrics import METRICS
from backend.measure.metrics.general_performance import CRYPTO
from backend.measure.probes import (
    INVENTORY,
    PACKAGES,
    PROBES,
    ProbeSeries,
    probes_to_measure,
    series_of,
)
from backend.measure.profiles import (
    CAREFUL,
    DIRECTORY,
    MATRIX_DEPTHS,
    MATRIX_JOBS,
    SENT_BYTES,
    Profile,
    Value,
    may_measure,
    most_sent_bytes,
)
from backend.measure.stats import StoppingRule

# A file size that a person asked for is copied whole unless the disk is slower than this.
LEAST_BYTES_PER_DISK_S = 32 * 2**20
# What the progress and the remaining time calculate with.
USUAL_BYTES_PER_DISK_S = 256 * 2**20
USUAL_FILES_PER_S = 2000
PING_PERIOD_S = 0.2
# On a host in production each step looks whether it is idle, also once the budget is spent.
CAREFUL_LOOK_S = 2


@dataclass(frozen=True)
class Plan:
    """A run in full: its series, how often, and with which values."""

    profile: Profile
    series: tuple[tuple[str, str], ...]
    """Pairs (probe, variant) in the order of a round; those taken once come in the first."""
    repeats: int
    rule: Mapping[tuple[str, str], StoppingRule]
    """Empty where the number of repeats is fixed."""
    values: Mapping[str, Value]
    """Values of the commands' placeholders."""

    @property
    def programs(self) -> tuple[str, ...]:
        """Binaries the target needs; `observe` records every step."""
        needed = {name for probe, _ in self.series for name in PROBES[probe].needs}
        return ("observe", *sorted(needed))

    @property
    def steps(self) -> tuple[tuple[str, str, int], ...]:
        """(probe, variant, repeat) of every step in order.

        Repeat 0 of every series, then repeat 1 of every series, …: drift of the machine then
        meets all series alike.
        """
        has_tools = any(PROBES[probe].is_tool for probe, _ in self.series)
        is_installing = self.values["install_tools"] and has_tools
        first = ((PACKAGES, "install", 0),) if is_installing else ()
        return (
            *first,
            (INVENTORY, "host", 0),
            *(
                (probe, variant, repeat)
                for repeat in range(self.repeats)
                for probe, variant in self.series
                if repeat == 0 or not series_of(probe, variant).is_once
            ),
        )

    @property
    def expected_s(self) -> float:
        """Planned seconds of the runner when every repeat is taken."""
        return sum(self._seconds(probe, variant)[0] for probe, variant, _ in self.steps)

    @property
    def likely_s(self) -> float:
        """Seconds of the runner at most when nothing goes wrong: at the cap of the profile every
        series that has a repeat is ended."""
        once_s = sum(self._seconds(probe, variant)[0] for probe, variant in self.series)
        longest_s = max((self._seconds(*pair)[0] for pair in self.series), default=0.0)
        return min(self.expected_s, max(self.profile.time_cap_s, once_s) + longest_s)

    @property
    def deadline_s(self) -> float:
        """Seconds after which a runner that has not finished is ended."""
        slowest_s = max(self._seconds(probe, variant)[1] for probe, variant, _ in self.steps)
        return (
            max(self.expected_s, self.profile.time_cap_s)
            + _number(self.values, "quiet_budget_s")
            + (2 * slowest_s + 30)
            + (CAREFUL_LOOK_S * len(self.steps) if self.values.get(CAREFUL) else 0)
        )

    def _seconds(self, probe: str, variant: str) -> tuple[float, float]:
        """Expected time and limit of one repeat."""
        series = series_of(probe, variant)
        return (
            seconds_of(series.expected_s, self.values),
            seconds_of(series.timeout_s, self.values),
        )


def _number(values: Mapping[str, Value], name: str) -> float:
    value = values[name]
    if not isinstance(value, int | float):
        raise TypeError(f"{name} is {value!r}")
    return float(value)


def seconds_of(formula: str, values: Mapping[str, Value]) -> float:
    """The sum of numbers and of plan values by their names."""
    terms = formula.split("+")
    return sum(_number(values, term) if term in values else float(term) for term in terms)


def plan(
    profile: Profile,
    probes: Iterable[str] | None,
    parameters: Mapping[str, Value],
    *,
    run_directory: str,
    peer_address: str = "",
    peer_port: int = 0,
) -> Plan:
    """The plan of a run: the profile's probes, or those named, under the parameters.

    A probe that is named and not in the profile is measured in all its series. Without a
    `peer_port` nobody serves the network tests, and they are left out.
    """
    if not peer_port:
        parameters = {name: value for name, value in parameters.items() if name != "peer"}
    values = _values(profile, parameters)
    values[SENT_BYTES] = most_sent_bytes(profile.name, parameters)
    values[DIRECTORY] = parameters.get(DIRECTORY, run_directory)
    values |= {"peer_address": parameters.get("peer_address", peer_address), "peer_port": peer_port}
    chosen = tuple(_choose_values(profile, probes, parameters))
    fixed = parameters.get("repeats")
    is_fixed = fixed is not None or profile.min_repeats == profile.max_repeats
    return Plan(
        profile=profile,
        series=chosen,
        repeats=int(str(fixed)) if fixed is not None else profile.max_repeats,
        rule={}
        if is_fixed
        else {pair: _rule(profile, pair) for pair in chosen if not series_of(*pair).is_once},
        values=values,
    )


def _values(profile: Profile, parameters: Mapping[str, Value]) -> dict[str, Value]:
    """The profile's values with the run's own, and what follows from them."""
    values: dict[str, Value] = {"install_tools": False, **profile.values, **parameters}
    file_bytes, disk_s = int(_number(values, "file_bytes")), int(_number(values, "disk_s"))
    # Else the probe's time would end before the file is written.
    if "file_bytes" in parameters and "disk_s" not in parameters:
        disk_s = max(disk_s, file_bytes // LEAST_BYTES_PER_DISK_S)
    ramp_s, steady_s = _number(values, "fio_ramp_s"), _number(values, "steady_s")
    fio_cell_s = _number(values, "fio_s") + ramp_s
    return values | {
        "disk_s": disk_s,
        "usual_disk_s": min(disk_s, max(1, file_bytes // USUAL_BYTES_PER_DISK_S)),
        "small_files_s": _number(values, "small_files") / USUAL_FILES_PER_S,
        "fio_cell_s": fio_cell_s,
        "matrix_cell_s": _number(values, "matrix_s") + ramp_s,
        "steady_test_s": steady_s + fio_cell_s,
        # The first one writes the whole file before it begins.
        "steady_limit_s": 2 * steady_s + fio_cell_s,
        "algorithms_s": _number(values, "algorithm_s") * len(CRYPTO),
        "ping_s": _number(values, "ping_count") * PING_PERIOD_S,
    }


def _choose_values(
    profile: Profile, probes: Iterable[str] | None, parameters: Mapping[str, Value]
) -> Iterator[tuple[str, str]]:
    names = profile.series if probes is None else set(probes)
    for probe in probes_to_measure(names):
        if not may_measure(probe, parameters):
            continue
        variants = profile.series.get(probe, PROBES[probe].variants)
        for series in PROBES[probe].series:
            needed = series.needed_parameter
            if series.variant in variants and (not needed or needed in parameters):
                yield from ((probe, variant) for variant in _variants(series, parameters))


def _variants(series: ProbeSeries, parameters: Mapping[str, Value]) -> Iterator[str]:
    if not series.is_grid:
        yield series.variant
        return
    for jobs in _counts(parameters, "matrix_jobs", MATRIX_JOBS):
        for depth in _counts(parameters, "matrix_depths", MATRIX_DEPTHS):
            yield f"{series.variant}_qd{depth}_jobs{jobs}"


def _counts(
    parameters: Mapping[str, Value], name: str, default: tuple[int, ...]
) -> Iterable[object]:
    counts = parameters.get(name)
    return counts if isinstance(counts, list) else default


def _rule(profile: Profile, pair: tuple[str, str]) -> StoppingRule:
    target = METRICS[series_of(*pair).metric].target_half_width_ratio
    return StoppingRule(profile.min_repeats, profile.max_repeats, target)


def plan_script(plan: Plan) -> str:
    """The text of plan.sh. Every word is quoted."""
    on_disk = [name for name, probe in PROBES.items() if probe.io == "disk"]
    lines = [f"quiet_budget {plan.values['quiet_budget_s']}", shlex.join(("on_disk", *on_disk))]
    if plan.values.get(CAREFUL):
        lines.append("careful")
    for probe, variant in dict.fromkeys((probe, variant) for probe, variant, _ in plan.steps):
        expected_s = seconds_of(series_of(probe, variant).expected_s, plan.values)
        lines.append(shlex.join(("expected", probe, variant, f"{expected_s:g}")))
    lines += (shlex.join(_step(plan, *step)) for step in plan.steps)
    return "\n".join(lines) + "\n"


def _step(plan: Plan, probe: str, variant: str, repeat: int) -> tuple[str, ...]:
    series = series_of(probe, variant)
    timeout_s = seconds_of(series.timeout_s, plan.values)
    words = (word for template in series.command for word in _words(template, plan.values))
    return ("step", probe, variant, str(repeat), f"{timeout_s:g}", *words)


def _words(template: str, values: Mapping[str, Value]) -> list[str]:
    """A word of the command with its placeholder filled; a list becomes as many words."""
    value = values.get(template.strip("{}")) if template.startswith("{") else None
    if isinstance(value, list):
        return [str(item) for item in value]
    return [template.format(**values)]
