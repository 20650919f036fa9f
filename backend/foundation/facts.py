"""Figures that somebody published on a day. They grow old, and no result is calculated from them."""

from dataclasses import dataclass
from decimal import Decimal

D = Decimal
NEWS = "News from the blog"
REBUILDS = "Performance degradation on ZFS (DRAID) rebuilds"
CLOUD = "The Cloud is for Scaling"
NAS = "NAS and Gigabit"
SERVER_GRADE = "Affordable Server With Server-Grade Hardware Part II"
MORE_LOG_DEVICES = "More tests of log devices with Nexenta at SoftLayer"
NEXENTA = "Nexenta on new servers at SoftLayer"


@dataclass(frozen=True)
class Fact:
    """A figure, or without one an outcome in words. `day` is ISO 8601, a day, a month or a year;
    empty where the source bears no date."""

    what: str
    value: Decimal | None
    unit: str
    day: str
    source: str
    outcome: str = ""


# Prices and power of parts, as shops and owners stated them.
PARTS = (
    Fact("AMD Ryzen 7 3700X, 8 cores, 16 threads, 3.6 to 4.4 GHz", D(65), "W", "2020-11-03", NEWS),
    Fact("AMD board with 2.5 Gb Ethernet (B550)", D("169.99"), "GBP", "2020-11-03", NEWS),
    Fact("Intel board with 2.5 Gb Ethernet", D(254), "GBP", "2020-11-03", NEWS),
    Fact("10 Gb Ethernet card", D(80), "GBP", "2020-11-03", NEWS),
    Fact("Intel Xeon E5-2620 v4, about", D(400), "USD", "2019", REBUILDS),
    Fact("Intel Core i7-4770S", D(300), "USD", "2013", CLOUD),
    Fact("Supermicro X10SLL-F", D(169), "USD", "2014", SERVER_GRADE),
    Fact("Supermicro X10SLL-F, with tax", D(160), "EUR", "2014", SERVER_GRADE),
    Fact("Supermicro X10SL7-F, 8 more SAS ports", D(242), "USD", "2014", SERVER_GRADE),
    Fact("Supermicro X10SL7-F, 8 more SAS ports, with tax", D(250), "EUR", "2014", SERVER_GRADE),
    Fact("NAS for 16 blades", D(30_000), "EUR", "2013", NAS),
    Fact("16 blades", D(30_000), "EUR", "2013", NAS),
)

# How long jobs took. Two kernels of different versions are not the same job.
JOBS = (
    Fact("Kernel unpacked over NFS, no log device", D(203), "s", "", MORE_LOG_DEVICES),
    Fact("Kernel unpacked over NFS, one SSD as log device", D(76), "s", "", MORE_LOG_DEVICES),
    Fact("Kernel unpacked over NFS, one mirror of SSDs", D(90), "s", "", MORE_LOG_DEVICES),
    Fact("Kernel unpacked over NFS, two mirrors of SSDs", D(75), "s", "", MORE_LOG_DEVICES),
    Fact("Kernel unpacked over NFS, one Intel X25-E", D(90), "s", "", MORE_LOG_DEVICES),
    Fact("Kernel unpacked over NFS, four SSDs", D(56), "s", "", MORE_LOG_DEVICES),
    Fact("Kernel unpacked to a local mirror of SSDs", D("5.5"), "s", "", NEXENTA),
    Fact("Kernel unpacked over NFS, old server", D(386), "s", "", NEXENTA),
    Fact("Kernel unpacked over NFS, every flush obeyed", None, "s", "", NEXENTA, "aborted"),
    Fact("Kernel unpacked over NFS, flushes ignored", D(54), "s", "", NEXENTA),
    Fact("Kernel unpacked over NFS, no controller cache", D(150), "s", "", NEXENTA),
    Fact("Kernel unpacked over NFS, no intent log (unsafe)", D(30), "s", "", NEXENTA),
    Fact(
        "5 million files of 2.5 GB replicated by DFS", D(604_800), "s", "",
        "My Experiences With DFS Replication on Windows 2008 R2",
    ),
)  # fmt: skip

# What was seen on servers that worked, and on some that did not.
SERVERS = (
    Fact("CMIPS of two E5-2620 v4, one module each", D(16_000), "CMIPS", "2019", REBUILDS),
    Fact("CMIPS of the same with three modules each, about", D(20_000), "CMIPS", "2019", REBUILDS),
    Fact("SAS port that hardware tests passed: invalid words", D(168), "errors", "2019", REBUILDS),
    Fact("the same port: running disparity", D(172), "errors", "2019", REBUILDS),
    Fact("the same port: lost synchronization", D(5), "errors", "2019", REBUILDS),
    Fact("SAS port that would be a fault, at least", D(1_000_000), "errors", "2019", REBUILDS),
    Fact(
        "File server with 5 TB: memory filled by metadata of NTFS", D(16), "GB", "",
        "How to Resolve Extreme Memory Usage on Windows 2008 R2-Based File Servers",
    ),
)  # fmt: skip

EBS = (
    Fact("EBS volumes of a MongoDB server, as RAID 10", D(4), "volumes", "", "An EC2 instance died"),
    Fact(
        "Access to data on EBS volumes as RAID 0, at worst", None, "h", "",
        "MongoDB on EBS", "hours",
    ),
)  # fmt: skip
DNS = (
    Fact(
        "Least time that a name kept its address, with a provider of DNS", D(30), "s", "",
        "Load balancing for Postmark",
    ),
)  # fmt: skip
