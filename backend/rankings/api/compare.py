"""A few offers side by side, as a list: one row for each offer and item."""

from collections.abc import Iterator, Mapping
from typing import Any

from rest_framework.request import Request

from backend.catalog.selectors.discounts import discounts_of
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import LIST_READERS, ListAnswer
from backend.rankings.api.rankings import RankingsView
from backend.rankings.selectors.compare import Comparison, comparison, slugs_to_compare
from backend.rankings.selectors.ranking import query_from

OWN = frozenset({"o", "differences", *LIST_READERS})
COLUMNS = (
    Column("offer_id", ColumnType.TEXT, "Slug of the offer"),
    Column("provider", ColumnType.TEXT, "Slug of the provider"),
    Column("offer", ColumnType.TEXT, "The provider's own name of the type"),
    Column("region", ColumnType.TEXT, "The provider's name of the place"),
    Column("item", ColumnType.TEXT, "Key of what is compared: a column, or a metric"),
    Column("label", ColumnType.TEXT, "Its name for people"),
    Column("group", ColumnType.TEXT, "facts, cost or metrics"),
    Column("unit", ColumnType.TEXT, "Unit of value"),
    Column("better", ColumnType.TEXT, "higher or lower; empty where neither is better"),
    Column("text", ColumnType.TEXT, "What the offer has of it, where that is no number"),
    Column("value", ColumnType.DECIMAL, "What the offer has of it, where that is a number"),
    Column("ci95_low", ColumnType.DECIMAL, "Lower end of its 95% interval"),
    Column("ci95_high", ColumnType.DECIMAL, "Upper end of its 95% interval"),
    Column("base", ColumnType.TEXT, "Slug of the offer that it is compared with"),
    Column("delta_ratio", ColumnType.DECIMAL, "value / value of base − 1"),
    Column(
        "distinguishable",
        ColumnType.BOOLEAN,
        "Whether it differs from the base by more than chance explains, among the offers compared",
    ),
    Column("n_instances", ColumnType.INTEGER, "Different machines behind a score"),
    Column("n_repeats", ColumnType.INTEGER, "Single results behind a score"),
    Column("source", ColumnType.TEXT, "measured, published or imported"),
    Column("measured_at", ColumnType.TIME, "Time of the newest result used"),
    Column("result_url", ColumnType.TEXT, "Where the raw output or the publication is"),
    Column("flags", ColumnType.WORDS, "As in rankings"),
    Column("data_version", ColumnType.INTEGER, "State of the data that this row shows"),
)


class CompareView(RankingsView):
    """Up to six offers (`o`) against one of them (`base`), under the basis of a ranking.

    Filters of a ranking change nothing here: the offers are placed among all.
    """

    name = "compare"
    columns = COLUMNS
    described_by = "api:schema"
    required_parameters = frozenset({"o"})

    def parameter_descriptions(self) -> dict[str, str]:
        return {
            **super().parameter_descriptions(),
            "o": "Slugs of the offers, comma-separated, in their order",
            "base": "Slug of the offer that the others are compared with (default the first)",
            "differences": "1: only items in which the offers differ beyond their intervals",
        }

    def listing(self, request: Request) -> ListAnswer:
        params = self.view_in_force.params
        query, warnings = query_from(params, also_known=OWN, discounts=discounts_of(self.request))
        compared = comparison(
            slugs_to_compare(params.get("o", [])),
            query,
            base=params.get("base", [""])[-1].strip(),
            workspace_slug=self.workspace,
        )
        is_whole = params.get("differences", ["0"])[-1] != "1"
        rows = list(_rows(compared, is_whole=is_whole))
        return ListAnswer(
            columns=self.columns,
            rows=rows,
            count=len(rows),
            cells=dict,
            page=query.page,
            per_page=query.per_page,
            members={"data_version": compared.data_version, "basis": compared.basis},
            warnings=warnings,
            licences=compared.licences,
        )


def _rows(compared: Comparison, *, is_whole: bool) -> Iterator[Mapping[str, Any]]:
    for item in compared.items:
        if not (is_whole or item.is_difference):
            continue
        for row, cell in zip(compared.rows, item.cells, strict=True):
            yield {
                "offer_id": row.offer_id,
                "provider": row.provider,
                "offer": row.offer,
                "region": row.region,
                "item": item.key,
                "label": item.label,
                "group": item.group,
                "unit": item.unit or None,
                "better": item.better or None,
                "text": cell.text,
                "value": cell.value,
                "ci95_low": cell.ci95_low,
                "ci95_high": cell.ci95_high,
                "base": compared.base,
                "delta_ratio": cell.delta_ratio,
                "distinguishable": cell.is_distinguishable,
                "n_instances": cell.n_instances,
                "n_repeats": cell.n_repeats,
                "source": cell.source,
                "measured_at": cell.measured_at,
                "result_url": cell.result_url,
                "flags": " ".join(cell.flags),
                "data_version": compared.data_version,
            }
