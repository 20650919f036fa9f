"""Time zones that people may state: regions of the IANA database, and UTC."""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

UTC = "UTC"
AREAS = frozenset(
    [
        "Africa",
        "America",
        "Antarctica",
        "Arctic",
        "Asia",
        "Atlantic",
        "Australia",
        "Europe",
        "Indian",
        "Pacific",
    ]
)


def region_zone(name: str) -> ZoneInfo:
    """The zone of a region such as Europe/Dublin, or UTC; raises ValueError with one sentence.

    The database also has zones of no region: fixed offsets whose sign reads the wrong way (Etc/GMT+5),
    rules of one year (EST5EDT), the server's own (localtime), and clocks with leap seconds (right/…).
    """
    try:
        if name == UTC or name.partition("/")[0] in AREAS:
            return ZoneInfo(name)
    # A path, an empty part or a folder of the zone data: zoneinfo raises another of them for each.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        pass
    raise ValueError(f"{name[:60]!r} is neither a region such as Europe/Dublin nor UTC")
