"""How often intervals hold what is true: `./rackrate bench coverage`. Prints one JSON document.

- `stated`: shares of 95 % intervals that hold the median of the population, by machines and repeats,
  where machines spread as stated;
- `mixture`: two generations of processors behind one type, 40 % of the machines 20 % slower;
- `days`: one machine with a spread of days beside that of machines, by runs;
- `ranks`: of offers 2 % apart, true ranks within their rank interval;
- `equal_offers`: lists of equal offers that fall into more than one tie group;
- `mix`: two metrics of one resource whose errors correlate by 0.9.
"""

import json
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from statistics import NormalDist

import numpy as np

from backend.measure.metrics import metric
from backend.measure.pairwise import NO_FIGURE, PairwiseRanks, log_sigmas
from backend.measure.stats import Summary, log_sigma, summary
from backend.rankings.calc.mix import MixPart, mix_log, mix_summary

TIMES = 2_000
LISTS = 1_000
BETWEEN_CV, WITHIN_CV, DAY_CV = 0.05, 0.02, 0.05
SLOW_SHARE, SLOW_FACTOR = 0.4, 0.8
OFFERS = 30
APART_RATIO = 0.02
EQUAL_OFFERS = (5, 20, 50)
chance = np.random.default_rng(20_261_122)

Factor = Callable[[], float]


def spread(cv: float) -> float:
    """A log-normal factor around 1 with this coefficient of variation."""
    return math.exp(log_sigma(cv) * chance.standard_normal())


def measured(machines: int, runs: int, repeats: int, factor: Factor, day_cv: float = 0) -> Summary:
    """What is said of machines whose own level is `factor`."""
    values = {}
    for number in range(machines):
        level = factor()
        values[str(number)] = {
            str(run): [day * spread(WITHIN_CV) for _ in range(repeats)]
            for run in range(runs)
            for day in [level * (spread(day_cv) if day_cv else 1)]
        }
    return summary(values, between_instance_cv=BETWEEN_CV, target_half_width_ratio=0.03)


def share(hits: Iterator[bool]) -> float:
    """Share in percent."""
    counted = list(hits)
    return round(100 * sum(counted) / len(counted), 1)


def covered(true: float, make: Callable[[], Summary]) -> float:
    """Percent of summaries that hold the truth."""
    found = (make() for _ in range(TIMES))
    return share(one.ci95_low <= true <= one.ci95_high for one in found)


def like_stated() -> float:
    return spread(BETWEEN_CV)


def of_two_generations() -> float:
    slow = chance.random() < SLOW_SHARE
    return spread(BETWEEN_CV) * (SLOW_FACTOR if slow else 1)


def mixture_median() -> float:
    """The median that half of the machines lie below, with the spread of their repeats."""
    sigma = log_sigma(BETWEEN_CV)
    low, high = SLOW_FACTOR, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        below = sum(
            part * NormalDist(math.log(centre), sigma).cdf(math.log(middle))
            for part, centre in ((1 - SLOW_SHARE, 1.0), (SLOW_SHARE, SLOW_FACTOR))
        )
        low, high = (middle, high) if below < 0.5 else (low, middle)
    return low


def listed(true: list[float], machines: int) -> list[tuple[int, Summary]]:
    """Indexes of offers with what was measured of them, the best first."""
    found = [
        (n, measured(machines, 1, 3, lambda level=level: level * like_stated()))  # type: ignore[misc]
        for n, level in enumerate(true)
    ]
    return sorted(found, key=lambda one: -one[1].value)


def ranks_of(offers: list[tuple[int, Summary]]) -> PairwiseRanks:
    """Their rank bounds and tie groups."""
    ends = [(one.value, one.ci95_low, one.ci95_high) for _, one in offers]
    values, lows, highs = np.array(ends).T
    return PairwiseRanks(values, log_sigmas(lows, highs), np.full(len(offers), NO_FIGURE))


def ranks_hold(machines: int) -> float:
    """Percent of true ranks within their interval."""
    true = [(1 + APART_RATIO) ** -n for n in range(OFFERS)]
    hits = []
    for _ in range(LISTS // 10):
        offers = listed(true, machines)
        low, high = ranks_of(offers).rank_bounds(np.arange(OFFERS))
        places = np.array([n + 1 for n, _ in offers])
        hits += ((low <= places) & (places <= high)).tolist()
    return share(iter(hits))


def split(offers: int, machines: int) -> float:
    """Percent of lists of equal offers in more than one tie group."""
    lists = (listed([1.0] * offers, machines) for _ in range(LISTS))
    return share(max(ranks_of(one).tie_groups(np.arange(offers))) > 1 for one in lists)


def mix_covers() -> float:
    """Percent of mixes of two CPU metrics that hold their truth."""
    parts = [MixPart(metric(key), Decimal(1)) for key in ("cmips_score", "cmips_single_score")]

    def make() -> Summary:
        common = like_stated()
        levels = [common**0.9**0.5 * like_stated() ** 0.1**0.5 for _ in parts]
        found = [measured(1, 1, 5, lambda level=level: level) for level in levels]  # type: ignore[misc]
        return mix_summary(parts, found, mix_log(parts, [1.0, 1.0]))

    return covered(1.0, make)


def main() -> None:
    """Print all of it."""
    middle = mixture_median()
    document = {
        "stated_percent": {
            f"{machines} machines, {repeats} repeats": covered(
                1.0, lambda m=machines, r=repeats: measured(m, 1, r, like_stated)
            )
            for machines in (1, 2, 3, 5, 10, 20)
            for repeats in (3, 5, 10)
        },
        "mixture_percent": {
            f"{machines} machines": covered(
                middle, lambda m=machines: measured(m, 1, 3, of_two_generations)
            )
            for machines in range(5, 21)
        },
        "days_percent": {
            f"{runs} runs": covered(1.0, lambda r=runs: measured(1, r, 3, like_stated, DAY_CV))
            for runs in (1, 2, 3, 6)
        },
        "ranks_percent": {
            f"{machines} machines": ranks_hold(machines) for machines in (1, 3, 5, 10)
        },
        "equal_offers_split_percent": {
            f"{offers} offers, {machines} machines": split(offers, machines)
            for offers in EQUAL_OFFERS
            for machines in (1, 3, 10)
        },
        "mix_percent": mix_covers(),
    }
    print(json.dumps(document, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
