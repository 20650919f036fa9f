"""Charts of a run's network tests."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from backend.benchmarks.pages.runs.spreads import RepeatSpread, Spreads, bars, over_time
from backend.measure.probes import NETWORK, PROBES
from backend.site import figures
from backend.site.language import _
from backend.site.plots import Axis, Plot, PlotRow, thin

TCP = {s.variant: s.chart_label for s in PROBES[NETWORK].series if s.chart_label}


def network_plots(repeats: Spreads) -> list[Plot | None]:
    """A plot for each quantity, None where it was not measured."""
    return [_network(repeats), _network_over_time(repeats)]


def _network(repeats: Spreads) -> Plot | None:
    """TCP throughput both ways; what UDP and ping found stands in the table."""
    # In the order in which the probe measures them.
    kept = {v: s for v in TCP if (s := repeats.get(("net_tcp_bits_per_s", v))) is not None}
    if not kept:
        return None
    scale = figures.scale("bits/s", (spread.middle for spread in kept.values()))
    names = [_stream_words(variant, spread) for variant, spread in kept.items()]
    best = max(range(len(names)), key=lambda n: list(kept.values())[n].middle)
    shown = bars("throughput", list(kept.values()), 0, scale)
    plot = Plot(
        id="plot-network",
        title=_("Network throughput (TCP) to the peer and back"),
        x_label="",
        x_kind="category",
        x=names,
        y=Axis(scale.unit),
        marks=[shown],
        extra=_tcp_columns(list(kept.values())),
        summary=_(
            "Bars of TCP throughput as the receiver counts it. Most: {test}, {most} {unit}.",
            test=names[best],
            most=figures.figure(shown.values[best]),
            unit=scale.unit,
        ),
        note=_(
            "Medians as the receiver counts them; whiskers from the lowest to the highest repeat. "
            "Retransmits, jitter, loss and round trips are in the table."
        ),
    )
    # After the plot, since the width of a row is known from its heads.
    return replace(plot, more_rows=_udp_and_ping(repeats, len(plot.heads)))


def _stream_words(variant: str, spread: RepeatSpread) -> str:
    return str(TCP[variant]).format(n=spread.parameters.get("streams", _("Several")))


def _tcp_columns(kept: Sequence[RepeatSpread]) -> dict[str, list[str]]:
    retransmits = [
        _middle_text(s.parameters.get("retransmits") for s in spread.samples) for spread in kept
    ]
    return {_("retransmits"): retransmits, _("jitter"): [""] * len(kept), _("loss"): [""] * len(kept),
            _("round trip"): [""] * len(kept)}  # fmt: skip


def _middle_text(values: Iterable[Any]) -> str:
    known = [float(v) for v in values if isinstance(v, int | float)]
    return figures.quantity(median(known)) if known else _("unknown")


def _udp_and_ping(repeats: Spreads, width: int) -> list[PlotRow]:
    """Rows whose last three cells are jitter, loss and round trip; the others stay empty."""
    rows = []
    for variant, words in {"standard": _("to peer"), "reverse": _("from peer")}.items():
        jitter = repeats.get(("net_udp_jitter_ns", variant))
        loss = repeats.get(("net_udp_loss_ratio", variant))
        if jitter or loss:
            cells = [
                _time(jitter.middle) if jitter else "",
                _ratio(loss.middle) if loss else "",
                "",
            ]
            rows.append(
                PlotRow(_("UDP, {words}", words=words), None, [*[""] * (width - 3), *cells])
            )
    trip = repeats.get(("net_rtt_ns", "standard"))
    if trip:
        lost = trip.parameters.get("loss_ratio")
        cells = ["", _ratio(float(lost)) if lost is not None else "", _time(trip.middle)]
        rows.append(PlotRow(_("Ping"), None, [*[""] * (width - 3), *cells]))
    return rows


def _time(ns: float) -> str:
    scale = figures.scale("ns", [ns])
    return f"{figures.figure(scale.shown(ns))} {scale.unit}"


def _ratio(value: float) -> str:
    return figures.percent(value, 2)


def _network_over_time(repeats: Spreads) -> Plot | None:
    """TCP throughput in each second, the repeat in the middle of each variant."""
    lines: dict[str, dict[float, float | None]] = {}
    for variant in TCP:
        spread = repeats.get(("net_tcp_bits_per_s", variant))
        values = list(spread.parameters.get("intervals") or ()) if spread else []
        if spread and len(values) > 1:
            # An interval ends at its second: the first figure is that of second 1.
            x, (column,) = thin([float(n + 1) for n in range(len(values))], [values])
            lines[_stream_words(variant, spread)] = dict(zip(x, column, strict=True))
    known = [v for line in lines.values() for v in line.values() if v]
    return over_time(
        lines,
        figures.scale("bits/s", [max(known, default=0.0)]),
        id="plot-network-time",
        title=_("Network throughput (TCP) over time"),
        note=_("The repeat in the middle of each test."),
    )
