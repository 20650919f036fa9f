"""Who is notified of failures, ends of campaigns, regressions, leaks and implausible prices."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms

from backend.benchmarks.models import Campaign
from backend.foundation.texts import join_texts
from backend.notifications.channels import CHANNELS
from backend.notifications.models import USUAL_KINDS, NoticeKind
from backend.site.forms import WriteForm
from backend.site.language import _, lazy

SIGNED = join_texts(", ", (channel.label for channel in CHANNELS.values() if channel.is_signed))


def _addresses() -> str:
    """Allowed addresses, as a sentence."""
    text = " or ".join(channel.address_hint for channel in CHANNELS.values())
    return f"{text[0].upper()}{text[1:]}."


def _channels() -> list[tuple[str, str]]:
    """Slugs and labels, those that this server can use first."""
    # Others are still named, with what they lack, so that people learn that they exist.
    channels = sorted(CHANNELS.values(), key=lambda channel: bool(channel.missing_setting()))
    return [
        (
            channel.slug,
            _("{label} (not set up: {missing})", label=channel.label, missing=missing)
            if missing
            else channel.label,
        )
        for channel in channels
        for missing in (channel.missing_setting(),)
    ]


class SubscriptionForm(WriteForm):
    """Where notices go, of what, and the key that signs them."""

    campaign = forms.ChoiceField(label=lazy("About"), required=False)
    # The function: settings are read when the form is made, not when the module is loaded.
    channel = forms.ChoiceField(label=lazy("By"), choices=_channels)
    address = forms.CharField(
        label=lazy("Address"),
        max_length=500,
        help_text=_addresses(),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    secret = forms.CharField(
        label=lazy("Secret"),
        required=False,
        # A secret may begin or end with a blank.
        strip=False,
        help_text=lazy(
            "16 characters or more; signs each message. Only for: {channels}.", channels=SIGNED
        ),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
    kinds = forms.MultipleChoiceField(
        label=lazy("When"),
        choices=NoticeKind.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=USUAL_KINDS,
    )

    def __init__(self, *args: Any, campaigns: Sequence[Campaign], **given: Any) -> None:
        super().__init__(*args, **given)
        named = [
            (str(campaign.pk), _("only the campaign {name}", name=campaign.name))
            for campaign in campaigns
        ]
        self.fields["campaign"].choices = [  # type: ignore[attr-defined]
            ("", _("everything")),
            *named,
        ]

    def clean_campaign(self) -> UUID | None:
        """The campaign chosen; None for everything."""
        chosen = self.cleaned_data["campaign"]
        return UUID(chosen) if chosen else None

    def document(self) -> dict[str, Any]:
        """The document of the subscription, whose campaign is told apart from it."""
        stated = {name: value for name, value in self.cleaned_data.items() if name != "campaign"}
        return stated | {"secret": stated["secret"] or None}
