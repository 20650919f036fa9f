"""A run on a machine that is rented for it."""

from decimal import Decimal
from typing import Any

from django import forms

from backend.benchmarks.models import ResourcePurchase
from backend.benchmarks.pages.runs.parameter_forms import PROFILE_WORDS
from backend.benchmarks.selectors.rental_accounts import credit_modes
from backend.catalog.models import Offer
from backend.measure.credits import STANDARD, UNLIMITED
from backend.measure.profiles import INSTALL_TOOLS
from backend.providers.rentals import Budget
from backend.site import number_fields
from backend.site.forms import WriteForm, currency
from backend.site.language import lazy

PURCHASE_WORDS = {
    ResourcePurchase.ON_DEMAND: lazy("on demand"),
    ResourcePurchase.SPOT: lazy("spot (it may be taken back)"),
}
CREDIT_MODE_WORDS = {
    "": lazy("account default"),
    STANDARD: lazy("standard: slowed to its share"),
    UNLIMITED: lazy("unlimited: runs on, at a surcharge"),
}


class RentalForm(WriteForm):
    """Measure an offer: profile, way of buying, and the most that it may cost."""

    profile = forms.ChoiceField(label=lazy("Profile"), choices=list(PROFILE_WORDS.items()))
    purchase_model = forms.ChoiceField(
        label=lazy("Bought"),
        choices=list(PURCHASE_WORDS.items()),
        initial=ResourcePurchase.ON_DEMAND,
    )
    credit_mode = forms.ChoiceField(
        label=lazy("Without CPU credits"),
        choices=list(CREDIT_MODE_WORDS.items()),
        required=False,
        help_text=lazy(
            "Of the dearer one what all CPUs cost beyond their credits is reserved and booked."
        ),
    )
    install_tools = forms.BooleanField(
        label=lazy("Install fio, stress-ng and other tools that are missing"),
        initial=True,
        required=False,
    )
    budget_amount = number_fields.DecimalField(
        label=lazy("Budget"),
        min_value=Decimal(0),
        help_text=lazy("The most that this run may cost."),
    )
    # Never guessed: a machine is rented for this amount.
    budget_currency = currency(required=True, initial=None)

    pointers = {
        "/budget": "budget_amount",
        "/parameters/purchase_model": "purchase_model",
        "/parameters/credit_mode": "credit_mode",
    }

    def __init__(self, *args: Any, offer: Offer, **given: Any) -> None:
        super().__init__(*args, **given)
        # Nothing to choose where the offer has no credits, or is sold in one mode only.
        if len(credit_modes(offer)) < 2:
            del self.fields["credit_mode"]

    def run_parameters(self) -> dict[str, object]:
        names = ("purchase_model", "credit_mode")
        chosen: dict[str, object] = {name: self.cleaned_data.get(name) for name in names}
        chosen = {name: value for name, value in chosen.items() if value}
        # A box that is not ticked is sent as nothing, and switches the usual off.
        return {**chosen, INSTALL_TOOLS: self.cleaned_data["install_tools"]}

    def budget(self) -> Budget:
        data = self.cleaned_data
        return Budget(data["budget_amount"], data["budget_currency"].upper())
