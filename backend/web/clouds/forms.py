"""An account at a cloud: where machines may be rented, how we log in, what it may cost."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.text import capfirst

from backend.accounts.models import AccessKind, CloudAccount
from backend.domain.rentals import Budget
from backend.providers.accounts import COMMON
from backend.providers.base import SecretField, Setting
from backend.providers.registry import provider as provider_record
from backend.rentals.services.cloud_accounts import MAX_MACHINES
from backend.web.shared import figures
from backend.web.shared.forms import SecretText, WriteForm, currency, text

# Prefixes keep what providers call their settings apart from the fields that every form has. They
# also are what a pointer /settings/NAME of a refusal leads to.
SETTING = "settings_"
SECRET = "secret_"  # noqa: S105  (how the fields are called)
ENDPOINT = Setting("Endpoint of the provider's API", "", "", "Empty: the provider's own.")


class _CloudForm(WriteForm):
    """A form about one provider; its fields are those that the provider knows."""

    def __init__(self, *args: Any, provider: str, **given: Any) -> None:
        self.provider, self.record = provider, provider_record(provider)
        super().__init__(*args, **given)

    def add_setting(self, name: str, setting: Setting, only: str = "") -> None:
        """A line for a setting; `only` says when it counts."""
        self.fields[f"{SETTING}{name}"] = text(
            setting.label,
            required=False,
            help_text=f"{only} {setting.hint}".strip(),
            spellcheck="false",
        )

    def typed_settings(self) -> dict[str, object]:
        """The settings of which this form has a field, those with a value."""
        values = {
            name.removeprefix(SETTING): self.cleaned_data.get(name)
            for name in self.fields
            if name.startswith(SETTING)
        }
        # An empty field is no setting: the provider's own choice holds.
        return {name: value for name, value in values.items() if value not in (None, "", [], {})}

    def setting_names(self) -> set[str]:
        """The settings of which this form has a field."""
        return {name.removeprefix(SETTING) for name in self.fields if name.startswith(SETTING)}


class LoginForm(_CloudForm):
    """How we authenticate: the method, and the secret where it has one."""

    access = forms.ChoiceField(
        label="How we log in", help_text="The methods without a stored key come first."
    )

    def __init__(self, *args: Any, are_endpoints_allowed: bool, **given: Any) -> None:
        super().__init__(*args, **given)
        self.fields["access"].choices = [  # type: ignore[attr-defined]
            (method, capfirst(AccessKind(method).label)) for method in self.record.auth_methods
        ]
        for name, setting in self._method_settings().items():
            self.add_setting(name, setting, self._only(name))
        if are_endpoints_allowed:
            self.add_setting("endpoint_url", ENDPOINT)
        for method in self.record.auth_methods.values():
            for name, field in method.secret_fields.items():
                self.fields[f"{SECRET}{name}"] = _secret_field(field, self._only(name))

    def _method_settings(self) -> dict[str, Setting]:
        """The settings of every authentication method."""
        methods = self.record.auth_methods.values()
        return {name: one for method in methods for name, one in method.settings.items()}

    def _only(self, name: str) -> str:
        """With which methods a field counts; empty when with all."""
        labels = [
            AccessKind(kind).label
            for kind, method in self.record.auth_methods.items()
            if name in (*method.settings, *method.secret_fields)
        ]
        is_every = len(labels) == len(self.record.auth_methods)
        return "" if is_every else f"Only with: {'; '.join(labels)}."

    @property
    def login_fields(self) -> Iterable[forms.BoundField]:
        """Everything but the choice of the method."""
        settings = {f"{SETTING}{name}" for name in (*self._method_settings(), "endpoint_url")}
        return [self[name] for name in self.fields if name in settings or name.startswith(SECRET)]

    def secret(self) -> dict[str, object]:
        """The secret fields that were filled in."""
        return {
            name.removeprefix(SECRET): value
            for name, value in self.cleaned_data.items()
            if name.startswith(SECRET) and value
        }


def _secret_field(field: SecretField, only: str) -> forms.CharField:
    # A secret that is checked is a file of several lines, such as a key of a service account.
    if field.check is not None:
        widget: forms.Widget = SecretText(attrs={"rows": 4, "spellcheck": "false"})
    else:
        widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
    help_text = f"{only} Kept encrypted, never shown again.".strip()
    return forms.CharField(
        label=field.label, required=False, strip=True, widget=widget, help_text=help_text
    )


class LimitsForm(_CloudForm):
    """Name, places and limits."""

    name = text("Name", maxlength=100)
    max_machines = forms.IntegerField(
        label="Machines at once", initial=20, min_value=0, max_value=MAX_MACHINES
    )
    budget_amount = forms.DecimalField(
        label="Budget of a calendar month",
        required=False,
        min_value=Decimal(0),
        max_digits=20,
        decimal_places=10,
        help_text="Net. Empty: no limit but those of the runs.",
    )
    budget_currency = currency()

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        # Such an account only reads prices: there is nothing to limit.
        if not self.record.rents_machines:
            del self.fields["max_machines"], self.fields["budget_amount"]
            del self.fields["budget_currency"]
            return
        self.fields[f"{SETTING}regions"] = text(
            "Regions", help_text=f"Separated by blanks, as in {self.record.example_region}."
        )
        for name, setting in self.record.settings.items():
            self.add_setting(name, setting)
            self.fields[f"{SETTING}{name}"].required = name in self.record.required_settings
        for name, setting in COMMON.items():
            self.add_setting(name, setting)
        self.fields[f"{SETTING}ssh_port"] = forms.IntegerField(
            label="SSH port", required=False, min_value=1, max_value=65_535, help_text="Empty: 22."
        )
        self.fields[f"{SETTING}zones"] = forms.CharField(
            label="Zones",
            required=False,
            help_text="One region a line, then a colon and its zones; tried in this order."
            " Empty: the provider's choice.",
            widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        )

    @property
    def machine_fields(self) -> Iterable[forms.BoundField]:
        """Where machines are rented, and what they are started with."""
        own = {f"{SETTING}{name}" for name in (*self.record.settings, *COMMON, "regions")}
        own |= {f"{SETTING}ssh_port", f"{SETTING}zones"}
        return [self[name] for name in self.fields if name in own]

    @property
    def limit_fields(self) -> Iterable[forms.BoundField]:
        """How many machines, and what they may cost."""
        names = ("max_machines", "budget_amount", "budget_currency")
        return [self[name] for name in names if name in self.fields]

    def clean_settings_regions(self) -> list[str]:
        return re.split(r"[\s,]+", str(self.cleaned_data["settings_regions"]).strip(" ,\t\r\n"))

    def clean_settings_zones(self) -> dict[str, list[str]]:
        zones_by_region = {}
        for line in str(self.cleaned_data["settings_zones"]).splitlines():
            region, _, zones = line.partition(":")
            if line.strip():
                zones_by_region[region.strip()] = re.split(r"[\s,]+", zones.strip(" ,\t"))
        return zones_by_region

    def limits(self) -> dict[str, Any]:
        """`max_machines` and `budget` for the services."""
        data = self.cleaned_data
        amount = data.get("budget_amount")
        currency = (data.get("budget_currency") or "USD").upper()
        budget = None if amount is None else Budget(amount, currency)
        return {"max_machines": data.get("max_machines") or 0, "budget": budget}


class AccountForm(LimitsForm, LoginForm):
    """All of a new account."""


def initial_of(account: CloudAccount) -> dict[str, object]:
    """What the forms show of an account; of its secret nothing."""
    settings = dict(account.settings)
    zones = settings.pop("zones", {})
    shown = {f"{SETTING}{name}": value for name, value in settings.items()}
    return shown | {
        "name": account.name,
        "access": account.access,
        "max_machines": account.max_machines,
        "budget_amount": figures.plain(account.budget_amount),
        "budget_currency": account.budget_currency or "USD",
        f"{SETTING}regions": " ".join(settings.get("regions", [])),
        f"{SETTING}zones": "\n".join(f"{region}: {' '.join(z)}" for region, z in zones.items()),
    }
