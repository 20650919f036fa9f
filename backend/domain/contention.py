"""Max-min fair shares of links among flows, by progressive filling.

All flows that are not settled grow at one level. The level stops at the least of: the demand of a
flow, which is then served; and the level at which a link is full, which settles every flow on it.
Rates are those of single flows. Source of the rule: Bertsekas and Gallager, Data Networks, 6.5.2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from backend.domain.errors import InvalidValue


@dataclass(frozen=True)
class Link:
    """Capacity that flows share."""

    name: str
    capacity_bytes_per_s: float


@dataclass(frozen=True)
class Flow:
    """`count` equal flows along a path of links. No demand: they take what they get."""

    name: str
    count: int
    demand_bytes_per_s: float | None
    path: tuple[str, ...]


@dataclass(frozen=True)
class FlowShare:
    """Share of each of the equal flows; no bottleneck where its own demand is met."""

    name: str
    rate_bytes_per_s: float
    bottleneck: str | None
    transfer_s: float | None


@dataclass(frozen=True)
class LinkUse:
    """Use of a link by all flows together."""

    name: str
    used_bytes_per_s: float
    utilisation: float


@dataclass(frozen=True)
class Shares:
    flows: tuple[FlowShare, ...]
    links: tuple[LinkUse, ...]


def shares(
    links: Sequence[Link],
    flows: Sequence[Flow],
    *,
    transfer_bytes: int | None = None,
    check: Callable[[], None] = lambda: None,
) -> Shares:
    """Rates of all flows and use of all links, in the order given.

    `transfer_s` is the time of `transfer_bytes` at a flow's rate, None at rate 0. Raises
    InvalidValue with the JSON pointer. What `check` raises ends it; it is called in each
    round.
    """
    capacities = _check_links(links)
    _check_flows(flows, capacities)
    rates, bottlenecks = _share_capacity(capacities, flows, check)
    return Shares(
        flows=tuple(
            FlowShare(flow.name, float(rate), bottleneck, _transfer_s(transfer_bytes, rate))
            for flow, rate, bottleneck in zip(flows, rates, bottlenecks, strict=True)
        ),
        links=tuple(_use(name, capacity, flows, rates) for name, capacity in capacities.items()),
    )


def _exact(bytes_per_s: float) -> Fraction:
    """The decimal that prints like the number."""
    # In floats a link would be full at one level and not quite at the next, and the rounds might not end.
    return Fraction(str(bytes_per_s))


def _check_links(links: Sequence[Link]) -> dict[str, Fraction]:
    capacities: dict[str, Fraction] = {}
    for index, link in enumerate(links):
        if link.name in capacities:
            raise InvalidValue(f"/links/{index}/name", f"{link.name!r} occurs twice")
        if not 0 < link.capacity_bytes_per_s < float("inf"):
            raise InvalidValue(f"/links/{index}/capacity_bytes_per_s", "a number above 0 is needed")
        capacities[link.name] = _exact(link.capacity_bytes_per_s)
    return capacities


def _check_flows(flows: Sequence[Flow], capacities: dict[str, Fraction]) -> None:
    for index, flow in enumerate(flows):
        pointer = f"/flows/{index}"
        if flow.count < 1:
            raise InvalidValue(f"{pointer}/count", f"{flow.count} is below 1")
        demand = flow.demand_bytes_per_s
        if demand is not None and not 0 <= demand < float("inf"):
            raise InvalidValue(f"{pointer}/demand_bytes_per_s", "null or a number from 0 is needed")
        # It would grow for ever.
        if demand is None and not flow.path:
            raise InvalidValue(f"{pointer}/path", "a flow without a demand needs a link")
        for step, name in enumerate(flow.path):
            if name not in capacities:
                raise InvalidValue(f"{pointer}/path/{step}", f"no link is called {name!r}")
            # A flow that crosses a link twice would take two shares; nobody draws that on purpose.
            if name in flow.path[:step]:
                raise InvalidValue(f"{pointer}/path/{step}", f"{name!r} occurs twice")


def _share_capacity(
    capacities: dict[str, Fraction], flows: Sequence[Flow], check: Callable[[], None]
) -> tuple[list[Fraction], list[str | None]]:
    rates: list[Fraction | None] = [None] * len(flows)
    bottlenecks: list[str | None] = [None] * len(flows)
    while any(rate is None for rate in rates):
        check()
        # All rates rise alike until a link is full or a flow has what it asks for.
        full_at = _full_levels(capacities, flows, rates)
        demands = [
            _exact(flow.demand_bytes_per_s)
            for flow, rate in zip(flows, rates, strict=True)
            if rate is None and flow.demand_bytes_per_s is not None
        ]
        # Each round settles at least one flow, so there are no more rounds than flows.
        level = min([*full_at.values(), *demands])
        for index, flow in enumerate(flows):
            if rates[index] is not None:
                continue
            first_full = next((name for name in flow.path if full_at[name] == level), None)
            # Before the links: who has all it asked for is held up by nobody.
            if flow.demand_bytes_per_s is not None and _exact(flow.demand_bytes_per_s) == level:
                rates[index] = level
            elif first_full is not None:
                rates[index], bottlenecks[index] = level, first_full
    return [rate for rate in rates if rate is not None], bottlenecks


def _full_levels(
    capacities: dict[str, Fraction], flows: Sequence[Flow], rates: Sequence[Fraction | None]
) -> dict[str, Fraction]:
    """Level at which each link with growing flows is full."""
    levels: dict[str, Fraction] = {}
    for name, capacity in capacities.items():
        growing, left = 0, capacity
        for flow, rate in zip(flows, rates, strict=True):
            if name in flow.path:
                growing += flow.count if rate is None else 0
                left -= flow.count * (rate or 0)
        if growing:
            levels[name] = left / growing
    return levels


def _transfer_s(transfer_bytes: int | None, rate: Fraction) -> float | None:
    return None if transfer_bytes is None or not rate else float(transfer_bytes / rate)


def _use(
    name: str, capacity: Fraction, flows: Sequence[Flow], rates: Sequence[Fraction]
) -> LinkUse:
    used = sum(
        (flow.count * rate for flow, rate in zip(flows, rates, strict=True) if name in flow.path),
        Fraction(0),
    )
    return LinkUse(name, float(used), float(used / capacity))
