"""Order and figures at size: `./rackrate bench order`. Prints one JSON document.

Random questions about a catalog of 6,120 offers and of 100,080 with 1,000,800 prices (_scale_data.py), each
answered by the real ranking and by the definition that the tests have (tests/backend/reference.py):
every row of every list, in its order, with all cells. Of each catalog:

- `offers`, `questions`, `rows`: how many were compared;
- `with_bounds`: questions whose lists are short enough for the definition of ranks' bounds and of ties,
  which takes the square of their length;
- `different`: rows that are not as defined, with the first few. Any is an error.
"""

# ruff: noqa: E402  (Django is set up before its models are imported)

import json
import os
import random
import sys
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import cycle, groupby, islice
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.config.settings")
django.setup()

from backend.benchmarks.services.current_data import current_stamp
from backend.benchmarks.services.demo import demo_remove
from backend.core import clock
from backend.measure.metrics import METRICS, Metric
from backend.rankings.selectors.ranking import Ranking, query_from, ranking
from tests.backend import reference
from tests.backend.reference import PLACE, Asked, Cells, Reference, Row, in_order, meets
from tests.backend.test_ranking_reference import EXACT_COLUMNS, NUMBER_COLUMNS, asked, is_same
from tests.bench import _scale_data

# How many types a catalog has, each in every region, and how many questions are asked of it.
CATALOGS = ((34, 2_000), (556, 50))
# The least number of bases that the questions are about; of thirty questions each one has its own.
BASES = 6
SEED = 18
# Rows of a list whose ranks' bounds are compared, too.
MOST_BOUNDED = 700
BOUNDS = ("rank_low", "rank_high", "tie_group")
TERMS = ("on_demand", "spot", "reserved_1y", "savings_3y")
FILTERS: Sequence[tuple[str, str, Sequence[str]]] = (
    ("provider", "", ("maker-1", "maker-2,maker-3", "nobody")),
    ("provider", "!", ("maker-0",)),
    ("region", "", ("region-3", "region-4,region-5")),
    ("arch", "", ("arm64",)),
    ("kind", "!", ("cloud",)),
    ("vcpu_kind", "", ("dedicated", "shared,burstable")),
    ("vcpu", "__gte", ("8", "64")),
    ("vcpu", "__lte", ("2",)),
    ("ram_gib", "__lte", ("4.5",)),
    ("score", "__gte", ("300", "20000")),
    ("price", "__lte", ("0.10001", "1.0003")),
    ("value_per_cost", "__gte", ("5003.7",)),
    ("rank", "__lte", ("10", "100")),
    ("pareto", "", ("1",)),
)
SORTS = (
    "price",
    "score",
    "vcpu",
    "offer_id",
    "provider",
    "region",
    "value_per_cost",
    "cup",
    "rank",
)


class LargeReference(Reference):
    """The same definition, of one offer's prices at a time, and with ranks that are counted by
    halves instead of by pairs."""

    is_bounded = False
    """Whether the last list has the bounds of ranks."""

    def __init__(self) -> None:
        super().__init__(clock.now().date())
        self._of_offer: dict[Any, list[Cells]] = defaultdict(list)
        for price in self.prices:
            self._of_offer[price["offer_id"]].append(price)
        self._rows_of: dict[Asked, list[Row]] = {}

    def _price(self, row: Row, offer: Any, asked: Asked) -> list[str]:
        self.prices = self._of_offer[offer]
        return super()._price(row, offer, asked)

    def ranking(self, asked: Asked) -> tuple[list[Cells], list[Cells]]:
        metric = METRICS[asked.metric]
        early = [f for f in asked.filters if f[0] not in PLACE]
        late = [f for f in asked.filters if f[0] in PLACE]
        rows = [
            replace(row, cells=dict(row.cells))
            for row in self._worthed(replace(asked, words="", filters=()), metric)
            if all(word in row.text for word in asked.words.lower().split())
            and all(meets(row.cells, f) for f in early)
        ]
        scored = [row for row in rows if row.score]
        self.is_bounded = len(scored) <= MOST_BOUNDED
        ordered = _ranked(scored, metric)
        shown = [row.cells for row in ordered if all(meets(row.cells, f) for f in late)]
        bare = [row.cells for row in rows if not row.score]
        return shown, [one for one in bare if all(meets(one, f) for f in late)]

    def _worthed(self, asked: Asked, metric: Metric) -> list[Row]:
        if asked not in self._rows_of:
            rows = [self._row(offer, asked) for offer in self.offers]
            is_beside_net = any(row.score and row.has_known_tax for row in rows)
            for row in rows:
                is_comparable = row.has_known_tax is not False or not is_beside_net
                reference._worth(row, metric, is_comparable=is_comparable)
            # A list of all rows is a gigabyte: the questions come basis by basis.
            self._rows_of = {asked: rows}
        return self._rows_of[asked]


def _ranked(rows: list[Row], metric: Metric) -> list[Row]:
    if len(rows) <= MOST_BOUNDED:
        return reference._ranked(rows, metric)
    valued = [row for row in rows if row.cells["value_per_cost"] is not None]
    # As by pairs: another one is better whose value is above mine by more than a rounding.
    nearly = sorted(reference.order_value(row) * reference.NEARLY for row in valued)
    for row in valued:
        row.cells["rank"] = 1 + len(nearly) - bisect_right(nearly, reference.order_value(row))
    valued.sort(key=lambda row: (row.cells["rank"], row.cells["offer_id"]))
    _mark_pareto(valued, metric)
    others = [row for row in rows if row.cells["value_per_cost"] is None]
    return [*valued, *reference._ranked(others, metric)]


def _mark_pareto(rows: Iterable[Row], metric: Metric) -> None:
    sign = 1 if metric.better == "higher" else -1
    cheaper: Fraction | None = None
    by_price = sorted(rows, key=lambda row: row.cells["price"])
    for _, alike in groupby(by_price, key=lambda row: row.cells["price"]):
        group = list(alike)
        best = max(sign * row.cells["score"] for row in group)
        for row in group:
            mine = sign * row.cells["score"]
            row.cells["pareto"] = mine == best and (cheaper is None or mine > cheaper)
        cheaper = best if cheaper is None else max(best, cheaper)


def questions(
    count: int,
) -> list[tuple[dict[str, str], dict[tuple[str, str], str], list[tuple[str, bool]]]]:
    """Parameters of a basis, conditions, and columns to sort by; those of one basis together."""
    chance = random.Random(SEED)
    bases = [
        {"term": term, "period": chance.choice(("hour", "month", "year")),
         "currency": chance.choice(("USD", "EUR")),
         "hours_per_month": chance.choice(("720", "730", "744"))}
        for term in islice(cycle((*TERMS, "on_demand", "reserved_1y")), max(BASES, count // 30))
    ]  # fmt: skip
    made = []
    for number in range(count):
        some = chance.sample(FILTERS, chance.choice((0, 1, 1, 2, 3)))
        conditions = {(column, operator): chance.choice(texts) for column, operator, texts in some}
        columns = chance.sample(SORTS, chance.choice((0, 0, 1, 2)))
        sort = [(column, chance.random() < 0.5) for column in columns]
        words = {"q": chance.choice(("type7", "maker-2 region-1"))} if not number % 9 else {}
        made.append((bases[number % len(bases)] | words, conditions, sort))
    return sorted(made, key=lambda one: sorted((k, v) for k, v in one[0].items() if k != "q"))


def shown_rows(listed: Ranking, *, is_bounded: bool) -> list[Any]:
    rows = listed.rows if is_bounded else listed.rows.without_rank_bounds()
    return [*rows, *listed.unscored]


def main() -> int:
    demo_remove()
    _scale_data.begin()
    answers, first = [], 0
    for types, count in CATALOGS:
        _scale_data.grow(first, types - 1)
        first = types
        current_stamp()
        answers.append(compared(count))
    print(json.dumps(answers, indent=1))
    return 1 if any(answer["different"] for answer in answers) else 0


def compared(count: int) -> dict[str, Any]:
    """What comes of so many questions about the catalog as it is."""
    began, row_count, bounded = time.perf_counter(), 0, 0
    defined, different = LargeReference(), list[str]()
    for number, (query, conditions, sort) in enumerate(questions(count), start=1):
        params = query | {f"{c}{op}": text for (c, op), text in conditions.items()}
        if sort:
            params["sort"] = ",".join(f"{'-' * is_down}{column}" for column, is_down in sort)
        listed = ranking(query_from({name: [value] for name, value in params.items()})[0])
        ordered, bare = defined.ranking(asked(query, conditions))
        is_bounded = defined.is_bounded
        rows = shown_rows(listed, is_bounded=is_bounded)
        by_offer = {one["offer_id"]: one for one in (*ordered, *bare)}
        wrong = _differences(rows, by_offer, is_bounded=is_bounded)
        is_own = sort in ([], [("value_per_cost", True)])
        expected = ordered if is_own else in_order([vars(row) for row in listed.rows], sort)
        if [row.offer_id for row in listed.rows] != [one["offer_id"] for one in expected]:
            wrong.append("another order")
        different += [f"{params}: {one}" for one in wrong]
        row_count, bounded = row_count + len(rows), bounded + is_bounded
        print(f"{number} of {count}: {len(rows)} rows, {len(wrong)} wrong", file=sys.stderr)
    return {
        "offers": len(defined.offers),
        "questions": count,
        "with_bounds": bounded,
        "rows": row_count,
        "different": len(different),
        "first": different[:5],
        "seconds": round(time.perf_counter() - began),
    }


def _differences(
    rows: Sequence[Any], defined: Mapping[str, Cells], *, is_bounded: bool
) -> list[str]:
    if {row.offer_id for row in rows} != defined.keys():
        return [f"{len(rows)} rows instead of {len(defined)}"]
    exact = [name for name in EXACT_COLUMNS if is_bounded or name not in BOUNDS]
    wrong = []
    for row in rows:
        cells = defined[row.offer_id]
        names = [n for n in exact if getattr(row, n) != cells.get(n)]
        names += [n for n in NUMBER_COLUMNS if not is_same(getattr(row, n), cells.get(n))]
        wrong += [f"{row.offer_id}: {n} {getattr(row, n)!r}, not {cells.get(n)!r}" for n in names]
    return wrong


if __name__ == "__main__":
    sys.exit(main())
