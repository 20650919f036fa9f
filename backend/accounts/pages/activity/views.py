"""Who did what: the audit trail, newest first."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from backend.accounts.models import AuditEntry, Scope
from backend.accounts.selectors.audit import audit_entries, audit_narrowed
from backend.accounts.services.acting import workspace_of
from backend.site.access import demand, may, readable
from backend.site.forms import Day, text
from backend.site.language import _, lazy
from backend.site.paging import paging_context

# Pages of the objects that the trail names.
PAGES = {
    "run": "run",
    "host": "host",
    "campaign": "campaign",
    "cloudaccount": "cloud",
    "priceobservation": lazy("price"),
    "hardwaremodel": "hardware-model",
}


# What the trail calls the objects whose models have names of several words.
OBJECTS = {
    "apitoken": lazy("API token"),
    "cloudaccount": lazy("cloud account"),
    "contractdiscount": lazy("contract discount"),
    "feedkey": lazy("feed"),
    "hardwaremodel": lazy("cost model"),
    "priceobservation": lazy("price"),
    "pricefeed": lazy("price list"),
    "savedview": lazy("saved view"),
    "signinlink": lazy("sign-in link"),
    "subscription": lazy("alert"),
    "unpricedtype": lazy("type without a price"),
}

# Details that name an object, the first that an entry has.
NAMES = ("name", "title", "address", "offer", "slug")


@dataclass(frozen=True)
class ActivityLine:
    """An entry as it reads: `facts` are the names and values of what changed."""

    entry: AuditEntry
    action: str
    about: str
    name: str
    """People's name of the object; its identifier where the entry does not say."""
    url: str
    facts: list[tuple[str, str]]
    changes: list[tuple[str, str, str]]
    """Name, before and after of each field; for admins, as the address is."""


class ActivityForm(forms.Form):
    """Filters of the trail; all of them are in the address."""

    actor = text(lazy("Who"), required=False, placeholder=lazy("name"))
    # Its choices are the actions that the trail has, so none of them leads to an empty list.
    action = forms.ChoiceField(label=lazy("Event"), required=False)
    about = text(lazy("Object"), required=False, placeholder=lazy("identifier or kind"))
    since = Day(label=lazy("Since"), required=False)
    until = Day(label=lazy("Until"), required=False)

    def __init__(self, data: Mapping[str, Any], entries: QuerySet[AuditEntry]) -> None:
        super().__init__(data, auto_id="%s", label_suffix="")
        self.entries = entries
        known = entries.order_by("action").values_list("action", flat=True).distinct()
        choices = [("", _("anything")), *((action, _words(action)) for action in known)]
        self.fields["action"].choices = choices  # type: ignore[attr-defined]

    def kept(self) -> QuerySet[AuditEntry]:
        """The entries that pass; a field in error narrows nothing."""
        self.full_clean()
        return audit_narrowed(self.entries, **self.cleaned_data)


@readable
@require_safe
def activity_page(request: HttpRequest) -> HttpResponse:
    """Every write with its author and what it changed, fifty a page; for analysts and above."""
    demand(request, Scope.WRITE)
    form = ActivityForm(request.GET, audit_entries(workspace_of(request)))
    context = {"form": form, **paging_context(request, form.kept())}
    context["is_admin"] = may(request, Scope.ADMIN)
    context["lines"] = [
        _line(entry, is_admin=context["is_admin"]) for entry in context["page"].object_list
    ]
    return render(request, "activity/page.html", context)


def _words(action: str) -> str:
    return action.replace("_", " ")


def _value(value: Any) -> str:
    """A value as text; what has parts as `name: value`."""
    match value:
        case dict():
            return "; ".join(f"{name}: {_value(inner)}" for name, inner in value.items())
        case list():
            return ", ".join(map(_value, value))
        case None:
            return _("none")
        # Before `case _`, as str(True) is Python and not a word for people.
        case bool():
            return _("yes") if value else _("no")
        case _:
            return str(value)


def _line(entry: AuditEntry, *, is_admin: bool) -> ActivityLine:
    page, detail = PAGES.get(entry.object_type), entry.detail
    return ActivityLine(
        entry=entry,
        action=_words(entry.action),
        about=OBJECTS.get(entry.object_type, entry.object_type),
        name=next((str(detail[key]) for key in NAMES if detail.get(key)), entry.object_id),
        # The object may be gone by now: its page then answers 404, and the trail still has its name.
        url=reverse(page, args=[entry.object_id]) if page else "",
        facts=[(_words(name), _value(value)) for name, value in detail.items()],
        changes=_changes(entry) if is_admin else [],
    )


def _changes(entry: AuditEntry) -> list[tuple[str, str, str]]:
    # Of what is new all fields are: the row itself shows them.
    return [
        (_words(name), _value(value), _value(entry.after.get(name)))
        for name, value in entry.before.items()
    ]
