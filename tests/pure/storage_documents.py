"""Documents of the calculators, stated shortly; and the faults of one."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from backend.calculators.calc.arrays import ArrayDocument
from backend.calculators.calc.links import (
    Chain,
    ChainDocument,
    ContentionDocument,
    ContentionResult,
    Segment,
    chain_shares,
    shares,
)
from backend.calculators.calc.memory import MemoryDocument
from backend.foundation.errors import InvalidDocument

MB = 10**6
TB = 10**12
Stated = Mapping[str, Any]
DISK: Stated = {
    "bytes": 4 * TB,
    "read_bytes_per_s": 160 * MB,
    "write_bytes_per_s": 160 * MB,
    "read_iops": 100,
    "write_iops": 100,
}


def link(name: str, capacity_bytes_per_s: float, **changes: Any) -> Stated:
    return {"name": name, "capacity_bytes_per_s": capacity_bytes_per_s, **changes}


def flow(name: str, count: int, demand_bytes_per_s: float | None, path: Sequence[str]) -> Stated:
    return {
        "name": name,
        "count": count,
        "demand_bytes_per_s": demand_bytes_per_s,
        "path": list(path),
    }


def shared(
    links: Sequence[Stated], flows: Sequence[Stated], transfer_bytes: int | None = None
) -> ContentionResult:
    """The shares of links among flows."""
    return shares(ContentionDocument.read(_links(links, flows, transfer_bytes)))


def contention(document: object, **given: Any) -> dict[str, Any]:
    """The answer to a document, as the API gives it."""
    return shares(ContentionDocument.read(document), **given).model_dump(mode="json")


def chain(
    segments: Sequence[Stated], flows: Sequence[Stated], transfer_bytes: int | None = None
) -> Chain:
    """The shares of links that may be made of several."""
    return chain_shares(ChainDocument.read(_links(segments, flows, transfer_bytes)))


def segment(link_bytes_per_s: float, count: int, aggregation: str) -> Segment:
    return Segment.read(link("links", link_bytes_per_s, count=count, aggregation=aggregation))


def array_of(level: str, disks: int, disk: Stated = DISK, **changes: Any) -> ArrayDocument:
    return ArrayDocument.read(
        {"schema": 1, "level": level, "disks": disks, "disk": disk, **changes}
    )


def memory(
    sockets: int, modules: int, channels: int, rated: int, configured: int | None = None
) -> MemoryDocument:
    return MemoryDocument.read(
        {
            "sockets": sockets,
            "modules_per_socket": modules,
            "channels_per_socket": channels,
            "rated_mt_per_s": rated,
            "configured_mt_per_s": configured,
        }
    )


def faults(call: Callable[..., Any], *given: Any, **named: Any) -> dict[str, str]:
    """The words of a refusal by pointer."""
    with pytest.raises(InvalidDocument) as refused:
        call(*given, **named)
    return dict(refused.value.errors)


def _links(
    links: Sequence[Stated], flows: Sequence[Stated], transfer_bytes: int | None
) -> dict[str, Any]:
    return {"schema": 1, "links": links, "flows": flows, "transfer_bytes": transfer_bytes}
