"""How well the score of one thread adds up over all threads of a machine."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backend.benchmarks.models import Sample, Source
from backend.measure import cmips

ALL_THREADS = ("cmips_score", "all")
ONE_THREAD = ("cmips_single_score", "single")


@dataclass(frozen=True)
class Scaling:
    """All-thread score over what so many single-thread scores would add up to."""

    efficiency_ratio: float
    threads: int


def scaling(values: Mapping[tuple[str, str], float], samples: Iterable[Sample]) -> Scaling | None:
    """Scaling of the median scores, by (metric, variant); None where one of both is missing, and
    where the measured samples of all threads do not agree in how many those were."""
    counts = {
        sample.parameters.get("threads")
        for sample in samples
        if (sample.metric, sample.variant) == ALL_THREADS and sample.source == Source.MEASURED
    }
    # Samples of machines with different numbers of threads have no common ratio.
    threads = counts.pop() if len(counts) == 1 else None
    all_score, single_score = values.get(ALL_THREADS), values.get(ONE_THREAD)
    if not all_score or not single_score or not isinstance(threads, int) or threads < 2:
        return None
    return Scaling(cmips.scaling_efficiency(all_score, single_score, threads), threads)
