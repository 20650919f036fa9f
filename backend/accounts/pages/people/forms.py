"""Forms of people and workspaces."""

from django import forms

from backend.accounts.models import Scope
from backend.site.forms import WriteForm, text
from backend.site.language import lazy


class InvitationForm(WriteForm):
    """An invitation to the workspace."""

    role = forms.ChoiceField(label=lazy("Role"), choices=Scope.choices, initial=Scope.READ)
    note = text(
        lazy("Name or note"),
        required=False,
        maxlength=100,
        help_text=lazy("Only for you, to tell invitations apart."),
    )


class WorkspaceForm(WriteForm):
    """A workspace."""

    name = text(lazy("Name"), maxlength=100)
    slug = text(
        lazy("Short name"), maxlength=50, help_text=lazy("Small letters, digits and hyphens.")
    )


class JoinForm(WriteForm):
    """The account of somebody who joins and has none yet."""

    name = text(
        lazy("User name"),
        maxlength=150,
        autocomplete="username",
        help_text=lazy("You will sign in with it from now on."),
    )
