"""The document of shared links as it goes over the wire (schema 1), and what it comes to."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Annotated, Any

from pydantic import Field

from backend.domain.contention import Flow, Link, shares
from backend.domain.documents.model import Document
from backend.domain.documents.values import Many, Number, Text, Version, WholeNumber
from backend.domain.errors import InvalidDocument, InvalidValue
from backend.domain.texts import text as _

MOST_LINKS = 1000
MOST_FLOWS = 1000
MOST_COUNT = 1_000_000_000
MOST_PATH = 50
# Links × flows × the shorter of them: each round fills a link or serves a flow.
MOST_WORK = 20_000_000


class LinkDocument(Document):
    """Capacity that flows share."""

    name: Annotated[str, Text(_("Name, once in the document"))]
    capacity_bytes_per_s: Annotated[Fraction, Number(_("In each direction"), is_above=True)]


class FlowDocument(Document):
    """Equal flows along a path."""

    name: Annotated[str, Text(_("Name for people"))]
    count: Annotated[int, WholeNumber(_("How many"), low=1, high=MOST_COUNT)] = 1
    demand_bytes_per_s: Annotated[
        Fraction | None, Number(_("Of a single flow; null takes what it gets"))
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
        int | None, WholeNumber(_("transfer_s is the time of so many bytes, at the rate of a flow"))
    ] = None


def work(document: object) -> int:
    """Links × flows × the shorter of them; 0 where the document does not say."""
    values = document if isinstance(document, Mapping) else {}
    lists = [values.get(name) for name in ("links", "flows")]
    links, flows = (len(rows) if isinstance(rows, list) else 0 for rows in lists)
    return links * flows * min(links, flows)


def contention(
    document: object, *, most_work: int = MOST_WORK, check: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Rates of the flows and use of the links of a document.

    Raises InvalidDocument with every field that is wrong, and what `check` raises, which is called
    in each round.
    """
    read = ContentionDocument.read(document)
    if work(document) > most_work:
        detail = f"{len(read.flows)} flows over {len(read.links)} links are too many"
        raise InvalidDocument([("/flows", detail)])
    links = [Link(link.name, float(link.capacity_bytes_per_s)) for link in read.links]
    flows = [
        Flow(
            name=flow.name,
            count=flow.count,
            demand_bytes_per_s=None
            if flow.demand_bytes_per_s is None
            else float(flow.demand_bytes_per_s),
            path=flow.path,
        )
        for flow in read.flows
    ]
    try:
        result = shares(links, flows, transfer_bytes=read.transfer_bytes, check=check)
    except InvalidValue as error:
        raise InvalidDocument([(error.field, error.detail)]) from None
    return {
        "flows": [asdict(flow) for flow in result.flows],
        "links": [asdict(link) for link in result.links],
    }
