"""The sheet of a cost model: its parts, the bill of materials, and every assumption."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from backend.catalog.models import HardwareModel
from backend.catalog.pages.hardware.plots import band_costs, conclusion
from backend.catalog.pages.hardware.shown import assumption_rows, cost_rows
from backend.reports.pages.sheet import Sheet, SheetColumn, bar, bar_chart, some
from backend.scenarios.pages.figures import value_text
from backend.site import figures
from backend.site.language import _


def hardware_sheet(model: HardwareModel) -> Sheet:
    """Monthly cost of one server and of the set."""
    cost = cost_rows(model.cost)
    unit = _("{cost} per month", cost=cost["currency"])
    return Sheet(
        conclusion=conclusion(model.cost),
        chart=_chart(model.cost, unit),
        columns=[
            SheetColumn(_("Part"), 3),
            SheetColumn(_("One server, {unit}", unit=unit), 2, is_number=True),
            SheetColumn(_("The whole set, {unit}", unit=unit), 2, is_number=True),
        ],
        rows=[
            *(
                [name.capitalize(), _money(per_server), _money(whole)]
                for name, per_server, whole in cost["parts"]
            ),
            [_("Total"), _money(cost["price_per_month"]), _money(cost["set_price_per_month"])],
        ],
        facts=list(_facts(model, cost)),
    )


def _money(amount: str) -> str:
    return figures.money(Decimal(amount), "month")


def _chart(cost: Mapping[str, Any], unit: str) -> dict[str, Any]:
    # A band of nothing has no bar; the residual value may even make one negative.
    bands = [(name, amount) for name, amount in band_costs(cost) if amount > 0]
    said = "; ".join(f"{name} {figures.money(amount, 'month')}" for name, amount in bands)
    summary = _("Bars of what one server costs by its parts in {unit}: ", unit=unit) + f"{said}."
    bars = [bar(name, float(amount)) for name, amount in bands]
    return bar_chart(_("Cost of one server"), unit, bars, summary)


def _facts(model: HardwareModel, cost: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    currency, document = cost["currency"], model.document
    yield (
        _("Set"),
        _(
            "{servers} servers, {capital} {currency} upfront, {spares} spare servers, "
            "{energy} kWh per month",
            servers=document["servers"],
            capital=_money(cost["capital_total"]),
            currency=currency,
            spares=cost["spares"],
            energy=_money(cost["set_energy_kwh_per_month"]),
        ),
    )
    yield (
        _("Bill of materials"),
        some(
            [
                _(
                    "{count} × {name} at {price} {currency}",
                    count=item["count"],
                    name=item["name"],
                    price=_money(item["unit_price"]),
                    currency=currency,
                )
                for item in document["items"]
            ]
        ),
    )
    stated, defaults = [], []
    for value, is_default, assumption in assumption_rows(model):
        said = f"{assumption.label} {value_text(value)} {assumption.unit}"
        if is_default:
            defaults.append(f"{said} ({assumption.source})")
        else:
            stated.append(said)
    for words, parts in ((_("Stated"), stated), (_("Assumed"), defaults)):
        if parts:
            yield words, "; ".join(parts)
    yield (
        _("Cost model"),
        _(
            "{name}, version {version} of {day}",
            name=model.name,
            version=model.version,
            day=f"{model.created_at:%Y-%m-%d}",
        )
        + (_(" by {person}", person=model.created_by) if model.created_by else ""),
    )
