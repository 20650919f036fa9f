"""The sheet of a cost model: its parts, the bill of materials, and every assumption."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from backend.catalog.models import HardwareModel
from backend.web.hardware.plots import band_costs, conclusion
from backend.web.hardware.shown import assumed, shown_cost
from backend.web.reports.sheet import Sheet, SheetColumn, bar, some
from backend.web.scenarios.figures import shown_value
from backend.web.shared import figures


def hardware_sheet(model: HardwareModel) -> Sheet:
    """What one server and the set cost a month."""
    cost = shown_cost(model.cost)
    unit = f"{cost['currency']} a month"
    return Sheet(
        conclusion=conclusion(model.cost),
        chart=_chart(model.cost, unit),
        columns=[
            SheetColumn("Part", 3),
            SheetColumn(f"One server, {unit}", 2, is_number=True),
            SheetColumn(f"The whole set, {unit}", 2, is_number=True),
        ],
        rows=[
            *(
                [name.capitalize(), _money(one), _money(whole)]
                for name, one, whole in cost["parts"]
            ),
            ["In all", _money(cost["price_per_month"]), _money(cost["set_price_per_month"])],
        ],
        facts=list(_facts(model, cost)),
    )


def _money(amount: str) -> str:
    return figures.money(Decimal(amount), "month")


def _chart(cost: Mapping[str, Any], unit: str) -> dict[str, Any]:
    # A band of nothing has no bar; the residual value may even make one negative.
    bands = [(name, amount) for name, amount in band_costs(cost) if amount > 0]
    return {
        "title": "Cost of one server",
        "unit": unit,
        "bars": [bar(name, float(amount)) for name, amount in bands],
        "median": None,
        "summary": f"Bars of what one server costs by its parts in {unit}: "
        + "; ".join(f"{name} {figures.money(amount, 'month')}" for name, amount in bands)
        + ".",
    }


def _facts(model: HardwareModel, cost: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    currency, document = cost["currency"], model.document
    yield (
        "Set",
        f"{document['servers']} servers, {_money(cost['capital_total'])} {currency} in cash at the "
        f"start, {cost['spares']} spare servers on the shelf, "
        f"{_money(cost['set_energy_kwh_per_month'])} kWh a month",
    )
    yield (
        "Bill of materials",
        some(
            [
                f"{item['count']} × {item['name']} at {_money(item['unit_price'])} {currency}"
                for item in document["items"]
            ]
        ),
    )
    stated, defaults = [], []
    for label, value, is_default, one in assumed(model):
        said = f"{label} {shown_value(value)} {one.unit}"
        if is_default:
            defaults.append(f"{said} ({one.source})")
        else:
            stated.append(said)
    for words, parts in (("Stated", stated), ("Assumed", defaults)):
        if parts:
            yield words, "; ".join(parts)
    yield (
        "Cost model",
        f"{model.name}, version {model.version} of {model.created_at:%Y-%m-%d}"
        + (f" by {model.created_by}" if model.created_by else ""),
    )
