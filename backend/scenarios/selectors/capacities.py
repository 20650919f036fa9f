"""Measured scores of offers as units that a server carries, and how sure they are."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from backend.benchmarks.selectors.scores import Score, compute_scores
from backend.catalog.models import Offer
from backend.foundation import figures
from backend.foundation.documents.values import exact
from backend.measure.credits import STANDARD, credit_flag
from backend.measure.metrics import METRICS
from backend.rankings.selectors.ranking import ratios_under_load
from backend.scenarios.selectors.quoted import DIGITS, text

METRIC, UNITS = "metric", "units_per_score"
BOOT = "boot_time_s"
Z_95 = 1.96

Assumption = dict[str, str]
Parts = Mapping[str, tuple[dict[str, Any], Offer]]
Scores = dict[tuple[Any, str], Score]


def capacities_put(
    document: dict[str, Any],
    parts: Parts,
    faults: dict[str, str],
    assumptions: list[Assumption],
    *,
    workspace_slug: str,
) -> None:
    """Puts score × units_per_score into each part that names an offer and says no capacity.

    A type with CPU credits carries what it holds without them, as its price has no charge for more.

    `parts` has part and offer by JSON pointer. Spreads of scores and boot times become defaults of
    the document's uncertainty. What is wrong goes to `faults`, what is assumed to `assumptions`.
    """
    stated = document.get("capacity")
    capacity: Mapping[str, Any] = stated if isinstance(stated, Mapping) else {}
    is_scored = METRIC in capacity or UNITS in capacity
    key, units = capacity_of_question(capacity, faults) if is_scored else ("", Fraction(1))
    ids = {offer.pk for _, offer in parts.values()}
    metrics = [name for name in (key, BOOT) if name]
    scores = {
        (pk, s.metric.key): s for pk, s in compute_scores(offer_id__in=ids, metric__in=metrics)
    }
    if key:
        scores |= _scores_under_load(parts, key, scores, workspace_slug)
        _put(parts, key, units, scores, faults)
        _note_scores(parts, key, scores, assumptions)
    if is_scored:
        document["capacity"] = {k: v for k, v in capacity.items() if k not in {METRIC, UNITS}}
    _note_scores(parts, BOOT, scores, assumptions)
    _spread(document, parts, key, scores, assumptions)


def _scores_under_load(parts: Parts, key: str, scores: Scores, workspace_slug: str) -> Scores:
    """The scores of types with CPU credits as they hold them under load."""
    offers = [offer for _, offer in parts.values() if offer.cpu_baseline_ratio is not None]
    ids = [offer.pk for offer in offers if (offer.pk, key) in scores]
    if not ids:
        return {}
    sustained: Scores = {}
    for offer_id, ratio in ratios_under_load(ids, key, workspace_slug=workspace_slug).items():
        score = scores[offer_id, key]
        ends = ("value", "ci95_low", "ci95_high")
        slowed = {name: getattr(score.summary, name) * ratio for name in ends}
        flags = tuple(dict.fromkeys((*score.flags, credit_flag(STANDARD))))
        summary = replace(score.summary, **slowed)
        sustained[offer_id, key] = replace(score, summary=summary, flags=flags)
    return sustained


def capacity_of_question(
    capacity: Mapping[str, Any], faults: dict[str, str]
) -> tuple[str, Fraction]:
    """The metric and the units of one point of it; no metric where it is of no use."""
    key, units = capacity.get(METRIC), exact(capacity.get(UNITS))
    metric = METRICS.get(key) if isinstance(key, str) else None
    if metric is None:
        faults[f"/capacity/{METRIC}"] = f"{str(key)[:40]!r} is not a metric"
    elif not metric.is_higher_better:
        faults[f"/capacity/{METRIC}"] = f"less of {metric.key} is better: it is no capacity"
    if units is None or units <= 0:
        faults[f"/capacity/{UNITS}"] = "a decimal number above 0 is needed"
    if faults or metric is None or units is None:
        return "", Fraction(1)
    return metric.key, units


def _put(parts: Parts, key: str, units: Fraction, scores: Scores, faults: dict[str, str]) -> None:
    for pointer, (part, offer) in parts.items():
        # What a person states of a part wins over what was measured.
        if part.get("capacity") is not None:
            continue
        score = scores.get((offer.pk, key))
        if score is None:
            faults[f"{pointer}/price/offer"] = f"{key} of {offer.slug} is not known"
            continue
        part["capacity"] = carrying_text(score, units)


def carrying_text(score: Score, units: Fraction) -> str:
    """Units of the demand that a server of the score carries, as a document states them."""
    # By its shortest digits, not by its binary value: 0.1 must not become
    # 0.1000000000000000055….
    exactly = Fraction(repr(score.summary.value)) * units
    return text(DIGITS.divide(Decimal(exactly.numerator), Decimal(exactly.denominator)))


def _note_scores(parts: Parts, key: str, scores: Scores, assumptions: list[Assumption]) -> None:
    for offer in {offer.pk: offer for _, offer in parts.values()}.values():
        score = scores.get((offer.pk, key))
        if score is not None:
            assumptions.append(
                {
                    "name": f"{key} of {offer.slug}",
                    "value": repr(score.summary.value),
                    "unit": score.metric.unit,
                    "source": _source(score),
                }
            )


def _source(score: Score) -> str:
    summary = score.summary
    words = [f"{score.source} on {score.measured_at:%Y-%m-%d}"]
    words.append(
        f"95% interval {figures.figure(summary.ci95_low)} to {figures.figure(summary.ci95_high)}"
    )
    if summary.n_instances:
        words.append(f"{summary.n_instances} machines")
    return "; ".join(filter(None, [*words, *score.flags, score.licence]))


def _spread(
    document: dict[str, Any],
    parts: Parts,
    key: str,
    scores: Scores,
    assumptions: list[Assumption],
) -> None:
    """The widest spread of the offers, where the document asks for uncertainty and states none."""
    asked = document.get("uncertainty")
    if not isinstance(asked, Mapping):
        return
    offers = {offer.pk for _, offer in parts.values()}
    for name, metric in (("score_cv", key), ("boot_cv", BOOT)):
        spreads = [_cv(scores[pk, metric]) for pk in offers if (pk, metric) in scores]
        # One spread for the whole document: the widest, so that no option looks surer than it is.
        if spreads and asked.get(name) is None:
            asked = {**asked, name: text(Decimal(max(spreads)).quantize(Decimal("0.000001")))}
            source = f"half the 95 % interval of {metric} over 1.96, the widest of the offers"
            assumption = {"name": name, "value": asked[name], "unit": "ratio", "source": source}
            assumptions.append(assumption)
    document["uncertainty"] = asked


def _cv(score: Score) -> float:
    """Coefficient of variation that the 95 % interval stands for."""
    low, high = score.summary.ci95_low, score.summary.ci95_high
    return min(5.0, (high - low) / (2 * Z_95 * score.summary.value))
