"""How well web requests repeat, and agree with the tools run by hand: `./rackrate bench web`.

Prints one JSON document. Five runs of three repeats each, nginx and wrk by hand after every repeat; for each
size of the file:

- `runs`: the median of each run, and the largest distance of one from the median of all (ratio);
- `by_hand`: the median of probe / hand over the pairs;
- `load`: the machine's load average at the start and the end: on a busy machine the pairs still compare.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from backend.measure.readers import web
from launcher.loopback import free_port
from tests.bench._probes import PATH, probe_directory, probe_output

RUNS, REPEATS = 5, 3
SECONDS = 2
SIZES_KIB = (64, 1)
# On each CPU, as the probe has them.
CONNECTIONS = (4, 16, 64)
# Debian has servers where only root looks.
ENVIRONMENT = {"PATH": f"{PATH}:/usr/sbin"}
CONFIGURATION = """
user root root;
daemon off;
worker_processes auto;
pid {folder}/pid;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    open_file_cache max=8;
    server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
"""
RATE = re.compile(r"Requests/sec: +([0-9.]+)")


@contextmanager
def served_files() -> Iterator[str]:
    """The address of a server as somebody would start it by hand, with a file of each size."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="rackrate-bench-") as name:
        folder = Path(name)
        for kib in SIZES_KIB:
            (folder / str(kib)).write_bytes(bytes(kib * 1024))
        (folder / "conf").write_text(CONFIGURATION.format(folder=folder, port=port))
        words = ["nginx", "-c", str(folder / "conf"), "-e", "stderr"]
        server = subprocess.Popen(words, env=ENVIRONMENT, stderr=subprocess.DEVNULL)
        try:
            time.sleep(1)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


def by_hand(kib: int) -> float:
    """Requests per second as wrk itself states them, with the best number of connections."""
    cpus = len(os.sched_getaffinity(0))
    with served_files() as url:
        outputs = [
            subprocess.run(
                ["wrk", f"-t{cpus}", f"-c{count * cpus}", f"-d{SECONDS}s", f"{url}/{kib}"],
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
                env=ENVIRONMENT,
            ).stdout
            for count in CONNECTIONS
        ]
    return max(float(RATE.findall(output)[0]) for output in outputs)


def measure(folder: Path, kib: int) -> dict[str, Any]:
    """Runs of one size of the file, each repeat followed by the tools by hand."""
    runs, ratios = [], []
    for _ in range(RUNS):
        values = []
        for _ in range(REPEATS):
            [sample] = web.parse(probe_output(folder, "web.sh", kib, SECONDS))
            values.append(sample.value)
            ratios.append(sample.value / by_hand(kib))
        runs.append(median(values))
        print(f"{kib}k, run: {runs[-1]:.0f}", file=sys.stderr)
    middle = median(runs)
    return {
        "runs": runs,
        "largest_distance_ratio": max(abs(run / middle - 1) for run in runs),
        "by_hand": median(ratios),
    }


def main() -> None:
    load = [os.getloadavg()[0]]
    with probe_directory() as folder:
        sizes = {f"{kib}k": measure(folder, kib) for kib in SIZES_KIB}
    print(json.dumps({**sizes, "load": [*load, os.getloadavg()[0]]}, indent=2))


if __name__ == "__main__":
    main()
