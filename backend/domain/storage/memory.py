"""How memory is populated: what empty channels and lowered clocks cost in bandwidth.

A channel carries 64 bits of data at each transfer, whatever number of modules is on it (JEDEC
JESD79-4 and JESD79-5: data width of a module). Figures are peaks; a CPU reaches a part of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from backend.domain.errors import InvalidValue

BYTES_PER_TRANSFER = 8
MAX_SOCKETS = 64
MAX_MODULES = 64
MAX_CHANNELS = 32
MAX_MT_PER_S = 100_000


@dataclass(frozen=True)
class Memory:
    """Modules and channels of each socket; speeds in million transfers per second.

    `configured_mt_per_s` is what the modules run at, None = what they are made for.
    """

    sockets: int
    modules_per_socket: int
    channels_per_socket: int
    rated_mt_per_s: int
    configured_mt_per_s: int | None = None


@dataclass(frozen=True)
class Population:
    """Peak bandwidth of all sockets together, as populated and with all channels at full speed."""

    used_channels_per_socket: int
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


def population(memory: Memory) -> Population:
    """Total of the modules. Raises InvalidValue with the field as a JSON pointer."""
    _check("/sockets", memory.sockets, MAX_SOCKETS)
    _check("/modules_per_socket", memory.modules_per_socket, MAX_MODULES)
    _check("/channels_per_socket", memory.channels_per_socket, MAX_CHANNELS)
    _check("/rated_mt_per_s", memory.rated_mt_per_s, MAX_MT_PER_S)
    speed = memory.rated_mt_per_s
    if memory.configured_mt_per_s is not None:
        speed = memory.configured_mt_per_s
        _check("/configured_mt_per_s", speed, MAX_MT_PER_S)
    used = min(memory.modules_per_socket, memory.channels_per_socket)
    each = memory.sockets * 10**6 * BYTES_PER_TRANSFER
    return Population(
        used_channels_per_socket=used,
        peak_bytes_per_s=used * speed * each,
        socket_bytes_per_s=used * speed * each // memory.sockets,
        possible_bytes_per_s=memory.channels_per_socket * max(speed, memory.rated_mt_per_s) * each,
        is_uneven=memory.modules_per_socket % used != 0,
    )


def slowdowns(memory: Memory) -> Mapping[int, float]:
    """By modules of a socket, up to one on each channel: time of work that memory limits, over its
    time as the memory is populated. Rebuilding a wide array on one socket is such work.

    Raises InvalidValue with the field as a JSON pointer.
    """
    stated = population(memory).socket_bytes_per_s
    return {
        modules: stated / population(replace(memory, modules_per_socket=modules)).socket_bytes_per_s
        for modules in range(1, memory.channels_per_socket + 1)
    }


def _check(pointer: str, value: int, most: int) -> None:
    if not 1 <= value <= most:
        raise InvalidValue(pointer, f"{value} is not a whole number from 1 to {most}")
