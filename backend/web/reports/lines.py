"""Lines of a frozen report, its chart and the words of its basis, from the stored cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from backend.domain.attributions import Attribution, attributions
from backend.domain.comparison import delta_ratio
from backend.domain.conclusions import Conclusion, Contender, best_value
from backend.rankings.selectors.on_sale import holds_its_score
from backend.rankings.services.reports import TOP
from backend.web.shared import charts, figures, lines
from backend.web.shared.language import _


@dataclass(frozen=True)
class ReportLine:
    """A frozen row as it reads; empty strings are unknown."""

    cells: Mapping[str, Any]
    rank: str
    score: str
    score_interval: str
    price: str
    value: str
    value_interval: str
    price_delta: str
    # Against the baseline of a comparison; empty in a ranking and for the baseline itself.
    value_delta: str
    evidence_url: str | None


def report_lines(document: Mapping[str, Any]) -> list[ReportLine]:
    """The rows of a report in their order."""
    # From the stored cells alone: nothing of today's data may change what was frozen.
    rows: Sequence[Mapping[str, Any]] = document["rows"]
    scale, value_scale = _scale(document), _value_scale(document)
    base = _base(document)
    return [_line(row, scale, value_scale, base) for row in rows]


def _base(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row that a comparison is against; without a cell in a ranking."""
    rows = (row for row in document["rows"] if row["offer_id"] == document["basis"].get("base"))
    return next(rows, {})


def base_label(document: Mapping[str, Any]) -> str:
    """Name of the baseline of a comparison; empty in a ranking."""
    base = _base(document)
    return _label(base) if base else ""


def _scale(document: Mapping[str, Any]) -> figures.UnitScale:
    scores = (row["score"] for row in document["rows"] if row["score"] is not None)
    return figures.scale(document["basis"]["unit"], scores)


def _cost(basis: Mapping[str, Any]) -> str:
    """Unit of a price; a purchase is paid once, whatever the period."""
    is_once = basis["term"] == "purchase"
    return str(basis["currency"]) if is_once else f"{basis['currency']}/{basis['period']}"


def _value_scale(document: Mapping[str, Any]) -> figures.UnitScale:
    basis = document["basis"]
    return figures.value_scale(
        _scale(document),
        basis["better"],
        _cost(basis),
        (row["value_per_cost"] for row in document["rows"]),
    )


def _line(
    row: Mapping[str, Any],
    scale: figures.UnitScale,
    value_scale: figures.UnitScale,
    base: Mapping[str, Any],
) -> ReportLine:
    rank = "" if row["rank"] is None else str(row["rank"])
    if row["rank_low"] != row["rank_high"]:
        rank = f"{rank} ({row['rank_low']}–{row['rank_high']})"
    return ReportLine(
        cells=row,
        rank=rank,
        score=scale.text(row["score"]),
        score_interval=figures.ends(scale, *_interval(row, "score")[1:]),
        price=figures.money(_decimal(row["price"]), row["period"]),
        value=value_scale.text(row["value_per_cost"]),
        value_interval=figures.ends(value_scale, *_interval(row, "value_per_cost")[1:]),
        price_delta=_delta(row, base, "price"),
        value_delta=_delta(row, base, "value_per_cost"),
        evidence_url=lines.own_path(row["result_url"]),
    )


def _delta(row: Mapping[str, Any], base: Mapping[str, Any], column: str) -> str:
    value, of_base = _decimal(row[column]), _decimal(base.get(column))
    if row is base or value is None or of_base is None:
        return ""
    return figures.percent_change(delta_ratio(value, of_base))


def _decimal(cell: str | None) -> Decimal | None:
    return None if cell is None else Decimal(cell)


def _interval(row: Mapping[str, Any], column: str) -> tuple[Any, Any, Any]:
    """A figure with the ends of its interval."""
    return row[column], row[f"{column}_ci95_low"], row[f"{column}_ci95_high"]


def report_units(document: Mapping[str, Any]) -> dict[str, str]:
    """Units of score and value per cost in a report, and what its prices are counted in."""
    return {
        "score": _scale(document).unit,
        "price": _cost(document["basis"]),
        "value": _value_scale(document).unit,
    }


def report_chart(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """The best offers by value per cost as bars with intervals; None where none has a price."""
    scale = _value_scale(document)
    best = sorted(
        (row for row in document["rows"] if row["rank"] is not None), key=lambda row: row["rank"]
    )[: top_count(document)]
    if not best:
        return None
    bars = charts.distinct_labels([_bar(row, scale) for row in best])
    return {
        "title": _("Value per cost"),
        "unit": scale.unit,
        "bars": bars,
        "median": None,
        "summary": _(
            "Bars of the best {shown} of {count} offers by value per cost. First is {best}"
            " with {value} {unit}.",
            shown=len(bars),
            count=document["count"],
            best=bars[0]["label"],
            value=figures.figure(bars[0]["value"]),
            unit=scale.unit,
        ),
    }


def top_count(document: Mapping[str, Any]) -> int:
    """How many rows the report shows first."""
    # Reports of before the choice have none stored.
    return int(document.get("top", TOP))


def report_attributions(document: Mapping[str, Any]) -> list[Attribution]:
    """Whose the frozen figures are; reports of earlier days have no licences."""
    return attributions(row.get("licence") for row in document["rows"])


def report_conclusion(document: Mapping[str, Any]) -> Conclusion:
    """Which of all frozen offers is the best value."""
    return best_value([_contender(row) for row in document["rows"]])


def _contender(row: Mapping[str, Any]) -> Contender:
    ends = [float(bound) for bound in _interval(row, "value_per_cost") if bound is not None]
    # An interval without one of its ends decides nothing.
    is_sustained = holds_its_score(
        row.get("vcpu_kind"), row.get("cpu_baseline_ratio"), row.get("load")
    )
    value = (ends[0], ends[1], ends[2]) if len(ends) == 3 and is_sustained else None
    reason = _("no price") if row["price"] is None else _("no score that it can hold")
    return Contender(_label(row), _decimal(row["price"]), value, "" if value else reason)


def _label(row: Mapping[str, Any]) -> str:
    return f"{row['offer']} · {row['region']}" if row["region"] else row["offer"]


def _bar(row: Mapping[str, Any], scale: figures.UnitScale) -> dict[str, Any]:
    interval = _interval(row, "value_per_cost")
    return charts.bar(row["offer_id"], _label(row), row["provider"], scale, interval)
