"""/metrics-prometheus: how the engine, the accounts, the price lists and the pages are doing."""

import os
from collections.abc import Iterator
from typing import Any

from django.http import HttpResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector
from rest_framework.permissions import BasePermission
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from backend.benchmarks.models import TERMINAL_STATES, RunState
from backend.benchmarks.selectors.engine import engine_figures
from backend.benchmarks.services.steps import database_writes
from backend.catalog.selectors.feeds import feed_figures
from backend.core.hardening import is_from_this_machine
from backend.core.latency import SECONDS
from backend.core.queue import queue_lengths
from backend.core.rest.permissions import ScopePermission
from backend.notifications.selectors.notices import notice_figures
from backend.rentals.selectors.leaks import rental_figures
from backend.rentals.selectors.spending import account_figures


def _gauge(name: str, text: str, value: float | None) -> Metric:
    """A figure without labels; none where it is not known."""
    family = GaugeMetricFamily(f"rackrate_{name}", text)
    if value is not None:
        family.add_metric([], value)
    return family


class StateCollector(Collector):
    """State of the database and the broker at the moment of the request."""

    def collect(self) -> Iterator[Metric]:
        yield from self._engine()
        yield from self._rentals()
        yield from self._lists()
        notices = notice_figures()
        yield _gauge("notices_waiting", "Notices that are not sent yet.", notices.waiting_count)
        yield _gauge(
            "notice_oldest_seconds", "Since the oldest of them was due.", notices.oldest_due_s
        )
        yield _queue_lengths()

    def _engine(self) -> Iterator[Metric]:
        engine = engine_figures()
        yield _gauge("tick_age_seconds", "Since the engine's last tick.", engine.tick_age_s)
        yield _gauge(
            "database_writes", "1 where the database takes writes, 0 where not.", database_writes()
        )
        yield _gauge("steps_due", "Steps of runs that may be worked on now.", engine.due_count)
        yield _gauge(
            "step_oldest_due_seconds", "Since the first of them was due.", engine.oldest_due_s
        )
        yield _gauge(
            "leases_expired",
            "Steps whose worker neither ended nor kept them.",
            engine.expired_lease_count,
        )
        runs = GaugeMetricFamily("rackrate_runs", "Runs that have not ended.", labels=["state"])
        for state in RunState:
            if state not in TERMINAL_STATES:
                runs.add_metric([state], engine.run_counts.get(state, 0))
        yield runs

    def _rentals(self) -> Iterator[Metric]:
        rentals = rental_figures()
        yield _gauge("machines", "Machines that may exist by our books.", rentals.machine_count)
        yield _gauge("machine_runs", "Unfinished runs that asked for one.", rentals.run_count)
        labels = ["account", "provider"]
        ages = GaugeMetricFamily(
            "rackrate_account_look_age_seconds",
            "Since the machines of an account were last listed.",
            labels=labels,
        )
        failed = GaugeMetricFamily(
            "rackrate_account_failed_looks",
            "Looks at an account that failed one after the other.",
            labels=labels,
        )
        spent = GaugeMetricFamily(
            "rackrate_account_spent",
            "Spent or reserved this calendar month.",
            labels=[*labels, "currency"],
        )
        budget = GaugeMetricFamily(
            "rackrate_account_budget",
            "The most that a calendar month may cost.",
            labels=[*labels, "currency"],
        )
        for account_figure in account_figures():
            values = [account_figure.account, account_figure.provider]
            ages.add_metric(values, account_figure.look_age_s)
            failed.add_metric(values, account_figure.failed_looks)
            spent.add_metric([*values, account_figure.currency], float(account_figure.spent))
            if account_figure.budget is not None:
                budget.add_metric([*values, account_figure.currency], float(account_figure.budget))
        yield from (ages, failed, spent, budget)

    def _lists(self) -> Iterator[Metric]:
        labels = ["provider", "kind", "region"]
        ages = GaugeMetricFamily(
            "rackrate_price_list_age_seconds", "Since a price list last answered.", labels=labels
        )
        failures = GaugeMetricFamily(
            "rackrate_price_list_failures",
            "Fetches of a price list that failed one after the other.",
            labels=labels,
        )
        for feed_figure in feed_figures():
            values = [feed_figure.provider, feed_figure.kind, feed_figure.region]
            failures.add_metric(values, feed_figure.failures)
            if feed_figure.age_s is not None:
                ages.add_metric(values, feed_figure.age_s)
        yield from (ages, failures)


def _queue_lengths() -> Metric:
    """Messages that wait at the broker; none while it does not answer."""
    family = GaugeMetricFamily(
        "rackrate_queue_messages", "Messages that no worker took yet.", labels=["queue"]
    )
    for queue, count in (queue_lengths() or {}).items():
        family.add_metric([queue], count)
    return family


class LocalOrReader(BasePermission):
    """From this machine anybody; from elsewhere who has the scope read, also where reading the
    site is public: strangers need not know what an installation spends."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if is_from_this_machine(request):
            return True
        is_known = request.user.is_authenticated
        return is_known and ScopePermission().has_permission(request, view)


class Exposition(BaseRenderer):
    """Prometheus asks for formats that the API does not know; it takes this one whatever it asked."""

    media_type = "text/plain"
    format = "txt"

    def render(self, data: Any, *_: Any, **__: Any) -> bytes:
        """The lines of an error, which are a problem document elsewhere."""
        return f"{data.get('detail', data)}\n".encode()


class PrometheusView(APIView):
    """The text format of Prometheus."""

    permission_classes = (LocalOrReader,)
    renderer_classes = (Exposition,)
    schema = None

    def perform_content_negotiation(
        self, request: Request, force: bool = False
    ) -> tuple[BaseRenderer, str]:
        return Exposition(), Exposition.media_type

    def get(self, request: Request) -> HttpResponse:
        registry = CollectorRegistry()
        if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            # The times of all processes that answer requests, which share that directory.
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        else:
            registry.register(SECONDS)
        registry.register(StateCollector())
        return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
