"""Scores of Spare Cores on their way into the samples: copied, then spread by the database."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from backend.benchmarks.calc.sparecores_scores import Series
from backend.catalog.services.data_version import data_version_bump
from backend.foundation.attributions import SPARE_CORES

TABLES = """
CREATE TEMP TABLE sparecores_place (
    server integer, offer_id uuid, is_home boolean, page text
);
CREATE TEMP TABLE sparecores_series (
    series integer PRIMARY KEY, metric text, variant text, unit text, is_ranked boolean,
    parameters jsonb, benchmark text
);
CREATE TEMP TABLE sparecores_score (
    server integer, series integer, value double precision, measured_at timestamptz,
    version text, kernel text, note text
);
"""
DROP = "DROP TABLE IF EXISTS sparecores_place, sparecores_series, sparecores_score"
SERVER_OFFERS = "COPY sparecores_place FROM STDIN"
SERIES = "COPY sparecores_series FROM STDIN"
SCORES = "COPY sparecores_score FROM STDIN"
# A score is of a machine type. All of them stand with the type's first offer, those that rank with
# its offers in every region.
SPREAD = """
INSERT INTO benchmarks_sample (
    offer_id, metric, variant, repeat, value, unit, parameters, flags, source, source_note,
    method_version, measured_at, excluded_reason, licence
)
SELECT place.offer_id, series.metric, series.variant, 0, score.value, series.unit,
    series.parameters || jsonb_strip_nulls(
        jsonb_build_object('kernel_version', score.kernel, 'note', score.note)
    ),
    '{}', 'imported', %(source)s || ', ' || series.benchmark || ', ' || place.page,
    score.version, score.measured_at, '', %(licence)s
FROM sparecores_score AS score
JOIN sparecores_series AS series USING (series)
JOIN sparecores_place AS place USING (server)
WHERE (place.is_home OR series.is_ranked) AND NOT EXISTS (
    SELECT FROM benchmarks_sample AS known
    WHERE known.metric = series.metric AND known.variant = series.variant
        AND known.offer_id = place.offer_id AND known.source = 'imported'
        AND known.measured_at = score.measured_at AND known.value = score.value
        AND known.method_version = score.version
)
"""
# No constraint keeps imported samples apart: two imports at once would both miss a score and add
# it.
LOCK = "SELECT pg_advisory_xact_lock(hashtext('benchmarks_sparecores'))"


@dataclass(frozen=True, slots=True)
class ServerOffer:
    """An offer of one of their servers; `is_home` where all its scores are kept."""

    server: int
    offer_id: UUID
    is_home: bool
    page: str


class ScoreStaging:
    """The way of scores into the samples, while it is open."""

    def __init__(self, server_offers: Iterable[ServerOffer], licence: str) -> None:
        self.stated = {
            "source": f"Spare Cores, {licence}",
            "licence": f"{licence}, {SPARE_CORES}",
        }
        self.series = self.stored = 0
        with connection.cursor() as cursor:
            # An import that was cut short on this connection left its tables behind.
            cursor.execute(DROP)
            cursor.execute(TABLES)
        _copy(
            SERVER_OFFERS,
            (
                (
                    server_offer.server,
                    server_offer.offer_id,
                    server_offer.is_home,
                    server_offer.page,
                )
                for server_offer in server_offers
            ),
        )
        with connection.cursor() as cursor:
            # Autovacuum cannot see temporary tables, so nobody else counts their rows.
            cursor.execute("ANALYZE sparecores_place")

    def close(self) -> None:
        """Forget what was staged."""
        with connection.cursor() as cursor:
            cursor.execute(DROP)

    @transaction.atomic
    def store(self, scores: Sequence[tuple[Any, ...]], series: Sequence[Series]) -> int:
        """Store the scores that are not there yet; how many samples that made.

        A score is (server, series, value, time, version, kernel, note), server and series by their
        number; `series` are those that are new since the last call.
        """
        with connection.cursor() as cursor:
            cursor.execute(LOCK)
            cursor.execute("TRUNCATE sparecores_score")
        _copy(SERIES, (_row(number, scores) for number, scores in enumerate(series, self.series)))
        self.series += len(series)
        _copy(SCORES, scores)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE sparecores_series, sparecores_score")
            cursor.execute(SPREAD, self.stated)
            made: int = cursor.rowcount
            # Again after 1, 2, 4, 8 … batches: the table has about doubled then.
            self.stored += bool(made)
            if made and self.stored & (self.stored - 1) == 0:
                # What reads them next is planned for a table of the size that it was before.
                cursor.execute("ANALYZE benchmarks_sample")
        if made:
            data_version_bump()
        return made


def _row(number: int, series: Series) -> tuple[Any, ...]:
    parameters: Mapping[str, Any] = series.parameters
    return (
        number,
        series.metric,
        series.variant,
        series.unit,
        series.is_ranked,
        json.dumps(parameters),
        parameters["benchmark"],
    )


def _copy(statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for row in rows:
            copy.write_row(row)
