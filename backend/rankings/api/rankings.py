"""Rankings, offers, single values, and the dictionaries of metrics and columns."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from django.http import Http404
from django.utils.functional import cached_property
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import reader
from backend.accounts.services.acting import workspace_slug
from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.api.lists import DataListView
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.cpu_credits import CREDIT_FIELDS
from backend.catalog.selectors.data_version import DataStamp
from backend.catalog.selectors.discounts import discounts_of
from backend.catalog.selectors.read_prices import as_quoted
from backend.catalog.selectors.waiting_prices import prices_to_come
from backend.core.rest.documents import Problem
from backend.core.rest.openapi import object_schema, query_parameters, row_schema
from backend.core.rest.parameters import InvalidParameters, nearest, printable
from backend.core.rest.renderers import TextRenderer
from backend.core.rest.table import Column, ColumnType, json_cell, json_rows, text_cell
from backend.core.rest.views import LIST_READERS, ListAnswer, View
from backend.measure.metrics import METRICS, Metric
from backend.rankings.selectors.columns import COLUMN, COLUMNS
from backend.rankings.selectors.listing import Listing, value_counts
from backend.rankings.selectors.offer_detail import OfferDetail, offer_detail
from backend.rankings.selectors.parameters import parameter_descriptions
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import Ranking, query_from, ranking
from backend.rankings.selectors.rows import RankingRow
from backend.rankings.selectors.scores import Score
from backend.rankings.selectors.unknown_values import warnings_of_unknown
from backend.rankings.selectors.views import OpenedView, open_view

EXPORT_PARAMETERS = frozenset(LIST_READERS)
LONGEST_VALUE = 64
PARAMETERS = {**parameter_descriptions(), "view": "Slug of a saved view; the others win over it"}
VALUE_PARAMETERS = {
    "offer": "Slug of the offer",
    "column": "Name of a numeric column (default score)",
    "errors": "text: what is missing as #N/A with words and status 200, for cells of spreadsheets",
}
_PRICE_COLUMNS = (
    Column("price_id", ColumnType.TEXT, "Identifier of the observation"),
    Column("purchase_model", ColumnType.TEXT, "How it is bought"),
    Column("term", ColumnType.TEXT, "Length of a commitment"),
    Column("amount", ColumnType.DECIMAL, "Amount as quoted", "currency/unit"),
    Column("currency", ColumnType.TEXT, "Three-letter code"),
    Column("unit", ColumnType.TEXT, "hour, month, year or once"),
    Column("price_basis", ColumnType.TEXT, "What the price holds"),
    Column("tax_basis", ColumnType.TEXT, "net, gross or unknown"),
    Column("valid_from", ColumnType.DATE, "First day on which it counts"),
    Column("valid_until", ColumnType.DATE, "Last day on which it counts"),
    Column("applies_to", ColumnType.TEXT, "all machines, or new ones ordered while it holds"),
    Column("observed_at", ColumnType.TIME, "When it was read"),
    Column("source", ColumnType.TEXT, "Where it was read"),
)
_CREDIT_COLUMNS = (
    Column("cpu_baseline_ratio", ColumnType.DECIMAL, "Share of each vCPU that it sustains"),
    Column(
        "cpu_credit_price_usd_per_vcpu_hour",
        ColumnType.DECIMAL,
        "Charge for running on without CPU credits; null where that is not sold",
        "USD/vCPU/h",
    ),
    Column("cpu_credit_default", ColumnType.TEXT, "standard or unlimited; null without credits"),
)
_SUMMARY_COLUMNS = (
    Column("metric", ColumnType.TEXT, "Key of the metric"),
    Column("unit", ColumnType.TEXT, "Its unit"),
    Column("variant", ColumnType.TEXT, "The variant that ranks"),
    Column("value", ColumnType.NUMBER, "Median"),
    Column("ci95_low", ColumnType.NUMBER, "Lower end of its 95% interval"),
    Column("ci95_high", ColumnType.NUMBER, "Upper end of its 95% interval"),
    Column("n_instances", ColumnType.INTEGER, "Different machines behind it"),
    Column("n_repeats", ColumnType.INTEGER, "Single results behind it"),
    Column("interval_basis", ColumnType.TEXT, "How the interval was made"),
    Column("source", ColumnType.TEXT, "measured, published or imported"),
    Column("measured_at", ColumnType.TIME, "Time of the newest result used"),
    Column("result_url", ColumnType.TEXT, "Where the raw output or the publication is"),
)


def _query(
    request: Request, also_known: frozenset[str] = EXPORT_PARAMETERS
) -> tuple[RankingQuery, list[str]]:
    params = open_request_view(request).params
    return query_from(params, also_known=also_known, discounts=discounts_of(request))


def open_request_view(request: Request) -> OpenedView:
    """The parameters of the request with those of the view that it names."""
    return open_view(
        dict(request.query_params.lists()),
        workspace_slug=workspace_slug(request),
        reader=reader(request),
    )


class RankingsView(DataListView):
    """Offers that have a score for the metric, by value per cost."""

    name = "rankings"
    columns: ClassVar[tuple[Column, ...]] = COLUMNS
    described_by = "api:columns"

    def parameter_descriptions(self) -> dict[str, str]:
        return PARAMETERS

    @cached_property
    def stamp(self) -> DataStamp:
        return current_stamp()

    @cached_property
    def view_in_force(self) -> OpenedView:
        """The question of the request, with its view if there is one."""
        return open_request_view(self.request)

    @property
    def workspace(self) -> str:
        """Slug of the workspace whose offers are ranked."""
        return workspace_slug(self.request)

    def state(self, request: Request) -> str | None:
        state, view = super().state(request), self.view_in_force.view
        return f"{state} {view.pk} {view.updated_at}" if state and view else state

    def changed_at(self, request: Request) -> dt.datetime | None:
        changed_at, view = super().changed_at(request), self.view_in_force.view
        return max(changed_at, view.updated_at) if changed_at and view else changed_at

    def listing(self, request: Request) -> ListAnswer:
        query, warnings = query_from(
            self.view_in_force.params,
            also_known=EXPORT_PARAMETERS,
            discounts=discounts_of(self.request),
        )
        listed = ranking(query, workspace_slug=self.workspace, stamp=self.stamp)
        rows = self.rows(listed)
        if not rows:
            warnings = [*warnings, *warnings_of_unknown(query, self.workspace, self.stamp)]
        return ListAnswer(
            columns=tuple(COLUMN[name] for name in query.cols),
            rows=rows,
            count=len(rows),
            page=query.page,
            per_page=query.per_page,
            members={"data_version": listed.data_version, "basis": listed.basis},
            warnings=warnings,
            licences=_licences(rows),
            texts=rows.texts if isinstance(rows, Listing) else None,
        )

    def rows(self, listed: Ranking) -> Any:
        """The rows of the list."""
        return listed.rows


def _licences(rows: Sequence[RankingRow]) -> Iterator[str | None]:
    # One by one: only a workbook asks for them.
    yield from value_counts(rows, "licence")


class OffersView(RankingsView):
    """Every offer, ranked ones first; a cell is empty where there is no score."""

    name = "offers"

    def rows(self, listed: Ranking) -> Any:
        return listed.everyone


def _offer_schema() -> dict[str, Any]:
    """A row, empty where the query leaves the offer out, with what is known beside it."""
    words = {"type": "array", "items": {"type": "string"}}
    summary = row_schema(_SUMMARY_COLUMNS)
    prices = {"type": "array", "items": row_schema(_PRICE_COLUMNS)}
    counts = {"type": "object", "additionalProperties": {"type": "integer"}}
    return object_schema(
        row_schema(COLUMNS)["properties"]
        | {
            "cpu_model": {"type": "string", "nullable": True},
            "is_vcpu_derived": {"type": "boolean"},
            **row_schema(_CREDIT_COLUMNS)["properties"],
            "note": {"type": "string", "nullable": True},
            "stated_on": {"type": "string", "format": "date", "nullable": True},
            "prices": prices,
            "announced_prices": prices,
            "waiting_prices": prices,
            "summaries": {
                "type": "array",
                "items": object_schema(
                    summary["properties"] | {"cpu_models": counts, "flags": words}
                ),
            },
            "warnings": words,
        }
    )


OFFER_SCHEMA = _offer_schema()


class OfferView(View):
    """An offer: its place among all, its prices, and every metric known of it."""

    @extend_schema(
        operation_id="offers_get",
        parameters=query_parameters(PARAMETERS),
        responses={200: OFFER_SCHEMA},
    )
    def get(self, request: Request, slug: str, **_: Any) -> Response:
        stamp = current_stamp()
        query, warnings = _query(request)
        return Response(
            _offer_document(_detail(request, slug, query, stamp)) | {"warnings": warnings}
        )


def _detail(request: Request, slug: str, query: RankingQuery, stamp: DataStamp) -> OfferDetail:
    try:
        return offer_detail(slug, query, workspace_slug=workspace_slug(request), stamp=stamp)
    except Offer.DoesNotExist:
        raise Http404(f"there is no offer {printable(slug)!r}") from None


def _offer_document(detail: OfferDetail) -> dict[str, Any]:
    row = detail.row
    to_come = prices_to_come(detail.offer)
    return {
        **(json_rows(COLUMNS, [vars(row)])[0] if row else {}),
        "cpu_model": detail.offer.cpu_model or None,
        "is_vcpu_derived": detail.offer.is_vcpu_derived,
        **_credit_document(detail.offer),
        "note": detail.offer.note or None,
        "stated_on": json_cell(detail.offer.stated_on),
        "prices": [_price_document(price) for price in detail.prices],
        "announced_prices": [_price_document(price) for price in to_come.announced],
        "waiting_prices": [_price_document(price) for price in to_come.waiting],
        "summaries": [_summary_document(score) for score in detail.summaries],
    }


def _credit_document(offer: Offer) -> dict[str, Any]:
    ratio, price = offer.cpu_baseline_ratio, offer.cpu_credit_price_usd_per_vcpu_hour
    values = (ratio and as_quoted(ratio), price and as_quoted(price), offer.cpu_credit_default)
    return {
        name: json_cell(value or None) for name, value in zip(CREDIT_FIELDS, values, strict=True)
    }


def _price_document(price: PriceObservation) -> dict[str, Any]:
    cells = {
        "price_id": price.pk,
        "purchase_model": price.purchase_model,
        "term": price.term or None,
        "amount": as_quoted(price.amount),
        "currency": price.currency,
        "unit": price.unit,
        "price_basis": price.basis,
        "tax_basis": price.tax_basis or None,
        "valid_from": price.valid_from,
        "valid_until": price.valid_until,
        "applies_to": price.applies_to,
        "observed_at": price.observed_at,
        "source": price.source,
    }
    return {name: json_cell(value) for name, value in cells.items()}


def _summary_document(score: Score) -> dict[str, Any]:
    summary = score.summary
    return {
        "metric": score.metric.key,
        "unit": score.metric.unit,
        "variant": score.variant_on_target,
        "value": summary.value,
        "ci95_low": summary.ci95_low,
        "ci95_high": summary.ci95_high,
        "n_instances": summary.n_instances,
        "n_repeats": summary.n_repeats,
        "interval_basis": str(summary.interval_basis),
        "cpu_models": dict(score.cpu_models),
        "flags": list(score.flags),
        "source": score.source,
        "measured_at": json_cell(score.measured_at),
        "result_url": score.result_url,
    }


class ValueView(View):
    """A number of one offer's row as text, for a spreadsheet cell."""

    renderer_classes = (TextRenderer,)

    @extend_schema(
        parameters=query_parameters({**PARAMETERS, **VALUE_PARAMETERS}, required=("offer",)),
        responses={(200, "text/plain"): OpenApiTypes.STR, 404: Problem},
    )
    def get(self, request: Request, **_: Any) -> Response:
        """A number of one offer; `column` (default score) under the parameters of a ranking."""
        is_for_a_cell = request.query_params.get("errors") == "text"
        try:
            return Response(_short(_value_of(request)))
        except (InvalidParameters, Http404) as error:
            if not is_for_a_cell:
                raise
            # A spreadsheet shows #VALUE! for every status but 200, and nothing to look at.
            return Response(f"#N/A: {error}")


def _value_of(request: Request) -> Any:
    """The number; raises InvalidParameters, or Http404 with what is missing."""
    own = frozenset(VALUE_PARAMETERS)
    stamp = current_stamp()
    query, _warnings = _query(request, own)
    slug = request.query_params.get("offer", "")
    column = request.query_params.get("column", "") or "score"
    errors = []
    if not slug:
        errors.append(("offer", "the slug of an offer is needed"))
    if column not in COLUMN or not COLUMN[column].kind.is_numeric:
        detail = f"{column[:60]!r} is not a numeric column{nearest(column, COLUMN)}"
        errors.append(("column", detail))
    if errors:
        raise InvalidParameters(errors)
    listed = ranking(query, workspace_slug=workspace_slug(request), stamp=stamp)
    row = listed.row(slug)
    if row is None:
        everyone = ranking(
            replace(query, filters=(), q=""), workspace_slug=workspace_slug(request), stamp=stamp
        )
        slugs = value_counts(everyone.everyone, "offer_id")
        if slug in slugs:
            raise Http404(f"the offer {slug} does not meet the filters")
        raise Http404(f"there is no offer {printable(slug)!r}{nearest(slug, slugs)}")
    value = getattr(row, column)
    if value is None:
        missing = f" (missing: {row.missing})" if row.missing else ""
        raise Http404(f"the offer {slug} has no {column} for {query.ranking_metric.key}{missing}")
    return value


def _short(value: Any) -> str:
    """The digits that CSV prints, in at most LONGEST_VALUE bytes."""
    digits = text_cell(value)
    return digits if len(digits) <= LONGEST_VALUE else format(value, "E")


class MetricsView(DataListView):
    """Metrics: meaning, method and limits."""

    name = "metrics"
    orders = {"metric": "metric"}
    columns = (
        Column("metric", ColumnType.TEXT, "Key, which never changes"),
        Column("label", ColumnType.TEXT, "Name for people"),
        Column("unit", ColumnType.TEXT, "Unit of the score"),
        Column("better", ColumnType.TEXT, "higher or lower"),
        Column("variant", ColumnType.TEXT, "The variant that ranks; empty: the metric never ranks"),
        Column("definition", ColumnType.TEXT, "What is measured"),
        Column("method", ColumnType.TEXT, "How"),
        Column("limits", ColumnType.TEXT, "What it cannot say"),
    )

    def listing(self, request: Request) -> ListAnswer:
        _, shown = self.asked(request)
        rows = list(METRICS.values())
        return ListAnswer(self.columns, rows, len(rows), cells=_metric, **shown)


def _metric(row: Metric) -> Mapping[str, Any]:
    return {**vars(row), "metric": row.key, "variant": row.canonical_variant}


class ColumnsView(DataListView):
    """The columns of offers and rankings, in their order.

    In JSON a column of kind decimal is a string that keeps every digit, other numbers are
    numbers, and null is what is empty in CSV.
    """

    name = "columns"
    orders = {"column": "column"}
    columns = (
        Column("column", ColumnType.TEXT, "Name, which never changes"),
        Column(
            "kind", ColumnType.TEXT, "text, words, integer, number, decimal, boolean, date, time"
        ),
        Column("unit", ColumnType.TEXT, "Unit"),
        Column("description", ColumnType.TEXT, "Meaning"),
    )

    def listing(self, request: Request) -> ListAnswer:
        _, shown = self.asked(request)
        return ListAnswer(self.columns, COLUMNS, len(COLUMNS), cells=_column, **shown)


def _column(row: Column) -> Mapping[str, Any]:
    return {
        "column": row.name,
        "kind": str(row.kind),
        "unit": row.unit or None,
        "description": row.description,
    }
