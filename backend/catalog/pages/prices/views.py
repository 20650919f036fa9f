"""Prices as observed: the list, what changed, one price with its source, and what waits."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.accounts.services.workspaces import demand_owner
from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.calc.tables.table_headers import UNKNOWN
from backend.catalog.models import Offer, PriceFeed, PriceObservation, PricePayload
from backend.catalog.pages.prices.forms import (
    ChangesForm,
    FeedForm,
    PriceForm,
    PricesForm,
    TableForm,
    text_to_keep,
)
from backend.catalog.pages.prices.plots import change_words, price_plot
from backend.catalog.pages.prices.refresh import refresh_context
from backend.catalog.selectors.consequences import price_consequences
from backend.catalog.selectors.current_prices import current_price
from backend.catalog.selectors.feeds import payload_of, types_without_price
from backend.catalog.selectors.offers import offers_visible
from backend.catalog.selectors.price_before import price_before
from backend.catalog.selectors.price_history import (
    change_counts,
    change_ratio,
    difference,
    freshness,
    history,
    terms_before,
)
from backend.catalog.selectors.price_list import (
    QUARANTINED,
    PriceFilter,
    price_count,
    price_list,
    price_state,
    price_visible,
)
from backend.catalog.selectors.read_prices import as_quoted
from backend.catalog.selectors.tables import COLUMNS, mappings_of
from backend.catalog.selectors.waiting_prices import waiting_lists
from backend.catalog.services.feeds import feed_enable, feed_update
from backend.catalog.services.offers import OWN_PROVIDER
from backend.catalog.services.price_import import price_review
from backend.catalog.services.price_list_review import price_list_review
from backend.catalog.services.prices import is_entered, price_enter, price_remove
from backend.catalog.services.tables import mapping_forget, table_import
from backend.core.bodies import takes_files
from backend.foundation.errors import InvalidValue
from backend.site import figures, state
from backend.site.access import demand, may, readable
from backend.site.confirming import Question, confirm_first
from backend.site.forms import refusals_said
from backend.site.language import _, count_words
from backend.site.page_defaults import default_currency
from backend.site.paging import paging_context


@readable
@require_safe
def prices_page(request: HttpRequest) -> HttpResponse:
    """The prices in force, or those of another state; how fresh their lists are."""
    return _prices(request)


@readable
@require_POST
def price_feed_new(request: HttpRequest) -> HttpResponse:
    """Reads a list from now on."""
    demand(request, Scope.ADMIN)
    form = FeedForm(request.POST)
    if form.is_valid():
        provider, _slash, kind = form.cleaned_data["list"].partition("/")
        region, actor = form.cleaned_data["region"], request.user.get_username()
        with form.refusals():
            feed_enable(
                workspace=workspace_of(request),
                provider=provider,
                kind=kind,
                region=region,
                actor=actor,
            )
            messages.success(
                request, _("The list is read within a minute, and then automatically.")
            )
            return HttpResponseRedirect(reverse("prices"))
    return _prices(request, form)


@readable
@require_POST
def price_feed_switch(request: HttpRequest, feed_id: UUID) -> HttpResponse:
    """Reads a list by itself, or no more."""
    demand(request, Scope.ADMIN)
    with refusals_said(request):
        feed_update(
            feed=get_object_or_404(PriceFeed, pk=feed_id),
            workspace=workspace_of(request),
            is_enabled=request.POST.get("enable") == "1",
            actor=request.user.get_username(),
        )
    return HttpResponseRedirect(reverse("prices"))


@readable
@require_POST
def price_list_review_form(request: HttpRequest, feed_id: UUID) -> HttpResponse:
    """A decision on all prices of a list that wait."""
    demand(request, Scope.ADMIN)
    is_accepted, seen = request.POST.get("accept") == "1", request.POST.get("count", "")
    with refusals_said(request):
        count = price_list_review(
            workspace=workspace_of(request),
            feed=get_object_or_404(PriceFeed, pk=feed_id),
            is_accepted=is_accepted,
            reason=request.POST.get("reason", ""),
            actor=request.user.get_username(),
            # Anything else than a number was not sent by our form.
            count=int(seen) if seen.isascii() and seen.isdigit() else 0,
        )
        said = (
            count_words("{n} price is published.", "{n} prices are published.", count)
            if is_accepted
            else count_words("{n} price is rejected.", "{n} prices are rejected.", count)
        )
        messages.success(request, said)
    return HttpResponseRedirect(reverse("prices"))


def _prices(request: HttpRequest, feed_form: FeedForm | None = None) -> HttpResponse:
    form = PricesForm(request.GET)
    price_filter = form.price_filter()
    rows = price_list(price_filter, workspace_slug(request))
    context = paging_context(
        request, rows, price_count(price_filter, rows, workspace_slug(request))
    )
    lists = freshness()
    context |= {
        "form": form,
        "lines": [(row, price_state(row)) for row in context["page"].object_list],
        "column_period": figures.column_period({row.unit for row in context["page"].object_list}),
        "lists": lists,
        # Quarantined prices rank nothing until somebody looks, so their number is on the first page.
        "waiting": price_list(PriceFilter(state=QUARANTINED), workspace_slug(request)).count(),
        "waiting_lists": waiting_lists(),
        "may_review": may(request, Scope.ADMIN),
        "unpriced": types_without_price().count(),
        "may_write": may(request, Scope.WRITE),
        "feed_form": (feed_form or FeedForm()) if may(request, Scope.ADMIN) else None,
        **refresh_context(request),
    }
    return render(request, "prices/list.html", context)


@readable
@require_safe
def price_changes_page(request: HttpRequest) -> HttpResponse:
    """Prices that appeared, vanished and changed between the ends of two days."""
    form = ChangesForm(request.GET)
    context: dict[str, Any] = {"form": form, "lines": []}
    if days := form.days:
        price_filter = form.price_filter()
        rows = difference(
            *days,
            price_filter,
            change=form.cleaned_data.get("change") or None,
            workspace_slug=workspace_slug(request),
        )
        context |= paging_context(request, rows, rows.count())
        context["counts"] = change_counts(
            difference(*days, price_filter, workspace_slug=workspace_slug(request))
        )
        context["lines"] = [
            (row, terms_before(row), change_words(change_ratio(row)))
            for row in context["page"].object_list
        ]
        context["column_period"] = figures.column_period(
            {price.unit for row, before, _ in context["lines"] for price in (row, before) if price}
        )
        context["csv_query"] = state.query(form.params(since="from", until="to"))
        if may(request, Scope.WRITE):
            context["freeze_url"] = reverse("report-new-prices") + state.query(form.params())
    return render(request, "prices/changes.html", context)


@readable
@require_safe
def page_without_prices(request: HttpRequest) -> HttpResponse:
    """Types that a list names without any price, and why."""
    rows = types_without_price()
    return render(request, "prices/unpriced.html", paging_context(request, rows, rows.count()))


def _price(request: HttpRequest, price_id: UUID) -> PriceObservation:
    row = price_visible(price_id, workspace_slug(request))
    if row is None:
        raise Http404(_("There is no such price."))
    return row


@readable
@require_safe
def price_page(request: HttpRequest, price_id: UUID) -> HttpResponse:
    """A price with everything stated beside it, and the way to the answer it was read from."""
    row = _price(request, price_id)
    context = {
        "price": row,
        "state": price_state(row),
        "before": None if row.is_published else price_before(row),
        "payload": payload_of(row),
        "plot": price_plot(history(row.offer)),
        "may_review": may(request, Scope.ADMIN),
        "may_delete": is_entered(row) and may(request, Scope.WRITE),
    }
    return render(request, "prices/price.html", context)


@readable
@require_POST
def price_review_form(request: HttpRequest, price_id: UUID) -> HttpResponse:
    """A person's word on a price in quarantine."""
    demand(request, Scope.ADMIN)
    row = _price(request, price_id)
    with refusals_said(request):
        is_accepted = request.POST.get("accept") == "1"
        reason, actor = request.POST.get("reason", ""), request.user.get_username()
        price_review(
            workspace=workspace_of(request),
            observation=row,
            is_accepted=is_accepted,
            reason=reason,
            actor=actor,
        )
        messages.success(request, _("Published.") if is_accepted else _("Rejected."))
    return HttpResponseRedirect(reverse("price", args=[price_id]))


def _price_to_change(request: HttpRequest, price_id: UUID) -> PriceObservation:
    demand(request, Scope.WRITE)
    return _price(request, price_id)


def _delete_question(request: HttpRequest, price_id: UUID) -> Question:
    row = _price_to_change(request, price_id)
    return Question(
        _("Delete this price of {name}?", name=row.offer.name),
        _("Delete price"),
        reverse("price", args=[price_id]),
        tuple(price_consequences(row)),
    )


@readable
@confirm_first(_delete_question)
def price_delete_form(request: HttpRequest, price_id: UUID) -> HttpResponse:
    row = _price_to_change(request, price_id)
    price_remove(
        workspace=workspace_of(request), observation=row, actor=request.user.get_username()
    )
    messages.success(request, _("The price is deleted."))
    return HttpResponseRedirect(reverse("offer", args=[row.offer.slug]))


@readable
@require_safe
def payload_page(request: HttpRequest, payload_id: int) -> HttpResponse:
    """The answer of a price interface as it came, packed as it is kept: it may be very long."""
    payload = get_object_or_404(PricePayload, pk=payload_id)
    answer = HttpResponse(bytes(payload.raw_gzip), content_type="application/gzip")
    # As a file: a browser must not render what a provider, or who poses as one, has sent.
    answer["Content-Disposition"] = f'attachment; filename="{payload.sha256[:16]}.gz"'
    return answer


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def price_new(request: HttpRequest, slug: str) -> HttpResponse:
    """A price of an offer, entered by hand with the reason."""
    demand(request, Scope.WRITE)
    offer = get_object_or_404(offers_visible(workspace_slug(request)), slug=slug)
    # Before anything is typed in: of what is shared only its owner enters prices.
    demand_owner(workspace_of(request), offer)
    initial = _last_terms(offer) or {
        "currency": default_currency(request, current_stamp()),
        "unit": "month",
    }
    if offer.provider.slug == OWN_PROVIDER:
        # Of one's own machine it is nearly always that; a list price needs its source.
        initial["reason"] = _("what we pay")
    form = PriceForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            price = price_enter(
                workspace=workspace_of(request),
                offer=offer,
                price=form.price(),
                reason=form.cleaned_data["reason"],
                actor=request.user.get_username(),
            )
            if not price.is_published:
                messages.warning(
                    request, _("The price waits for a review: {why}.", why=price.anomaly)
                )
                return HttpResponseRedirect(reverse("price", args=[price.pk]))
            messages.success(request, _("The price is published."))
            return HttpResponseRedirect(reverse("offer", args=[offer.slug]))
    return render(request, "prices/new.html", {"form": form, "offer": offer})


def _last_terms(offer: Offer) -> dict[str, Any]:
    """Terms of the offer's price in force, which a new price mostly keeps; none without one."""
    last = current_price(offer)
    if last is None:
        return {}
    return {
        "currency": last.currency,
        "unit": last.unit,
        "setup": None if last.setup_amount is None else as_quoted(last.setup_amount),
    }


@takes_files
@readable
@require_http_methods(["GET", "HEAD", "POST"])
def tables_page(request: HttpRequest) -> HttpResponse:
    """A table of quotes or offers: looked at first, or stored."""
    demand(request, Scope.WRITE)
    form = TableForm(request.POST or None, request.FILES or None)
    context: dict[str, Any] = {"form": form, "mappings": mappings_of(workspace_of(request))}
    if request.method == "POST" and form.is_valid():
        given = form.given()
        try:
            report = table_import(
                kind=form.cleaned_data["kind"],
                workspace=workspace_of(request),
                **given,
                actor=request.user.get_username(),
                # Without the button's name nothing is stored: a mistake costs a look, not a price.
                is_dry="store" not in request.POST,
            )
        except InvalidValue as error:
            form.add_error("file", str(error))
        else:
            unknown = [fault.column for fault in report.refused if fault.detail.startswith(UNKNOWN)]
            context |= {
                "report": report,
                # Kept, since a browser never fills in a file again.
                "kept": text_to_keep(given["text"]) if report.is_dry or unknown else "",
                "unknown": unknown,
                "meanings": COLUMNS[form.cleaned_data["kind"]],
            }
    return render(request, "prices/tables.html", context)


@readable
@require_POST
def table_mapping_forget(request: HttpRequest, mapping_id: UUID) -> HttpResponse:
    """Reads the next table of a hoster without what was said of its last one."""
    demand(request, Scope.WRITE)
    mapping = get_object_or_404(mappings_of(workspace_of(request)), pk=mapping_id)
    mapping_forget(mapping=mapping, actor=request.user.get_username())
    messages.success(request, _("Forgotten."))
    return HttpResponseRedirect(reverse("price-tables"))
