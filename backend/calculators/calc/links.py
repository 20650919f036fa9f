"""Links that flows share, and chains of links that may each be made of several.

Max-min fair shares by progressive filling: all flows that are not settled grow at one level. The
level stops at the least of: the demand of a flow, which is then served; and the level at which a
link is full, which settles every flow on it. Rates are those of single flows. Source of the rule:
Bertsekas and Gallager, Data Networks, 6.5.2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from backend.calculators.calc.presets import AGGREGATIONS
from backend.foundation.documents.model import Document, Faults, Result
from backend.foundation.documents.values import (
    MOST,
    Float,
    Many,
    Text,
    Version,
    WholeNumber,
    Word,
)
from backend.foundation.errors import InvalidDocument
from backend.foundation.texts import text as _

MOST_LINKS = 1000
MOST_FLOWS = 1000
MOST_COUNT = 1_000_000_000
MOST_PATH = 50
MOST_WORK = 20_000_000


class LinkDocument(Document):
    """Capacity that flows share."""

    name: Annotated[str, Text(_("Name, once in the document"))]
    capacity_bytes_per_s: Annotated[float, Float(_("In each direction"), is_above=True)]


class FlowDocument(Document):
    """Equal flows along a path."""

    name: Annotated[str, Text(_("Name for people"))]
    count: Annotated[int, WholeNumber(_("How many"), low=1, high=MOST_COUNT)] = 1
    demand_bytes_per_s: Annotated[
        float | None, Float(_("Demand of a single flow; null takes what it gets"))
    ] = None
    path: Annotated[
        tuple[Annotated[str, Text()], ...], Many(_("Names of the links"), high=MOST_PATH)
    ] = ()


class ContentionDocument(Document):
    """Links, and flows that share them."""

    version: Annotated[int, Version(_("Version of the document"))] = Field(alias="schema")
    links: Annotated[tuple[LinkDocument, ...], Many(_("What is shared"), high=MOST_LINKS)] = ()
    flows: Annotated[tuple[FlowDocument, ...], Many(_("Who shares"), low=1, high=MOST_FLOWS)]
    transfer_bytes: Annotated[
        int | None,
        WholeNumber(_("transfer_s is the time of so many bytes, at the rate of a flow"), high=MOST),
    ] = None

    @property
    def work(self) -> int:
        """Links × flows × the shorter of them: each round fills a link or serves a flow."""
        links, flows = len(self.links), len(self.flows)
        return links * flows * min(links, flows)

    def faults(self) -> Faults:
        names: set[str] = set()
        for index, link in enumerate(self.links):
            if link.name in names:
                yield f"links/{index}/name", f"{link.name!r} occurs twice"
            names.add(link.name)
        # Every path over all of them would repeat that fault.
        if len(names) < len(self.links):
            return
        for index, flow in enumerate(self.flows):
            # It would grow for ever.
            if flow.demand_bytes_per_s is None and not flow.path:
                yield f"flows/{index}/path", "a flow without a demand needs a link"
            for step, name in enumerate(flow.path):
                if name not in names:
                    yield f"flows/{index}/path/{step}", f"no link is called {name!r}"
                # A flow that crosses a link twice would take two shares; nobody draws that on purpose.
                elif name in flow.path[:step]:
                    yield f"flows/{index}/path/{step}", f"{name!r} occurs twice"


class FlowResult(Result):
    """Rate of each of the equal flows."""

    name: str
    rate_bytes_per_s: float
    bottleneck: str | None = Field(description="null: its demand is met")
    transfer_s: float | None


class LinkResult(Result):
    """Use of a link by all flows together."""

    name: str
    used_bytes_per_s: float
    utilisation: float


class ContentionResult(Result):
    """Max-min fair shares."""

    flows: tuple[FlowResult, ...]
    links: tuple[LinkResult, ...]


def shares(
    document: ContentionDocument,
    *,
    most_work: int = MOST_WORK,
    check: Callable[[], None] = lambda: None,
) -> ContentionResult:
    """Rates of all flows and use of all links, in the order given.

    `transfer_s` is None at rate 0. What `check` raises ends it; it is called in each round.
    """
    if document.work > most_work:
        detail = f"{len(document.flows)} flows over {len(document.links)} links are too many"
        raise InvalidDocument([("/flows", detail)])
    capacities = {link.name: _exact(link.capacity_bytes_per_s) for link in document.links}
    rates, bottlenecks = _share_capacity(capacities, document.flows, check)
    return ContentionResult(
        flows=tuple(
            FlowResult(
                name=flow.name,
                rate_bytes_per_s=float(rate),
                bottleneck=bottleneck,
                transfer_s=_transfer_s(document.transfer_bytes, rate),
            )
            for flow, rate, bottleneck in zip(document.flows, rates, bottlenecks, strict=True)
        ),
        links=tuple(
            _use(name, capacity, document.flows, rates) for name, capacity in capacities.items()
        ),
    )


def _exact(bytes_per_s: float) -> Fraction:
    """The decimal that prints like the number."""
    # In floats a link would be full at one level and not quite at the next, and the rounds might not end.
    return Fraction(str(bytes_per_s))


def _share_capacity(
    capacities: dict[str, Fraction], flows: Sequence[FlowDocument], check: Callable[[], None]
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
    capacities: dict[str, Fraction],
    flows: Sequence[FlowDocument],
    rates: Sequence[Fraction | None],
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
    name: str, capacity: Fraction, flows: Sequence[FlowDocument], rates: Sequence[Fraction]
) -> LinkResult:
    used = sum(
        (flow.count * rate for flow, rate in zip(flows, rates, strict=True) if name in flow.path),
        Fraction(0),
    )
    return LinkResult(name=name, used_bytes_per_s=float(used), utilisation=float(used / capacity))


class Segment(LinkDocument):
    """`count` equal links as one; `usable_ratio` of them is to be had, the rest is others'."""

    count: Annotated[int, WholeNumber(low=1, high=1000)] = 1
    # Without meaning for a single link.
    aggregation: Annotated[str, Word(choices=tuple(AGGREGATIONS))] = "bond"
    usable_ratio: Annotated[float, Float(low="0.0001", high="1")] = 1.0

    @property
    def total_bytes_per_s(self) -> float:
        """Capacity of all links together; a single link loses nothing."""
        total, ratio = self.capacity_bytes_per_s, AGGREGATIONS[self.aggregation].ratio
        if ratio is not None and self.count > 1:
            total = self.count * total * ratio
        return total * self.usable_ratio

    @property
    def single_flow_bytes_per_s(self) -> float:
        """Rate that a flow of its own can get."""
        if AGGREGATIONS[self.aggregation].is_flow_spread:
            return self.total_bytes_per_s
        return self.capacity_bytes_per_s * self.usable_ratio


class ChainDocument(ContentionDocument):
    """Links that may be made of several, and flows over them."""

    links: Annotated[tuple[Segment, ...], Many(high=MOST_LINKS)] = ()


@dataclass(frozen=True)
class Chain:
    """Shares of a chain, and the links and flows that they were made of: no flow asks for more than
    it could get alone where it stays on one of the links that make up a segment."""

    document: ContentionDocument
    shares: ContentionResult


def chain_shares(chain: ChainDocument) -> Chain:
    """Rates of all flows and use of all segments, in the order given.

    Flows that stay on one link of a segment are taken to be spread evenly over its links.
    """
    segments = {segment.name: segment for segment in chain.links}
    limits = [_limit(flow, segments) for flow in chain.flows]
    document = ContentionDocument.read(
        {
            "schema": 1,
            "links": [
                {"name": name, "capacity_bytes_per_s": segment.total_bytes_per_s}
                for name, segment in segments.items()
            ],
            "flows": [
                flow.model_dump() | ({"demand_bytes_per_s": limit[0]} if limit else {})
                for flow, limit in zip(chain.flows, limits, strict=True)
            ],
            "transfer_bytes": chain.transfer_bytes,
        }
    )
    divided = shares(document)
    flows = tuple(
        share
        if limit is None or share.bottleneck
        else share.model_copy(update={"bottleneck": limit[1]})
        for share, limit in zip(divided.flows, limits, strict=True)
    )
    return Chain(document, divided.model_copy(update={"flows": flows}))


def _limit(flow: FlowDocument, segments: dict[str, Segment]) -> tuple[float, str] | None:
    """Rate that one link of a segment leaves a flow, and the segment; None: it asks for no more."""
    limits = [
        (segments[name].single_flow_bytes_per_s, name)
        for name in flow.path
        if segments[name].single_flow_bytes_per_s < segments[name].total_bytes_per_s
    ]
    least = min(limits, default=None, key=lambda limit: limit[0])
    demand = flow.demand_bytes_per_s
    return None if least is None or (demand is not None and demand <= least[0]) else least
