"""A campaign: hosts and offers to rent, what is measured on them, and what it may cost."""

import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

from django import forms

from backend.accounts.models import Workspace
from backend.benchmarks.calc.campaign_document import CampaignDocument, NetworkPairs
from backend.benchmarks.models import Host, HostState, ResourcePurchase
from backend.benchmarks.pages.runs.parameter_forms import PREFIX, ParameterForm, parameters_typed
from backend.benchmarks.pages.runs.rental_form import CREDIT_MODE_WORDS, PURCHASE_WORDS
from backend.catalog.selectors.offers import offer_called
from backend.site import number_fields
from backend.site.forms import amount_typed, currency, text
from backend.site.language import _, lazy
from backend.site.offer_field import offer_field

PAIR_WORDS: dict[str, str] = {
    NetworkPairs.NONE: lazy("no network tests"),
    NetworkPairs.RING: lazy("each host to the next"),
    NetworkPairs.ALL: lazy("each host to every other"),
    NetworkPairs.TWINS: lazy("each machine to rent to a second one of its type"),
}
INSTALL_WORDS = {
    "": lazy("on machines to rent only"),
    "yes": lazy("on hosts, too"),
    "no": lazy("nowhere"),
}


# Of the document, typed as it is stated.
PLAIN_FIELDS = ("name", "profile", "repeats", "concurrency", "network_pairs")


def form_values(document: CampaignDocument) -> dict[str, Any]:
    """A stored campaign as it is typed in the form."""
    budget = document.budget
    return {
        **{name: getattr(document, name) for name in PLAIN_FIELDS},
        "hosts": [str(host) for host in document.hosts],
        "offers": "\n".join(document.offers),
        "probes": document.probes or [],
        "budget_amount": budget and budget.amount.normalize(),
        "budget_currency": budget.currency if budget else "USD",
        "install_tools": {None: "", True: "yes", False: "no"}[document.install_tools],
        **parameters_typed(document.parameters),
    }


class CampaignForm(ParameterForm):
    """Create a campaign; nothing runs before it is started."""

    name = text(lazy("Name"), maxlength=100)
    hosts = forms.MultipleChoiceField(
        label=lazy("Hosts"), required=False, widget=forms.CheckboxSelectMultiple
    )
    offer = offer_field(
        lazy("Add an offer to rent"),
        required=False,
        help_text=lazy("Pick offers from the list one by one."),
    )
    offers = forms.CharField(
        label=lazy("Offers to rent"),
        required=False,
        help_text=lazy(
            "Selected offers; you can also paste offer identifiers. Each run rents a "
            "machine and deletes it afterwards; set a budget."
        ),
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "autocapitalize": "none"}),
    )
    purchase_model = forms.ChoiceField(
        label=lazy("Purchase option of rented machines"),
        choices=list(PURCHASE_WORDS.items()),
        initial=ResourcePurchase.ON_DEMAND,
        required=False,
    )
    credit_mode = forms.ChoiceField(
        label=lazy("Burstable machines without CPU credits"),
        choices=list(CREDIT_MODE_WORDS.items()),
        required=False,
    )
    repeats = number_fields.IntegerField(
        label=lazy("Runs per host or offer"),
        initial=1,
        min_value=1,
        help_text=lazy("In one round."),
    )
    concurrency = number_fields.IntegerField(
        label=lazy("Parallel runs"),
        initial=4,
        min_value=1,
        help_text=lazy("Runs active at the same time."),
    )
    network_pairs = forms.ChoiceField(
        label=lazy("Network between the hosts"),
        choices=list(PAIR_WORDS.items()),
        initial=NetworkPairs.NONE,
        help_text=lazy(
            "Rented machines are paired with each other: two more are rented for each pair."
        ),
    )
    budget_amount = number_fields.DecimalField(
        label=lazy("Budget"),
        required=False,
        min_value=Decimal(0),
        help_text=lazy("Leave blank for no limit."),
    )
    budget_currency = currency()
    install_tools = forms.TypedChoiceField(
        label=lazy("Install missing tools such as fio"),
        choices=list(INSTALL_WORDS.items()),
        coerce=lambda text: {"yes": True, "no": False}[text],
        empty_value=None,
        required=False,
        help_text=lazy("For a run; on hosts they are removed after it."),
    )

    pointers = {
        **ParameterForm.pointers,
        "/budget": "budget_amount",
        "/budget/amount": "budget_amount",
        "/budget/currency": "budget_currency",
        "/parameters/purchase_model": "purchase_model",
        "/parameters/credit_mode": "credit_mode",
    }

    def __init__(
        self, *args: Any, hosts: Sequence[Host], workspace: Workspace, **given: Any
    ) -> None:
        self.workspace = workspace
        super().__init__(*args, **given)
        self.fields["hosts"].choices = [  # type: ignore[attr-defined]
            # Without an approved key nobody logs in, and the campaign would fail at its start.
            (str(host.pk), host.name)
            for host in hosts
            if host.state == HostState.TRUSTED or str(host.pk) in self.initial.get("hosts", ())
        ]
        # Named on the page with the way to approve their key: a host that is only missing would puzzle.
        self.untrusted = [host for host in hosts if host.state != HostState.TRUSTED]

    def fix(self, changing: Collection[str]) -> None:
        """Let only these fields be changed; the others show what is stored."""
        for name, field in self.fields.items():
            field.disabled = name not in changing

    def clean_offer(self) -> str:
        """The identifier of the offer named; empty where none is."""
        name = self.cleaned_data["offer"].strip()
        offer = offer_called(name, self.workspace.slug) if name else None
        if name and offer is None:
            raise forms.ValidationError(_("No offer is called {name!r}.", name=name))
        return offer.slug if offer else ""

    def clean_offers(self) -> list[str]:
        # Identifiers come out of addresses, messages and columns of a spreadsheet.
        pasted = re.findall(r"[^\s,]+", str(self.cleaned_data["offers"]))
        # The field before stays filled where no script moved its offer into the list.
        beside = self.cleaned_data.get("offer")
        return pasted if not beside or beside in pasted else [*pasted, beside]

    def run_parameters(self) -> dict[str, object]:
        chosen = super().run_parameters()
        for name in ("purchase_model", "credit_mode"):
            if self.cleaned_data["offers"] and self.cleaned_data[name]:
                chosen[name] = self.cleaned_data[name]
        return chosen

    def document(self, before: CampaignDocument | None = None) -> dict[str, Any]:
        """The form as a document; parameters that it has no field for stay."""
        data = self.cleaned_data
        kept = {
            name: value
            for name, value in (before.parameters if before else {}).items()
            if name not in self.fields and f"{PREFIX}{name}" not in self.fields
        }
        return {
            **{name: data[name] for name in (*PLAIN_FIELDS, "hosts", "offers", "install_tools")},
            "probes": self.probe_choice(),
            "parameters": kept | self.run_parameters(),
            "budget": amount_typed(data, "budget"),
        }
