"""How well the cmips score repeats: `./rackrate bench cmips`. Prints one JSON document.

- `repeats`: series as profile `standard` takes them, each repeat behind the quiet gate;
- `compilers`: the same source by the pinned compiler and by gcc, interleaved, CPU time only;
- `threads`: score by number of threads over the score of one;
- `neighbour`: a repeat beside a busy process on every CPU, and whether it is flagged.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from backend.measure.cmips import is_disturbed, score
from backend.measure.profiles import PROFILES
from backend.measure.readers import observe
from backend.measure.stats import StoppingRule, half_width_ratio, is_settled
from workers.remote.probes import build

QUIET_BUDGET_S = 30
ROUNDS = 9
SECONDS = 2
GCC_FLAGS = ("-std=c11", "-O2", "-ffreestanding", "-nostdlib", "-static", "-fno-stack-protector")


def observed(
    program: Path, folder: Path, threads: str, seconds: float, quiet_s: float
) -> tuple[float, bool, dict[str, Any]]:
    """Score, disturbed flag and the probe's own line of one repeat, taken as on a target."""
    bundle = build.binaries(build.host_arch())
    out, err, record = (folder / name for name in ("out", "err", "json"))
    subprocess.run(
        [
            *(bundle.binaries["observe"].path, "--probe", "cmips", "--variant", "all"),
            *("--repeat", "0", "--timeout", "60", "--quiet-budget", str(quiet_s)),
            *("--out", out, "--err", err, "--json", record),
            *("--", program, "--threads", threads, "--seconds", str(seconds)),
        ],
        check=True,
        timeout=quiet_s + 90,
    )
    line = json.loads(out.read_text())
    conditions = observe.parse(record.read_text())
    share = line["cpu_s"] / (line["seconds"] * line["threads"])
    value = score(line["iterations"], line["seconds"])
    steal = conditions.steal_ratio * conditions.usable_cpus / line["threads"]
    return value, is_disturbed(share, conditions.foreign_cpu_ratio, steal), line


def repeats(program: Path, folder: Path, threads: str) -> dict[str, Any]:
    """One series under the stopping rule of the profile, disturbed repeats left out."""
    profile = PROFILES["standard"]
    rule = StoppingRule(profile.min_repeats, profile.max_repeats, 0.03)
    kept: list[float] = []
    disturbed = 0
    while not is_settled(kept, rule) and disturbed < profile.max_repeats:
        value, flag, _ = observed(program, folder, threads, profile.seconds, QUIET_BUDGET_S)
        if flag:
            disturbed += 1
        else:
            kept.append(value)
    return {
        "scores": kept,
        "disturbed": disturbed,
        "median": median(kept) if kept else None,
        "half_width_ratio": half_width_ratio(kept) if len(kept) > 1 else None,
    }


def compilers(program: Path, folder: Path) -> dict[str, Any]:
    """CPU nanoseconds per iteration of both builds, interleaved."""
    if shutil.which("gcc") is None:
        return {"skipped": "gcc is not installed on this machine"}
    other = folder / "cmips-gcc"
    subprocess.run(
        ["gcc", *GCC_FLAGS, build.NATIVE / "cmips.c", "-o", other], check=True, timeout=60
    )
    series: dict[str, list[float]] = {"pinned": [], "gcc": []}
    for _ in range(ROUNDS):
        for name, path in (("pinned", program), ("gcc", other)):
            line = observed(path, folder, "1", SECONDS, 0)[2]
            series[name].append(line["cpu_s"] / line["iterations"] * 1e9)
    medians = {name: median(values) for name, values in series.items()}
    return {"cpu_ns_per_iteration": medians, "ratio": medians["gcc"] / medians["pinned"]}


def threads(program: Path, folder: Path) -> dict[str, float]:
    """Aggregate score over the score of one thread, for 1 … all CPUs; medians, interleaved."""
    counts = sorted({1, *range(2, len(os.sched_getaffinity(0)) + 1)})
    found: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(5):
        for count in counts:
            found[count].append(observed(program, folder, str(count), SECONDS, 10)[0])
    return {str(count): median(found[count]) / median(found[1]) for count in counts}


@contextmanager
def busy_neighbours() -> Iterator[None]:
    """A spinning process on every CPU."""
    spin = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(spin) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def neighbour(program: Path, folder: Path) -> dict[str, Any]:
    """A repeat in bad company."""
    with busy_neighbours():
        value, flag, line = observed(program, folder, "all", SECONDS, 2)
    share = line["cpu_s"] / (line["seconds"] * line["threads"])
    return {"score": value, "is_disturbed": flag, "cpu_share": share}


def main() -> int:
    """Measure and print."""
    program = build.binaries(build.host_arch()).binaries["cmips"].path
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = {
            "repeats": {
                "all": repeats(program, folder, "all"),
                "single": repeats(program, folder, "1"),
            },
            "compilers": compilers(program, folder),
            "threads": threads(program, folder),
            "neighbour": neighbour(program, folder),
        }
    print(json.dumps(result, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
