"""How full links are and by whom, and where the bytes of an array go, as bars."""

from collections.abc import Iterable, Sequence

from backend.domain.storage import Capacity, Chain
from backend.web.shared import figures
from backend.web.shared.language import _, localize
from backend.web.shared.plots import Axis, Mark, Plot
from backend.web.storage.fields import TB
from backend.web.storage.lines import FlowShown, LevelShown, LinkShown

# As many as there are colours; further flows are drawn as one.
MOST_MARKS = 6


def links_plot(chain: Chain, links: Sequence[LinkShown], flows: Sequence[FlowShown]) -> Plot:
    """Each link as a bar of what the flows take of it, in percent; a chain has a link or more."""
    taken = [
        (flow.name, [_part(flow, link, path) for link in links])
        for flow, path in zip(flows, (flow.path for flow in chain.flows), strict=True)
    ]
    if len(taken) > MOST_MARKS:
        # One colour is kept for all others together, so that a bar still adds up to what is taken.
        rest = [values for _, values in taken[MOST_MARKS - 1 :]]
        others = [_sum(column) for column in zip(*rest, strict=True)]
        taken = [*taken[: MOST_MARKS - 1], (_("other flows"), others)]
    shares = "; ".join(
        _(
            "{name} {percent} % of {capacity}",
            name=link.name,
            percent=localize(f"{100 * link.ratio:.0f}"),
            capacity=_speed(link.capacity),
        )
        for link in links
    )
    return Plot(
        id="plot-links",
        title=_("What the flows take of each link"),
        x_label="",
        x_kind="category",
        x=[link.name for link in links],
        y=Axis(_("% of the link"), most=100),
        marks=[Mark(name, values, "bar") for name, values in taken],
        is_stacked=True,
        extra={
            _("taken, MB/s"): [figures.figure(link.used) for link in links],
            _("of, MB/s"): [figures.figure(link.capacity) for link in links],
        },
        summary=_("Stacked bars of how full each link is: {shares}.", shares=shares),
    )


def _part(flow: FlowShown, link: LinkShown, path: Iterable[str]) -> float | None:
    # None and not zero where a flow does not pass: the table then says nothing instead of 0.
    return 100 * flow.together / link.capacity if link.name in path else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _speed(mb_per_s: float) -> str:
    return _("{speed} MB/s", speed=figures.figure(mb_per_s))


def level_plots(levels: Sequence[LevelShown]) -> list[Plot]:
    """Where the bytes go at each level, RAID and ZFS apart, on equal axes."""
    possible = [(level, level.estimate.capacity) for level in levels if level.estimate is not None]
    groups = (
        (
            "raid",
            _("RAID: where the bytes go"),
            [value for value in possible if not value[0].is_zfs],
        ),
        ("zfs", _("ZFS: where the bytes go"), [value for value in possible if value[0].is_zfs]),
    )
    return [_level_plot(key, title, shown) for key, title, shown in groups if shown]


def _level_plot(key: str, title: str, shown: Sequence[tuple[LevelShown, Capacity]]) -> Plot:
    parts = (
        ("usable", [space.usable_bytes for _, space in shown]),
        (_("parity or copies"), [space.redundancy_bytes for _, space in shown]),
        ("padding", [space.padding_bytes for _, space in shown]),
        ("spares", [space.spare_bytes for _, space in shown]),
        (_("kept by ZFS"), [space.reserved_bytes for _, space in shown]),
    )
    usable = "; ".join(
        f"{level.label} {figures.size(space.usable_bytes)}" for level, space in shown
    )
    return Plot(
        id=f"plot-{key}",
        title=title,
        x_label="",
        x_kind="category",
        x=[_break_label(level) for level, _ in shown],
        x_text=[level.label for level, _ in shown],
        # The same top for both pictures, as the same disks stand behind them.
        y=Axis("TB", most=max(space.raw_bytes for _, space in shown) / TB),
        marks=[Mark(name, [count / TB for count in counts], "bar") for name, counts in parts],
        is_stacked=True,
        urls=[level.url for level, _ in shown],
        summary=_("Stacked bars of the same disks at each level. Usable: {usable}.", usable=usable),
    )


def _break_label(level: LevelShown) -> str:
    """The label, which may be broken before its number where six stand side by side."""
    return f"{level.label[:-1]}, {level.label[-1]}" if level.is_zfs else level.label
