"""Observations of `observe`, one a second: charts of a finished repeat, strips of the running one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from backend.site import figures
from backend.site.language import _, lazy
from backend.site.plots import Axis, Mark, Plot, Values, thin

Series = Mapping[str, Values]

RATIOS = {
    "cpu_ratio": lazy("CPU busy"),
    "steal_ratio": "steal",
    "iowait_ratio": lazy("waiting for disks"),
}
RATES = {
    "disk_read_bytes_per_s": lazy("disk read"),
    "disk_write_bytes_per_s": lazy("disk write"),
    "net_receive_bytes_per_s": lazy("network in"),
    "net_send_bytes_per_s": lazy("network out"),
}
CLOCK = "mhz"
TIME = "t_s"
# Units of the drawing, which the style sheet stretches to the width of the page.
WIDTH, HEIGHT = 600.0, 64.0


def _present_columns(series: Series, names: Iterable[str]) -> list[str]:
    return [n for n in names if any(value is not None for value in series.get(n, ()))]


def _times(series: Series) -> list[float]:
    return [float(t or 0) for t in series.get(TIME, ())]


def series_plots(series: Series | None) -> list[Plot]:
    """CPU and throughput over the seconds of one repeat; none where too little was seen."""
    if not series or len(series.get(TIME, ())) < 2:
        return []
    return [plot for plot in (_cpu(series), _throughput(series)) if plot is not None]


def _cpu(series: Series) -> Plot | None:
    names = _present_columns(series, RATIOS)
    clock = _present_columns(series, [CLOCK])
    x, columns = thin(_times(series), [series[n] for n in [*names, *clock]])
    marks = [
        Mark(RATIOS[name], [None if v is None else v * 100 for v in column])
        for name, column in zip(names, columns, strict=False)
    ]
    if not marks:
        return None
    if clock:
        marks.append(Mark(_("clock"), columns[-1], axis="y2", tone=3))
    busiest = max(v for v in marks[0].values if v is not None)
    return Plot(
        id="plot-cpu",
        title=_("CPU while it ran"),
        x_label=_("seconds since the start"),
        x_kind="linear",
        x=x,
        # Always the whole scale, so that runs can be compared by eye.
        y=Axis("%", most=100),
        y2=Axis("MHz") if clock else None,
        marks=marks,
        summary=_(
            "Lines of the CPU's use over {seconds} seconds: {label} up to {busiest}%.",
            seconds=figures.quantity(round(x[-1])),
            label=marks[0].label,
            busiest=figures.figure(busiest),
        ),
    )


def _throughput(series: Series) -> Plot | None:
    # A disk or network that moved nothing at all is left out of the picture.
    names = [n for n in _present_columns(series, RATES) if any(series[n])]
    if not names:
        return None
    scale = rate_scale(v for n in names for v in series[n] if v)
    x, columns = thin(_times(series), [series[n] for n in names])
    marks = [
        Mark(RATES[name], [scale.shown(v) for v in column])
        for name, column in zip(names, columns, strict=True)
    ]
    most = {mark.label: max(v for v in mark.values if v is not None) for mark in marks}
    peaks = ", ".join(
        _("{label} up to {most} {unit}", label=label, most=figures.figure(value), unit=scale.unit)
        for label, value in most.items()
    )
    return Plot(
        id="plot-throughput",
        title=_("Disk and network while it ran"),
        x_label=_("seconds since the start"),
        x_kind="linear",
        x=x,
        y=Axis(scale.unit),
        marks=marks,
        summary=_(
            "Lines of throughput over {seconds} seconds: {peaks}.",
            seconds=figures.quantity(round(x[-1])),
            peaks=peaks,
        ),
    )


def rate_scale(values: Iterable[float]) -> figures.UnitScale:
    """Scale of bytes a second in which the largest value reads well."""
    return figures.scale("bytes/s", [max(values, default=0.0)])


# --- the strip of a run that goes on --------------------------------------------------------------


@dataclass(frozen=True)
class StripTrace:
    """A line of a strip: its name, its newest value in words, and its path in SVG."""

    label: str
    now: str
    path: str
    tone: int


@dataclass(frozen=True)
class Strip:
    """A small drawing of the last seconds."""

    label: str
    # What its upper edge stands for.
    top: str
    traces: Sequence[StripTrace]

    @property
    def summary(self) -> str:
        """The newest values in words."""
        return f"{self.label}: " + ", ".join(f"{t.label} {t.now}" for t in self.traces)


def live_strips(series: Series | None) -> list[Strip]:
    """CPU and throughput of the running step; none before there are two rows."""
    if not series or len(series.get(TIME, ())) < 2:
        return []
    strips = []
    if ratios := _present_columns(series, RATIOS):
        traces = [
            StripTrace(
                RATIOS[n], _percent(_last(series[n])), path(_times(series), series[n], 1.0), tone
            )
            for tone, n in enumerate(ratios)
        ]
        strips.append(Strip("CPU", figures.percent(1), traces))
    if rates := _present_columns(series, RATES):
        most = max((v for n in rates for v in series[n] if v), default=0.0)
        scale = rate_scale([most])
        top = most or 1.0
        traces = [
            StripTrace(RATES[n], _rate(_last(series[n])), path(_times(series), series[n], top), t)
            for t, n in enumerate(rates)
        ]
        strips.append(
            Strip(_("Throughput"), f"{figures.figure(scale.shown(top))} {scale.unit}", traces)
        )
    return strips


def live_clock(series: Series | None) -> str:
    """The newest clock rate in words; empty where it is not known."""
    now = _last(series.get(CLOCK, ())) if series else None
    return _("{clock} MHz", clock=figures.figure(now)) if now else ""


def live_rows(series: Series) -> list[list[str]]:
    """The strips' figures, newest first: seconds, ratios in percent, rates in MB/s."""
    columns = [*RATIOS, *RATES]
    rows = []
    for index in range(len(series.get(TIME, ())) - 1, -1, -1):
        cells = [_at(series.get(name, ()), index) for name in columns]
        shown = [
            "" if v is None else figures.figure(v * 100 if n in RATIOS else v / 1e6)
            for n, v in zip(columns, cells, strict=True)
        ]
        rows.append([figures.quantity(_at(series[TIME], index)), *shown])
    return rows


LIVE_HEADS = [
    "s",
    *(f"{label}, %" for label in RATIOS.values()),
    *(lazy("{label}, MB/s", label=label) for label in RATES.values()),
]


def path(x: Sequence[float], values: Values, top: float) -> str:
    """SVG path of the values over the newest time span; unknown ones leave a gap."""
    first, last = x[0], x[-1]
    span = (last - first) or 1.0
    parts, is_down = [], False
    for at, value in zip(x, values, strict=False):
        if value is None:
            is_down = False
            continue
        across = (at - first) / span * WIDTH
        # One pixel stays free at both edges, or half of the line's width would be cut off.
        up = HEIGHT - min(max(value / top, 0.0), 1.0) * (HEIGHT - 2) - 1
        # After a gap the pen is lifted: a line across it would claim what nobody saw.
        parts.append(f"{'L' if is_down else 'M'}{across:.1f} {up:.1f}")
        is_down = True
    return " ".join(parts)


def _at(values: Values, index: int) -> float | None:
    return values[index] if index < len(values) else None


def _last(values: Values) -> float | None:
    return values[-1] if values else None


def _percent(ratio: float | None) -> str:
    return _("unknown") if ratio is None else figures.percent(ratio)


def _rate(value: float | None) -> str:
    if not value:
        return _("unknown") if value is None else "0"
    scale = rate_scale([value])
    return f"{figures.figure(scale.shown(value))} {scale.unit}"
