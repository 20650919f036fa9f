"""How well general performance repeats, and agrees with the tools run by hand: `./rackrate bench general`.

Prints one JSON document. Five runs of three repeats each, the tools by hand after every repeat:

- `runs`: the median of each run, and the largest distance of one from the median of all (ratio);
- `by_hand`: the median of probe / hand over the pairs, for the whole and for each family;
- `load`: the machine's load average at the start and the end: on a busy machine the pairs still compare.
"""

import csv
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from backend.measure.metrics.general_performance import CRYPTO, general_performance
from backend.measure.readers import general
from launcher.loopback import free_port
from tests.bench._probes import PATH, probe_directory, probe_output

RUNS, REPEATS = 5, 3
REDIS_S, ALGORITHM_S = 2, 1
BLOCK_BYTES = 16384
KEYS = 6_000_000
TABLE_RATE = re.compile(r"([0-9.]+)k")
Parts = dict[str, dict[str, float]]


def by_probe(folder: Path) -> Parts:
    """The figures of one repeat as on a target."""
    _, *samples = general.parse(probe_output(folder, "general.sh", REDIS_S, ALGORITHM_S))
    rates = {sample.variant.removesuffix(f",{BLOCK_BYTES}").lower(): sample for sample in samples}
    return {
        "redis": {name: rates[name].value for name in ("p1", "p16")},
        "crypto": {name: rates[name].value for name in CRYPTO},
    }


@contextmanager
def servers(count: int) -> Iterator[list[int]]:
    """Ports of as many Redis servers as somebody would start by hand."""
    ports = [free_port() for _ in range(count)]
    words = ["redis-server", "--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--port"]
    running = [
        subprocess.Popen(
            [*words, str(port)], stdout=subprocess.DEVNULL, cwd="/", env={"PATH": PATH}
        )
        for port in ports
    ]
    try:
        time.sleep(1)
        yield ports
    finally:
        for server in running:
            server.kill()
            server.wait()


def redis_by_hand(pipeline: int, expected: float) -> float:
    """SET per second as redis-benchmark itself states them, summed over a pair for each CPU."""
    count = len(os.sched_getaffinity(0))
    requests = int(expected / count * (REDIS_S + 1))
    options = f"-t set -P {pipeline} -c 50 -d 32 -r {KEYS} --csv"
    with servers(count) as ports:
        clients = [
            subprocess.Popen(
                ["redis-benchmark", "-p", str(port), "-n", str(requests), *options.split()],
                stdout=subprocess.PIPE,
                text=True,
                env={"PATH": PATH},
            )
            for port in ports
        ]
        texts = [client.communicate(timeout=300)[0] for client in clients]
    return sum(float(list(csv.reader(text.splitlines()))[-1][1]) for text in texts)


def openssl_by_hand(algorithm: str) -> float:
    """Bytes per second of the table that people read."""
    count = len(os.sched_getaffinity(0))
    options = (
        f"-elapsed -seconds {ALGORITHM_S} -bytes {BLOCK_BYTES} -multi {count} -evp {algorithm}"
    )
    words = ["openssl", "speed", *options.split()]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    return float(TABLE_RATE.findall(done.stdout)[-1]) * 1000


def by_hand(probe: Parts) -> Parts:
    return {
        "redis": {f"p{n}": redis_by_hand(n, probe["redis"][f"p{n}"]) for n in (1, 16)},
        "crypto": {name: openssl_by_hand(name) for name in CRYPTO},
    }


def ratios(probe: Parts, hand: Parts) -> Mapping[str, float]:
    """Probe / hand of the whole, and of each family with the other one equal."""
    whole, crypto, redis = (
        general_performance(probe["crypto"], probe["redis"]) / general_performance(*families)
        for families in (
            (hand["crypto"], hand["redis"]),
            (hand["crypto"], probe["redis"]),
            (probe["crypto"], hand["redis"]),
        )
    )
    # One of two families is the square root of the whole.
    return {"general_performance": whole, "crypto": crypto**2, "redis": redis**2}


def main() -> None:
    load, runs = [os.getloadavg()[0]], []
    pairs: list[Mapping[str, float]] = []
    with probe_directory() as folder:
        for _ in range(RUNS):
            values = []
            for _ in range(REPEATS):
                probe = by_probe(folder)
                values.append(general_performance(probe["crypto"], probe["redis"]))
                pairs.append(ratios(probe, by_hand(probe)))
            runs.append(median(values))
            print(f"run: {runs[-1]:.3f}", file=sys.stderr)
    middle = median(runs)
    document: dict[str, Any] = {
        "runs": runs,
        "largest_distance_ratio": max(abs(run / middle - 1) for run in runs),
        "by_hand": {family: median(pair[family] for pair in pairs) for family in pairs[0]},
        "load": [*load, os.getloadavg()[0]],
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
