"""What our own services take of the CPUs while the demo measures: `./rackrate bench quiet`. Prints
one JSON document.

- `services_ratio`: share of all CPUs that the launcher and all below it take in windows of three
  seconds; the runner with its probes is apart from it, and other work of the machine does not count;
- `windows_above_limit`: windows in which that alone would disturb a repeat;
- `repeats`, `disturbed`: of the run, by whomever.
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

from backend.measure.cmips import MAX_FOREIGN_CPU_RATIO
from launcher.paths import MANAGE, PYTHON
from launcher.processes import cpu_s

# About as long as a repeat on the CPU.
WINDOW_S = 3.0


def main() -> None:
    """Measure this machine and print what that took."""
    launcher, cpus = os.getppid(), len(os.sched_getaffinity(0))
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        progress, result = Path(folder, "progress"), Path(folder, "result")
        with progress.open("w") as err, result.open("w") as out:
            command = [str(PYTHON), str(MANAGE), "benchmark", "local", "--json"]
            benchmark = subprocess.Popen(command, stdout=out, stderr=err)
            before_s, started = cpu_s(launcher), time.monotonic()
            while benchmark.poll() is None:
                time.sleep(WINDOW_S)
                spent_s, now = cpu_s(launcher), time.monotonic()
                if "measuring: " in (progress.read_text().splitlines() or [""])[-1]:
                    ratios.append((spent_s - before_s) / (now - started) / cpus)
                before_s, started = spent_s, now
        results = json.loads(result.read_text())["results"]
    document = {
        "cpus": cpus,
        "services_ratio": {"median": round(median(ratios), 4), "most": round(max(ratios), 4)},
        "windows": len(ratios),
        "windows_above_limit": sum(ratio > MAX_FOREIGN_CPU_RATIO for ratio in ratios),
        "repeats": sum(entry["repeats"] for entry in results),
        "disturbed": sum(entry["disturbed"] for entry in results),
    }
    print(json.dumps(document, indent=2))


if __name__ == "__main__":
    main()
