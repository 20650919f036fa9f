"""The document of shared links as it goes over the wire (schema 1), read strictly."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from backend.domain.contention import Flow, Link, shares
from backend.domain.errors import InvalidDocument, InvalidValue
from backend.domain.scenarios.reading import Node

MOST_LINKS = 1000
MOST_FLOWS = 1000
MOST_COUNT = 1_000_000_000
MOST_PATH = 50
MOST_WORK = 20_000_000
"""Links × flows × the shorter of them: each round fills a link or serves a flow."""


def work(document: object) -> int:
    """Links × flows × the shorter of them; 0 where the document does not say."""
    values = document if isinstance(document, Mapping) else {}
    lists = [values.get(name) for name in ("links", "flows")]
    links, flows = (len(one) if isinstance(one, list) else 0 for one in lists)
    return links * flows * min(links, flows)


def contention(
    document: object, *, most_work: int = MOST_WORK, check: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Rates of the flows and use of the links of a document.

    Raises InvalidDocument with every field that is wrong, and what `check` raises, which is called
    in each round.
    """
    node = Node(document)
    node.knows("schema", "links", "flows", "transfer_bytes")
    if node.values.get("schema") != 1:
        node.fault("schema", "1 is needed")
    links = [_link(one) for one in node.nodes("links", 0, MOST_LINKS)]
    flows = [_flow(one) for one in node.nodes("flows", 1, MOST_FLOWS)]
    transfer_bytes = node.maybe_whole("transfer_bytes", 0, 10**18 - 1)
    if not flows:
        node.fault("flows", "at least one flow is needed")
    if work(document) > most_work:
        node.fault("flows", f"{len(flows)} flows over {len(links)} links are too many")
    node.end()
    try:
        found = shares(links, flows, transfer_bytes=transfer_bytes, check=check)
    except InvalidValue as error:
        raise InvalidDocument([(error.field, error.detail)]) from None
    return {
        "flows": [asdict(flow) for flow in found.flows],
        "links": [asdict(link) for link in found.links],
    }


def _link(node: Node) -> Link:
    node.knows("name", "capacity_bytes_per_s")
    return Link(node.text("name"), float(node.number("capacity_bytes_per_s", above="0")))


def _flow(node: Node) -> Flow:
    node.knows("name", "count", "demand_bytes_per_s", "path")
    has_demand = node.has("demand_bytes_per_s")
    path = node.list("path", 0, MOST_PATH)
    for place, name in enumerate(path):
        if not isinstance(name, str):
            node.fault(f"path/{place}", "the name of a link is needed")
    return Flow(
        name=node.text("name"),
        count=node.whole("count", 1, 1, MOST_COUNT),
        demand_bytes_per_s=float(node.number("demand_bytes_per_s")) if has_demand else None,
        path=tuple(name.strip() for name in path if isinstance(name, str)),
    )
