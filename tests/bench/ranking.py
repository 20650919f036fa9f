"""What ranking itself costs: `./rackrate bench ranking`. Prints one JSON document.

- `ranked_s`: CPU time of placing 6,000 offers with intervals, ranks and tie groups;
- `ratio_to_sort`: the same over sorting the same 6,000 by value per cost, in the same run.
"""

import json
import math
import statistics
import sys
import time
from collections.abc import Callable
from decimal import Decimal

from backend.domain.metrics import METRICS
from backend.domain.ranking import Candidate, ranked
from backend.domain.stats import published_summary

OFFERS = 6000
RUNS = 5
SD_RATIO = 0.02


def candidates() -> list[Candidate]:
    """Offers of scores and prices without a pattern, each with an interval of ± 4 %."""
    return [
        Candidate(
            offer_id=f"offer-{n}",
            score=published_summary(100 + 5000 * math.sin(n) ** 2, SD_RATIO, 30),
            price=Decimal(f"{0.01 + 0.9 * math.cos(n * n) ** 2:.6f}"),
            price_per_hour=Decimal("0.1"),
        )
        for n in range(OFFERS)
    ]


def cpu_s(work: Callable[[], object]) -> float:
    """Median CPU seconds of a few runs."""
    found = []
    for _ in range(RUNS):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return statistics.median(found)


def main() -> int:
    offers, metric = candidates(), METRICS["cmips_score"]
    placed_s = cpu_s(lambda: ranked(offers, metric))
    sorted_s = cpu_s(
        lambda: sorted(offers, key=lambda one: one.score.value / float(one.price or 1))
    )
    print(
        json.dumps(
            {
                "ranked_s": placed_s,
                "ratio_to_sort": placed_s / sorted_s,
                "offers": OFFERS,
                "runs": RUNS,
            },
            indent=1,
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
