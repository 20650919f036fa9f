"""Notifications of failures, ends of campaigns and regressions."""

from django import forms

from backend.notifications.models import Channel, NoticeKind
from backend.web.shared.forms import WriteForm


class SubscriptionForm(WriteForm):
    """An e-mail address, or an https address with the key that signs."""

    channel = forms.ChoiceField(label="By", choices=Channel.choices, initial=Channel.EMAIL)
    address = forms.CharField(
        label="Address",
        max_length=500,
        help_text="An e-mail address or an https URL.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    secret = forms.CharField(
        label="Secret of the webhook",
        required=False,
        strip=False,
        help_text="16 characters or more; signs each message. Empty for e-mail.",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    kinds = forms.MultipleChoiceField(
        label="When",
        choices=NoticeKind.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=list(NoticeKind.values),
    )
