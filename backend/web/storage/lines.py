"""Shares, arrays and memory in the words and units of the storage page."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from backend.domain.conclusions import Certainty, Conclusion
from backend.domain.contention import FlowShare
from backend.domain.errors import InvalidValue
from backend.domain.storage import (
    EFFICIENCIES,
    LEVELS,
    PRESETS,
    Array,
    Chain,
    Estimate,
    Memory,
    PoolRules,
    Population,
    efficiency_ratio,
    estimate,
    ext4_available_bytes,
    slowdowns,
)
from backend.web.shared import figures
from backend.web.shared.language import _, count_words, localize
from backend.web.storage.fields import MB

TIB = 2**40


@dataclass(frozen=True)
class FlowShown:
    """Rate of each of `count` equal flows, in MB/s; held by nothing = as much as it asks for."""

    name: str
    count: int
    asks: float | None
    rate: float
    together: float
    limited_by: str
    transfer_s: float | None


@dataclass(frozen=True)
class LinkShown:
    """A link in MB/s, and the share of it that is taken."""

    name: str
    capacity: float
    used: float
    ratio: float

    @property
    def is_full(self) -> bool:
        return self.ratio >= 1


def link_lines(chain: Chain) -> list[LinkShown]:
    """The links, in their order."""
    return [
        LinkShown(
            name=link.name,
            capacity=link.capacity_bytes_per_s / MB,
            used=use.used_bytes_per_s / MB,
            ratio=use.utilisation,
        )
        for link, use in zip(chain.links, chain.shares.links, strict=True)
    ]


def flow_lines(
    chain: Chain, links: Sequence[LinkShown], asked: Sequence[float | None]
) -> list[FlowShown]:
    """The flows, in their order; `asked` is what each was stated to want, in MB/s."""
    full = {link.name for link in links if link.is_full}
    return [
        FlowShown(
            name=flow.name,
            count=flow.count,
            # As it was stated: the chain has capped it where a flow cannot use more than one link.
            asks=demand,
            rate=share.rate_bytes_per_s / MB,
            together=flow.count * share.rate_bytes_per_s / MB,
            limited_by=_limit_words(share, full),
            transfer_s=share.transfer_s,
        )
        for flow, share, demand in zip(chain.flows, chain.shares.flows, asked, strict=True)
    ]


def _limit_words(share: FlowShare, full: set[str]) -> str:
    if share.bottleneck is None:
        return ""
    # A bottleneck that is not full is the share of one link in a bond, which a single flow cannot exceed.
    is_full = share.bottleneck in full
    return (
        share.bottleneck
        if is_full
        else _("one of the links of {bottleneck}", bottleneck=share.bottleneck)
    )


def summary(links: Sequence[LinkShown], flows: Sequence[FlowShown]) -> str:
    """The result in one line."""
    full = [link.name for link in links if link.is_full]
    first = (
        count_words("{links} is full", "{links} are full", len(full), links=", ".join(full))
        if full
        else _("No link full")
    )
    least = min(
        (flow for flow in flows if flow.limited_by), default=None, key=lambda flow: flow.rate
    )
    if least is None:
        return _("{first}: every flow gets what it asks for", first=first)
    each = _(" each") if least.count > 1 else ""
    return _(
        "{first}; {name} gets {rate} MB/s{each}",
        first=first,
        name=least.name,
        rate=figures.figure(least.rate),
        each=each,
    )


def array_summary(label: str, array: Array, estimate: Estimate) -> str:
    """Result of the array in one line."""
    usable = figures.size(estimate.capacity.usable_bytes)
    count = estimate.survived_failures
    loss = (
        count_words(
            "any {n} disk of a group may fail at once",
            "any {n} disks of a group may fail at once",
            count,
        )
        if count
        else _("no disk may fail")
    )
    return _(
        "{label} of {disks} disks: {usable} usable, {loss}",
        label=label,
        disks=array.disks,
        usable=usable,
        loss=loss,
    )


def memory_summary(population: Population) -> str:
    """Result of the modules in one line."""
    lost = _("nothing is lost")
    if population.lost_ratio:
        lost = _(
            "{share} of the bandwidth is not there",
            share=figures.percent(population.lost_ratio),
        )
    peak, possible = population.peak_bytes_per_s, population.possible_bytes_per_s
    return _(
        "{peak}/s of {possible}/s: {lost}",
        peak=figures.size(peak),
        possible=figures.size(possible),
        lost=lost,
    )


def conclusion(summaries: Sequence[str]) -> Conclusion | None:
    """The first part of the page that was calculated, the others below it; None without any."""
    if not summaries:
        return None
    first, *others = (f"{summary}." for summary in summaries)
    return Conclusion(first, Certainty.CLEAR, " ".join(others))


def chain_document(chain: Chain, transfer_bytes: int | None) -> dict[str, Any]:
    """The document by which the API gives the same rates."""
    return {
        "schema": 1,
        "links": [asdict(link) for link in chain.links],
        "flows": [asdict(flow) for flow in chain.flows],
        "transfer_bytes": transfer_bytes,
    }


# --- arrays -------------------------------------------------------------------------------------


def array_document(array: Array, used_ratio: float, zfs: str) -> dict[str, Any]:
    """The document by which the API gives the same estimate."""
    return {"schema": 1, **asdict(array), "used_ratio": used_ratio, "zfs": zfs}


@dataclass(frozen=True)
class LevelShown:
    """The same disks at one level; without an estimate `reason` says what is in the way."""

    key: str
    label: str
    estimate: Estimate | None
    reason: str
    url: str

    @property
    def speeds(self) -> tuple[str, ...]:
        """Reading and writing in MB/s, as text; none without an estimate."""
        if self.estimate is None:
            return ()
        through = self.estimate.throughput
        return tuple(
            figures.figure(rate / MB)
            for rate in (through.read_bytes_per_s, through.write_bytes_per_s)
        )

    @property
    def is_zfs(self) -> bool:
        return LEVELS[self.key].family in ("raidz", "draid")


def level_lines(
    array: Array, used_ratio: float, rules: PoolRules, url_of: Callable[..., str]
) -> list[LevelShown]:
    """The same disks at every level; a level that is one group is one, however many are asked."""
    lines = []
    for key, level in LEVELS.items():
        estimate, reason, groups = _at_level(array, key, used_ratio, rules)
        url = url_of(level=key, groups=str(groups))
        lines.append(LevelShown(key, level.label, estimate, reason, url))
    return lines


def _at_level(
    array: Array, key: str, used_ratio: float, rules: PoolRules
) -> tuple[Estimate | None, str, int]:
    other = replace(array, level=key)
    try:
        return estimate(other, used_ratio=used_ratio, rules=rules), "", other.groups
    except InvalidValue as error:
        if error.field == "/groups":
            # RAID 0, RAID 10 and dRAID are one group, whatever was asked for another level.
            return _at_level(replace(array, groups=1), key, used_ratio, rules)
        return None, error.detail, other.groups


@dataclass(frozen=True)
class Measured:
    """Expected and measured rates, in MB/s."""

    label: str
    expected: float
    measured: float | None
    ratio: float | None
    source: str = ""

    @property
    def is_beyond(self) -> bool:
        return self.ratio is not None and self.ratio > 1


def lines_of_measurements(
    estimate: Estimate, read_bytes_per_s: float | None, write_bytes_per_s: float | None
) -> list[Measured]:
    """Reading and writing."""
    through = estimate.throughput
    return [
        Measured(
            label,
            expected / MB,
            None if seen is None else seen / MB,
            None if seen is None else efficiency_ratio(seen, expected),
        )
        for label, expected, seen in (
            (_("Reading"), through.read_bytes_per_s, read_bytes_per_s),
            (_("Writing"), through.write_bytes_per_s, write_bytes_per_s),
        )
    ]


def space_lines(estimate: Estimate) -> list[tuple[str, int, str]]:
    """Where raw bytes go, as far as any do: what, how many, and the same in TB and TiB."""
    space = estimate.capacity
    parts = [
        (_("Usable"), space.usable_bytes),
        (_("Parity or copies"), space.redundancy_bytes),
        (_("Padding"), space.padding_bytes),
        (_("Spares"), space.spare_bytes),
        (_("Kept by ZFS"), space.reserved_bytes),
        (_("In all"), space.raw_bytes),
    ]
    if space.reported_bytes is not None:
        parts.append((_("Reported by zfs list"), space.reported_bytes))
    # A file system takes its part, too: people compare with what `df` shows.
    parts.append((_("Left by ext4 on all of it"), ext4_available_bytes(space.usable_bytes)))
    return [
        (
            label,
            count,
            _(
                "{size} = {tib} TiB",
                size=figures.size(count),
                tib=figures.figure(count / TIB),
            ),
        )
        for label, count in parts
        if count
    ]


def speed_sources() -> list[tuple[str, float, str]]:
    """Kinds of disks and links: what, MB/s, source."""
    return [(preset.label, preset.bytes_per_s / MB, preset.source) for preset in PRESETS.values()]


def shares_by_source() -> list[Measured]:
    """Measured shares of what the parts should give."""
    return [
        Measured(
            efficiency.label,
            efficiency.expected_bytes_per_s / MB,
            efficiency.measured_bytes_per_s / MB,
            efficiency.ratio,
            efficiency.source,
        )
        for efficiency in EFFICIENCIES.values()
    ]


# --- memory -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ModulesShown:
    """A socket with so many modules, one on each channel."""

    modules: int
    peak: str
    # Time of work that memory limits, over its time as the memory is stated.
    time_ratio: float


def module_lines(memory: Memory, population: Population) -> list[ModulesShown]:
    """Effect of more or fewer modules, for one socket and one module on each channel."""
    return [
        ModulesShown(modules, figures.size(round(population.socket_bytes_per_s / ratio)), ratio)
        for modules, ratio in slowdowns(memory).items()
    ]


def memory_warnings(memory: Memory, population: Population) -> list[str]:
    """Limits of the memory, in words."""
    warnings = []
    free = memory.channels_per_socket - population.used_channels_per_socket
    if memory.modules_per_socket == 1 and free:
        warnings.append(_("One module per socket: memory runs on a single channel."))
    if free:
        share = population.used_channels_per_socket / memory.channels_per_socket
        warnings.append(
            count_words(
                "{n} of {channels} channels of each socket is empty: that leaves {percent} % of"
                " the bandwidth.",
                "{n} of {channels} channels of each socket are empty: that leaves {percent} % of"
                " the bandwidth.",
                free,
                channels=memory.channels_per_socket,
                percent=localize(f"{100 * share:.0f}"),
            )
        )
    speed = memory.configured_mt_per_s
    if speed is not None and speed < memory.rated_mt_per_s:
        warnings.append(
            _(
                "The modules run at {speed} MT/s and are made for {rated}: that leaves"
                " {percent} % of the bandwidth.",
                speed=speed,
                rated=memory.rated_mt_per_s,
                percent=localize(f"{100 * speed / memory.rated_mt_per_s:.0f}"),
            )
        )
    if population.is_uneven:
        warnings.append(
            _("Some channels have more modules than others: a part of memory is slower.")
        )
    return warnings
