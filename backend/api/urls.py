"""Every address under /api/v1/."""

from django.urls import path, re_path

from backend.accounts.api.audit import AuditView
from backend.accounts.api.tokens import TokensView, TokenView
from backend.api.errors import NotFoundView
from backend.api.index import IndexView
from backend.api.jobs import JobResultView, JobView
from backend.api.openapi import docs_view, schema_view
from backend.api.problems import ProblemsView
from backend.api.schemas import SchemaView
from backend.benchmarks.api.archives import RunArchiveView, RunImportView
from backend.benchmarks.api.campaigns import (
    CampaignCancelView,
    CampaignRetryView,
    CampaignStartView,
    CampaignsView,
    OneCampaignView,
)
from backend.benchmarks.api.host_authorities import HostAuthoritiesView
from backend.benchmarks.api.hosts import (
    HostApproveView,
    HostImportView,
    HostScanView,
    HostsView,
    HostView,
)
from backend.benchmarks.api.login_key import EarlierLoginKeyView, LoginKeyView
from backend.benchmarks.api.results import (
    ImportedResultView,
    ResultBatchView,
    ResultImportView,
    ResultTextView,
    SampleExcludeView,
    SampleIncludeView,
    SampleMarksView,
)
from backend.benchmarks.api.run_changes import RunComparisonView
from backend.benchmarks.api.runs import (
    EvidenceView,
    OneRunView,
    ResultsView,
    RunCancelView,
    RunEvidenceSeriesView,
    RunEvidenceView,
    RunsView,
    SamplesView,
)
from backend.benchmarks.api.schedules import SchedulesView, ScheduleView
from backend.benchmarks.api.setup import SetupView
from backend.bills.api.bills import BillsView, BillView
from backend.calculators.api.arrays import ArrayView
from backend.calculators.api.contention import ContentionView
from backend.catalog.api.discounts import DiscountsView, DiscountView
from backend.catalog.api.extras import ExtrasView
from backend.catalog.api.feeds import PriceFeedReviewView, PriceFeedsView, PriceFeedView
from backend.catalog.api.hardware import AssumptionsView, HardwareListView, HardwareView
from backend.catalog.api.lists import ProvidersView, RatesView, RegionsView
from backend.catalog.api.price_history import PriceDifferenceView, PriceHistoryView
from backend.catalog.api.price_refresh import PriceRefreshView
from backend.catalog.api.prices import PriceReviewView, PricesView, PriceView
from backend.catalog.api.quotes import QuotesView
from backend.catalog.api.tables import (
    TableImportView,
    TableMappingsView,
    TableMappingView,
    TableTemplateView,
    TableWorkbookView,
)
from backend.notifications.api.subscriptions import SubscriptionsView, SubscriptionView
from backend.rankings.api.answer import AnswerView
from backend.rankings.api.compare import CompareView
from backend.rankings.api.rankings import (
    ColumnsView,
    MetricsView,
    OffersView,
    RankingsView,
    ValueView,
)
from backend.rankings.api.requirements import RequirementSolveView, RequirementsView
from backend.rankings.api.view_documents import ViewDocumentsView
from backend.rankings.api.views import FeedKeysView, FeedKeyView, ViewsView, ViewView
from backend.rentals.api.cloud_accounts import (
    CloudAccountCheckView,
    CloudAccountSecretView,
    CloudAccountsView,
    CloudAccountView,
)
from backend.rentals.api.resources import ResourcesView
from backend.scenarios.api.kept import ScenarioDocumentsView
from backend.scenarios.api.scenarios import (
    ScenarioDuplicateView,
    ScenarioFreezeView,
    ScenarioResultView,
    ScenarioSimulateView,
    ScenariosView,
    ScenarioView,
)
from backend.scenarios.api.screening import ScenarioMixView, ScenarioScreeningView
from backend.scenarios.api.series import ScenarioSeriesView
from backend.search.api.offers import OneOfferView
from backend.search.api.search import SearchView

app_name = "api"
FORMATS = "json|csv|tsv|xlsx"

# Each also with a suffix: a spreadsheet has no way to state a format by Accept.
LISTS = {
    "rankings": RankingsView,
    "offers": OffersView,
    "compare": CompareView,
    "requirements": RequirementsView,
    "providers": ProvidersView,
    "regions": RegionsView,
    "prices": PricesView,
    "quotes": QuotesView,
    "prices/history": PriceHistoryView,
    "prices/difference": PriceDifferenceView,
    "discounts": DiscountsView,
    "hardware": HardwareListView,
    "hardware/assumptions": AssumptionsView,
    "fx-rates": RatesView,
    "extras": ExtrasView,
    "table-mappings": TableMappingsView,
    "metrics": MetricsView,
    "columns": ColumnsView,
    "hosts": HostsView,
    "host-authorities": HostAuthoritiesView,
    "runs": RunsView,
    "resources": ResourcesView,
    "samples": SamplesView,
    "results": ResultsView,
    "evidence": EvidenceView,
    "campaigns": CampaignsView,
    "schedules": SchedulesView,
    "subscriptions": SubscriptionsView,
    "tokens": TokensView,
    "audit": AuditView,
    "cloud-accounts": CloudAccountsView,
    "price-feeds": PriceFeedsView,
    "views": ViewsView,
    "scenarios": ScenariosView,
    "bills": BillsView,
    "feed-keys": FeedKeysView,
    "problems": ProblemsView,
}
plain = [
    path("search", SearchView.as_view(), name="search"),
    path("documents/setup", SetupView.as_view(), name="documents-setup"),
    path("documents/views", ViewDocumentsView.as_view(), name="documents-views"),
    path("documents/scenarios", ScenarioDocumentsView.as_view(), name="documents-scenarios"),
    path("answer", AnswerView.as_view(), name="answer"),
    path("value", ValueView.as_view(), name="value"),
    path("offers/<slug:slug>", OneOfferView.as_view(), name="offer"),
    path("login-key", LoginKeyView.as_view(), name="login-key"),
    path("login-key/earlier", EarlierLoginKeyView.as_view(), name="login-key-earlier"),
    path("hosts/import", HostImportView.as_view(), name="hosts-import"),
    path("hosts/<uuid:host_id>", HostView.as_view(), name="host"),
    path("hosts/<uuid:host_id>/scan", HostScanView.as_view(), name="host-scan"),
    path("hosts/<uuid:host_id>/approve", HostApproveView.as_view(), name="host-approve"),
    path("runs/<uuid:run_id>", OneRunView.as_view(), name="run"),
    path("runs/<uuid:run_id>/cancel", RunCancelView.as_view(), name="run-cancel"),
    path("runs/<uuid:run_id>/comparison", RunComparisonView.as_view(), name="run-comparison"),
    path("runs/<uuid:run_id>/evidence/<int:n>", RunEvidenceView.as_view(), name="run-evidence"),
    path(
        "runs/<uuid:run_id>/evidence/<int:n>/series",
        RunEvidenceSeriesView.as_view(),
        name="run-evidence-series",
    ),
    path("campaigns/<uuid:campaign_id>", OneCampaignView.as_view(), name="campaign"),
    path("campaigns/<uuid:campaign_id>/start", CampaignStartView.as_view(), name="campaign-start"),
    path(
        "campaigns/<uuid:campaign_id>/cancel", CampaignCancelView.as_view(), name="campaign-cancel"
    ),
    path(
        "campaigns/<uuid:campaign_id>/retry-failed",
        CampaignRetryView.as_view(),
        name="campaign-retry",
    ),
    path("schedules/<uuid:schedule_id>", ScheduleView.as_view(), name="schedule"),
    path("subscriptions/<uuid:subscription_id>", SubscriptionView.as_view(), name="subscription"),
    path("runs/import", RunImportView.as_view(), name="run-import"),
    path("runs/<uuid:run_id>/archive", RunArchiveView.as_view(), name="run-archive"),
    path("results/import-batch", ResultBatchView.as_view(), name="result-batch"),
    path("samples/mark", SampleMarksView.as_view(), name="samples-mark"),
    path("results/import", ResultImportView.as_view(), name="result-import"),
    path("results/<int:evidence_id>", ImportedResultView.as_view(), name="result"),
    path("results/<int:evidence_id>/text", ResultTextView.as_view(), name="result-text"),
    path("samples/<int:sample_id>/exclude", SampleExcludeView.as_view(), name="sample-exclude"),
    path("samples/<int:sample_id>/include", SampleIncludeView.as_view(), name="sample-include"),
    path("tokens/<uuid:token_id>", TokenView.as_view(), name="token"),
    path("cloud-accounts/<uuid:account_id>", CloudAccountView.as_view(), name="cloud-account"),
    path(
        "cloud-accounts/<uuid:account_id>/secret",
        CloudAccountSecretView.as_view(),
        name="cloud-account-secret",
    ),
    path(
        "cloud-accounts/<uuid:account_id>/check",
        CloudAccountCheckView.as_view(),
        name="cloud-account-check",
    ),
    path("table-mappings/<uuid:mapping_id>", TableMappingView.as_view(), name="table-mapping"),
    path("table-templates/<slug:kind>.csv", TableTemplateView.as_view(), name="table-template-csv"),
    path(
        "table-templates/<slug:kind>.xlsx", TableWorkbookView.as_view(), name="table-template-xlsx"
    ),
    path("tables/import", TableImportView.as_view(), name="table-import"),
    path("prices/<uuid:price_id>", PriceView.as_view(), name="price"),
    path("prices/<uuid:price_id>/review", PriceReviewView.as_view(), name="price-review"),
    path("hardware/<uuid:hardware_id>", HardwareView.as_view(), name="hardware-version"),
    path("discounts/<uuid:discount_id>", DiscountView.as_view(), name="discount"),
    path("price-refresh", PriceRefreshView.as_view(), name="price-refresh"),
    path("price-feeds/<uuid:feed_id>", PriceFeedView.as_view(), name="price-feed"),
    path(
        "price-feeds/<uuid:feed_id>/review",
        PriceFeedReviewView.as_view(),
        name="price-feed-review",
    ),
    path("requirements/solve", RequirementSolveView.as_view(), name="requirement-solve"),
    path("views/<slug:slug>", ViewView.as_view(), name="view"),
    path("feed-keys/<uuid:key_id>", FeedKeyView.as_view(), name="feed-key"),
    path("arrays", ArrayView.as_view(), name="arrays"),
    path("contention", ContentionView.as_view(), name="contention"),
    path("bills/<slug:slug>", BillView.as_view(), name="bill"),
    path("jobs/<uuid:job_id>", JobView.as_view(), name="job"),
    path("jobs/<uuid:job_id>/result", JobResultView.as_view(), name="job-result"),
    path("scenarios/simulate", ScenarioSimulateView.as_view(), name="scenario-simulate"),
    path("scenarios/<slug:slug>", ScenarioView.as_view(), name="scenario"),
    path("scenarios/<slug:slug>/result", ScenarioResultView.as_view(), name="scenario-result"),
    path("scenarios/<slug:slug>/series", ScenarioSeriesView.as_view(), name="scenario-series"),
    re_path(
        rf"^scenarios/(?P<slug>[-a-zA-Z0-9_]+)/series\.(?P<format>{FORMATS})$",
        ScenarioSeriesView.as_view(),
        name="scenario-series-as",
    ),
    path(
        "scenarios/<slug:slug>/screening",
        ScenarioScreeningView.as_view(),
        name="scenario-screening",
    ),
    re_path(
        rf"^scenarios/(?P<slug>[-a-zA-Z0-9_]+)/screening\.(?P<format>{FORMATS})$",
        ScenarioScreeningView.as_view(),
        name="scenario-screening-as",
    ),
    path("scenarios/<slug:slug>/mix", ScenarioMixView.as_view(), name="scenario-mix"),
    path(
        "scenarios/<slug:slug>/duplicate",
        ScenarioDuplicateView.as_view(),
        name="scenario-duplicate",
    ),
    path("scenarios/<slug:slug>/freeze", ScenarioFreezeView.as_view(), name="scenario-freeze"),
    path("schemas/<slug:name>.json", SchemaView.as_view(), name="json-schema"),
    path("schema/", schema_view, name="schema"),
    path("docs/", docs_view, name="docs"),
]
urlpatterns = [
    path("", IndexView.as_view(names=tuple(LISTS)), name="index"),
    *(path(name, view.as_view(), name=name) for name, view in LISTS.items()),
    *(
        re_path(rf"^{name}\.(?P<format>{FORMATS})$", view.as_view(), name=f"{name}-as")
        for name, view in LISTS.items()
    ),
    *plain,
    re_path(r"", NotFoundView.as_view()),
]
