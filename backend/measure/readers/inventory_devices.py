"""Disks, target directories and network interfaces in the inventory."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from backend.measure.readers.document import shown
from backend.measure.readers.inventory_values import KIB, tab_values, whole, words_of

RAID = re.compile(r"(md\w+) : active (?:\([\w-]+\) )?(\w+) .*")
RAID_STATE = re.compile(r".*\[([U_]+)\]")
MAX_LISTED = 64
DISK_TYPES = ("disk", "raid0", "raid1", "raid5", "raid6", "raid10", "mpath")


@dataclass(frozen=True)
class BlockDisk:
    """A block device. `write_cache` write-back = the device acknowledges before it keeps."""

    name: str
    size_bytes: int | None
    model: str | None
    transport: str | None
    is_rotational: bool | None
    scheduler: str | None
    write_cache: str | None
    can_discard: bool | None
    physical_block_bytes: int | None


@dataclass(frozen=True)
class Directory:
    """A target directory and what is behind it. `ashift` and `zfs` only on ZFS."""

    path: str
    device: str | None
    mount_point: str | None
    filesystem: str | None
    mount_options: str | None
    size_bytes: int | None
    available_bytes: int | None
    ashift: int | None
    zfs: Mapping[str, str]


@dataclass(frozen=True)
class Interface:
    """A network interface that is up. Speed in Mbit/s; virtual ones have none."""

    name: str
    mtu: int | None
    speed_mbit_per_s: int | None
    driver: str | None


@dataclass(frozen=True)
class Raid:
    """A software RAID of the kernel."""

    name: str
    level: str
    is_degraded: bool


def disks(parts: Mapping[str, str]) -> tuple[BlockDisk, ...]:
    """The disks that lsblk lists, with the settings of the section `block`; either may be missing."""
    settings = words_of(parts.get("block", ""))
    listed = {
        shown(str(device["name"])): device for device in _block_devices(parts.get("lsblk", ""))
    }
    names = [name for name in dict.fromkeys((*listed, *settings)) if _is_disk(name, listed)]
    return tuple(
        _disk(name, listed.get(name, {}), settings.get(name, {})) for name in names[:MAX_LISTED]
    )


def _block_devices(text: str) -> list[dict[str, object]]:
    """lsblk's outermost devices; its text is no JSON where lsblk is old or cut off."""
    try:
        devices = json.loads(text)["blockdevices"]
        return [device for device in devices if device["name"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


def _is_disk(name: str, listed: Mapping[str, Mapping[str, object]]) -> bool:
    device = listed.get(name)
    return device is None or (device.get("type") in DISK_TYPES and bool(device.get("size")))


def _disk(name: str, device: Mapping[str, object], settings: Mapping[str, str]) -> BlockDisk:
    rotational = settings.get("rotational") or str(device.get("rota"))
    discard = settings.get("discard_max_bytes")
    # lsblk quoted its numbers before version 2.33.
    return BlockDisk(
        name=name,
        size_bytes=whole(str(device.get("size"))),
        model=_text_of(device, "model"),
        transport=_text_of(device, "tran"),
        is_rotational={"1": True, "0": False, "True": True, "False": False}.get(rotational),
        scheduler=settings.get("scheduler"),
        write_cache=settings.get("write_cache"),
        can_discard=None if discard is None else whole(discard) is not None,
        physical_block_bytes=whole(settings.get("physical_block_size")),
    )


def _text_of(device: Mapping[str, object], key: str) -> str | None:
    value = device.get(key)
    return (shown(value) or None) if isinstance(value, str) else None


def directories(parts: Mapping[str, str]) -> tuple[Directory, ...]:
    """The target directories, in the order in which they were asked for."""
    paths = [name.partition(" ")[2] for name in parts if name.startswith("mount ")]
    return tuple(_directory(path, parts) for path in paths)


def _directory(path: str, parts: Mapping[str, str]) -> Directory:
    mounted = (*parts[f"mount {path}"].strip().split(" "), "", "", "")
    space = (*parts.get(f"df {path}", "").strip().split("\n")[-1].split(), *[""] * 4)
    sizes = [whole(text) for text in (space[1], space[3])]
    properties = tab_values(parts.get(f"zfs {path}", ""))
    return Directory(
        path=path,
        device=parts.get(f"device {path}", "").strip() or None,
        mount_point=mounted[0] or None,
        filesystem=mounted[1] or None,
        mount_options=mounted[2] or None,
        size_bytes=sizes[0] * KIB if sizes[0] else None,
        available_bytes=sizes[1] * KIB if sizes[1] else None,
        ashift=whole(properties.pop("ashift", None)),
        zfs=properties,
    )


def interfaces(text: str) -> tuple[Interface, ...]:
    """The lines of the section `network`."""
    return tuple(
        Interface(
            name=name,
            mtu=whole(values.get("mtu")),
            speed_mbit_per_s=whole(values.get("speed")),
            driver=values.get("driver"),
        )
        for name, values in list(words_of(text).items())[:MAX_LISTED]
    )


def raids(text: str) -> Iterator[Raid]:
    """The active arrays in mdstat; the line after an array's own has its members."""
    lines = text.split("\n")
    for line, behind in zip(lines, [*lines[1:], ""], strict=True):
        array = RAID.fullmatch(line.strip())
        if array:
            state = RAID_STATE.fullmatch(behind.strip())
            yield Raid(array[1], array[2], is_degraded=state is not None and "_" in state[1])
