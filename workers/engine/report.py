"""A run's result for the terminal: what was measured, and what it is worth."""

from statistics import median
from typing import Any
from uuid import UUID

from django.conf import settings

from backend.benchmarks.models import Run, Sample
from backend.benchmarks.selectors.runs import RunView
from backend.catalog.models import PriceObservation
from backend.domain.stats import DISTURBED, counted_repeats


def document(view: RunView) -> dict[str, Any]:
    """What was measured and what it is worth, as one JSON document."""
    run = view.run
    series: dict[tuple[str, str, str], list[Sample]] = {}
    for sample in view.samples:
        key = (sample.metric, sample.variant, sample.unit)
        series.setdefault(key, []).append(sample)
    return {
        "run": str(run.pk),
        "state": run.state,
        "failure": None
        if view.failure is None
        else {"reason": view.failure[0], "detail": view.failure[1]},
        "host": run.host.name,
        "offer": run.offer.slug,
        "profile": run.profile,
        "url": f"{settings.PUBLIC_URL}/runs/{run.pk}/",
        "runner_s": run.runner_s,
        "overhead_s": run.overhead_s,
        "results": [
            {"metric": metric, "variant": variant, "unit": unit, **_summary(repeats)}
            for (metric, variant, unit), repeats in sorted(series.items())
            if counted_repeats(repeats)[0]
        ],
        "warnings": view.warnings,
        "ranking": _rank_row(run) if series else None,
    }


def _summary(repeats: list[Sample]) -> dict[str, Any]:
    """Number of repeats, how many were disturbed, and the median of those that count."""
    counted, _ = counted_repeats(repeats)
    return {
        "median": median(sample.value for sample in counted),
        "repeats": len(repeats),
        "disturbed": sum(DISTURBED in sample.flags for sample in repeats),
    }


def _rank_row(run: Run) -> dict[str, Any] | None:
    """The offer's row of the default ranking and its place by score; None where not listed."""
    from backend.rankings.selectors.ranking import query_from, ranking
    from backend.rankings.services.current_data import current_stamp

    current_stamp()
    query, _ = query_from({})
    listed = ranking(query)
    for row in listed.rows:
        if row.offer_id == run.offer.slug:
            names = (
                "metric",
                "score",
                "score_ci95_low",
                "score_ci95_high",
                "interval_basis",
                "price",
                "currency",
                "period",
                "price_basis",
                "price_term",
                "cup",
                "value_per_cost",
                "rank",
                "rank_low",
                "rank_high",
                "flags",
                "missing",
            )
            better = sum((other.score or 0) > (row.score or 0) for other in listed.rows)
            counts = {"count": listed.count, "place_by_score": better + 1}
            stated = _stated(row.price_id) if "fx_rate" in row.missing.split() else None
            return {**{name: getattr(row, name) for name in names}, **counts, "stated": stated}
    return None


def _stated(price_id: UUID | None) -> dict[str, Any] | None:
    """The stored price as it was stated, where it cannot be converted; None where there is none."""
    price = PriceObservation.objects.filter(pk=price_id).first() if price_id else None
    if price is None:
        return None
    return {"amount": price.amount, "currency": price.currency, "unit": price.unit}


def lines(document: dict[str, Any]) -> list[str]:
    """The document for people."""
    lines = [f"{document['host']} ({document['offer']}), profile {document['profile']}:"]
    lines += [
        f"  {result['metric']:30} {result['median']:>18,.2f} {result['unit']}"
        f"   ({result['variant']}, {result['repeats']} repeats"
        + (f", {result['disturbed']} disturbed)" if result["disturbed"] else ")")
        for result in document["results"]
    ]
    if (row := document["ranking"]) is not None:
        lines += rank_lines(row)
    lines += [f"  warning: {warning}" for warning in document["warnings"]]
    lines.append(f"  evidence: {document['url']}")
    return lines


def rank_lines(row: dict[str, Any]) -> list[str]:
    """Score, price and place of an offer's row in the ranking."""
    interval = (
        f"95 % interval {row['score_ci95_low']:,.2f} … {row['score_ci95_high']:,.2f}, "
        f"{row['interval_basis']}"
    )
    lines = [f"  score: {row['score']:,.2f} CMIPS ({interval})"]
    if (stated := row["stated"]) is not None:
        lines.append(
            f"  price: {stated['amount'].normalize():f} {stated['currency']} per {stated['unit']}; "
            f"it has no rank by cost, because no exchange rate from {stated['currency']} to "
            f"{row['currency']} is stored: import the rates of the ECB with manage.py import_fx"
        )
    elif row["price"] is None:
        lines.append(
            "  price: none known, so it has no rank by cost; state one with "
            "--price 49 EUR month (amount, currency, hour|month|year)"
        )
    else:
        basis = f"{row['price_basis']}, {row['price_term']}"
        lines.append(f"  price: {row['price']:.6f} {row['currency']} per {row['period']} ({basis})")
    if row["rank"] is not None:
        lines.append(
            f"  place: {row['rank']} of {row['count']} by value per cost "
            f"(plausibly {row['rank_low']} … {row['rank_high']})"
        )
    elif "disturbed" in row["flags"].split():
        lines.append("  place: none, every repeat was disturbed by other work on this machine")
    else:
        lines.append(f"  place: {row['place_by_score']} of {row['count']} by score")
    if "unstable" in row["flags"].split():
        lines.append("  the repeats spread more than they should: measure again when it is quiet")
    return lines
