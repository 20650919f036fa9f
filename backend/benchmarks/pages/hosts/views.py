"""The machines that can be benchmarked: add one, approve its key, start a run on it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.calc.host_document import HostDocument
from backend.benchmarks.models import Host, HostState, Run
from backend.benchmarks.pages.hosts.forms import HostChangeForm, HostForm, HostListForm
from backend.benchmarks.pages.runs.forms import RunForm
from backend.benchmarks.selectors.consequences import host_consequences
from backend.benchmarks.selectors.history import host_variants
from backend.benchmarks.selectors.hosts import (
    bastions_of,
    fingerprint,
    hosts_standing,
    hosts_visible,
    login_key_line,
    tags_of,
)
from backend.benchmarks.selectors.redaction import redaction_for
from backend.benchmarks.selectors.runs import runs_listed
from backend.benchmarks.services.host_lists import hosts_import
from backend.benchmarks.services.hosts import (
    ARCHIVE_DRIVER,
    HostBusy,
    HostNotTrusted,
    KeyMismatch,
    KeyRevoked,
    host_approve,
    host_create,
    host_remove,
    host_scan,
    host_update,
)
from backend.benchmarks.services.runs import run_create
from backend.foundation.errors import InvalidDocument
from backend.site import lines
from backend.site.access import demand, may, readable
from backend.site.confirming import Question, confirm_first
from backend.site.forms import refusals_said
from backend.site.history_plots import history_plots
from backend.site.language import _

RECENT_RUNS = 20


def _host(request: HttpRequest, host_id: UUID) -> Host:
    return get_object_or_404(hosts_visible(workspace_of(request)), pk=host_id)


@readable
@require_safe
def hosts_page(request: HttpRequest) -> HttpResponse:
    """Hosts with their state and key, and the latest runs."""
    workspace = workspace_of(request)
    known = list(hosts_standing(workspace))
    tag = request.GET.get("tag", "")
    hosts = [
        (
            host,
            # The approved key comes first: what a host shows today may be the attack.
            fingerprint(key) if (key := host.host_key or host.scanned_key) else None,
            redaction_for(request.user, host).message(host.scan_error),
        )
        for host in known
        if not tag or tag in host.tags
    ]
    context = {
        "hosts": hosts,
        "tag": tag,
        "tags": tags_of(known),
        "runs": runs_listed(workspace)[:RECENT_RUNS],
        "may_run": may(request, Scope.RUN),
    }
    return render(request, "hosts/page.html", context)


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def host_new(request: HttpRequest) -> HttpResponse:
    """The form; a good one adds the host and asks it for its key at once."""
    demand(request, Scope.RUN)
    bastions = bastions_of(workspace_of(request))
    form = HostForm(request.POST if request.method == "POST" else None, bastions=bastions)
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            host = _create(request, form)
            messages.success(request, _("Host added. Fetching its SSH key…"))
            return HttpResponseRedirect(reverse("host", args=[host.pk]))
    return render(request, "hosts/new.html", {"form": form})


def _create(request: HttpRequest, form: HostForm) -> Host:
    host = host_create(
        workspace=workspace_of(request),
        document=HostDocument.read(form.document()),
        actor=request.user.get_username(),
    )
    # At once: without a key to approve the new host's page would have nothing to do.
    host_scan(host=host, actor=request.user.get_username())
    return host


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def host_import(request: HttpRequest) -> HttpResponse:
    """The form for a list of hosts; lines that are wrong are named and the text stays."""
    demand(request, Scope.RUN)
    form = HostListForm(request.POST or None, request.FILES or None)
    checked = None
    if request.method == "POST" and form.is_valid():
        is_dry = "check" in request.POST
        try:
            done = hosts_import(
                workspace=workspace_of(request),
                actor=request.user.get_username(),
                is_dry=is_dry,
                **form.cleaned_data,
            )
        except InvalidDocument as error:
            form.refuse_lines(error)
        else:
            if not is_dry:
                messages.success(
                    request,
                    _(
                        "Hosts added: {added}, keys approved: {approved}, authorities:"
                        " {authorities}, unchanged: {unchanged}.",
                        added=len(done.added),
                        approved=len(done.approved),
                        authorities=done.authorities,
                        unchanged=done.unchanged,
                    ),
                )
                return HttpResponseRedirect(reverse("hosts"))
            checked = done
    return render(request, "hosts/import.html", {"form": form, "checked": checked})


def _key_context(request: HttpRequest, host: Host) -> dict[str, Any]:
    scanned_type = host.scanned_key.partition(" ")[0]
    return {
        "host": host,
        "scan_error": redaction_for(request.user, host).message(host.scan_error),
        "is_scanning": host.scan_requested_at is not None,
        # Both are shown, since a key that changed must be compared with the one approved before.
        "scanned": fingerprint(host.scanned_key),
        "scanned_type": scanned_type,
        # What OpenSSH calls it in the name of its file.
        "scanned_name": scanned_type.removeprefix("ssh-").partition("-")[0],
        "pinned": fingerprint(host.host_key),
        "authority": fingerprint(host.authority.public_key) if host.authority else "",
        "login_key": login_key_line(host),
        "is_local": host.driver == "local",
        "is_archived": host.driver == ARCHIVE_DRIVER,
        "may_run": may(request, Scope.RUN),
    }


def _context(request: HttpRequest, host: Host, form: RunForm | None = None) -> dict[str, Any]:
    return _key_context(request, host) | {
        "facts": lines.facts(redaction_for(request.user, host).value(host.facts)),
        "runs": runs_listed(host.workspace).filter(host=host)[:RECENT_RUNS],
        "form": form or _run_form(host),
        "is_trusted": host.state == HostState.TRUSTED,
        **history_plots(request, host_variants(host), host=host),
    }


def _run_form(host: Host, data: Any = None) -> RunForm:
    trusted = hosts_standing(host.workspace).filter(state=HostState.TRUSTED)
    peers = trusted.exclude(pk=host.pk)
    return RunForm(data, peers=list(peers), initial={"profile": "quick"})


@readable
@require_safe
def host_page(request: HttpRequest, host_id: UUID) -> HttpResponse:
    """A host: its key, what it is, how to start a run, what it gave so far."""
    return render(request, "hosts/host.html", _context(request, _host(request, host_id)))


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def host_change(request: HttpRequest, host_id: UUID) -> HttpResponse:
    """The form for a host's name and where it is logged in to."""
    demand(request, Scope.RUN)
    host = _host(request, host_id)
    # A host that is its own bastion could never be reached.
    bastions = bastions_of(host.workspace).exclude(pk=host.pk)
    # The columns by their names; only two of them are typed in another form than they are stored.
    initial = vars(host) | {"bastion": host.bastion_id, "tags": " ".join(host.tags)}
    form = HostChangeForm(request.POST or None, initial=initial, bastions=bastions)
    if request.method == "POST" and form.is_valid():
        try:
            with form.refusals():
                host_update(host=host, changes=form.changes(), actor=request.user.get_username())
                messages.success(request, _("The host is changed."))
                return HttpResponseRedirect(reverse("host", args=[host_id]))
        except HostBusy as error:
            form.add_error(None, f"{error}.")
    return render(request, "hosts/change.html", {"host": host, "form": form})


def _removal_question(request: HttpRequest, host_id: UUID) -> Question:
    demand(request, Scope.RUN)
    host = _host(request, host_id)
    return Question(
        _("Remove the host {name}?", name=host.name),
        _("Remove host"),
        reverse("host", args=[host_id]),
        tuple(host_consequences(host)),
    )


@readable
@confirm_first(_removal_question)
def host_remove_form(request: HttpRequest, host_id: UUID) -> HttpResponse:
    """Logs in to a host no more; while runs use it nothing changes."""
    demand(request, Scope.RUN)
    host = _host(request, host_id)
    host_remove(host=host, actor=request.user.get_username())
    messages.success(request, _("The host {name} is removed; its results stay.", name=host.name))
    return HttpResponseRedirect(reverse("hosts"))


@readable
@require_safe
def host_key(request: HttpRequest, host_id: UUID) -> HttpResponse:
    """The part about the key; while a scan is under way it asks for itself again."""
    return render(request, "hosts/_key.html", _key_context(request, _host(request, host_id)))


@readable
@require_POST
def host_scan_form(request: HttpRequest, host_id: UUID) -> HttpResponse:
    """Asks a worker for the key that the host presents."""
    demand(request, Scope.RUN)
    with refusals_said(request):
        host_scan(host=_host(request, host_id), actor=request.user.get_username())
    return HttpResponseRedirect(reverse("host", args=[host_id]))


@readable
@require_POST
def host_approve_form(request: HttpRequest, host_id: UUID) -> HttpResponse:
    """Pins the key whose fingerprint the person has seen."""
    demand(request, Scope.RUN)
    try:
        host_approve(
            host=_host(request, host_id),
            # What the person saw travels with the form: a scan in between must not be approved unseen.
            fingerprint_sha256=request.POST.get("fingerprint_sha256", ""),
            actor=request.user.get_username(),
        )
    except (KeyMismatch, KeyRevoked) as error:
        messages.error(request, _("Not approved: {error}.", error=error))
    else:
        messages.success(request, _("Key approved. You can start runs now."))
    return HttpResponseRedirect(reverse("host", args=[host_id]))


@readable
@require_POST
def host_run_form(request: HttpRequest, host_id: UUID) -> HttpResponse:
    """Starts a run and shows it; errors come back beside their fields."""
    demand(request, Scope.RUN)
    host = _host(request, host_id)
    form = _run_form(host, request.POST)
    if form.is_valid():
        try:
            with form.refusals():
                run = _start_run(host, form, request.user.get_username())
                return HttpResponseRedirect(reverse("run", args=[run.pk]))
        except HostNotTrusted as error:
            form.add_error(None, f"{error}.".capitalize())
    return render(request, "hosts/host.html", _context(request, host, form))


def _start_run(host: Host, form: RunForm, actor: str) -> Run:
    return run_create(
        host=host,
        profile=form.cleaned_data["profile"],
        probes=form.probe_choice(),
        parameters=form.run_parameters(),
        actor=actor,
    )
