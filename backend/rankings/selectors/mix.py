"""Scores of offers under a weighted mix of metrics."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from backend.benchmarks.models import Source
from backend.core.rest.parameters import InvalidParameters
from backend.measure.metrics import METRICS
from backend.rankings.calc.mix import MIX, MixPart, mix_log, mix_summary
from backend.rankings.selectors.scores import Score

# A mix is as good as the weakest of its figures.
WEAKEST_FIRST = (Source.PUBLISHED, Source.IMPORTED, Source.MEASURED)


@dataclass(frozen=True)
class Mix:
    """Scores by offer id, the metrics that other offers lack, and the offer that is the baseline:
    None where no offer has all the metrics."""

    scores: Mapping[UUID, Score]
    lacking: Mapping[UUID, tuple[str, ...]]
    base: str | None


def mix(
    weights: Sequence[tuple[str, Decimal]],
    scores: Mapping[str, Mapping[UUID, Score]],
    slugs: Mapping[UUID, str],
    base: str = "",
) -> Mix:
    """The mix of every offer that has all the metrics; `scores` by metric and offer id.

    `base` is the slug of the baseline, by default the first of those offers. Raises
    InvalidParameters for a base that is not among the offers or lacks a metric.
    """
    keys = [key for key, _ in weights]
    lacking = {pk: tuple(key for key in keys if pk not in scores[key]) for pk in slugs}
    # A mix with a metric left out would be another mix.
    complete = {slugs[pk]: pk for pk, keys_lacking in lacking.items() if not keys_lacking}
    if base and base not in complete:
        raise InvalidParameters([("base", _fault(base, slugs, lacking))])
    if not complete:
        return Mix({}, lacking, None)
    parts = [MixPart(METRICS[key], weight) for key, weight in weights]
    # By name, so that the baseline does not change with prices or the order of rows.
    chosen = base or min(complete)
    columns = [scores[key] for key in keys]
    baseline_log = mix_log(parts, [c[complete[chosen]].summary.value for c in columns])
    mixes = {pk: _score(parts, [c[pk] for c in columns], baseline_log) for pk in complete.values()}
    return Mix(mixes, {pk: names for pk, names in lacking.items() if names}, chosen)


def _fault(base: str, slugs: Mapping[UUID, str], lacking: Mapping[UUID, tuple[str, ...]]) -> str:
    names = next((lacking[pk] for pk, slug in slugs.items() if slug == base), None)
    if names is None:
        return f"{base[:120]!r} is not the slug of an offer"
    return f"{base} has no score for {', '.join(names)}"


def _score(parts: Sequence[MixPart], of: Sequence[Score], baseline_log: float) -> Score:
    """An offer's scores in one; what they rest on is the least that holds for all of them."""
    return Score(
        metric=MIX,
        summary=mix_summary(parts, [score.summary for score in of], baseline_log),
        variant="",
        is_unfit=any(score.is_unfit for score in of),
        flags=_once(flag for score in of for flag in score.flags),
        source=min((score.source for score in of), key=WEAKEST_FIRST.index),
        # A mix is as new as its newest part; their ages stand beside each metric.
        measured_at=max(score.measured_at for score in of),
        method_version=" ".join(_once(score.method_version for score in of)),
        target="; ".join(_once(score.target for score in of)),
        licence="; ".join(_once(score.licence for score in of)),
        cpu_models={},
        result_url=None,
    )


def _once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, words)))
