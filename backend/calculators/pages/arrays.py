"""The calculator of arrays: what equal disks hold and deliver, at one level and at every other."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from django import forms

from backend.calculators.calc.arrays import LEVELS, ArrayDocument, ArrayResult, estimate
from backend.calculators.calc.presets import PRESETS
from backend.calculators.calc.zfs import GENERATIONS, ext4_available_bytes
from backend.calculators.pages.fields import (
    MB,
    PERCENT,
    TB,
    CalculatorForm,
    Given,
    choice,
    first,
    number,
    speeds,
    states,
    typed_number,
)
from backend.foundation.errors import InvalidDocument
from backend.site import figures
from backend.site.language import _, count_words, lazy, localize
from backend.site.number_fields import DISK_TB, RATE_MB_PER_S
from backend.site.plots import Axis, Mark, Plot

KIB = 2**10
TIB = 2**40
RECORDS_KIB = ("0.5", "1", "2", *(str(2**shift) for shift in range(2, 15)))
_number = partial(number, ArrayDocument)
_stated = ArrayDocument.model_fields


class ArrayForm(CalculatorForm):
    """Equal disks as an array, and perhaps what was measured of it."""

    level = states(
        "/level",
        forms.ChoiceField(
            label=lazy("Level"), choices=[(key, level.label) for key, level in LEVELS.items()]
        ),
    )
    disks = _number("/disks", lazy("Disks"), lazy("All together, spares among them."))
    groups = _number("/groups", lazy("Groups"), lazy("Equal sets, striped over."))
    spares = _number("/spares", lazy("Spares"))
    data = _number("/data_disks", lazy("Data columns"), lazy("dRAID only."))
    size = _number(
        "/disk/bytes", lazy("Size of a disk, TB"), "1 TB = 10¹² bytes.", unit=TB, units=DISK_TB
    )
    disk = forms.ChoiceField(label=lazy("Kind of disk"), required=False)
    read = _number(
        "/disk/read_bytes_per_s",
        lazy("Reads at, MB/s"),
        lazy("One disk."),
        unit=MB,
        units=RATE_MB_PER_S,
        placeholder=lazy("of its kind"),
    )
    write = _number(
        "/disk/write_bytes_per_s",
        lazy("Writes at, MB/s"),
        lazy("One disk."),
        unit=MB,
        placeholder=lazy("as it reads"),
    )
    read_iops = _number(
        "/disk/read_iops",
        lazy("Random reads a second"),
        lazy("One disk."),
        placeholder=lazy("not known"),
    )
    write_iops = _number(
        "/disk/write_iops",
        lazy("Random writes a second"),
        lazy("One disk."),
        placeholder=lazy("not known"),
    )
    bus = _number(
        "/controller_bytes_per_s",
        lazy("Controllers carry, MB/s"),
        lazy("All together."),
        unit=MB,
        placeholder=lazy("no limit"),
    )
    record = choice(
        "/record_bytes",
        lazy("Record"),
        [(size_kib, lazy("{size} KiB", size=size_kib)) for size_kib in RECORDS_KIB],
        lazy("RAIDZ and dRAID: record or volume block."),
        lambda kib: int(Decimal(kib) * KIB),
    )
    ashift = choice(
        "/ashift",
        "ashift",
        [
            (
                str(bits),
                lazy(
                    "{ashift}: sectors of {size} bytes", ashift=bits, size=localize(f"{2**bits:,}")
                ),
            )
            for bits in range(9, 17)
        ],
        lazy("RAIDZ and dRAID."),
        int,
    )
    zfs = choice(
        "/zfs",
        "ZFS",
        [(key, generation.label) for key, generation in GENERATIONS.items()],
        lazy("RAIDZ and dRAID: what it keeps for itself."),
    )
    full = _number("/used_ratio", "Filled, %", lazy("When a disk fails."), unit=PERCENT)
    seen_read = typed_number(
        lazy("Measured reading, MB/s"), lazy("The whole array."), units=RATE_MB_PER_S
    )
    seen_write = typed_number(
        lazy("Measured writing, MB/s"), lazy("The whole array."), units=RATE_MB_PER_S
    )

    def __init__(self, given: Given) -> None:
        defaults = {
            "record": str(_stated["record_bytes"].default // KIB),
            "ashift": str(_stated["ashift"].default),
            "zfs": _stated["zfs"].default,
        }
        super().__init__(defaults | first(given, self.base_fields))
        self.fields["disk"].choices = speeds("disk", _("its own speed"))  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Disks, their size and a speed are needed."""
        given = super().clean() or {}
        for name, what in (("disks", _("A number of disks")), ("size", _("A size"))):
            if name not in self.errors and given.get(name) is None:
                self.add_error(name, _("{what} is needed.", what=what))
        # A speed in error has its words already.
        if "read" not in self.errors and given.get("read") is None and not given.get("disk"):
            self.add_error("read", _("A speed or a kind of disk is needed."))
        return given

    def document(self) -> dict[str, Any]:
        typed = super().document()
        disk, kind = typed["disk"], PRESETS.get(self.cleaned_data["disk"])
        if kind:
            # What is stated counts before the kind of disk, which only fills in.
            disk.setdefault("read_bytes_per_s", kind.bytes_per_s)
            disk.setdefault("write_iops", kind.write_iops)
        return {"schema": 1, **typed}

    def array(self) -> ArrayDocument | None:
        """The array; None where something is wrong, which the fields then say."""
        if self.is_valid():
            with self.refusals():
                return ArrayDocument.read(self.document())
        return None


def calculate(given: Given, url_of: Callable[[Mapping[str, str]], str]) -> dict[str, Any]:
    """The part of the page; without a summary where something is wrong. `url_of` some changes of
    the parameters leads to the array with them."""
    form = ArrayForm(given)
    array = form.array()
    if array is None:
        return {"form": form}
    result = estimate(array)
    document = array.model_dump(by_alias=True)
    # Stated, as somebody who reads the document does not know the default.
    document["disk"]["write_bytes_per_s"] = array.disk.stream_write_bytes_per_s
    levels = [_at_level(document, key, url_of) for key in LEVELS]
    seen = (form.cleaned_data["seen_read"], form.cleaned_data["seen_write"])
    through = result.throughput
    return {
        "form": form,
        "array": array,
        "summary": _summary(array, result),
        "estimate": result,
        "space": _space_lines(result),
        "measured": [
            Measured(label, expected / MB, None if measured is None else float(measured))
            for label, expected, measured in zip(
                (_("Reading"), _("Writing")),
                (through.read_bytes_per_s, through.write_bytes_per_s),
                seen,
                strict=True,
            )
        ],
        "levels": levels,
        "document": json.dumps(document, indent=1),
        "plots": _plots(levels),
    }


@dataclass(frozen=True)
class Measured:
    """Expected and measured rates, in MB/s."""

    label: str
    expected: float
    measured: float | None
    source: str = ""

    @property
    def ratio(self) -> float | None:
        return None if self.measured is None else self.measured / self.expected

    @property
    def is_beyond(self) -> bool:
        return self.ratio is not None and self.ratio > 1


@dataclass(frozen=True)
class LevelLine:
    """The same disks at one level; without an estimate `reason` says what is in the way."""

    key: str
    url: str
    estimate: ArrayResult | None
    reason: str = ""

    @property
    def label(self) -> str:
        return LEVELS[self.key].label

    @property
    def speeds(self) -> tuple[str, ...]:
        """Reading and writing in MB/s, as text; none without an estimate."""
        if self.estimate is None:
            return ()
        through = self.estimate.throughput
        rates = (through.read_bytes_per_s, through.write_bytes_per_s)
        return tuple(figures.figure(rate / MB) for rate in rates)


def _at_level(
    document: Mapping[str, Any], key: str, url_of: Callable[[Mapping[str, str]], str]
) -> LevelLine:
    url = url_of({"level": key, "groups": str(document["groups"])})
    try:
        array = ArrayDocument.read({**document, "level": key})
    except InvalidDocument as error:
        (field, reason), *_others = error.errors
        if field == "/groups":
            # RAID 0, RAID 10 and dRAID are one group, whatever was asked for another level.
            return _at_level({**document, "groups": 1}, key, url_of)
        return LevelLine(key, url, None, reason)
    return LevelLine(key, url, estimate(array))


def _summary(array: ArrayDocument, result: ArrayResult) -> str:
    count = result.survived_failures
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
        label=array.layout.label,
        disks=array.disks,
        usable=figures.size(result.capacity.usable_bytes),
        loss=loss,
    )


def _space_lines(result: ArrayResult) -> list[tuple[str, int, str]]:
    """Where raw bytes go, as far as any do: what, how many, and the same in TB and TiB."""
    space = result.capacity
    parts = (
        (_("Usable"), space.usable_bytes),
        (_("Parity or copies"), space.redundancy_bytes),
        (_("Padding"), space.padding_bytes),
        (_("Spares"), space.spare_bytes),
        (_("Kept by ZFS"), space.reserved_bytes),
        (_("Total"), space.raw_bytes),
        (_("Reported by zfs list"), space.reported_bytes),
        # A file system takes its part, too: people compare with what `df` shows.
        (_("Left by ext4 on all of it"), ext4_available_bytes(space.usable_bytes)),
    )
    return [
        (
            label,
            count,
            _("{size} = {tib} TiB", size=figures.size(count), tib=figures.figure(count / TIB)),
        )
        for label, count in parts
        if count
    ]


def _plots(levels: Sequence[LevelLine]) -> list[Plot]:
    """Where the bytes go at each level, RAID and ZFS apart, on equal axes."""
    titles = (
        ("raid", _("RAID: where the bytes go")),
        ("zfs", _("ZFS: where the bytes go")),
    )
    plots = []
    for key, title in titles:
        lines = [
            line for line in levels if line.estimate and LEVELS[line.key].is_zfs is (key == "zfs")
        ]
        if lines:
            plots.append(_plot(f"plot-{key}", title, lines))
    return plots


def _plot(id_: str, title: str, lines: Sequence[LevelLine]) -> Plot:
    spaces = [line.estimate.capacity for line in lines if line.estimate]
    parts = (
        ("usable", [space.usable_bytes for space in spaces]),
        (_("parity or copies"), [space.redundancy_bytes for space in spaces]),
        ("padding", [space.padding_bytes for space in spaces]),
        ("spares", [space.spare_bytes for space in spaces]),
        (_("kept by ZFS"), [space.reserved_bytes for space in spaces]),
    )
    usable = "; ".join(
        f"{line.label} {figures.size(space.usable_bytes)}"
        for line, space in zip(lines, spaces, strict=True)
    )
    return Plot(
        id=id_,
        title=title,
        x_label="",
        x_kind="category",
        x=[_break_label(line) for line in lines],
        x_text=[line.label for line in lines],
        # The same top for both pictures, as the same disks stand behind them.
        y=Axis("TB", most=max(space.raw_bytes for space in spaces) / TB),
        marks=[Mark(name, [count / TB for count in counts], "bar") for name, counts in parts],
        is_stacked=True,
        urls=[line.url for line in lines],
        summary=_("Stacked bars of the same disks at each level. Usable: {usable}.", usable=usable),
    )


def _break_label(line: LevelLine) -> str:
    """The label, which may be broken before its number where six stand side by side."""
    is_zfs = LEVELS[line.key].is_zfs
    return f"{line.label[:-1]}, {line.label[-1]}" if is_zfs else line.label
