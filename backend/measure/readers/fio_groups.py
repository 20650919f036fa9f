"""Groups of equal jobs in an output of fio 3."""

import math
import os
import re
from dataclasses import dataclass, replace

from backend.measure.readers.document import JsonDocument, Node, shown
from backend.measure.readers.fio_setup import Setup, setup

VERSION = re.compile(r"fio-([0-9]{1,3})\..*")
LEVEL = re.compile(r"(?:>=)?[0-9]{1,4}")
SIGNAL = "terminating on signal"
MAX_ERRNO = 4096
# Percent of the operations at depth one from which on a job counts as one of depth one.
AT_ONE = 90.0


@dataclass(frozen=True)
class JobGroup:
    """Jobs of one name that ran together. `depth_reached` None = not stated."""

    name: str
    setup: Setup
    jobs: tuple[Node, ...]
    depth_reached: int | None
    is_at_one: bool
    is_alone: bool

    @property
    def is_steady(self) -> bool:
        """True if the jobs were to end as soon as they reached a steady state, and did."""
        return all(
            job.has("steadystate") and job.node("steadystate").count("attained")
            for job in self.jobs
        )

    @property
    def depth(self) -> int:
        """The depth that the result stands for: an engine that cannot queue ran at one."""
        return 1 if self.is_at_one else self.setup.depth


def groups(document: JsonDocument) -> list[JobGroup]:
    """The groups, in the order of the file. Raises ProbeError for what is no complete fio 3."""
    root = document.root
    if any(SIGNAL in note for note in (*document.notes, *document.behind)):
        root.fail(SIGNAL)
    version = VERSION.fullmatch(root.text("fio version"))
    if version is None or int(version[1]) != 3:
        root.fail(
            f"{root.text('fio version')!r} is not fio 3: other versions use other units, run fio 3"
        )
    if root.has("client_stats"):
        root.fail("results of fio's client and server are not read: run fio on the machine itself")
    jobs: dict[tuple[int, str], list[Node]] = {}
    for job in root.nodes("jobs"):
        jobs.setdefault((job.count("groupid"), job.text("jobname")), []).append(_check_job(job))
    if not jobs:
        root.fail("jobs is empty")
    shared = [number for number, _ in jobs]
    return [
        _group(root, name, tuple(members), is_alone=shared.count(number) == 1)
        for (number, name), members in jobs.items()
    ]


def _check_job(job: Node) -> Node:
    """A job that ended without an error of its own, and reports each direction."""
    if job.has("mixed") and not (job.has("read") or job.has("write")):
        job.fail(
            "reads and writes are reported together, which is no figure of either: run fio without "
            "unified_rw_reporting"
        )
    error = job.count("error")
    if error:
        known = f" ({os.strerror(error)})" if error < MAX_ERRNO else ""
        job.fail(f"error is {error}{known}")
    if job.has("total_err") and job.count("total_err"):
        job.fail(f"total_err is {job.count('total_err')}")
    return job


def _group(root: Node, name: str, jobs: tuple[Node, ...], *, is_alone: bool) -> JobGroup:
    common = root.node("global options").fields if root.has("global options") else {}
    setups = []
    for job in jobs:
        own = job.node("job options")
        # fio lists the options of the global section apart; what a job says itself counts more.
        setups.append(setup(replace(own, fields={**common, **own.fields})))
    first = setups[0]
    if any(other != first for other in setups):
        jobs[0].fail(f"the jobs named {name!r} differ")
    # With group_reporting fio lists one job for all of a group.
    if len(jobs) not in {1, first.jobs}:
        jobs[0].fail(f"{len(jobs)} of {first.jobs} jobs are listed")
    levels = [_levels(job) for job in jobs if job.has("iodepth_level")]
    shares = {level: math.fsum(of.get(level, 0) for of in levels) for of in levels for level in of}
    reached = max(shares, key=lambda level: shares[level], default=None)
    is_at_one = first.depth > 1 and shares.get(1, 0) >= AT_ONE * max(1, len(levels))
    return JobGroup(shown(name), first, jobs, reached, is_at_one, is_alone)


def _levels(job: Node) -> dict[int, float]:
    """Depth from which a level counts → percent of the operations."""
    levels = job.node("iodepth_level")
    return {
        int(key.removeprefix(">=")): levels.number(key)
        for key in levels.fields
        if LEVEL.fullmatch(key)
    }
