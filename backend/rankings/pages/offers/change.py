"""An offer of one's own: changed, retired or deleted."""

from decimal import Decimal
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.benchmarks.services.offers import offer_delete
from backend.catalog.models import Offer, OfferKind, VcpuKind
from backend.catalog.selectors.offers import offers_visible
from backend.catalog.services.offers import MOST_NAME, demand_own, offer_update
from backend.foundation.errors import InvalidValue
from backend.foundation.units import BYTES_PER_GB, BYTES_PER_GIB
from backend.search.selectors.mentions import offer_mentions
from backend.site import number_fields, words
from backend.site.access import demand, readable
from backend.site.confirming import Question, confirm_first
from backend.site.forms import Day, WriteForm, refusal_said, text
from backend.site.language import _, lazy

SIZES = {"memory_bytes": BYTES_PER_GIB, "disk_bytes": BYTES_PER_GB}
MOST_SIZE = Decimal(1_000_000)


def _size(label: str, units: number_fields.Units) -> number_fields.DecimalField:
    return number_fields.DecimalField(
        label=label, required=False, units=units, min_value=Decimal("0.001"), max_value=MOST_SIZE
    )


class OfferForm(WriteForm):
    """Known figures of an offer; empty is not known."""

    name = text(lazy("Name"), maxlength=MOST_NAME)
    kind = forms.ChoiceField(
        label=lazy("Kind"), choices=[(kind, words.kind(kind)) for kind in OfferKind.values]
    )
    cpu_model = forms.CharField(label=lazy("CPU model"), required=False, max_length=150)
    arch = forms.CharField(label=lazy("Architecture"), required=False, max_length=10)
    vcpu_count = number_fields.DecimalField(
        label=lazy("vCPU"), required=False, max_digits=8, decimal_places=3
    )
    vcpu_kind = forms.ChoiceField(
        label=lazy("Kind of vCPU"),
        required=False,
        choices=[("", lazy("not stated")), *((kind, lazy(kind)) for kind in VcpuKind.values)],
    )
    thread_count = number_fields.IntegerField(
        label=lazy("Threads"), required=False, min_value=1, max_value=2**31 - 1
    )
    memory_bytes = _size(lazy("Memory, GiB"), number_fields.MEMORY_GIB)
    disk_bytes = _size(lazy("Disk, GB"), number_fields.DISK_GB)
    disk_kind = forms.CharField(label=lazy("Kind of disk"), required=False, max_length=20)
    note = forms.CharField(
        label=lazy("Note"),
        required=False,
        max_length=2_000,
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    discontinued_on = Day(
        label=lazy("Retired from"),
        required=False,
        help_text=lazy("It is marked as discontinued from then on; its figures stay."),
    )

    def changes(self) -> dict[str, Any]:
        """Stated fields, as the service takes them."""
        sizes = {
            name: None if (size := self.cleaned_data[name]) is None else int(size * unit_bytes)
            for name, unit_bytes in SIZES.items()
        }
        return self.cleaned_data | sizes


def _initial_values(offer: Offer) -> dict[str, Any]:
    sizes = {
        name: size and Decimal(size) / unit_bytes
        for name, unit_bytes in SIZES.items()
        if (size := getattr(offer, name)) is not None
    }
    return vars(offer) | sizes


def _own(request: HttpRequest, slug: str) -> Offer:
    demand(request, Scope.WRITE)
    return get_object_or_404(offers_visible(workspace_slug(request)), slug=slug)


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def offer_change(request: HttpRequest, slug: str) -> HttpResponse:
    """The form for what is known of an offer of one's own."""
    offer, workspace = _own(request, slug), workspace_of(request)
    form = OfferForm(request.POST or None, initial=_initial_values(offer))
    try:
        # Before anything is typed in.
        demand_own(workspace, offer)
    except InvalidValue as error:
        refusal_said(request, error)
        return HttpResponseRedirect(reverse("offer", args=[slug]))
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            changes, actor = form.changes(), request.user.get_username()
            offer_update(workspace=workspace, offer=offer, changes=changes, actor=actor)
            messages.success(request, _("Offer saved."))
            return HttpResponseRedirect(reverse("offer", args=[slug]))
    return render(request, "offers/change.html", {"offer": offer, "form": form})


def _delete_question(request: HttpRequest, slug: str) -> Question:
    offer = _own(request, slug)
    return Question(
        _("Delete the offer {name}?", name=offer.name),
        _("Delete offer"),
        reverse("offer", args=[slug]),
        tuple(offer_mentions(offer, workspace_of(request))),
    )


@readable
@confirm_first(_delete_question)
def offer_delete_form(request: HttpRequest, slug: str) -> HttpResponse:
    """Deletes an offer of one's own; one that hosts or runs are of stays and can be retired."""
    offer = _own(request, slug)
    offer_delete(workspace=workspace_of(request), offer=offer, actor=request.user.get_username())
    messages.success(request, _("The offer {name} is deleted.", name=offer.name))
    return HttpResponseRedirect(reverse("offers"))
