"""Measures the reading of a bill of a year, against the truth that it was generated with.

`./rackrate bench bills` prints JSON: seconds and the most memory of the process that reads,
and whether hours, machines, commitments and the load curve came out exactly as they were made.
"""

import argparse
import datetime as dt
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from backend.bills.calc.estate import estate
from backend.bills.services.reading import bill_read

LINES = 5_000_000
YEAR_HOURS = 8_760
START = dt.datetime(2025, 1, 1, tzinfo=dt.UTC)
TYPES = ("m5.large", "m5.2xlarge", "c6i.xlarge", "r6g.4xlarge")
LIMITS = {"seconds": 180, "most_mb": 500}
HEAD = (
    "AvailabilityZone,BilledCost,BillingAccountId,BillingAccountName,BillingCurrency,BillingPeriodEnd,"
    "BillingPeriodStart,ChargeCategory,ChargeDescription,ChargePeriodEnd,ChargePeriodStart,"
    "CommitmentDiscountStatus,EffectiveCost,ListCost,PricingCategory,PricingQuantity,PricingUnit,"
    "ProviderName,RegionId,ResourceId,ServiceCategory,ServiceName,SubAccountName,Tags\n"
)
TAGS = '"{""application"": ""shop-%s"", ""environment"": ""production"", ""owner"": ""team-of-many-words-%s""}"'


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench bills")
    parser.add_argument("lines", nargs="?", type=int, default=LINES)
    parser.add_argument("--read", type=Path)
    given = parser.parse_args()
    if given.read:
        print(json.dumps(read(given.read)))
        return
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "bill.csv"
        truth = generate(path, given.lines)
        # In a process of its own, as its memory is what is measured.
        command = [sys.executable, "-m", "tests.bench.bills", "--read", str(path)]
        measured = json.loads(subprocess.check_output(command, env=os.environ))
    answer = measured.pop("answer")
    print(
        json.dumps(
            {
                "lines": given.lines,
                **measured,
                "limits": LIMITS,
                "is_exact": {name: answer[name] == truth[name] for name in truth},
            },
            indent=1,
        )
    )


def read(path: Path) -> dict[str, Any]:
    """Seconds, memory and what came out."""
    begun = time.monotonic()
    with path.open("rb") as file:
        reading = bill_read(file)
    of = estate(reading.groups(), reading.usage, reading.unreadable)
    seconds = time.monotonic() - begun
    return {
        "bytes": path.stat().st_size,
        "seconds": round(seconds, 1),
        "most_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "answer": {
            "total": f"{of.total:f}".rstrip("0"),
            "unreadable": [of.unreadable.lines, [line for line, _ in of.unreadable.named]],
            "hours": sorted([*key_of(one), f"{one.hours:f}"] for one in of.machines),
            "machines": sorted([*key_of(one), one.resources, one.always_on] for one in of.machines),
            "curve": [
                sum(one.curve[hour] for one in of.machines) for hour in range(0, YEAR_HOURS, 97)
            ],
        },
    }


def key_of(one: Any) -> list[str]:
    return [one.key.machine_type, one.key.purchase]


@dataclass
class Truth:
    """What the lines that were written come to."""

    total: Decimal = Decimal(0)
    hours: Counter[tuple[str, str]] = field(default_factory=Counter)
    ran: dict[tuple[str, str], Counter[int]] = field(default_factory=dict)
    """By machine."""
    curve: Counter[int] = field(default_factory=Counter)
    broken: list[int] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """As `read` answers it."""
        return {
            "total": f"{self.total:f}".rstrip("0"),
            "unreadable": [len(self.broken), self.broken[:20]],
            "hours": sorted([*key, f"{of}"] for key, of in self.hours.items()),
            "machines": sorted(
                [*key, len(of), sum(each == YEAR_HOURS for each in of.values())]
                for key, of in self.ran.items()
            ),
            "curve": [float(self.curve[hour]) for hour in range(0, YEAR_HOURS, 97)],
        }


def generate(path: Path, lines: int) -> dict[str, Any]:
    """A year of hourly lines: machines that always run, machines of the day, disks, broken lines."""
    per_hour = max(4, lines // YEAR_HOURS)
    truth, count = Truth(), 1
    with path.open("w") as file:
        file.write(HEAD)
        for hour in range(YEAR_HOURS):
            rows = []
            for number in range(per_hour):
                count += 1
                if count % 250_001 == 0:
                    truth.broken.append(count)
                    rows.append("broken,line\n")
                else:
                    rows.append(row(truth, hour, number, number < per_hour * 2 // 3))
            file.writelines(rows)
    return truth.document()


def row(truth: Truth, hour: int, number: int, is_machine: bool) -> str:
    """A line of one hour, added to the truth."""
    start = START + dt.timedelta(hours=hour)
    # Every third machine runs by day only.
    if number % 3 == 2 and not 8 <= start.hour < 20:
        is_machine = False
    kind = TYPES[number % len(TYPES)]
    is_committed = is_machine and number % 5 == 0
    cost = Decimal("0.0960") if is_machine else Decimal("0.00013698")
    truth.total += cost
    what, unit, service = "$0.10 per GB-month of gp3 storage", "GB-Months", "Storage"
    if is_machine:
        key = (kind, "committed" if is_committed else "on_demand")
        truth.hours[key] += 1
        truth.ran.setdefault(key, Counter())[number] += 1
        truth.curve[hour] += 1
        what, unit = f"$0.0960 per On Demand Linux {kind} Instance Hour", "Hours"
        service = "Compute"
    month = f"{start:%Y-%m}-01 00:00:00"
    stamps = f"{start + dt.timedelta(hours=1):%Y-%m-%d %H:%M:%S},{start:%Y-%m-%d %H:%M:%S}"
    return (
        f"us-east-1a,{cost},1234567890123,Company,USD,{month},{month},Usage,{what},{stamps},"
        f"{'Used' if is_committed else ''},{cost},{cost},"
        f"{'Committed' if is_committed else 'Standard'},1.0000000000,{unit},AWS,"
        f"us-east-1,i-{number:017x},{service},Amazon Elastic Compute Cloud,Team,"
        f"{TAGS % (number, number)}\n"
    )


if __name__ == "__main__":
    main()
