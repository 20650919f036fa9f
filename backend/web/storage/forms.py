"""The forms of arrays and of memory: GET forms whose empty fields have a default."""

from decimal import Decimal
from typing import Any

from django import forms

from backend.domain.errors import InvalidValue
from backend.domain.storage import (
    CURRENT,
    GENERATIONS,
    LEVELS,
    PRESETS,
    Array,
    ArrayDisk,
    Estimate,
    Memory,
    PoolRules,
    Population,
)
from backend.domain.storage.arrays import ASHIFTS, MAX_DISKS, estimate
from backend.domain.storage.memory import (
    MAX_CHANNELS,
    MAX_MODULES,
    MAX_MT_PER_S,
    MAX_SOCKETS,
    population,
)
from backend.web.shared.forms import WriteForm
from backend.web.shared.language import _, lazy, localize
from backend.web.shared.number_fields import DISK_TB, RATE_MB_PER_S
from backend.web.storage.fields import MB, MOST_MB_PER_S, TB, Given, first, number, speeds, whole

KIB = 2**10
# Sectors of 4 KiB, as disks of today have.
DEFAULT_ASHIFT = 12
# The default of ZFS for datasets (recordsize).
DEFAULT_RECORD_KIB = 128
# The default of `zpool create` for dRAID, where there are as many disks.
DEFAULT_DATA_DISKS = 8
RECORDS_KIB = ("0.5", "1", "2", *(str(2**shift) for shift in range(2, 15)))
MOST_IOPS = 10**9


class ArrayForm(WriteForm):
    """Equal disks as an array, and perhaps what was measured of it."""

    level = forms.ChoiceField(
        label=lazy("Level"), choices=[(key, level.label) for key, level in LEVELS.items()]
    )
    disks = whole(lazy("Disks"), 1, MAX_DISKS, lazy("All together, spares among them."))
    groups = whole(lazy("Groups"), 1, MAX_DISKS, lazy("Equal sets, striped over."), placeholder="1")
    spares = whole(lazy("Spares"), 0, MAX_DISKS, placeholder="0")
    data = whole(
        lazy("Data columns"), 1, MAX_DISKS, lazy("dRAID only."), placeholder=str(DEFAULT_DATA_DISKS)
    )
    size = number(
        lazy("Size of a disk, TB"),
        Decimal("0.001"),
        1000,
        "1 TB = 10¹² bytes.",
        units=DISK_TB,
    )
    disk = forms.ChoiceField(label=lazy("Kind of disk"), required=False)
    read = number(
        lazy("Reads at, MB/s"),
        0,
        MOST_MB_PER_S,
        lazy("One disk."),
        units=RATE_MB_PER_S,
        placeholder=lazy("of its kind"),
    )
    write = number(
        lazy("Writes at, MB/s"),
        0,
        MOST_MB_PER_S,
        lazy("One disk."),
        placeholder=lazy("as it reads"),
    )
    read_iops = number(
        lazy("Random reads a second"),
        0,
        MOST_IOPS,
        lazy("One disk."),
        placeholder=lazy("not known"),
    )
    write_iops = number(
        lazy("Random writes a second"),
        0,
        MOST_IOPS,
        lazy("One disk."),
        placeholder=lazy("not known"),
    )
    bus = number(
        lazy("Controllers carry, MB/s"),
        0,
        MOST_MB_PER_S,
        lazy("All together."),
        placeholder=lazy("no limit"),
    )
    record = forms.ChoiceField(
        label=lazy("Record"),
        required=False,
        choices=[(size_kib, lazy("{size} KiB", size=size_kib)) for size_kib in RECORDS_KIB],
        help_text=lazy("RAIDZ and dRAID: record or volume block."),
    )
    ashift = forms.ChoiceField(
        label="ashift",
        required=False,
        choices=[
            (
                str(bits),
                lazy(
                    "{ashift}: sectors of {size} bytes", ashift=bits, size=localize(f"{2**bits:,}")
                ),
            )
            for bits in ASHIFTS
        ],
        help_text=lazy("RAIDZ and dRAID."),
    )
    zfs = forms.ChoiceField(
        label="ZFS",
        required=False,
        choices=[(key, generation.label) for key, generation in GENERATIONS.items()],
        help_text=lazy("RAIDZ and dRAID: what it keeps for itself."),
    )
    full = number("Filled, %", 0, 100, lazy("When a disk fails."), placeholder="100")
    seen_read = number(
        lazy("Measured reading, MB/s"),
        0,
        MOST_MB_PER_S,
        lazy("The whole array."),
        units=RATE_MB_PER_S,
    )
    seen_write = number(
        lazy("Measured writing, MB/s"),
        0,
        MOST_MB_PER_S,
        lazy("The whole array."),
        units=RATE_MB_PER_S,
    )

    pointers = {
        "/data_disks": "data",
        "/disk/bytes": "size",
        "/disk/read_bytes_per_s": "read",
        "/disk/write_bytes_per_s": "write",
        "/disk/read_iops": "read_iops",
        "/disk/write_iops": "write_iops",
        "/controller_bytes_per_s": "bus",
        "/record_bytes": "record",
        "/used_ratio": "full",
    }

    def __init__(self, given: Given) -> None:
        defaults = {
            "record": str(DEFAULT_RECORD_KIB),
            "ashift": str(DEFAULT_ASHIFT),
            "zfs": CURRENT,
        }
        super().__init__({**defaults, **first(given, list(self.base_fields))})
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

    def solve(self) -> tuple[Array, Estimate] | None:
        """The array and what it holds and does; None where something is wrong."""
        if not self.is_valid():
            return None
        array = self._array()
        try:
            return array, estimate(array, used_ratio=self.used_ratio, rules=self.rules)
        except InvalidValue as error:
            self.refuse(error)
            return None

    @property
    def used_ratio(self) -> float:
        """How full the array is when a disk fails."""
        full = self.cleaned_data["full"]
        # A full array is the worst case for a rebuild, so it is what counts unless stated.
        return 1.0 if full is None else float(full / 100)

    @property
    def generation(self) -> str:
        """The versions of ZFS that are asked for, a key of GENERATIONS."""
        return str(self.cleaned_data["zfs"] or CURRENT)

    @property
    def rules(self) -> PoolRules:
        """How these versions take space."""
        return GENERATIONS[self.generation].rules

    def measured(self, name: str) -> float | None:
        """Bytes per second that were measured."""
        return _scale(self.cleaned_data[name], MB)

    def _array(self) -> Array:
        given = self.cleaned_data
        kind = PRESETS.get(given["disk"])
        read = _scale(given["read"], MB)
        # What is stated counts before the kind of disk, which only fills in.
        read = kind.bytes_per_s if read is None and kind else read or 0.0
        write = _scale(given["write"], MB)
        write_iops = _scale(given["write_iops"], 1)
        if write_iops is None and kind:
            write_iops = kind.write_iops
        disk = ArrayDisk(
            bytes=int(given["size"] * TB),
            read_bytes_per_s=read,
            write_bytes_per_s=read if write is None else write,
            read_iops=_scale(given["read_iops"], 1),
            write_iops=write_iops,
        )
        return Array(
            level=given["level"],
            disks=given["disks"],
            disk=disk,
            groups=given["groups"] or 1,
            spares=given["spares"] or 0,
            data_disks=given["data"] or DEFAULT_DATA_DISKS,
            record_bytes=int(Decimal(given["record"] or DEFAULT_RECORD_KIB) * KIB),
            ashift=int(given["ashift"] or DEFAULT_ASHIFT),
            controller_bytes_per_s=_scale(given["bus"], MB),
        )


class MemoryForm(WriteForm):
    """How the memory of a server is populated."""

    sockets = whole(lazy("Sockets"), 1, MAX_SOCKETS)
    modules = whole(lazy("Modules, each socket"), 1, MAX_MODULES)
    channels = whole(lazy("Channels, each socket"), 1, MAX_CHANNELS)
    rated = whole(lazy("Made for, MT/s"), 1, MAX_MT_PER_S, "DDR4-2400: 2400.")
    runs_at = whole(lazy("Runs at, MT/s"), 1, MAX_MT_PER_S, placeholder=lazy("what it is made for"))

    def __init__(self, given: Given) -> None:
        super().__init__(first(given, list(self.base_fields)))
        for name, field in self.fields.items():
            field.required = name != "runs_at"

    def solve(self) -> tuple[Memory, Population] | None:
        """The memory and its bandwidth; None where something is wrong."""
        if not self.is_valid():
            return None
        given = self.cleaned_data
        memory = Memory(
            sockets=given["sockets"],
            modules_per_socket=given["modules"],
            channels_per_socket=given["channels"],
            rated_mt_per_s=given["rated"],
            configured_mt_per_s=given["runs_at"],
        )
        return memory, population(memory)


def _scale(value: Decimal | None, factor: int) -> float | None:
    return None if value is None else float(value * factor)
