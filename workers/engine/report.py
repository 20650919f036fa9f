"""A run's result for the terminal: what was measured, and what it is worth."""

from collections.abc import Collection
from typing import Any
from uuid import UUID

from django.conf import settings

from backend.benchmarks.models import Run
from backend.benchmarks.selectors.runs import RunView, run_results
from backend.catalog.models import PriceObservation
from backend.foundation import figures
from backend.measure.metrics import CPU_METRICS, METRICS
from backend.measure.stats import CACHED, DISTURBED, EMULATED, OTHER_METHOD, UNFIT, UNLIKE_OFFER
from backend.rankings.calc.ranking import break_even_price

GENERAL = "general_performance"
NOT_RANKED = {
    CACHED: "memory may have stood in for the disk",
    EMULATED: "the CPU is emulated",
    UNLIKE_OFFER: "the machine is not what its offer states",
}


def document(view: RunView) -> dict[str, Any]:
    """Results of the run and their worth, as one JSON document."""
    run = view.run
    measured = {sample.metric for sample in view.samples}
    return {
        "run": str(run.pk),
        "state": run.state,
        "failure": None
        if view.failure is None
        else {"reason": view.failure[0], "detail": view.failure[1]},
        "host": run.host.name,
        "offer": run.offer.slug,
        "profile": run.profile,
        "labels": run.labels,
        "url": f"{settings.PUBLIC_URL}/runs/{run.pk}/",
        "runner_s": run.runner_s,
        "overhead_s": run.overhead_s,
        "results": run_results(view.samples),
        "warnings": view.warnings,
        "ranking": _rank_row(run) if measured else None,
        "worth": _worth(run, measured) if measured else None,
    }


def _rank_row(run: Run) -> dict[str, Any] | None:
    """The offer's row of the default ranking and its place by score; None where not listed."""
    from backend.benchmarks.services.current_data import current_stamp
    from backend.rankings.selectors.ranking import query_from, ranking

    # First, so that the ranking below has the repeats of this run.
    current_stamp()
    query, _ = query_from({})
    listed = ranking(query, workspace_slug=run.workspace.slug)
    for row in listed.rows:
        if row.offer_id == run.offer.slug:
            names = (
                "metric",
                "score",
                "score_ci95_low",
                "score_ci95_high",
                "score_n_repeats",
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
            stated = _stored_price(row.price_id) if "fx_rate" in row.missing.split() else None
            return {**{name: getattr(row, name) for name in names}, **counts, "stated": stated}
    return None


def _worth(run: Run, metrics: Collection[str]) -> dict[str, Any] | None:
    """The month's price at which the machine would rank first, by general performance, else by the
    CPU metric that most priced offers have; None where none compares or its repeats were disturbed."""
    from backend.rankings.selectors.on_sale import holds_its_score
    from backend.rankings.selectors.ranking import query_from, ranking

    compared: list[dict[str, Any]] = []
    for key in sorted(CPU_METRICS & set(metrics)):
        asked = {"metric": [key], "period": ["month"], "available": ["TRUE"]}
        rows = ranking(query_from(asked)[0], workspace_slug=run.workspace.slug).rows
        own = next((row for row in rows if row.offer_id == run.offer.slug), None)
        # What holds its speed in bursts alone sets no limit to what a machine under load is worth.
        others = (
            row
            for row in rows
            if row is not own and holds_its_score(row.vcpu_kind, row.cpu_baseline_ratio, row.load)
        )
        values = [row.value_per_cost for row in others if row.rank is not None]
        if own is None or DISTURBED in own.flags.split() or not values:
            continue
        best = max(value for value in values if value is not None)
        scores = (own.score_ci95_low, own.score, own.score_ci95_high)
        low, price, high = (break_even_price(score or 0, best, METRICS[key]) for score in scores)
        compared.append(
            {
                "metric": key,
                "score": own.score,
                "is_other_method": OTHER_METHOD in own.flags.split(),
                "offers": len(values),
                "break_even_price": price,
                "break_even_price_low": low,
                "break_even_price_high": high,
                "currency": own.currency,
                "period": own.period,
            }
        )
    # What stands for general work says more than what most offers happen to have.
    return max(
        compared, key=lambda worth: (worth["metric"] == GENERAL, worth["offers"]), default=None
    )


def _stored_price(price_id: UUID | None) -> dict[str, Any] | None:
    """The stored price as it was stated, where it cannot be converted; None where there is none."""
    price = PriceObservation.objects.filter(pk=price_id).first() if price_id else None
    if price is None:
        return None
    return {"amount": price.amount, "currency": price.currency, "unit": price.unit}


def lines(document: dict[str, Any]) -> list[str]:
    """The document for people."""
    lines = [f"{document['host']} ({document['offer']}), profile {document['profile']}:"]
    lines += [
        f"  {result['metric']:30} {figures.measure(result['median'], result['unit']):>20}"
        f"   ({result['variant']}, {_repeats(result['repeats'])}"
        + (f", {result['disturbed']} disturbed" if result["disturbed"] else "")
        + "".join(
            f", not ranked: {NOT_RANKED[flag]}" for flag in result["unfit"] if flag in NOT_RANKED
        )
        + ")"
        for result in document["results"]
    ]
    if (row := document["ranking"]) is not None:
        lines += rank_lines(row)
    lines += [f"  warning: {warning}" for warning in document["warnings"]]
    if (worth := document["worth"]) is not None:
        lines.append(worth_line(worth))
    else:
        lines += lines_of_disturbance(document["results"])
    lines.append(f"  evidence: {document['url']}")
    return lines


def _repeats(count: int) -> str:
    return "1 repeat" if count == 1 else f"{count} repeats"


def worth_line(worth: dict[str, Any]) -> str:
    if worth["metric"] == GENERAL:
        # Two digits, as many as the tools' other versions leave.
        about = "about " if worth["is_other_method"] else ""
        return (
            f"  general performance {about}{figures.figure(worth['score'], 2 if about else 4)} "
            f"(m5.large = 1); at {_worth_price(worth)} it would rank first of "
            f"{figures.quantity(worth['offers'] + 1)}"
        )
    return (
        f"  below {_worth_price(worth)} it would rank first of {worth['offers'] + 1} priced offers by "
        f"{METRICS[worth['metric']].label}"
    )


def lines_of_disturbance(results: list[dict[str, Any]]) -> list[str]:
    """Why general performance that was measured says nothing, and what to do."""
    return [
        "  general performance is not compared: other work disturbed every repeat. When the machine is "
        "quiet: ./rackrate manage benchmark local --profile general"
        for result in results
        if result["metric"] == GENERAL and result["disturbed"] == result["repeats"]
    ]


def _worth_price(worth: dict[str, Any]) -> str:
    return (
        f"{figures.price(worth['break_even_price'], worth['currency'], worth['period'])} "
        f"({figures.money(worth['break_even_price_low'])} … "
        f"{figures.money(worth['break_even_price_high'])} by the interval of its score)"
    )


def rank_lines(row: dict[str, Any]) -> list[str]:
    """Score, price and place of an offer's row in the ranking."""
    interval = (
        f"95% interval {figures.figure(row['score_ci95_low'])} … "
        f"{figures.figure(row['score_ci95_high'])}, "
        f"{row['interval_basis']}"
    )
    unit = METRICS[row["metric"]].unit
    # Other runs of the offer count as well; a published score does not say how often it was measured.
    count = row["score_n_repeats"]
    pooled = f" from {_repeats(count)} of this offer" if count else ""
    lines = [f"  score: {figures.figure(row['score'])} {unit}{pooled} ({interval})"]
    if (stated := row["stated"]) is not None:
        lines.append(
            f"  price: {figures.quote(stated['amount'], stated['currency'], stated['unit'])}; "
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
        price = figures.price(row["price"], row["currency"], row["period"])
        lines.append(f"  price: {price} ({basis})")
    if row["rank"] is not None:
        lines.append(
            f"  place: {row['rank']} of {row['count']} by value per cost "
            f"(plausibly {row['rank_low']} … {row['rank_high']})"
        )
    elif unfit := UNFIT.intersection(row["flags"].split()):
        reasons = {
            **NOT_RANKED,
            DISTURBED: "other programs were running on this machine during every repeat",
        }
        why = " and ".join(reasons.get(flag, flag) for flag in sorted(unfit))
        lines.append(f"  not ranked: {why}")
    else:
        lines.append(f"  place: {row['place_by_score']} of {row['count']} by score")
    if "unstable" in row["flags"].split():
        lines.append("  the repeats spread more than they should: measure again when it is quiet")
    return lines
