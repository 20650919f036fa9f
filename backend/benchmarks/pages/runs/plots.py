"""The charts of a run: what its samples and their parameters show, each only where there is data."""

from collections.abc import Iterable
from typing import Any

from backend.benchmarks.models import Evidence, Sample
from backend.benchmarks.pages.runs.disk_plots import disk_plots
from backend.benchmarks.pages.runs.network_plots import network_plots
from backend.benchmarks.pages.runs.spreads import Spreads, spreads
from backend.measure.metrics import METRICS
from backend.site import figures
from backend.site.charts import strip
from backend.site.language import _
from backend.site.plots import Axis, Mark, Plot, thin


def run_plots(samples: Iterable[Sample], evidence: Iterable[Evidence]) -> list[Plot]:
    """The charts of a finished run, in the order in which one reads them.

    `evidence` needs `series` of the disk tests only.
    """
    repeats = spreads(samples)
    plots = [*disk_plots(repeats, evidence), _windows_plot(repeats), *network_plots(repeats)]
    return [plot for plot in plots if plot is not None]


def _windows_plot(repeats: Spreads) -> Plot | None:
    """The score of each window of the long run."""
    spread = repeats.get(("cmips_sustained_ratio", "all"))
    parameters = spread.parameters if spread else {}
    windows = [float(value) for value in parameters.get("windows") or ()]
    window_s = float(parameters.get("window_s") or 0)
    # A single window shows no course.
    if len(windows) < 2 or not window_s:
        return None
    x, (values,) = thin([window_s * (n + 1) for n in range(len(windows))], [windows])
    last = float(parameters.get("last") or windows[-1])
    drop = figures.percent(1 - last / windows[0]) if windows[0] else _("unknown")
    return Plot(
        id="plot-sustained",
        title=_("CPU score under lasting load"),
        x_label=_("seconds since the start"),
        x_kind="linear",
        x=x,
        # The drop is a few percent and would not be seen on an axis from zero; the note says so.
        y=Axis("CMIPS", is_from_zero=False),
        marks=[Mark(_("score of a window"), values)],
        lines=[(windows[0], _("first window")), (last, _("at the end"))],
        summary=_(
            "Line of the CPU score over {seconds} seconds in windows of {window_s} s: {first} CMIPS"
            " at first, {last} at the end, lowest {lowest}.",
            seconds=figures.quantity(round(x[-1])),
            window_s=figures.quantity(window_s),
            first=figures.figure(windows[0]),
            last=figures.figure(last),
            lowest=figures.figure(min(windows)),
        ),
        note=_(
            "Drop from the first window to the end: {drop}. The axis does not begin at zero.",
            drop=drop,
        ),
    )


def run_strips(samples: Iterable[Sample], provider: str) -> list[dict[str, Any]]:
    """A strip for each ranking variant with two repeats or more."""
    return [
        strip(
            METRICS[metric],
            spread.shown,
            provider,
            id=f"strip-{metric}-{variant}",
            figures_of=(spread.middle, None, None),
            label=lambda sample: _("repeat {n}", n=sample.repeat + 1),
            below="All repeats are in the figures above.",
        )
        for (metric, variant), spread in spreads(samples).items()
        if metric in METRICS
        and variant in METRICS[metric].ranking_variants
        and len(spread.shown) > 1
    ]
