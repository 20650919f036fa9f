"""Bills: sent by a form, read by a worker, and what they contain."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.services.current_data import current_stamp
from backend.bills.calc.formats import TEMPLATE
from backend.bills.calc.replacing import Assumptions
from backend.bills.calc.scenario import bill_scenario
from backend.bills.models import Bill, UploadState
from backend.bills.pages.forms import BillForm, ElsewhereForm
from backend.bills.pages.plots import swings_plot, targets_plot
from backend.bills.pages.shown import (
    KINDS,
    TARGETS,
    elsewhere_conclusion,
    idle_words,
    kind_rows,
    machine_rows,
    moving_rows,
    note_sentences,
    sentence,
    target_rows,
    waste_words,
    week_plot,
)
from backend.bills.selectors.bills import bill_by_slug, bills_visible, upload_by_id, uploads_of
from backend.bills.selectors.elsewhere import Elsewhere, default_assumptions, elsewhere
from backend.bills.selectors.metric import bill_metric
from backend.bills.services.bills import bill_delete
from backend.bills.services.uploads import PART_BYTES, upload_answer, upload_keep
from backend.core import clock
from backend.core.bodies import takes_files
from backend.core.rest.parameters import InvalidParameters
from backend.site.access import demand, readable
from backend.site.confirming import Question, confirm_first
from backend.site.forms import refusals_said
from backend.site.language import _

SHOWN_UPLOADS = 5


@takes_files
@readable
@require_http_methods(["GET", "HEAD", "POST"])
def bills_page(request: HttpRequest) -> HttpResponse:
    """The bills there are, those that are being read, and the form to send one."""
    demand(request, Scope.WRITE)
    form = BillForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        with form.refusals():
            upload = upload_keep(
                workspace=workspace_of(request),
                name=form.cleaned_data["name"] or file.name.partition(".")[0] or "bill",
                file_name=file.name,
                content=file.chunks(PART_BYTES),
                format_slug=form.cleaned_data["format"],
                price_is=form.cleaned_data["price_is"],
                actor=request.user.get_username(),
            )
            # The list says that it is being read, until it no longer is.
            return HttpResponseRedirect(f"{reverse('bills')}?sent={upload.pk}")
    if (bill := _read_since(request)) is not None:
        return HttpResponseRedirect(reverse("bill", args=[bill.slug]))
    return render(request, "bills/list.html", {"form": form, **_list_context(request)})


def _read_since(request: HttpRequest) -> Bill | None:
    """The bill of the upload that the address names, once it has been read."""
    try:
        sent = UUID(request.GET.get("sent", ""))
    except ValueError:
        return None
    upload = upload_by_id(workspace_of(request), sent)
    return upload.bill if upload is not None and request.method != "POST" else None


def _list_context(request: HttpRequest) -> dict[str, object]:
    uploads = uploads_of(workspace_of(request)).exclude(state=UploadState.DONE)
    latest = list(uploads.order_by("-created_at")[:SHOWN_UPLOADS])
    return {
        "bills": bills_visible(workspace_of(request)),
        "uploads": latest,
        "sent": request.GET.get("sent", ""),
        "is_reading": any(upload.state == UploadState.QUEUED for upload in latest),
    }


@readable
@require_POST
def upload_answer_form(request: HttpRequest, upload_id: UUID) -> HttpResponse:
    """The answer to a question about a file, or that it is not wanted any more."""
    demand(request, Scope.WRITE)
    upload = upload_by_id(workspace_of(request), upload_id)
    if upload is None:
        raise Http404
    with refusals_said(request):
        upload_answer(upload=upload, price_is=request.POST.get("price_is", ""))
    return HttpResponseRedirect(f"{reverse('bills')}?sent={upload.pk}")


@readable
@require_safe
def bill_template(request: HttpRequest) -> HttpResponse:
    """A plain table to fill in."""
    headers = {"Content-Disposition": 'attachment; filename="bill-template.csv"'}
    return HttpResponse(TEMPLATE, content_type="text/csv; charset=utf-8", headers=headers)


@readable
@require_safe
def bills_state(request: HttpRequest) -> HttpResponse:
    """The part of the page that changes while a worker reads."""
    demand(request, Scope.WRITE)
    if (bill := _read_since(request)) is not None:
        # Of those who sent it, the browser goes to what they wait for.
        return HttpResponse(headers={"HX-Redirect": reverse("bill", args=[bill.slug])})
    return render(request, "bills/_listed.html", _list_context(request))


@readable
@require_safe
def bill_page(request: HttpRequest, slug: str) -> HttpResponse:
    bill = bill_or_404(request, slug)
    answer, form = elsewhere_request(bill, request)
    context = {
        "elsewhere": answer,
        "form": form,
        "targets": target_rows(answer) if answer else [],
        "conclusion": elsewhere_conclusion(answer) if answer else None,
        "moving": moving_rows(bill.estate, answer) if answer else [],
        "targets_plot": targets_plot(answer) if answer else None,
        "swings_plot": swings_plot(answer) if answer else None,
        "bill": bill,
        "asked": "?" + request.GET.urlencode() if request.GET else "",
        "assumed": "&" + request.GET.urlencode() if request.GET else "",
        "estate": bill.estate,
        "sentence": sentence(bill.estate),
        "notes": note_sentences(bill.estate),
        "wasted": waste_words(bill.estate),
        "idle": idle_words(answer) if answer else "",
        "kinds": kind_rows(bill.estate),
        "services": [
            {**service, "words": KINDS[service["kind"]]} for service in bill.estate["by_service"]
        ],
        "machines": machine_rows(bill.estate),
        "plot": week_plot(bill.estate),
    }
    return render(request, "bills/page.html", context)


def elsewhere_request(bill: Bill, request: HttpRequest) -> tuple[Elsewhere | None, ElsewhereForm]:
    """The answer under what the address assumes; None where nothing can be compared."""
    stamp = current_stamp()
    assumed = {
        **asdict(default_assumptions(bill.currency)),
        "metric": bill_metric(bill, stamp),
    }
    names = [name for name in ElsewhereForm.base_fields if name in request.GET]
    form = ElsewhereForm({**assumed, **{name: request.GET[name] for name in names}})
    if not form.is_valid():
        return None, form
    metric = form.cleaned_data.pop("metric")
    try:
        given = Assumptions(**form.cleaned_data)
        return elsewhere(bill, stamp, metric=metric, assumed=given), form
    except InvalidParameters as error:
        form.add_error(None, "; ".join(why for _name, why in error.errors))
        return None, form


def bill_document(request: HttpRequest, slug: str) -> dict[str, Any]:
    """The scenario of a bill under what the address assumes; 404 where nothing can be compared."""
    bill = bill_or_404(request, slug)
    answer, _form = elsewhere_request(bill, request)
    if answer is None or not answer.works:
        raise Http404(_("No machine of the bill can be compared."))
    return bill_scenario(
        answer.works,
        answer.alternatives,
        {"today": _("today"), **{target: str(words) for target, words in TARGETS.items()}},
        name=_("{bill} elsewhere", bill=bill.name),
        metric=answer.metric,
        currency=answer.currency,
        today=answer.today,
        start=f"{clock.now():%Y-%m-01T00:00:00+00:00}",
    )


def bill_or_404(request: HttpRequest, slug: str) -> Bill:
    """The bill, for those who may see what a company spends."""
    # Bills say what a company spends: no stranger sees them, also where all else is public.
    demand(request, Scope.WRITE)
    bill = bill_by_slug(workspace_of(request), slug)
    if bill is None:
        raise Http404
    return bill


def _delete_question(request: HttpRequest, slug: str) -> Question:
    bill = bill_or_404(request, slug)
    return Question(
        _("Delete the bill {name}?", name=bill.name),
        _("Delete bill"),
        reverse("bill", args=[slug]),
        (_("Its files were not kept: to see it again they are imported again."),),
    )


@readable
@confirm_first(_delete_question)
def bill_delete_form(request: HttpRequest, slug: str) -> HttpResponse:
    bill = bill_or_404(request, slug)
    bill_delete(bill=bill, actor=request.user.get_username())
    messages.success(request, _("{name} is deleted.", name=bill.name))
    return HttpResponseRedirect(reverse("bills"))
