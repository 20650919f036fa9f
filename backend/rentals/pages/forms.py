"""An account at a cloud: where machines may be rented, how we log in, what it may cost."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import uuid4

from django import forms
from django.utils.text import capfirst

from backend.accounts.models import AccessKind, CloudAccount
from backend.providers.accounts import COMMON, settings_of_account
from backend.providers.base import SecretField, Setting, SettingForm
from backend.providers.registry import provider as provider_record
from backend.providers.rentals import Budget
from backend.rentals.services.cloud_accounts import MAX_MACHINES, MAX_VCPUS
from backend.site import figures, number_fields
from backend.site.forms import SecretText, WriteForm, currency, text
from backend.site.language import _, lazy

# Prefixes keep what providers call their settings apart from the fields that every form has. They
# also are what a pointer /settings/NAME of a refusal leads to.
SETTING = "settings_"
SECRET = "secret_"  # noqa: S105  (how the fields are called)
# A blank has to follow the colon: an identifier such as an ARN has colons, too.
REGION_LINE = re.compile(r"[a-z][a-z0-9-]*\s*:\s")
FORM_HINTS = {
    SettingForm.TEXT: "",
    SettingForm.BY_REGION: lazy("Where it differs: one region a line, then a colon and the value."),
    SettingForm.LIST: lazy("Separated by blanks."),
    SettingForm.PAIRS: lazy("One a line, as name=value."),
}
ENDPOINT = Setting(
    lazy("Endpoint of the provider's API"), "", "", lazy("Leave blank for the provider’s own.")
)


class _CloudForm(WriteForm):
    """A form about one provider; its fields are those that the provider knows."""

    def __init__(self, *args: Any, provider: str, **given: Any) -> None:
        self.provider, self.record = provider, provider_record(provider)
        super().__init__(*args, **given)

    def add_setting(self, name: str, setting: Setting) -> None:
        """A line for a setting, or several lines."""
        help_text = f"{setting.hint} {FORM_HINTS[setting.form]}".strip()
        if setting.form in {SettingForm.TEXT, SettingForm.LIST}:
            field = text(setting.label, required=False, help_text=help_text, spellcheck="false")
        else:
            field = _lines(setting.label, help_text)
        if setting.is_chosen_by_us:
            # The function and not its value: each form is shown another one. An external id that
            # people choose themselves is guessed or used twice.
            field.initial = uuid4
        self.fields[f"{SETTING}{name}"] = field

    def setting_values(self) -> dict[str, object]:
        """The settings of which this form has a field, those with a value."""
        values = {name: self.cleaned_data.get(f"{SETTING}{name}") for name in self.setting_names()}
        declared = settings_of_account(self.record, *self.record.auth_methods.values())
        for name in values.keys() & declared:
            values[name] = parse_setting(declared[name].form, str(values[name] or ""))
        # An empty field is no setting: the provider's own choice holds.
        return {name: value for name, value in values.items() if value not in (None, "", [], {})}

    def setting_names(self) -> set[str]:
        """The settings of which this form has a field."""
        return {name.removeprefix(SETTING) for name in self.fields if name.startswith(SETTING)}


@dataclass(frozen=True)
class LoginField:
    """A field of a login, and the authentication methods it counts with; none means all."""

    field: forms.BoundField
    methods: list[AccessKind]

    @property
    def method_names(self) -> str:
        """As the page's scripts read them."""
        return " ".join(self.methods)


class LoginForm(_CloudForm):
    """How we authenticate: the method, and the secret where it has one."""

    access = forms.ChoiceField(
        label=lazy("How we log in"), help_text=lazy("The methods without a stored key come first.")
    )

    def __init__(self, *args: Any, are_endpoints_allowed: bool, **given: Any) -> None:
        super().__init__(*args, **given)
        self.fields["access"].choices = [  # type: ignore[attr-defined]
            (method, capfirst(AccessKind(method).label)) for method in self.record.auth_methods
        ]
        for name, setting in self._method_settings().items():
            self.add_setting(name, setting)
        # Elsewhere the field would let people with the scope admin make the worker call any address.
        if are_endpoints_allowed:
            self.add_setting("endpoint_url", ENDPOINT)
        for method in self.record.auth_methods.values():
            for name, field in method.secret_fields.items():
                self.fields[f"{SECRET}{name}"] = _secret_field(field)

    def _method_settings(self) -> dict[str, Setting]:
        methods = self.record.auth_methods.values()
        return {name: setting for method in methods for name, setting in method.settings.items()}

    def _methods_with(self, name: str) -> list[AccessKind]:
        """The authentication methods that have a setting or a part of the secret."""
        return [
            AccessKind(kind)
            for kind, method in self.record.auth_methods.items()
            if name in (*method.settings, *method.secret_fields)
        ]

    @property
    def login_fields(self) -> Iterable[LoginField]:
        """Everything but the choice of the method."""
        names = [*self._method_settings(), "endpoint_url"]
        own = {f"{SETTING}{name}": self._methods_with(name) for name in names}
        for method in self.record.auth_methods.values():
            own |= {f"{SECRET}{name}": self._methods_with(name) for name in method.secret_fields}
        # No method named means all of them: such a field stays when another method is chosen.
        every = len(self.record.auth_methods)
        return [
            LoginField(self[name], [] if len(own[name]) == every else own[name])
            for name in self.fields
            if name in own
        ]

    def secret(self) -> dict[str, object]:
        """The secret fields that were filled in."""
        return {
            name.removeprefix(SECRET): value
            for name, value in self.cleaned_data.items()
            if name.startswith(SECRET) and value
        }


def _lines(label: str, help_text: str) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": 2, "spellcheck": "false"})
    return forms.CharField(label=label, required=False, help_text=help_text, widget=widget)


def parse_setting(form: SettingForm, typed: str) -> object:
    """A setting as it is stored, from what was typed for it."""
    lines = [line.strip() for line in typed.splitlines() if line.strip()]
    if form == SettingForm.LIST:
        return re.split(r"[\s,]+", typed.strip()) if lines else []
    if form == SettingForm.PAIRS:
        return _by_name(lines, "=")
    # One line that is no region makes the whole text a plain value, the same for all regions.
    if form == SettingForm.BY_REGION and lines and all(REGION_LINE.match(line) for line in lines):
        return _by_name(lines, ":")
    return typed.strip()


def _by_name(lines: Iterable[str], separator: str) -> dict[str, str]:
    parts = (line.partition(separator) for line in lines)
    return {name.strip(): value.strip() for name, _, value in parts}


def setting_text(form: SettingForm, value: Any) -> object:
    """A stored setting as it is typed."""
    if isinstance(value, dict):
        between = "=" if form == SettingForm.PAIRS else ": "
        return "\n".join(f"{name}{between}{item}" for name, item in value.items())
    return " ".join(value) if form == SettingForm.LIST else value


def _secret_field(field: SecretField) -> forms.CharField:
    # A secret that is checked is a file of several lines, such as a key of a service account.
    if field.check is not None:
        widget: forms.Widget = SecretText(attrs={"rows": 4, "spellcheck": "false"})
    else:
        # new-password keeps browsers from filling in what the person signs in to Rackrate with.
        widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
    return forms.CharField(
        label=field.label,
        required=False,
        strip=True,
        widget=widget,
        help_text=_("Kept encrypted, never shown again."),
    )


class LimitsForm(_CloudForm):
    """Name, places and limits."""

    name = text(lazy("Name"), maxlength=100)
    max_machines = number_fields.IntegerField(
        label=lazy("Machines at once"), initial=20, min_value=0, max_value=MAX_MACHINES
    )
    max_vcpus = number_fields.IntegerField(
        label=lazy("vCPUs at once"),
        required=False,
        min_value=1,
        max_value=MAX_VCPUS,
        help_text=lazy("All machines together. Leave blank for no limit except the provider’s."),
    )
    budget_amount = number_fields.DecimalField(
        label=lazy("Budget of a calendar month"),
        required=False,
        min_value=Decimal(0),
        max_digits=20,
        decimal_places=10,
        help_text=lazy("Excluding tax. Leave blank for no limit except those of the runs."),
    )
    budget_currency = currency()

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self.fields[f"{SETTING}regions"] = text(
            _("Regions"),
            required=False,
            help_text=_(
                "Separated by spaces, as in {region}. Leave blank to use the account for "
                "prices only.",
                region=self.record.example_region,
            ),
        )
        for name, setting in self.record.settings.items():
            self.add_setting(name, setting)
            # The driver says what it cannot do without; `add_setting` makes every field optional.
            self.fields[f"{SETTING}{name}"].required = name in self.record.required_settings
        for name, setting in COMMON.items():
            self.add_setting(name, setting)
        self.fields[f"{SETTING}ssh_port"] = number_fields.IntegerField(
            label=_("SSH port"),
            required=False,
            min_value=1,
            max_value=65_535,
            help_text="Empty: 22.",
        )
        self.fields[f"{SETTING}zones"] = _lines(
            _("Zones"),
            _(
                "One region per line, then a colon and its zones; tried in this order. Leave "
                "blank for the provider’s choice."
            ),
        )

    @property
    def machine_fields(self) -> Iterable[forms.BoundField]:
        """Where machines are rented, and what the provider cannot do without."""
        return [self[name] for name in self._machine_names() if not self._is_further(name)]

    @property
    def further_machine_fields(self) -> Iterable[forms.BoundField]:
        """Further settings of machines, for where the provider's own choice does not fit."""
        return [self[name] for name in self._machine_names() if self._is_further(name)]

    def _is_further(self, name: str) -> bool:
        return not self.fields[name].required and name != f"{SETTING}regions"

    def _machine_names(self) -> list[str]:
        own = {f"{SETTING}{name}" for name in (*self.record.settings, *COMMON, "regions")}
        own |= {f"{SETTING}ssh_port", f"{SETTING}zones"}
        return [name for name in self.fields if name in own]

    @property
    def is_further_open(self) -> bool:
        """True if anything is typed or wrong in what is folded away."""
        fields = self.further_machine_fields
        return any(field.errors or field.value() for field in fields)

    @property
    def limit_fields(self) -> Iterable[forms.BoundField]:
        """How many machines, and what they may cost."""
        names = ("max_machines", "max_vcpus", "budget_amount", "budget_currency")
        return [self[name] for name in names]

    def clean_settings_regions(self) -> list[str]:
        return re.findall(r"[^\s,]+", str(self.cleaned_data["settings_regions"]))

    def clean_settings_zones(self) -> dict[str, list[str]]:
        zones_by_region = {}
        for line in str(self.cleaned_data["settings_zones"]).splitlines():
            region, _, zones = line.partition(":")
            if line.strip():
                zones_by_region[region.strip()] = re.split(r"[\s,]+", zones.strip(" ,\t"))
        return zones_by_region

    def limits(self) -> dict[str, Any]:
        """`max_machines`, `max_vcpus` and `budget` for the services."""
        data = self.cleaned_data
        amount = data["budget_amount"]
        currency = (data["budget_currency"] or "USD").upper()
        # None and not zero: a budget of zero forbids everything.
        budget = None if amount is None else Budget(amount, currency)
        machines, vcpus = data["max_machines"], data["max_vcpus"]
        return {"max_machines": machines, "max_vcpus": vcpus, "budget": budget}


class AccountForm(LimitsForm, LoginForm):
    """All of a new account."""


def initial_of(account: CloudAccount) -> dict[str, object]:
    """Initial values of the forms from an account; of its secret nothing."""
    settings = dict(account.settings)
    zones = settings.pop("zones", {})
    record = provider_record(account.provider)
    declared = settings_of_account(record, *record.auth_methods.values())
    shown = {
        f"{SETTING}{name}": setting_text(declared[name].form, value) if name in declared else value
        for name, value in settings.items()
    }
    return shown | {
        "name": account.name,
        "access": account.access,
        "max_machines": account.max_machines,
        "max_vcpus": account.max_vcpus,
        "budget_amount": figures.plain(account.budget_amount),
        "budget_currency": account.budget_currency or "USD",
        f"{SETTING}regions": " ".join(settings.get("regions", [])),
        f"{SETTING}zones": "\n".join(f"{region}: {' '.join(z)}" for region, z in zones.items()),
    }
