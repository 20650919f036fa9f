"""A host to log in to, and the approval of its key."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any
from uuid import UUID

from django import forms

from backend.benchmarks.calc.host_document import DEDICATED, MAX_NAME, MAX_PORT, SSH_PORT, UNITS
from backend.benchmarks.calc.offered import KINDS
from backend.benchmarks.models import Host
from backend.foundation.errors import InvalidDocument
from backend.money.pricing.purchase import PriceUnit
from backend.site import number_fields, words
from backend.site.forms import SecretText, WriteForm, amount_typed, currency, text
from backend.site.language import _, lazy

LIST_WORDS = {
    "csv": lazy(
        "CSV with the columns address, name, port, username, kind, tags, bastion, production"
    ),
    "ansible": lazy("Ansible inventory (INI or YAML)"),
    "known_hosts": lazy("known_hosts: keys to approve, hosts to add, authorities"),
    "fingerprints": lazy("Fingerprints to approve, as ssh-keygen -l prints them"),
}


def private_key(help_text: str) -> forms.CharField:
    return forms.CharField(
        label=lazy("Private key"),
        strip=False,
        required=False,
        help_text=help_text,
        widget=SecretText(
            attrs={
                "rows": 4,
                "autocomplete": "off",
                "spellcheck": "false",
                "placeholder": "-----BEGIN OPENSSH PRIVATE KEY-----",
            }
        ),
    )


def kind(label: str) -> forms.ChoiceField:
    choices = [(slug, words.kind(slug)) for slug in KINDS]
    return forms.ChoiceField(label=label, choices=choices, initial=DEDICATED)


class HostLoginForm(WriteForm):
    """Name and login of a host."""

    name = text(lazy("Name"), maxlength=MAX_NAME)
    address = text(lazy("Address"), placeholder=lazy("192.0.2.10 or host.example.org"))
    port = number_fields.IntegerField(
        label=lazy("SSH port"), initial=SSH_PORT, min_value=1, max_value=MAX_PORT
    )
    username = text(lazy("User"), placeholder="bench", autocapitalize="none", spellcheck="false")
    bastion = forms.TypedChoiceField(
        label=lazy("Jump host"),
        required=False,
        coerce=UUID,
        empty_value=None,
        help_text=lazy("The host to log in to first (ssh -J). Its key must be approved, too."),
    )

    certificate = text(
        lazy("Certificate of the key"),
        required=False,
        spellcheck="false",
        placeholder=lazy("ssh-ed25519-cert-v01@openssh.com AAAA…"),
        help_text=lazy("Where the host trusts an authority (TrustedUserCAKeys) instead of keys."),
    )
    tags = text(
        lazy("Tags"), required=False, help_text=lazy("Words that group hosts, separated by blanks.")
    )
    is_in_production = forms.BooleanField(
        label=lazy(
            "Production host: run tests only while it is idle, at the lowest priority, and "
            "not on its disks"
        ),
        required=False,
    )

    def __init__(self, *args: Any, bastions: Iterable[Host] = (), **given: Any) -> None:
        super().__init__(*args, **given)
        field: Any = self.fields["bastion"]
        field.choices = [("", _("none")), *((str(host.pk), host.name) for host in bastions)]

    def clean_tags(self) -> list[str]:
        return str(self.cleaned_data["tags"]).split()


class HostAuthorityForm(WriteForm):
    """A key that signs those of hosts, or one that counts no more."""

    patterns = text(
        lazy("Names of the hosts"),
        initial="*",
        spellcheck="false",
        help_text=lazy("As in known_hosts: *.example.org,!db.example.org"),
    )
    public_key = text(
        lazy("Public key"),
        spellcheck="false",
        placeholder="ssh-ed25519 AAAA…",
        autocapitalize="none",
    )
    is_revoked = forms.BooleanField(
        label=lazy("Revoke it: nothing that has or was signed by this key is trusted"),
        required=False,
    )


class HostListForm(WriteForm):
    """Many hosts at once."""

    format = forms.ChoiceField(label=lazy("Format"), choices=list(LIST_WORDS.items()))
    username = text(
        lazy("User where none is stated"),
        required=False,
        placeholder="bench",
        autocapitalize="none",
        help_text=lazy("Leave blank to approve keys only, without adding such hosts."),
    )
    kind = kind(lazy("Kind where none is stated"))
    file = forms.FileField(
        label=lazy("File"),
        required=False,
        help_text=lazy("The list as a file; also the list of hosts as XLSX."),
    )
    text = forms.CharField(
        label=lazy("List"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false"}),
    )

    def clean(self) -> dict[str, Any]:
        """With the content of the file as the text, where one was chosen."""
        data = self.cleaned_data
        file, text = data.pop("file", None), data.get("text", "")
        if (file is None) == (not text.strip()):
            self.add_error("text", _("Choose a file or paste a list."))
        return data | {"text": text if file is None else file.read()}

    def refuse_lines(self, error: InvalidDocument) -> None:
        """Show the faults by line, above the text."""
        for pointer, detail in error.errors:
            # With its number: a list may have hundreds of lines, and the form has one field for all.
            line = pointer.removeprefix("/text").removeprefix("/")
            self.add_error(
                "text", _("Line {line}: {detail}", line=line, detail=detail) if line else detail
            )


class HostChangeForm(HostLoginForm):
    """The same with another key, or none."""

    private_key = private_key(lazy("Leave blank to keep the current key."))
    forgets_key = forms.BooleanField(
        label=lazy("Delete the stored private key and use Rackrate’s own key instead"),
        required=False,
    )

    def changes(self) -> dict[str, Any]:
        """Stated fields of the document."""
        stated = dict(self.cleaned_data)
        forgets, key = stated.pop("forgets_key"), stated.pop("private_key")
        if key.strip():
            return stated | {"private_key": key}
        return stated | ({"private_key": ""} if forgets else {})


class HostForm(HostLoginForm):
    """The same with kind, key and price of a machine of one's own."""

    kind = kind(lazy("Kind"))
    private_key = private_key(
        lazy(
            "OpenSSH or PEM, unencrypted. It is stored encrypted and never shown again. "
            "Leave blank to use Rackrate’s own key (shown on the host’s page)."
        )
    )
    price_amount = number_fields.DecimalField(
        label=lazy("Price"),
        required=False,
        min_value=Decimal(0),
        help_text=lazy("Excluding tax. Leave blank if unknown."),
    )
    price_currency = currency()
    price_unit = forms.ChoiceField(
        label=lazy("Per"), choices=[(unit, unit) for unit in UNITS], initial="month", required=False
    )

    pointers = {"/price": "price_amount"}

    def document(self) -> dict[str, Any]:
        """The form as a document."""
        data = self.cleaned_data
        stated = {name: value for name, value in data.items() if not name.startswith("price_")}
        if price := amount_typed(data, "price"):
            stated["price"] = price | {"unit": data["price_unit"] or PriceUnit.MONTH}
        return stated
