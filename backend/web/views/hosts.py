"""The machines that can be benchmarked."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from backend.accounts.selectors import default_workspace
from backend.benchmarks.selectors import fingerprint, hosts_visible, runs_visible
from backend.web.access import readable

RECENT_RUNS = 50


@readable
@require_safe
def hosts_page(request: HttpRequest) -> HttpResponse:
    """Hosts with their state and key, and the latest runs."""
    workspace = default_workspace()
    hosts = [
        (host, fingerprint(key) if (key := host.host_key or host.scanned_key) else None)
        for host in hosts_visible(workspace)
    ]
    runs = runs_visible(workspace)[:RECENT_RUNS]
    return render(request, "hosts/page.html", {"hosts": hosts, "runs": runs})
