"""How memory is populated: what empty channels and lowered clocks cost in bandwidth.

A channel carries 64 bits of data at each transfer, whatever number of modules is on it (JEDEC
JESD79-4 and JESD79-5: data width of a module). Figures are peaks; a CPU reaches a part of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from backend.foundation.documents.model import Document
from backend.foundation.documents.values import WholeNumber

BYTES_PER_TRANSFER = 8
Speed = WholeNumber(unit="MT/s", low=1, high=100_000)


class MemoryDocument(Document):
    """Modules and channels of each socket."""

    sockets: Annotated[int, WholeNumber(low=1, high=64)]
    modules_per_socket: Annotated[int, WholeNumber(low=1, high=64)]
    channels_per_socket: Annotated[int, WholeNumber(low=1, high=32)]
    rated_mt_per_s: Annotated[int, Speed]
    # None = what they are made for.
    configured_mt_per_s: Annotated[int | None, Speed] = None

    @property
    def used_channels_per_socket(self) -> int:
        return min(self.modules_per_socket, self.channels_per_socket)


@dataclass(frozen=True)
class Population:
    """Peak bandwidth of all sockets together, as populated and with all channels at full speed."""

    peak_bytes_per_s: int
    possible_bytes_per_s: int
    socket_bytes_per_s: int
    """Peak of one socket: what work that runs on one of them can have."""
    is_uneven: bool
    """True if some channels have more modules than others: a part of memory is then slower."""

    @property
    def lost_ratio(self) -> float:
        """Share of the possible peak that is not there."""
        return 1 - self.peak_bytes_per_s / self.possible_bytes_per_s


def population(memory: MemoryDocument) -> Population:
    """Total of the modules."""
    rated, used = memory.rated_mt_per_s, memory.used_channels_per_socket
    speed = memory.configured_mt_per_s or rated
    per_channel = memory.sockets * 10**6 * BYTES_PER_TRANSFER
    return Population(
        peak_bytes_per_s=used * speed * per_channel,
        possible_bytes_per_s=memory.channels_per_socket * max(speed, rated) * per_channel,
        socket_bytes_per_s=used * speed * 10**6 * BYTES_PER_TRANSFER,
        is_uneven=memory.modules_per_socket % used != 0,
    )


def slowdowns(memory: MemoryDocument) -> Mapping[int, float]:
    """By modules of a socket, up to one on each channel: time of work that memory limits, over its
    time as the memory is populated. Rebuilding a wide array on one socket is such work."""
    used = memory.used_channels_per_socket
    return {modules: used / modules for modules in range(1, memory.channels_per_socket + 1)}
