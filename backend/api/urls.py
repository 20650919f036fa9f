"""Every address under /api/v1/."""

from django.urls import path, re_path

from backend.api.errors import NotFoundView
from backend.api.openapi import docs_view, schema_view
from backend.api.schemas import SchemaView
from backend.api.tokens import TokensView, TokenView
from backend.benchmarks.api.hosts import HostApproveView, HostScanView, HostsView, HostView
from backend.benchmarks.api.runs import (
    EvidenceView,
    RunCancelView,
    RunEvidenceView,
    RunsView,
    RunView,
    SamplesView,
)
from backend.catalog.api import PricesView, ProvidersView, RatesView, RegionsView
from backend.rankings.api import (
    ColumnsView,
    MetricsView,
    OffersView,
    OfferView,
    RankingsView,
    ValueView,
)

app_name = "api"
FORMATS = "json|csv|tsv|xlsx"

LISTS = {
    "rankings": RankingsView,
    "offers": OffersView,
    "providers": ProvidersView,
    "regions": RegionsView,
    "prices": PricesView,
    "fx-rates": RatesView,
    "metrics": MetricsView,
    "columns": ColumnsView,
    "hosts": HostsView,
    "runs": RunsView,
    "samples": SamplesView,
    "evidence": EvidenceView,
    "tokens": TokensView,
}
plain = [
    path("value", ValueView.as_view(), name="value"),
    path("offers/<slug:slug>", OfferView.as_view(), name="offer"),
    path("hosts/<uuid:host_id>", HostView.as_view(), name="host"),
    path("hosts/<uuid:host_id>/scan", HostScanView.as_view(), name="host-scan"),
    path("hosts/<uuid:host_id>/approve", HostApproveView.as_view(), name="host-approve"),
    path("runs/<uuid:run_id>", RunView.as_view(), name="run"),
    path("runs/<uuid:run_id>/cancel", RunCancelView.as_view(), name="run-cancel"),
    path("runs/<uuid:run_id>/evidence/<int:n>", RunEvidenceView.as_view(), name="run-evidence"),
    path("tokens/<uuid:token_id>", TokenView.as_view(), name="token"),
    path("schemas/<slug:name>.json", SchemaView.as_view(), name="json-schema"),
    path("schema/", schema_view, name="schema"),
    path("docs/", docs_view, name="docs"),
]
urlpatterns = [
    *(path(name, view.as_view(), name=name) for name, view in LISTS.items()),
    *(
        re_path(rf"^{name}\.(?P<format>{FORMATS})$", view.as_view(), name=f"{name}-as")
        for name, view in LISTS.items()
    ),
    *plain,
    re_path(r"", NotFoundView.as_view()),
]
