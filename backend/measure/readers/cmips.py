"""Output of the native cmips probe: one JSON line per repeat."""

from backend.measure import cmips
from backend.measure.readers import ParsedSample
from backend.measure.readers.record import ProbeRecord, read_record

TOOL = "cmips"
KERNEL_VERSIONS = ("1",)
# A loop of eight instructions cannot pass ten thousand million times a second through one core.
MAX_ITERATIONS_PER_S = 10_000_000_000


def check_work(record: ProbeRecord) -> tuple[int, int, float, dict[str, object]]:
    """Threads, iterations of all of them, the seconds they took, and the sample's parameters.

    Raises ProbeError for work that no machine can have done.
    """
    threads = record.count("threads", minimum=1)
    usable_cpus = record.count("usable_cpus", minimum=1)
    iterations = record.count("iterations", minimum=1)
    seconds = record.positive("seconds")
    cpu_s = record.positive("cpu_s")
    if not record.flag("checksum_ok"):
        record.fail("checksum_ok is false: the kernel computed a wrong result")
    if record.text("kernel_version") not in KERNEL_VERSIONS:
        record.fail(f"kernel_version {record.text('kernel_version')} is unknown")
    if iterations > MAX_ITERATIONS_PER_S * seconds * threads:
        record.fail(f"{iterations} iterations in {seconds} s are impossible")
    quota = record.number_or_none("cgroup_quota_cpus") or None
    parameters: dict[str, object] = {
        "threads": threads,
        "usable_cpus": usable_cpus,
        "seconds": seconds,
        "cpu_s": cpu_s,
        "quota_cpus": quota,
        # Of the threads asked for: one thread alone is not short of CPU on two CPUs. Under a limit of
        # 1.5 CPUs two threads can get no more than that.
        "cpu_share": cmips.cpu_share(cpu_s, seconds, min(threads, quota or threads)),
        "kernel_version": record.text("kernel_version"),
        "arch": record.text("arch"),
        "build_sha256": record.text("build_sha256"),
    }
    return threads, iterations, seconds, parameters


def parse(text: str, *, variant: str | None = None) -> list[ParsedSample]:
    """The score of one repeat: metric cmips_score (CMIPS), or cmips_single_score for one thread.

    `variant` is what the plan asked for, "all" or "single"; on a host with one CPU nothing else
    tells them apart. Without it the thread count decides. Raises ProbeError.
    """
    record = read_record(TOOL, text, probe=TOOL)
    threads, iterations, seconds, parameters = check_work(record)
    variant = _variant(record, variant, threads)
    return [
        ParsedSample(
            metric="cmips_single_score" if variant == "single" else "cmips_score",
            variant=variant,
            value=cmips.score(iterations, seconds),
            unit="CMIPS",
            parameters=parameters,
        )
    ]


def _variant(record: ProbeRecord, asked: str | None, threads: int) -> str:
    usable_cpus = record.count("usable_cpus")
    named = {1: "single", usable_cpus: "all"}
    actual = named.get(threads, f"{threads}_threads")
    if asked not in {None, actual} and not (asked == "single" and threads == 1):
        record.fail(f"{threads} threads on {usable_cpus} CPUs are not the variant {asked}")
    return asked or actual
