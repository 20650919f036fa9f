"""Results that were measured elsewhere: read first, then stored."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.benchmarks.models import Evidence, Run
from backend.benchmarks.pages.imports.examples import EXAMPLES
from backend.benchmarks.pages.imports.forms import TOOL_WORDS, ArchiveForm, ImportForm
from backend.benchmarks.services.archive_import import run_import
from backend.benchmarks.services.imports import import_parameters, result_import
from backend.catalog.models import Offer
from backend.catalog.selectors.offers import offer_called, offers_visible, offers_with_words
from backend.core.bodies import takes_files
from backend.foundation.errors import DomainError, InvalidValue, ProbeError
from backend.measure.metrics import METRICS
from backend.measure.readers import ParsedSample
from backend.measure.readers.importing import Imported, read_text
from backend.measure.stats import UNFIT
from backend.site import figures, lines
from backend.site.access import demand, may, readable
from backend.site.language import _

# Of a list that completes what is typed: the next letter narrows it.
MOST_OFFERS = 30
# Characters that go back into the page; a larger file is chosen again.
MOST_KEPT = 2_000_000


@takes_files
@readable
@require_http_methods(["GET", "HEAD", "POST"])
def import_page(request: HttpRequest) -> HttpResponse:
    """Shows what was read from the text; `store` keeps it and leads to the offer."""
    if request.method != "POST":
        form = ImportForm(initial={"offer": request.GET.get("offer", "")})
        return _page(request, form)
    demand(request, Scope.WRITE)
    form = ImportForm(request.POST, request.FILES)
    offer, read = _read(request, form)
    if offer is None or read is None:
        return _page(request, form)
    # A second step of its own: what a parser took from the text is seen before it counts in a ranking.
    if "store" in request.POST:
        stored = _store(request, form, offer)
        if stored is not None:
            messages.success(request, _("Stored for {name}, marked as imported.", name=offer.name))
            return HttpResponseRedirect(lines.evidence_url(stored))
    return _page(request, _with_text(form), offer=offer, read=None if form.errors else read)


@takes_files
@readable
@require_POST
def archive_page(request: HttpRequest) -> HttpResponse:
    """Takes in a run that another Rackrate measured, and shows it."""
    demand(request, Scope.WRITE)
    form = ArchiveForm(request.POST, request.FILES)
    if form.is_valid():
        name = form.cleaned_data["run_offer"].strip()
        offer = offer_called(name, workspace_slug(request))
        if offer is None:
            form.add_error("run_offer", _("No offer is called {name!r}.", name=name))
        elif run := _take_in(request, form, offer):
            messages.success(request, _("Run imported for {name}.", name=offer.name))
            return HttpResponseRedirect(reverse("run", args=[run.pk]))
    return _page(request, ImportForm(), archive_form=form)


def _take_in(request: HttpRequest, form: ArchiveForm, offer: Offer) -> Run | None:
    try:
        return run_import(
            workspace=workspace_of(request),
            offer=offer,
            content=form.content(),
            actor=request.user.get_username(),
        )
    except DomainError as error:
        form.add_error("archive", f"{error}.".capitalize())
    return None


def _page(request: HttpRequest, form: ImportForm, **given: Any) -> HttpResponse:
    read = given.get("read")
    context = {
        "form": form,
        "archive_form": ArchiveForm(),
        "offers": _offers(workspace_slug(request), ""),
        "examples": [(tool, TOOL_WORDS[tool], example) for tool, example in EXAMPLES.items()],
        "may_write": may(request, Scope.WRITE),
        "lines": [_line(sample) for sample in read.samples] if read else [],
        "warnings": [warning.replace("ram_bytes", "the memory") for warning in read.warnings]
        if read
        else [],
        "is_too_long": len(form.data.get("text", "")) > MOST_KEPT,
        **given,
    }
    return render(request, "imports/page.html", context)


def _read(request: HttpRequest, form: ImportForm) -> tuple[Offer | None, Imported | None]:
    """The offer and what the text says; what is wrong stands in the form's errors."""
    if not form.is_valid():
        return None, None
    data = form.cleaned_data
    offer = offer_called(data["offer"].strip(), workspace_slug(request))
    if offer is None:
        form.add_error("offer", _("No offer is called {data!r}.", data=data["offer"]))
    try:
        stated = form.parameters()
        known = import_parameters(offer, data["tool"], stated) if offer else stated
        return offer, read_text(data["tool"], data["text"], known)
    except ProbeError as error:
        form.add_error("text", str(error))
    except InvalidValue as error:
        form.refuse(error)
    return offer, None


def _store(request: HttpRequest, form: ImportForm, offer: Offer) -> Evidence | None:
    """The text as it was stored; what speaks against it stands in the form's errors."""
    data = form.cleaned_data
    try:
        return result_import(
            workspace=workspace_of(request),
            offer=offer,
            tool=data["tool"],
            text=data["text"],
            parameters=form.parameters(),
            actor=request.user.get_username(),
        ).evidence
    except InvalidValue as error:
        form.refuse(error)
    except DomainError as error:
        form.add_error("text", f"{error}.".capitalize())
    return None


def _with_text(form: ImportForm) -> ImportForm:
    """The same form with the file's content in the text area, so that it need not come twice."""
    content = form.cleaned_data.get("text", "")
    if form.files and content and len(content) <= MOST_KEPT:
        # A browser never fills in a file again, so without this the second step would lack it.
        form.data = {**form.data.dict(), "text": content}  # type: ignore[attr-defined]
    return form


def _line(sample: ParsedSample) -> dict[str, Any]:
    scale = figures.scale(sample.unit, [sample.value])
    metric = METRICS.get(sample.metric)
    return {
        "key": sample.metric,
        "label": metric.label if metric else sample.metric,
        "variant": sample.variant,
        "value": sample.value,
        "shown": figures.figure(scale.shown(sample.value)),
        "unit": scale.unit,
        "flags": list(sample.flags),
        "is_ranking": bool(metric and sample.variant in metric.ranking_variants)
        and UNFIT.isdisjoint(sample.flags),
    }


def _offers(workspace_slug: str, words: str) -> list[Offer]:
    """Offers that the words mean; one's own without any."""
    own = offers_visible(workspace_slug).filter(provider__slug="own")
    offers = offers_with_words(words, workspace_slug) if words.split() else own
    return list(offers.order_by("slug")[:MOST_OFFERS])


@readable
@require_safe
def offer_names(request: HttpRequest) -> HttpResponse:
    """Offers to complete what is typed, as a fragment."""
    words = request.GET.get("offer") or request.GET.get("run_offer") or ""
    context = {"offers": _offers(workspace_slug(request), words)}
    return render(request, "imports/_offers.html", context)
