"""Rows of everything that the engine brings: a full run, one that goes on, a campaign, schedules.

Figures are made up, in the shape that the parsers give.
"""

import datetime as dt
import gzip
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from backend.benchmarks.calc.campaign_document import NetworkPairs
from backend.benchmarks.models import (
    Campaign,
    CampaignState,
    Evidence,
    Host,
    HostState,
    Run,
    RunState,
    Sample,
    Schedule,
    Step,
)
from backend.catalog.services.data_version import data_version_bump
from backend.core import clock
from backend.measure.profiles import MATRIX_DEPTHS
from tests import factories
from tests.database import Loaded

PERCENTILES = {"50": 1.0, "90": 1.6, "95": 2.0, "99": 3.4, "99.9": 7.5, "99.99": 16.0}
FACTS = {
    "cpu_model": "AMD EPYC 7543P 32-Core Processor",
    "vcpu_count": 64,
    "memory_bytes": 270_000_000_000,
    "kernel": "6.1.0-41-amd64",
    "os_name": "Debian GNU/Linux 12 (bookworm)",
    "governor": "performance",
    "virtualization": "none",
}


@dataclass(frozen=True)
class Engine:
    """What the pages of the engine show."""

    full: Run
    going: Run
    failed: Run
    campaign: Campaign
    schedule: Schedule
    untrusted: Host


def series(seconds: int, *, disk_write: float = 0.0, busy: float = 0.95) -> dict[str, list[Any]]:
    """What `observe` sees: a slow wave, so that lines are told apart."""
    wave = [math.sin(n / 4) for n in range(seconds)]
    return {
        "t_s": [float(n + 1) for n in range(seconds)],
        "cpu_ratio": [min(1.0, busy + 0.04 * w) for w in wave],
        "steal_ratio": [0.012 + 0.01 * abs(w) for w in wave],
        "iowait_ratio": [0.02 + 0.02 * abs(w) for w in wave],
        "mhz": [2450 + 60 * w for w in wave],
        "load": [float(n) for n in range(seconds)],
        "disk_read_bytes_per_s": [0.0] * seconds,
        "disk_write_bytes_per_s": [disk_write * (1 + 0.15 * w) for w in wave],
        "net_receive_bytes_per_s": [21_000.0 + 4_000 * w for w in wave],
        "net_send_bytes_per_s": [None, *[9_000.0] * (seconds - 1)],
    }


def piece(run: Run, probe: str, variant: str, repeat: int = 0, **given: Any) -> Evidence:
    """Evidence of the next number of the run."""
    content = f'{{"schema":1,"probe":"{probe}","variant":"{variant}"}}\nrepeat {repeat}\n'.encode()
    return Evidence.objects.create(
        **{
            "run": run,
            "n": run.evidence.count(),
            "probe": probe,
            "variant": variant,
            "repeat": repeat,
            "command": f"disk.sh {probe} {variant}",
            "tool_version": "3.33",
            "conditions": {"steal_ratio": 0.004, "is_quiet": True, "wall_s": 8.2},
            "exit_code": 0,
            "raw_gzip": gzip.compress(content),
            "size_bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            **given,
        }
    )


def figures(
    run: Run, metric: str, variant: str, unit: str, values: list[float], **parameters: Any
) -> list[Sample]:
    """A sample with evidence of its own for each value."""
    probe = "network" if metric.startswith("net") else metric.split("_", maxsplit=1)[0]
    return [
        factories.sample(
            run.offer,
            value,
            metric=metric,
            variant=variant,
            unit=unit,
            host=run.host,
            run=run,
            repeat=repeat,
            evidence=piece(run, probe, variant, repeat),
            parameters=parameters,
        )
        for repeat, value in enumerate(values)
    ]


def fio(run: Run, variant: str, way: str, iops: float, p99_ns: float) -> None:
    """What one fio test of random access gives."""
    latencies = {point: p99_ns / 3.4 * factor for point, factor in PERCENTILES.items()}
    values = [iops * factor for factor in (0.97, 1.0, 1.02)]
    if variant.startswith("matrix"):
        values = [iops]
    figures(run, f"disk_rand_{way}_iops", variant, "operations/s", values, percentiles_ns=latencies)
    figures(run, f"disk_rand_{way}_p99_ns", variant, "ns", [p99_ns], percentiles_ns=latencies)


def disk(run: Run, depths: Sequence[int]) -> None:
    """The matrix, the single tests, and dd with its series."""
    for way, base in (("read", 11_800.0), ("write", 9_100.0)):
        for depth in depths:
            for jobs in (1, 4):
                load = depth * jobs
                iops = base * 60 * load / (load + 60)
                fio(run, f"matrix_4k_qd{depth}_jobs{jobs}", way, iops, 1e9 * 2.6 * load / iops)
        for depth in (1, 32):
            iops = base * 60 * depth / (depth + 60)
            fio(run, f"fio_4k_qd{depth}", way, iops, 1e9 * 2.4 * depth / iops)
    for way, rate in (("write", 1.31e9), ("read", 2.94e9)):
        seen = series(14, disk_write=rate if way == "write" else 0, busy=0.12)
        if way == "read":
            seen["disk_read_bytes_per_s"] = [rate * (1 + 0.03 * math.cos(n)) for n in range(14)]
        for repeat in range(3):
            factories.sample(
                run.offer,
                rate * (0.98 + repeat / 100),
                metric=f"disk_{way}_bytes_per_s",
                variant="dd_direct",
                unit="bytes/s",
                host=run.host,
                run=run,
                repeat=repeat,
                evidence=piece(run, "dd", way, repeat, series=seen),
            )


def network(run: Run) -> None:
    """Both ways, UDP and ping."""
    rates = {"tcp_parallel": 9.41e9, "tcp_parallel_reverse": 9.38e9}
    rates |= {"tcp_single": 8.7e9, "tcp_single_reverse": 6.9e9}
    for variant, rate in rates.items():
        values = [rate * 0.99, rate, rate * 1.004]
        figures(
            run,
            "net_tcp_bits_per_s",
            variant,
            "bits/s",
            values,
            streams=8 if "parallel" in variant else 1,
            retransmits=17,
            intervals=[rate * (1 + 0.02 * math.sin(n)) for n in range(9)],
        )
    for variant in ("standard", "reverse"):
        figures(run, "net_udp_jitter_ns", variant, "ns", [14_000.0, 15_500.0])
        figures(run, "net_udp_loss_ratio", variant, "ratio", [0.0, 0.0002])
    figures(run, "net_rtt_ns", "standard", "ns", [182_000.0], loss_ratio=0.0)


def sustained(run: Run) -> None:
    """Ten minutes that lose a tenth."""
    windows = [41_500 - 140 * n if n < 30 else 37_300 + 40 * (n % 3) for n in range(40)]
    figures(
        run,
        "cmips_sustained_ratio",
        "all",
        "ratio",
        [windows[-1] / windows[0]],
        windows=windows,
        window_s=15,
        first=windows[0],
        last=windows[-1],
        worst=min(windows),
        drop_ratio=1 - windows[-1] / windows[0],
    )


def earlier_runs(host: Host, count: int = 9) -> list[Run]:
    """Runs of the days before; the last one is clearly slower."""
    made = []
    for n in range(count):
        at = factories.AT - dt.timedelta(days=count - n)
        run = factories.run(
            host, profile="full", state=RunState.DONE, started_at=at, finished_at=at, environment={}
        )
        score = 41_400 + 90 * (n % 4) - (4_200 if n == count - 1 else 0)
        for repeat in range(3):
            factories.sample(
                run.offer, score + 12.0 * repeat, host=host, run=run, repeat=repeat, measured_at=at
            )
        made.append(run)
    return made


def full_run(host: Host, depths: Sequence[int] = MATRIX_DEPTHS) -> Run:
    """A finished run of the profile `full`, its matrix over the depths."""
    at = factories.AT
    run = factories.run(
        host,
        profile="full",
        state=RunState.DONE,
        started_at=at,
        finished_at=at + dt.timedelta(minutes=41, seconds=12),
        progress_ratio=1.0,
        requested_by="alice",
    )
    for state in (RunState.QUEUED, RunState.REACHABLE, RunState.RUNNING, RunState.TEARING_DOWN):
        Step.objects.create(run=run, state=state, finished_at=at)
    scores = [41_480.0, 41_390.0, 41_510.0, 41_450.0, 41_470.0]
    figures(run, "cmips_score", "all", "CMIPS", scores, threads=64)
    figures(run, "cmips_single_score", "single", "CMIPS", [1_012.0, 1_009.5, 1_013.2])
    for repeat in (0, 1):
        piece(run, "cmips", "all", repeat, series=series(40))
    disk(run, depths)
    network(run)
    sustained(run)
    missing = "not available: fio 2.1 is too old, 3.0 or newer is needed"
    piece(run, "fio", "mixed_qd32", exit_code=7, error=missing)
    run.events.create(kind="unavailable", detail=f"fio: {missing}")
    run.events.create(kind="warning", detail="one DIMM in a socket with 8 channels")
    data_version_bump()
    return run


def going_run(host: Host, **given: Any) -> Run:
    """A run that writes with dd right now."""
    run = factories.run(
        host,
        state=RunState.RUNNING,
        probe="dd",
        progress_ratio=0.42,
        started_at=clock.now() - dt.timedelta(seconds=34),
        price=host.offer.prices.first(),
        live={
            "variant": "write",
            "expected_s": 80,
            "last_lines": ["=== dd", "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.92 s, 1.2 GB/s"],
            "series": series(60, disk_write=1.2e9, busy=0.2),
        },
        **given,
    )
    Step.objects.create(run=run, state=RunState.REACHABLE, finished_at=factories.AT)
    Step.objects.create(run=run, state=RunState.RUNNING)
    figures(run, "cmips_score", "all", "CMIPS", [8_120.0, 8_090.0])
    return run


def going_campaign(hosts: list[Host]) -> Campaign:
    """One in its third round."""
    campaign = Campaign.objects.create(
        workspace=factories.workspace(),
        name="Dublin and Cork, monthly",
        profile="standard",
        parameters={"seconds": 5.0, "fio_file_bytes": 2**30},
        repeats=1,
        concurrency=2,
        budget_amount="5",
        budget_currency="USD",
        network_pairs=NetworkPairs.NONE,
        state=CampaignState.RUNNING,
        round=3,
    )
    campaign.hosts.set(hosts)
    return campaign


def done_run(host: Host, **given: Any) -> None:
    """A finished run, with a test that failed and a figure that was disturbed."""
    done = factories.run(
        host,
        state=RunState.DONE,
        started_at=factories.AT,
        finished_at=factories.AT,
        progress_ratio=1,
        **given,
    )
    figures(done, "cmips_score", "all", "CMIPS", [41_440.0, 41_480.0])
    for probe in ("inventory", "memory", "dd", "small_files"):
        piece(done, probe, "all")
    for probe, metric in (("memory", "memory_latency_ns"), ("dd", "disk_write_bytes_per_s")):
        factories.sample(
            done.offer,
            91.0,
            metric=metric,
            host=done.host,
            run=done,
            evidence=done.evidence.get(probe=probe),
            flags=["disturbed"] if probe == "dd" else [],
        )
    piece(done, "fio", "rand_read_qd32", exit_code=7, error="fio is not installed")


def weekly(campaign: Campaign) -> Schedule:
    """Every Monday, in a window of the night."""
    return Schedule.objects.create(
        workspace=campaign.workspace,
        campaign=campaign,
        cron="0 3 * * 1",
        time_zone="Europe/Dublin",
        window_from=dt.time(1),
        window_to=dt.time(6),
        next_at=factories.AT,
        last_at=factories.AT,
        last_outcome="round 3",
    )


def _engine() -> Engine:
    names = ("epyc-dublin-1", "epyc-dublin-2", "nas-cork", "xeon-lab")
    hosts = [
        factories.host(
            factories.offer(f"own-{name}", provider_slug="own", kind="dedicated", name=name),
            name=name,
            facts=FACTS,
        )
        for name in names
    ]
    for host in hosts[:3]:
        factories.price(host.offer, "89", unit="month", purchase_model="monthly", currency="USD")
    untrusted = factories.host(
        factories.offer("own-new-box", provider_slug="own", kind="dedicated", name="new-box"),
        name="new-box",
        state=HostState.UNVERIFIED,
    )
    earlier_runs(hosts[0])
    full = full_run(hosts[0], depths=(1, 8, 64))
    campaign = going_campaign(hosts)
    of_round: dict[str, Any] = {"campaign": campaign, "round": 3}
    done_run(hosts[0], **of_round)
    going = going_run(hosts[1], **of_round)
    failed = factories.run(
        hosts[2],
        state=RunState.FAILED,
        failure_reason="disk_full",
        failure_detail="0.4 GB are free in /mnt/tank, 2.6 GB are needed",
        started_at=factories.AT,
        finished_at=factories.AT,
        **of_round,
    )
    figures(failed, "cmips_score", "all", "CMIPS", [12_050.0])
    factories.run(hosts[3], **of_round)
    return Engine(full, going, failed, campaign, weekly(campaign), untrusted)


_ROWS = Loaded(_engine)


def engine() -> Engine:
    """All of it, on five hosts."""
    return _ROWS.load()
