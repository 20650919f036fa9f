"""Chains of links, each perhaps made of several: what flows get, and what holds them back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from backend.domain.contention import Flow, Link, Shares, shares
from backend.domain.errors import InvalidValue
from backend.domain.storage.presets import Aggregate, aggregate


@dataclass(frozen=True)
class Segment:
    """`count` equal links as one; `usable_ratio` of them is to be had, the rest is others'."""

    name: str
    link_bytes_per_s: float
    count: int = 1
    aggregation: str = "bond"
    """A key of AGGREGATIONS; without meaning for a single link."""
    usable_ratio: float = 1.0


@dataclass(frozen=True)
class Chain:
    """The links and flows that `shares` were made of: no flow asks for more than it could get
    alone where it stays on one of the links that make up a segment."""

    links: tuple[Link, ...]
    flows: tuple[Flow, ...]
    shares: Shares


def chain_shares(
    segments: Sequence[Segment], flows: Sequence[Flow], *, transfer_bytes: int | None = None
) -> Chain:
    """Rates of all flows and use of all segments, in the order given.

    Flows that stay on one link of a segment are taken to be spread evenly over its links.
    Raises InvalidValue with the JSON pointer into links and flows.
    """
    joined = {
        segment.name: _link_aggregate(index, segment) for index, segment in enumerate(segments)
    }
    links = [Link(segment.name, joined[segment.name].total_bytes_per_s) for segment in segments]
    limits = [_limit(flow, joined) for flow in flows]
    limited = [
        flow if limit is None else replace(flow, demand_bytes_per_s=limit[0])
        for flow, limit in zip(flows, limits, strict=True)
    ]
    divided = shares(links, limited, transfer_bytes=transfer_bytes)
    named = tuple(
        share if limit is None or share.bottleneck else replace(share, bottleneck=limit[1])
        for share, limit in zip(divided.flows, limits, strict=True)
    )
    return Chain(tuple(links), tuple(limited), replace(divided, flows=named))


def _link_aggregate(index: int, segment: Segment) -> Aggregate:
    if not 0 < segment.usable_ratio <= 1:
        detail = f"{segment.usable_ratio} is not above 0 and at most 1"
        raise InvalidValue(f"/links/{index}/usable_ratio", detail)
    try:
        whole = aggregate(segment.link_bytes_per_s, segment.count, segment.aggregation)
    except InvalidValue as error:
        raise InvalidValue(f"/links/{index}{error.field}", error.detail) from None
    ratio = segment.usable_ratio
    return Aggregate(whole.total_bytes_per_s * ratio, whole.single_flow_bytes_per_s * ratio)


def _limit(flow: Flow, joined: dict[str, Aggregate]) -> tuple[float, str] | None:
    """Rate that one link of a segment leaves a flow, and the segment; None: it asks for no more."""
    limits = [
        (joined[name].single_flow_bytes_per_s, name)
        for name in flow.path
        if name in joined
        if joined[name].single_flow_bytes_per_s < joined[name].total_bytes_per_s
    ]
    least = min(limits, default=None, key=lambda limit: limit[0])
    demand = flow.demand_bytes_per_s
    return None if least is None or (demand is not None and demand <= least[0]) else least
