"""The scores of all offers in one metric, or in a mix, as arrays."""

import datetime as dt
from array import array
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from math import nan
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from django.utils.functional import cached_property
from numpy.typing import NDArray

from backend.benchmarks.models import Source
from backend.benchmarks.selectors.scores import DERIVED
from backend.benchmarks.services.summaries import ReadScore, score_of
from backend.measure.metrics import Metric
from backend.measure.pairwise import NO_FIGURE
from backend.measure.stats import IntervalBasis, Summary
from backend.money.amounts import Flags, Floats, Ints, codes_of
from backend.rankings.selectors.coded import Coded, CodedBuilder
from backend.rankings.selectors.offer_table import OfferTable
from backend.rankings.selectors.scores import Score


class ScoreKind(NamedTuple):
    """Properties of a score beside its figures and where they are; most offers share a few."""

    variant: str
    is_unfit: bool
    flags: tuple[str, ...]
    source: str
    method_version: str
    target: str
    licence: str
    interval_basis: IntervalBasis
    is_unstable: bool
    n_instances: int | None
    n_repeats: int | None


class ScoreAbout(NamedTuple):
    """All that a score says beside its figures."""

    kind: ScoreKind | None
    measured_at: dt.datetime | None
    result: str | None
    cpu_models: tuple[tuple[str, int], ...] | None


NOTHING = ScoreAbout(None, None, None, None)


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """A row for each offer of a table; NaN and None where it has no score."""

    metric: Metric
    table: OfferTable
    value: Floats
    low: Floats
    high: Floats
    kinds: Coded
    measured_at: Coded
    results: Coded
    cpu_models: Coded
    """Pairs of model and count."""

    @classmethod
    def of(
        cls, scores: Iterable[tuple[UUID, Score]], metric: Metric, table: OfferTable
    ) -> "ScoreTable":
        """Scores of any offers; those that the table does not have are left out."""
        rows = (
            (
                key.bytes,
                score.summary.value,
                score.summary.ci95_low,
                score.summary.ci95_high,
                _about(score),
            )
            for key, score in scores
        )
        return cls._make(rows, CodedBuilder(), metric, table)

    @classmethod
    def read(cls, rows: Iterable[ReadScore], metric: Metric, table: OfferTable) -> "ScoreTable":
        """The same of what is stored, read without an object for each."""

        def about(text: str) -> ScoreAbout:
            return _about(score_of(metric.key, text))

        return cls._make(rows, CodedBuilder(about), metric, table)

    @classmethod
    def _make(
        cls,
        rows: Iterable[tuple[bytes, float, float, float, Hashable]],
        about: CodedBuilder,
        metric: Metric,
        table: OfferTable,
    ) -> "ScoreTable":
        offers = bytearray()
        figures = array("d")
        for offer, value, low, high, given in rows:
            offers += offer
            figures.extend((value, low, high))
            about.append(given)
        # Last, so that it is the row that numbers of offers without a score lead to: -1.
        figures.extend((nan, nan, nan))
        known = about.coded()
        codes = np.append(known.codes, np.int32(len(known.values)))
        at = np.full(len(table), -1, np.int64)
        numbers = table.numbers(offers)
        listed = np.flatnonzero(numbers >= 0)
        at[numbers[listed]] = listed
        value, low, high = np.array(figures).reshape(-1, 3)[at].T.copy()
        columns = zip(*known.values, NOTHING, strict=True)
        return cls(
            metric,
            table,
            value,
            low,
            high,
            *(_code_column(column, codes[at]) for column in columns),
        )

    @cached_property
    def source_figures(self) -> Ints:
        """Numbers that offers share which rest on one published figure; NO_FIGURE for their own.

        A derived figure is that of a model of CPU, any other one that of a machine type.
        """
        figures = np.full(len(self.table), NO_FIGURE, np.int32)
        has_model = self.cpu_models.meets(bool)
        rows = np.flatnonzero(self._is_published & (has_model | ~self.is_derived))
        types = (self.table.fields[name].codes for name in ("provider", "name"))
        of_type = (np.where(self.is_derived, -1, codes)[rows] for codes in types)
        floats = (self.value, self.low, self.high)
        of_figure = (np.unique(column[rows], return_inverse=True)[1] for column in floats)
        coded = (self.kinds, self.measured_at, self.cpu_models)
        codes, _ = codes_of(*of_type, *of_figure, *(column.codes[rows] for column in coded))
        is_shared = np.bincount(codes)[codes] > 1 if rows.size else np.zeros(0, bool)
        figures[rows[is_shared]] = codes[is_shared]
        return figures

    @property
    def _is_published(self) -> Flags:
        return self.kinds.meets(lambda kind: kind is not None and kind.source == Source.PUBLISHED)

    @cached_property
    def is_derived(self) -> Flags:
        """Offers whose figure is published for a part of the machine."""
        return self.kinds.meets(lambda kind: kind is not None and DERIVED in kind.flags)

    def patched(self, scores: Iterable[tuple[UUID, Score]], offers: Iterable[UUID]) -> "ScoreTable":
        """The same with other scores of some offers, which are all that these have."""
        others = ScoreTable.of(scores, self.metric, self.table)
        numbers = self.table.numbers(b"".join(offer.bytes for offer in offers))
        rows = np.arange(len(self.table))
        # Each row of one of the two tables, the second below the first.
        rows[numbers[numbers >= 0]] += rows.size
        value, low, high = (
            np.concatenate((getattr(self, name), getattr(others, name)))[rows]
            for name in ("value", "low", "high")
        )
        coded = (
            getattr(self, name).concat(getattr(others, name)).at(rows)
            for name in ("kinds", "measured_at", "results", "cpu_models")
        )
        return ScoreTable(self.metric, self.table, value, low, high, *coded)

    @property
    def nbytes(self) -> int:
        coded = (self.kinds, self.measured_at, self.results, self.cpu_models)
        return 4 * self.value.nbytes + sum(column.nbytes for column in coded)

    def score(self, row: int) -> Score | None:
        """The score of a row, of which an offer may have none."""
        kind: ScoreKind | None = self.kinds.value(row)
        if kind is None:
            return None
        summary = Summary(
            value=float(self.value[row]),
            ci95_low=float(self.low[row]),
            ci95_high=float(self.high[row]),
            n_instances=kind.n_instances,
            n_repeats=kind.n_repeats,
            interval_basis=kind.interval_basis,
            is_unstable=kind.is_unstable,
        )
        measured_at: dt.datetime = self.measured_at.value(row)
        models: tuple[Any, ...] = self.cpu_models.value(row)
        return Score(
            metric=self.metric,
            summary=summary,
            variant=kind.variant,
            is_unfit=kind.is_unfit,
            cpu_models=dict(models),
            flags=kind.flags,
            source=kind.source,
            measured_at=measured_at,
            method_version=kind.method_version,
            target=kind.target,
            licence=kind.licence,
            result_url=self.results.value(row),
        )


def _about(score: Score) -> ScoreAbout:
    summary = score.summary
    kind = ScoreKind(
        score.variant,
        score.is_unfit,
        score.flags,
        score.source,
        score.method_version,
        score.target,
        score.licence,
        summary.interval_basis,
        summary.is_unstable,
        summary.n_instances,
        summary.n_repeats,
    )
    return ScoreAbout(kind, score.measured_at, score.result_url, tuple(score.cpu_models.items()))


def _code_column(values: Iterable[Hashable], codes: NDArray[np.int32]) -> Coded:
    """A column by numbers of values, some of which may be equal."""
    builder = CodedBuilder()
    for value in values:
        builder.append(value)
    different = builder.coded()
    return Coded(different.codes[codes], different.values)
