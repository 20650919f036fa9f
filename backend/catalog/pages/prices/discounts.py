"""The page of a workspace's contract discounts."""

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of
from backend.catalog.selectors.consequences import discount_consequences
from backend.catalog.selectors.discounts import discounts_visible
from backend.catalog.selectors.offers import providers
from backend.catalog.services.discounts import discount_create, discount_delete
from backend.money.pricing.discounts import DiscountService
from backend.site.access import demand, readable
from backend.site.confirming import Question, confirm_first
from backend.site.forms import Day, WriteForm
from backend.site.language import _, lazy

SERVICES = (
    (DiscountService.ALL, lazy("everything")),
    (DiscountService.COMPUTE, lazy("machines")),
    (DiscountService.STORAGE, lazy("disks")),
    (DiscountService.EGRESS, lazy("traffic")),
)


class DiscountForm(WriteForm):
    """A row of a contract."""

    provider = forms.ChoiceField(label=lazy("Provider"))
    service = forms.ChoiceField(label=lazy("On"), choices=SERVICES)
    percent = forms.DecimalField(label=lazy("Discount in %"), max_digits=6, decimal_places=3)
    valid_from = Day(label=lazy("First day"), required=False)
    valid_until = Day(label=lazy("Last day"), required=False)

    pointers = {"/from": "valid_from", "/until": "valid_until"}

    def __init__(self, data: object = None) -> None:
        super().__init__(data)
        known = list(providers().values_list("slug", "name"))
        self.fields["provider"].choices = known  # type: ignore[attr-defined]


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def discounts_page(request: HttpRequest) -> HttpResponse:
    """The discounts of the workspace, and a form for another one."""
    demand(request, Scope.WRITE)
    form = DiscountForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            discount_create(
                workspace=workspace_of(request),
                actor=request.user.get_username(),
                **form.cleaned_data,
            )
            messages.success(request, _("The discount is stored."))
            return HttpResponseRedirect(reverse("price-discounts"))
    rows = discounts_visible(workspace_of(request))
    return render(request, "prices/discounts.html", {"form": form, "rows": rows})


def _question(request: HttpRequest, discount_id: UUID) -> Question:
    demand(request, Scope.WRITE)
    row = get_object_or_404(discounts_visible(workspace_of(request)), pk=discount_id)
    return Question(
        _("Delete the discount of {name}?", name=row.provider.name),
        _("Delete discount"),
        reverse("price-discounts"),
        tuple(discount_consequences(row)),
    )


@readable
@confirm_first(_question)
def discount_delete_form(request: HttpRequest, discount_id: UUID) -> HttpResponse:
    demand(request, Scope.WRITE)
    row = get_object_or_404(discounts_visible(workspace_of(request)), pk=discount_id)
    discount_delete(
        workspace=workspace_of(request), discount=row, actor=request.user.get_username()
    )
    messages.success(request, _("The discount is deleted."))
    return HttpResponseRedirect(reverse("price-discounts"))
