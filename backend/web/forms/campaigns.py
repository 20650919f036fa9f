"""A campaign: hosts, what is measured on them, and what it may cost."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms

from backend.benchmarks.models import Host, HostState, NetworkPairs
from backend.web.forms.parameters import ParameterForm

PAIR_WORDS: dict[str, str] = {
    NetworkPairs.NONE: "no network tests",
    NetworkPairs.RING: "each host to the next",
    NetworkPairs.ALL: "each host to every other",
}


class CampaignForm(ParameterForm):
    """Create a campaign; nothing runs before it is started."""

    name = forms.CharField(
        label="Name", max_length=100, widget=forms.TextInput(attrs={"autocomplete": "off"})
    )
    hosts = forms.MultipleChoiceField(label="Hosts", widget=forms.CheckboxSelectMultiple)
    repeats = forms.IntegerField(
        label="Runs of each host", initial=1, min_value=1, help_text="In one round."
    )
    concurrency = forms.IntegerField(
        label="Hosts at once", initial=4, min_value=1, help_text="Runs active at the same time."
    )
    network_pairs = forms.ChoiceField(
        label="Network between the hosts",
        choices=list(PAIR_WORDS.items()),
        initial=NetworkPairs.NONE,
    )
    budget_amount = forms.DecimalField(
        label="Budget", required=False, min_value=Decimal(0), help_text="Empty: no limit."
    )
    budget_currency = forms.RegexField(
        r"^[A-Za-z]{3}\Z",
        label="Currency",
        initial="USD",
        required=False,
        widget=forms.TextInput(attrs={"maxlength": 3, "autocomplete": "off"}),
    )
    install_tools = forms.BooleanField(
        label="Install fio and iperf3 for a run where they are missing, and remove them after it",
        required=False,
    )

    pointers = {
        **ParameterForm.pointers,
        "/budget": "budget_amount",
        "/budget/amount": "budget_amount",
        "/budget/currency": "budget_currency",
    }

    def __init__(self, *args: Any, hosts: Sequence[Host], **given: Any) -> None:
        super().__init__(*args, **given)
        self.fields["hosts"].choices = [  # type: ignore[attr-defined]
            (str(host.pk), host.name) for host in hosts if host.state == HostState.TRUSTED
        ]
        self.untrusted = [host for host in hosts if host.state != HostState.TRUSTED]

    def budget(self) -> tuple[Decimal, str] | None:
        """Amount and currency typed; None for no limit."""
        amount = self.cleaned_data["budget_amount"]
        currency = (self.cleaned_data["budget_currency"] or "USD").upper()
        return None if amount is None else (amount, currency)
