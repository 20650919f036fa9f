"""A run on a machine that is rented for it."""

from decimal import Decimal

from django import forms

from backend.benchmarks.models import ResourcePurchase
from backend.domain.rentals import Budget
from backend.web.runs.parameter_forms import PROFILE_WORDS
from backend.web.shared.forms import WriteForm, currency

PURCHASE_WORDS = {
    ResourcePurchase.ON_DEMAND: "on demand",
    ResourcePurchase.SPOT: "spot (it may be taken back)",
}


class RentalForm(WriteForm):
    """Measure an offer: profile, way of buying, and the most that it may cost."""

    profile = forms.ChoiceField(label="Profile", choices=list(PROFILE_WORDS.items()))
    purchase_model = forms.ChoiceField(
        label="Bought", choices=list(PURCHASE_WORDS.items()), initial=ResourcePurchase.ON_DEMAND
    )
    budget_amount = forms.DecimalField(
        label="Budget", min_value=Decimal(0), help_text="The most that this run may cost."
    )
    # Never guessed: a machine is rented for this amount.
    budget_currency = currency(required=True, initial=None)

    pointers = {
        "/budget": "budget_amount",
        "/parameters/purchase_model": "purchase_model",
    }

    def budget(self) -> Budget:
        data = self.cleaned_data
        return Budget(data["budget_amount"], data["budget_currency"].upper())
