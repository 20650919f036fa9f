"""How long requests take, for the monitoring: by the name of the page or API address, never by its
parts, which may be keys."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from django.http import HttpRequest, HttpResponseBase
from prometheus_client import Histogram

if shared := os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
    # Where all processes that answer requests keep their counts, so that each answers for all.
    Path(shared).mkdir(parents=True, exist_ok=True)
SECONDS = Histogram(
    "rackrate_request_seconds",
    "Time from a request to its answer.",
    ("view", "status"),
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.3, 1, 2, 5, 10),
)


class RequestTimes:
    """Counts each answer by the name of its address and its kind of status (2xx, 4xx …)."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        started = time.perf_counter()
        response = self._get_response(request)
        match = request.resolver_match
        # What leads nowhere has no name; each such address by itself would fill the monitoring.
        view = match.view_name if match is not None else "none"
        elapsed_s = time.perf_counter() - started
        SECONDS.labels(view, f"{response.status_code // 100}xx").observe(elapsed_s)
        return response
