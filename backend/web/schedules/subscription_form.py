"""Who is notified of failures, ends of campaigns, regressions, leaks and implausible prices."""

from django import forms

from backend.notifications.channels import CHANNELS, channel_choices
from backend.notifications.models import NoticeKind
from backend.web.shared.forms import WriteForm

SIGNED = ", ".join(channel.label for channel in CHANNELS.values() if channel.is_signed)


def _addresses() -> str:
    """What an address may be, as a sentence."""
    text = " or ".join(channel.address_hint for channel in CHANNELS.values())
    return f"{text[0].upper()}{text[1:]}."


class SubscriptionForm(WriteForm):
    """Where notices go, and the key that signs them."""

    channel = forms.ChoiceField(label="By", choices=channel_choices)
    address = forms.CharField(
        label="Address",
        max_length=500,
        help_text=_addresses(),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    secret = forms.CharField(
        label="Secret",
        required=False,
        strip=False,
        help_text=f"16 characters or more; signs each message. Only for: {SIGNED}.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    kinds = forms.MultipleChoiceField(
        label="When",
        choices=NoticeKind.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=list(NoticeKind.values),
    )
