"""Opening examples of the storage page: parameters by section of the page."""

from collections.abc import Mapping

from backend.calculators.pages.fields import Given
from backend.site.language import lazy

# The first of each section is what an address without the section's names shows.
EXAMPLES: Mapping[str, tuple[tuple[str, Given], ...]] = {
    "links": (
        (
            lazy("80 machines on one NAS"),
            {
                "link": ["NAS"], "kind": ["gigabit_usable"],
                "flow": ["web", "bulk"], "flows": ["70", "10"], "asks": ["0.1", ""],
                "move": ["1000"],
            },
        ),
        (
            lazy("from a blade to the disks"),
            {
                "link": [lazy("blade NIC"), "uplink", lazy("NAS port"), "disks"],
                "kind": ["gigabit", "gigabit", "10_gigabit", "raid5_ssd"],
                "links": ["1", "2", "1", "1"], "usable": ["", "", "60", ""],
                "flow": ["backup", lazy("web here"), lazy("other blades")], "flows": ["1", "4", "15"],
                "asks": ["", "0.1", "40"], "over": ["", "", lazy("NAS port, disks")],
                "move": ["100000"],
            },
        ),
        (
            lazy("four paths of iSCSI"),
            {
                "link": ["paths", "disks"], "kind": ["gigabit", "raid5_ssd"], "links": ["4", "1"],
                "join": ["multipath", "bond"],
                "flow": ["copy"], "move": ["31457.28"],
            },
        ),
    ),
    "arrays": (
        (
            lazy("16 disks of 4 TB read as one set"),
            {
                "level": ["raid0"], "disks": ["16"], "size": ["4"], "disk": ["hdd_4tb"],
                "seen_read": ["2314"],
            },
        ),
        (
            lazy("two groups of RAIDZ2"),
            {
                "level": ["raidz2"], "disks": ["24"], "groups": ["2"], "size": ["14"],
                "disk": ["hdd_14tb_outer"], "bus": ["6000"], "full": ["75"],
            },
        ),
        (
            lazy("24 disks of 4 TB in 2013"),
            {
                "level": ["raidz3"], "disks": ["24"], "size": ["4"], "disk": ["hdd_4tb"],
                "zfs": ["2013"], "seen_read": ["2494"], "seen_write": ["1577"],
            },
        ),
        (
            lazy("58 disks of 10 TB as dRAID in 2019"),
            {
                "level": ["draid3"], "disks": ["58"], "spares": ["1"], "data": ["16"],
                "size": ["10"], "disk": ["hdd_14tb_outer"], "full": ["75"], "zfs": ["2019"],
            },
        ),
        (
            lazy("dRAID2 with two spares"),
            {
                "level": ["draid2"], "disks": ["24"], "spares": ["2"], "data": ["9"],
                "size": ["14"], "disk": ["hdd_14tb_outer"], "bus": ["6000"], "full": ["75"],
            },
        ),
    ),
    "memory": (
        (
            lazy("one module per socket"),
            {
                "sockets": ["2"], "modules": ["1"], "channels": ["4"], "rated": ["2400"],
                "runs_at": ["2133"],
            },
        ),
        (
            lazy("64 GB of DDR4-3200 on a desktop"),
            {"sockets": ["1"], "modules": ["2"], "channels": ["2"], "rated": ["3200"]},
        ),
        (
            lazy("a module on each channel"),
            {"sockets": ["2"], "modules": ["4"], "channels": ["4"], "rated": ["2400"]},
        ),
    ),
}  # fmt: skip
