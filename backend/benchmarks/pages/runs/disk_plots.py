"""Charts of a run's disk tests: requests and latency against queue depth, bytes over time."""

import re
from collections.abc import Iterable, Sequence
from statistics import median

from backend.benchmarks.models import Evidence, Sample
from backend.benchmarks.pages.runs.series_plots import rate_scale
from backend.benchmarks.pages.runs.spreads import RepeatSpread, Spreads, bars, over_time
from backend.measure.probes import PROBES
from backend.site import figures
from backend.site.language import _, count_words
from backend.site.plots import Axis, Mark, Plot, thin

IOPS = {"disk_rand_read_iops": "read", "disk_rand_write_iops": "write"}
P99 = {"disk_rand_read_p99_ns": "read", "disk_rand_write_p99_ns": "write"}
_FIO = re.compile(r"(?P<prefix>[a-z]+)_4k_qd(?P<depth>\d+)(?:_jobs(?P<jobs>\d+))?")
SEQUENTIAL = {
    (probe.name, series.variant): (series.chart_label, series.metric)
    for probe in PROBES.values()
    for series in probe.series
    if probe.io == "disk" and series.chart_label
}
SERIES_PROBES = tuple({probe for probe, _ in SEQUENTIAL})


def disk_plots(repeats: Spreads, evidence: Iterable[Evidence]) -> list[Plot | None]:
    """A plot for each quantity, None where it was not measured."""
    return [
        *(_depths(repeats, metric) for metric in IOPS),
        _percentiles(repeats),
        _disk_over_time(list(evidence)),
    ]


def _cells(repeats: Spreads, metric: str) -> dict[tuple[int, int], RepeatSpread]:
    """Samples of 4 KiB random access by depth and jobs: the matrix, else the single tests."""
    of_prefix: dict[str, dict[tuple[int, int], RepeatSpread]] = {}
    for (key, variant), spread in repeats.items():
        match = _FIO.fullmatch(variant) if key == metric else None
        if match:
            cell = int(match["depth"]), int(match["jobs"] or 1)
            of_prefix.setdefault(match["prefix"], {})[cell] = spread
    # All cells of one chart are of one series of tests, never mixed from both.
    return of_prefix.get("matrix") or of_prefix.get("fio") or {}


def _depths(repeats: Spreads, metric: str) -> Plot | None:
    """IOPS as bars and p99 latency as dots for each queue depth, grouped by number of jobs."""
    cells = _cells(repeats, metric)
    depths = sorted({depth for depth, _ in cells})
    if len(depths) < 2:
        return None
    direction = IOPS[metric]
    tails = _cells(repeats, f"disk_rand_{direction}_p99_ns")
    jobs = sorted({count for _, count in cells})
    scale = figures.scale("ns", (spread.middle for spread in tails.values()))
    marks = []
    for tone, count in enumerate(jobs):
        name = count_words("{n} job", "{n} jobs", count)
        marks.append(bars(name, [cells.get((depth, count)) for depth in depths], tone))
    for tone, count in enumerate(jobs):
        spread = [tails.get((depth, count)) for depth in depths]
        if any(spread):
            values = [scale.shown(s.middle) if s else None for s in spread]
            name = count_words("p99, {n} job", "p99, {n} jobs", count)
            marks.append(Mark(name, values, kind="dots", axis="y2", tone=tone))
    best = max(cells, key=lambda cell: cells[cell].middle)
    return Plot(
        id=f"plot-depth-{direction}",
        title=_("Random {direction} of 4 KiB against queue depth", direction=direction),
        x_label=_("queue depth of each job"),
        x_kind="category",
        x=[str(depth) for depth in depths],
        y=Axis("IOPS"),
        # Logarithmic: a tail grows by orders of magnitude where queues fill up.
        y2=Axis(_("p99 latency, {unit}", unit=scale.unit), is_log=True) if tails else None,
        marks=marks,
        summary=_(
            "Bars of random {direction} requests a second for the queue depths {first} to"
            " {last}. Most, {most} IOPS, at depth {depth} with {jobs}.",
            direction=direction,
            first=depths[0],
            last=depths[-1],
            most=figures.figure(cells[best].middle),
            depth=best[0],
            jobs=count_words("{n} job", "{n} jobs", best[1]),
        ),
        note=_("Bars: requests a second, left axis. Dots: 99th percentile of latency, right axis."),
    )


def _percentiles(repeats: Spreads) -> Plot | None:
    """Latency at each percentile, the median over repeats, for reads and writes at each depth."""
    lines: dict[tuple[str, int], dict[float, float]] = {}
    for metric, direction in {**IOPS, **P99}.items():
        cells = _cells(repeats, metric)
        depths = sorted({depth for depth, jobs in cells if jobs == 1})
        # All depths would be too many lines.
        for depth in {depths[0], depths[-1], 32} & set(depths) if depths else ():
            if latencies := _latencies(cells[depth, 1].samples):
                lines.setdefault((direction, depth), latencies)
    points = sorted({point for line in lines.values() for point in line})
    if len(points) < 2:
        return None
    scale = figures.scale("ns", (value for line in lines.values() for value in line.values()))
    marks = [
        Mark(
            _("{direction}, depth {depth}", direction=direction, depth=depth),
            [scale.shown(line.get(point)) for point in points],
        )
        for (direction, depth), line in sorted(lines.items())
    ]
    worst = max(marks, key=lambda mark: mark.values[-1] or 0)
    return Plot(
        id="plot-percentiles",
        title=_("Latency percentiles of random 4 KiB access"),
        x_label="percentile",
        x_kind="category",
        x=[f"{point:g}" for point in points],
        y=Axis(scale.unit, is_log=True),
        marks=marks,
        summary=_(
            "Lines of latency at the percentiles {lowest} to {highest}, logarithmic. Highest at"
            " {highest}: {label} with {latency} {unit}.",
            lowest=f"{points[0]:g}",
            highest=f"{points[-1]:g}",
            label=worst.label,
            latency=figures.figure(worst.values[-1]),
            unit=scale.unit,
        ),
        note=_("Median over the repeats. The latency axis is logarithmic."),
    )


def _latencies(samples: Iterable[Sample]) -> dict[float, float]:
    """Percentile → nanoseconds, the median over the samples that state it."""
    stated: dict[float, list[float]] = {}
    for sample in samples:
        for point, value in dict(sample.parameters.get("percentiles_ns") or {}).items():
            if value and value > 0:
                stated.setdefault(float(point), []).append(float(value))
    return {point: float(median(values)) for point, values in stated.items()}


def _disk_over_time(evidence: Sequence[Evidence]) -> Plot | None:
    """Bytes per second of the sequential tests, the first repeat of each."""
    lines: dict[str, dict[float, float | None]] = {}
    for piece in evidence:
        key = (piece.probe, piece.variant)
        if key not in SEQUENTIAL or not piece.series:
            continue
        label, column = SEQUENTIAL[key]
        x, (values,) = thin(
            [float(t or 0) for t in piece.series.get("t_s", ())], [piece.series.get(column, ())]
        )
        # The first repeat: a mean over repeats would smooth away what such a chart is for.
        if label not in lines and sum(value is not None for value in values) > 1:
            # Whole seconds, so that lines of different tests share their points.
            lines[label] = {round(t): v for t, v in zip(x, values, strict=False)}
    return over_time(
        lines,
        rate_scale(v for line in lines.values() for v in line.values() if v),
        id="plot-disk-time",
        title=_("Disk throughput over time"),
        note=_(
            "What the disk moved in each second of the first repeat, its preparations included."
        ),
    )
