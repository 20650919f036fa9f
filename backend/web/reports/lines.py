"""What a frozen report shows: lines, a chart and the words of its basis, from the stored cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from backend.domain.metrics import METRICS
from backend.web.shared import figures, lines, words
from backend.web.shared.charts import distinct_labels

MOST_BARS = 20


@dataclass(frozen=True)
class ReportLine:
    """One frozen row as it reads; empty strings are unknown."""

    cells: Mapping[str, Any]
    rank: str
    score: str
    score_interval: str
    price: str
    value: str
    value_interval: str
    evidence_url: str | None


def report_lines(document: Mapping[str, Any]) -> list[ReportLine]:
    """The rows of a report in their order."""
    rows: Sequence[Mapping[str, Any]] = document["rows"]
    scale = _scale(document)
    return [_line(row, scale) for row in rows]


def _scale(document: Mapping[str, Any]) -> figures.UnitScale:
    scores = (row["score"] for row in document["rows"] if row["score"] is not None)
    return figures.scale(document["basis"]["unit"], scores)


def _line(row: Mapping[str, Any], scale: figures.UnitScale) -> ReportLine:
    rank = "" if row["rank"] is None else str(row["rank"])
    if row["rank_low"] != row["rank_high"]:
        rank = f"{rank} ({row['rank_low']}–{row['rank_high']})"
    return ReportLine(
        cells=row,
        rank=rank,
        score=figures.figure(scale.shown(row["score"])),
        score_interval=_interval(row, "score", scale),
        price=figures.money(_decimal(row["price"]), row["period"]),
        value=figures.figure(_value(row["value_per_cost"], scale, row)),
        value_interval=_interval(row, "value_per_cost", scale),
        evidence_url=lines.own_path(row["result_url"]),
    )


def _decimal(cell: str | None) -> Decimal | None:
    return None if cell is None else Decimal(cell)


def _value(cell: Any, scale: figures.UnitScale, row: Mapping[str, Any]) -> float | None:
    """Value per cost in the unit of the scores shown."""
    if cell is None:
        return None
    is_higher = row["metric"] not in METRICS or METRICS[row["metric"]].is_higher_better
    return float(cell) / scale.factor if is_higher else float(cell) * scale.factor


def _interval(row: Mapping[str, Any], column: str, scale: figures.UnitScale) -> str:
    ends = [row[f"{column}_ci95_{end}"] for end in ("low", "high")]
    if None in ends:
        return ""
    if column == "score":
        low, high = (figures.figure(scale.shown(end)) for end in ends)
    else:
        low, high = (figures.figure(_value(end, scale, row)) for end in ends)
    return f"{low} – {high}"


def report_units(document: Mapping[str, Any]) -> dict[str, str]:
    """Units of score and value per cost in a report, and what its prices are counted in."""
    basis, scale = document["basis"], _scale(document)
    is_once = basis["term"] == "purchase"
    cost = basis["currency"] if is_once else f"{basis['currency']}/{basis['period']}"
    is_higher = basis["better"] == "higher"
    value = f"{scale.unit} per {cost}" if is_higher else f"1 / ({scale.unit} × {cost})"
    return {"score": scale.unit, "price": cost, "value": value}


def report_chart(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The best offers by value per cost as bars with intervals; None where none has a price."""
    scale, unit = _scale(document), report_units(document)["value"]
    best = sorted(
        (row for row in document["rows"] if row["rank"] is not None), key=lambda row: row["rank"]
    )[:MOST_BARS]
    if not best:
        return None
    bars = distinct_labels([_bar(row, scale) for row in best])
    return {
        "title": "Value per cost",
        "unit": unit,
        "bars": bars,
        "median": None,
        "summary": f"Bars of the best {len(bars)} of {document['count']} offers by value per "
        f"cost. First is {bars[0]['label']} with {figures.figure(bars[0]['value'])} {unit}.",
    }


def _bar(row: Mapping[str, Any], scale: figures.UnitScale) -> dict[str, Any]:
    return {
        "offer": row["offer_id"],
        "label": f"{row['offer']} · {row['region']}" if row["region"] else row["offer"],
        "provider": row["provider"],
        "providerName": words.provider(row["provider"]),
        "value": _value(row["value_per_cost"], scale, row),
        "low": _value(row["value_per_cost_ci95_low"], scale, row),
        "high": _value(row["value_per_cost_ci95_high"], scale, row),
    }
