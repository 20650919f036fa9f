"""A run on one host."""

from collections.abc import Sequence
from typing import Any

from django import forms

from backend.benchmarks.models import Host
from backend.benchmarks.pages.runs.parameter_forms import ParameterForm
from backend.site.language import lazy


class RunForm(ParameterForm):
    """Start a run: profile, probes, the other end of the network tests, parameters."""

    peer = forms.ChoiceField(
        label=lazy("Network test partner"),
        required=False,
        help_text=lazy("Leave blank to skip the network tests."),
    )
    peer_address = forms.CharField(
        label=lazy("Address of the network test partner"),
        required=False,
        help_text=lazy("If this host reaches it at a different address."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    install_tools = forms.BooleanField(
        label=lazy(
            "Install fio and iperf3 for the run where they are missing, and remove them after it"
        ),
        required=False,
    )

    careful = forms.BooleanField(
        label=lazy("Production host: only while it is idle, at the lowest priority, no disk tests"),
        required=False,
    )

    def __init__(self, *args: Any, peers: Sequence[Host], **given: Any) -> None:
        super().__init__(*args, **given)
        chosen = [(str(host.pk), host.name) for host in peers]
        self.fields["peer"].choices = [("", "none"), *chosen]  # type: ignore[attr-defined]

    def run_parameters(self) -> dict[str, object]:
        # A box that is not ticked states nothing, so a profile's own default stays in force.
        flags = {name: True for name in ("install_tools", "careful") if self.cleaned_data[name]}
        return super().run_parameters() | flags
