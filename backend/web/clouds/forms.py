"""An account at a cloud: where machines may be rented, how we log in, what it may cost."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.text import capfirst

from backend.accounts.models import AccessKind, CloudAccount
from backend.accounts.services.cloud_accounts import MAX_MACHINES, MonthlyBudget
from backend.domain.cloud_accounts import CLOUDS
from backend.web.shared import figures
from backend.web.shared.forms import SecretText, WriteForm, text

SETTING = "settings_"
SECRET = "secret_"  # noqa: S105  (how the fields are called)
SETTINGS = {
    "image": ("Image", "Empty: the driver's own choice of Debian."),
    "username": ("User of the image", "Empty: the driver's own choice."),
    "subnet_id": ("Subnet", "Empty: the default network."),
    "project": ("Project", ""),
    "network": ("Network", "Empty: the network default."),
    "folder": ("Folder of the faked provider", ""),
    "role_arn": ("Role to assume", "It looks like arn:aws:iam::123456789012:role/rackrate."),
    "external_id": ("External id of the role", "The same as in the role's trust policy."),
    "endpoint_url": ("Address of the provider's interface", "Empty: the provider's own."),
}
SECRETS = {
    "token": "API token",
    "access_key_id": "Access key id",
    "secret_access_key": "Secret access key",
    "service_account_json": "Key file of the service account (JSON)",
    "api_key": "API key for price lists",
}


class _CloudForm(WriteForm):
    """A form about one provider; its fields are those that the provider knows."""

    def __init__(self, *args: Any, provider: str, **given: Any) -> None:
        self.provider, self.cloud = provider, CLOUDS[provider]
        super().__init__(*args, **given)

    def add_setting(self, name: str, only: str = "") -> None:
        """A line for one of SETTINGS; `only` says when it counts."""
        label, hint = SETTINGS[name]
        field = text(label, required=False, help_text=f"{only} {hint}".strip(), spellcheck="false")
        self.fields[f"{SETTING}{name}"] = field

    def typed_settings(self) -> dict[str, object]:
        """The settings of which this form has a field, those with a value."""
        found = {
            name.removeprefix(SETTING): self.cleaned_data.get(name)
            for name in self.fields
            if name.startswith(SETTING)
        }
        return {name: value for name, value in found.items() if value not in (None, "", [], {})}

    def setting_names(self) -> set[str]:
        """The settings of which this form has a field."""
        return {name.removeprefix(SETTING) for name in self.fields if name.startswith(SETTING)}


class LoginForm(_CloudForm):
    """How we log in: the way, and the secret where it has one."""

    access = forms.ChoiceField(
        label="How we log in", help_text="The ways without a stored key come first."
    )

    def __init__(self, *args: Any, are_endpoints_allowed: bool, **given: Any) -> None:
        super().__init__(*args, **given)
        self.fields["access"].choices = [  # type: ignore[attr-defined]
            (way, capfirst(AccessKind(way).label)) for way in self.cloud.ways
        ]
        ways = self.cloud.ways.values()
        for name in dict.fromkeys(name for way in ways for name in way.settings):
            self.add_setting(name, self._only(name))
        if are_endpoints_allowed:
            self.add_setting("endpoint_url")
        for name in dict.fromkeys(name for way in ways for name in way.secret_fields):
            self.fields[f"{SECRET}{name}"] = _secret_field(name, self._only(name))

    def _only(self, name: str) -> str:
        """With which ways in a field counts; empty when with all."""
        found = [
            AccessKind(kind).label
            for kind, way in self.cloud.ways.items()
            if name in (*way.settings, *way.secret_fields)
        ]
        is_every = len(found) == len(self.cloud.ways)
        return "" if is_every else f"Only with: {'; '.join(found)}."

    @property
    def login_fields(self) -> Iterable[forms.BoundField]:
        """Everything but the way in."""
        names = {name for way in self.cloud.ways.values() for name in way.settings}
        names |= {"endpoint_url"}
        wanted = {f"{SETTING}{name}" for name in names}
        return [self[name] for name in self.fields if name in wanted or name.startswith(SECRET)]

    def secret(self) -> dict[str, object]:
        """The secret fields that were filled in."""
        return {
            name.removeprefix(SECRET): value
            for name, value in self.cleaned_data.items()
            if name.startswith(SECRET) and value
        }


def _secret_field(name: str, only: str) -> forms.CharField:
    if name == "service_account_json":
        widget: forms.Widget = SecretText(attrs={"rows": 4, "spellcheck": "false"})
    else:
        widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
    help_text = f"{only} Kept encrypted, never shown again.".strip()
    return forms.CharField(
        label=SECRETS[name], required=False, strip=True, widget=widget, help_text=help_text
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
    budget_currency = forms.RegexField(
        r"^[A-Za-z]{3}\Z",
        label="Currency",
        initial="USD",
        required=False,
        widget=forms.TextInput(attrs={"maxlength": 3, "autocomplete": "off"}),
    )

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        if not self.cloud.is_renting:
            del self.fields["max_machines"], self.fields["budget_amount"]
            del self.fields["budget_currency"]
            return
        self.fields[f"{SETTING}regions"] = text(
            "Regions", help_text=f"Separated by blanks, as in {self.cloud.example}."
        )
        for name in self.cloud.settings:
            self.add_setting(name)
            self.fields[f"{SETTING}{name}"].required = name in self.cloud.needed
        for name in ("image", "username"):
            self.add_setting(name)
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
    def place_fields(self) -> Iterable[forms.BoundField]:
        """Where machines are rented, and what they are started with."""
        own = {
            f"{SETTING}{name}" for name in (*self.cloud.settings, "regions", "image", "username")
        }
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
        found = {}
        for line in str(self.cleaned_data["settings_zones"]).splitlines():
            region, _, zones = line.partition(":")
            if line.strip():
                found[region.strip()] = re.split(r"[\s,]+", zones.strip(" ,\t"))
        return found

    def limits(self) -> dict[str, Any]:
        """`max_machines` and `budget` for the services."""
        data = self.cleaned_data
        amount = data.get("budget_amount")
        currency = (data.get("budget_currency") or "USD").upper()
        budget = None if amount is None else MonthlyBudget(amount, currency)
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
