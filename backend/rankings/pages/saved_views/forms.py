"""Saved views, the keys of their feeds, and API tokens."""

from django import forms

from backend.accounts.models import Scope
from backend.accounts.services import tokens
from backend.rankings.models import Visibility
from backend.rankings.services import feeds
from backend.site import number_fields
from backend.site.forms import WriteForm, text
from backend.site.language import lazy

SEEN_BY = [
    (Visibility.SHARED, lazy("everybody who may read here")),
    (Visibility.PRIVATE, lazy("only me")),
]


def days(initial: int, most: int) -> number_fields.IntegerField:
    return number_fields.IntegerField(
        label=lazy("Expires in (days)"), initial=initial, min_value=1, max_value=most
    )


class ViewForm(WriteForm):
    """Name of a view, and who sees it."""

    name = text(lazy("Name"), maxlength=100)
    visibility = forms.ChoiceField(
        label=lazy("Seen by"), choices=SEEN_BY, initial=Visibility.SHARED
    )


class FeedKeyForm(WriteForm):
    """A key of a feed."""

    name = text(
        lazy("Name of the key"), maxlength=100, help_text=lazy("Where it is used, such as a sheet.")
    )
    expires_days = days(feeds.DEFAULT_DAYS, feeds.MAX_DAYS)


class TokenForm(WriteForm):
    """An API token."""

    name = text(lazy("Name"), maxlength=100, help_text=lazy("Who or what uses it."))
    scope = forms.ChoiceField(label=lazy("Role"), choices=Scope.choices, initial=Scope.READ)
    expires_days = days(tokens.DEFAULT_DAYS, tokens.MAX_DAYS)
