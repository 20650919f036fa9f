"""Requirements: the cheapest fleets for a document, and the same as a list for a spreadsheet."""

from collections.abc import Mapping
from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.services.acting import workspace_slug
from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.models import OfferKind
from backend.core.rest.documents import Problem
from backend.core.rest.parameters import InvalidParameters
from backend.core.rest.parsers import ExactJSONParser
from backend.core.rest.permissions import READ
from backend.core.rest.table import Column, ColumnType, plain
from backend.core.rest.views import LIST_READERS, ListAnswer, View
from backend.foundation.errors import InvalidDocument
from backend.rankings.api.rankings import RankingsView
from backend.rankings.calc.fleet_search import InfeasibleOffer
from backend.rankings.calc.requirement_document import LIMIT, MOST_LIMIT, RequirementDocument
from backend.rankings.selectors.coverage import licences_of
from backend.rankings.selectors.requirement_document import document_from
from backend.rankings.selectors.requirements import (
    FleetLine,
    RequirementAnswer,
    requirement_answered,
)
from backend.rankings.selectors.rows import simple_number

PAGING = ("page", "per_page")


# --- the documents ----------------------------------------------------------------------------


class FleetServers(serializers.Serializer[Any]):
    """Servers of one type in a fleet."""

    offer = serializers.CharField(help_text="slug")
    count = serializers.IntegerField()


class FleetDetail(serializers.Serializer[Any]):
    """A fleet; amounts are decimal strings."""

    rank = serializers.IntegerField(help_text="fleets of one cost share it")
    servers = FleetServers(many=True)
    cost_per_hour = serializers.CharField()
    cost_per_month = serializers.CharField()
    traffic_cost_per_month = serializers.CharField(help_text="part of cost_per_month")
    disk_cost_per_month = serializers.CharField(help_text="part of cost_per_month")
    score = serializers.FloatField(allow_null=True, help_text="of the first target")
    ram_gib = serializers.FloatField(allow_null=True)
    disk_gb = serializers.FloatField(allow_null=True)
    given = serializers.DictField(
        child=serializers.FloatField(), help_text="what it gives, by demand"
    )
    headroom = serializers.DictField(
        child=serializers.FloatField(), help_text="given over asked for; 1 is just enough"
    )
    holds_at_interval_ends = serializers.BooleanField(
        allow_null=True,
        help_text="whether all is met at the worse ends of the 95% intervals; null: one is "
        "not known",
    )
    count_at_interval_ends = serializers.IntegerField(
        allow_null=True, help_text="servers of the one type that this would take"
    )


class FailureDetail(serializers.Serializer[Any]):
    """An offer that cannot do it alone, and why."""

    offer = serializers.CharField(help_text="slug")
    reason = serializers.CharField()
    fault = serializers.CharField(help_text="refused, unknown, bound, nothing, traffic or servers")
    demand = serializers.CharField(allow_null=True, help_text="what it fails")


class RequirementSolution(serializers.Serializer[Any]):
    """Fleets by cost. `cost_floor_per_month` is null where the first fleet is proven to be the
    cheapest of all; else no fleet costs less than it."""

    fleets = FleetDetail(many=True)
    fleet_count = serializers.IntegerField(help_text="all that there are")
    infeasible = FailureDetail(many=True, help_text="the first of them, up to infeasible_limit")
    infeasible_count = serializers.IntegerField(help_text="all that there are")
    cost_floor_per_month = serializers.CharField(allow_null=True)
    basis = serializers.DictField(help_text="what the prices rest on")
    warnings = serializers.ListField(child=serializers.CharField())
    data_version = serializers.IntegerField()


DOCUMENTS: Mapping[str, type[serializers.Serializer[Any]]] = {
    "requirement-solution": RequirementSolution,
}


class RequirementSolveView(View):
    """From a requirement to fleets, without storing anything."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": READ}
    most_bytes = 100_000
    parser_classes = (ExactJSONParser,)

    @extend_schema(
        operation_id="requirements_solve",
        request=RequirementDocument,
        responses={200: RequirementSolution, 413: Problem, 422: Problem, 503: Problem},
    )
    def post(self, request: Request, **_: Any) -> Response:
        """The cheapest fleets in whole servers, and why other offers fail."""
        asked = RequirementDocument.read(request.data)
        slug = workspace_slug(request)
        answer = requirement_answered(asked, workspace_slug=slug, stamp=current_stamp())
        return Response(solution_document(answer))


def solution_document(answer: RequirementAnswer) -> dict[str, Any]:
    """The answer as it goes over the wire."""
    return {
        "fleets": [_fleet(line) for line in answer.fleets],
        "fleet_count": answer.fleet_count,
        "infeasible": [
            _failure(failure) for failure in answer.failures[: answer.asked.infeasible_limit]
        ],
        "infeasible_count": len(answer.failures),
        "cost_floor_per_month": None if answer.floor is None else plain(answer.floor),
        "basis": answer.basis,
        "warnings": list(answer.warnings),
        "data_version": answer.data_version,
    }


def _fleet(line: FleetLine) -> dict[str, Any]:
    fleet = line.fleet
    sizes = {"score": line.score, "ram_gib": line.ram_gib, "disk_gb": line.disk_gb}
    return {
        "rank": line.rank,
        "servers": [{"offer": row.offer_id, "count": count} for row, count in line.servers],
        "cost_per_hour": plain(line.cost_per_hour),
        "cost_per_month": plain(line.cost_per_month),
        "traffic_cost_per_month": plain(fleet.traffic_cost),
        "disk_cost_per_month": plain(fleet.fill_cost),
        **{name: None if size is None else simple_number(size) for name, size in sizes.items()},
        "given": {name: simple_number(value) for name, value in fleet.given.items()},
        "headroom": {name: float(ratio) for name, ratio in line.headroom.items()},
        "holds_at_interval_ends": fleet.holds_at_worst,
        "count_at_interval_ends": fleet.count_at_worst,
    }


def _failure(failure: InfeasibleOffer) -> dict[str, Any]:
    return {
        "offer": failure.offer_id,
        "reason": failure.reason,
        "fault": str(failure.fault),
        "demand": failure.demand or None,
    }


# --- the list ---------------------------------------------------------------------------------

COLUMNS = (
    Column("rank", ColumnType.INTEGER, "Place by cost; fleets of one cost share it"),
    Column("fleet", ColumnType.TEXT, "Counts and slugs of the servers"),
    Column("servers", ColumnType.INTEGER, "How many servers it has"),
    Column("cost_per_hour", ColumnType.DECIMAL, "Cost of a month over its hours", "currency/h"),
    Column("cost_per_month", ColumnType.DECIMAL, "Servers and traffic", "currency/month"),
    Column("traffic_cost_per_month", ColumnType.DECIMAL, "Of it for traffic", "currency/month"),
    Column("currency", ColumnType.TEXT, "Currency of the costs"),
    Column("hours_per_month", ColumnType.NUMBER, "Hours that stand for a month", "h"),
    Column("metric", ColumnType.TEXT, "Key of the first target"),
    Column("score", ColumnType.NUMBER, "What the fleet gives of it", "unit of the metric"),
    Column("ram_gib", ColumnType.NUMBER, "Memory of the fleet", "GiB"),
    Column("disk_gb", ColumnType.NUMBER, "Disk of the fleet", "GB"),
    Column(
        "least_headroom", ColumnType.NUMBER, "Given over asked for of the scarcest demand", "ratio"
    ),
    Column(
        "holds_at_interval_ends",
        ColumnType.BOOLEAN,
        "All is met at the worse ends of the intervals",
    ),
    Column(
        "count_at_interval_ends", ColumnType.INTEGER, "Servers of the one type that this would take"
    ),
    Column("data_version", ColumnType.INTEGER, "State of the data that this row shows"),
)


class RequirementsView(RankingsView):
    """The cheapest fleets of whole servers for what the parameters ask for, filters included."""

    name = "requirements"
    columns = COLUMNS
    described_by = "api:schema"

    def parameter_descriptions(self) -> dict[str, str]:
        return {
            **super().parameter_descriptions(),
            "target": "metric:amount, comma-separated; one of these or of the sizes is needed",
            "vcpu": "vCPUs of the fleet",
            "ram_gib": "Memory of the fleet in GiB",
            "disk_gb": "Disk of the fleet in GB; the part that servers lack is bought",
            "burstable": "1: types that cannot hold their speed under load, too",
            "egress_gb_per_month": "Traffic of the fleet to the internet in GB",
            "max_servers": "The most servers",
            "kinds": f"Of {', '.join(OfferKind.values)}, comma-separated",
            "mixed": "1: fleets of several types as well",
            "limit": f"Fleets to list, 1 to {MOST_LIMIT} (default {LIMIT})",
        }

    def listing(self, request: Request) -> ListAnswer:
        params = {
            k: v for k, v in self.view_in_force.params.items() if k not in {*PAGING, *LIST_READERS}
        }
        try:
            asked = RequirementDocument.read(document_from(params))
            answer = requirement_answered(asked, workspace_slug=self.workspace, stamp=self.stamp)
        except InvalidDocument as error:
            raise InvalidParameters([(_parameter(f), text) for f, text in error.errors]) from None
        _, paging = self.asked(request)
        members = {"data_version": answer.data_version, "basis": answer.basis}
        rows = [_cells(line, answer) for line in answer.fleets]
        return ListAnswer(
            self.columns,
            rows,
            len(rows),
            cells=dict,
            members=members,
            warnings=answer.warnings,
            licences=licences_of(asked.targets),
            **{name: paging[name] for name in PAGING if name in paging},
        )


def _parameter(pointer: str) -> str:
    """The parameter that a field of the document came from."""
    name = pointer.removeprefix("/filters").split("/")[1]
    return "target" if name == "targets" else name


def _cells(line: FleetLine, answer: RequirementAnswer) -> dict[str, Any]:
    sizes = {"score": line.score, "ram_gib": line.ram_gib, "disk_gb": line.disk_gb}
    return {
        "rank": line.rank,
        "fleet": ", ".join(f"{count} x {row.offer_id}" for row, count in line.servers),
        "servers": line.fleet.count,
        "cost_per_hour": line.cost_per_hour,
        "cost_per_month": line.cost_per_month,
        "traffic_cost_per_month": line.fleet.traffic_cost,
        "currency": answer.query.currency,
        "hours_per_month": simple_number(answer.query.hours_per_month),
        "metric": next(iter(answer.asked.targets), None),
        **{name: None if size is None else simple_number(size) for name, size in sizes.items()},
        "least_headroom": min((float(r) for r in line.headroom.values()), default=None),
        "holds_at_interval_ends": line.fleet.holds_at_worst,
        "count_at_interval_ends": line.fleet.count_at_worst,
        "data_version": answer.data_version,
    }
