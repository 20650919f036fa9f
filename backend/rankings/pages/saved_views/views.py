"""Saved views: their list, saving one, and one with its feeds."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.models import Scope
from backend.accounts.services.acting import workspace_of, workspace_slug
from backend.core import clock
from backend.core.rest.parameters import InvalidParameters
from backend.foundation.errors import InvalidValue
from backend.rankings.models import FeedKey, SavedView
from backend.rankings.pages.data.feeds import feed_list
from backend.rankings.pages.data.views import data_request
from backend.rankings.pages.saved_views.forms import FeedKeyForm, ViewForm
from backend.rankings.selectors.ranking import query_from
from backend.rankings.selectors.views import (
    changes_from_view,
    is_owner,
    keepable,
    view_get,
    view_params,
    views_visible,
)
from backend.rankings.services.feeds import (
    feed_key_create,
    feed_key_revoke,
    feed_keys_visible,
    is_in_force,
)
from backend.rankings.services.views import view_create, view_delete, view_update
from backend.site import state, words
from backend.site.access import demand, may, readable
from backend.site.confirming import Question, confirm_first
from backend.site.language import _, lazy

# What a view says beside its filters.
CHOICES = {
    "metric": lazy("Metric"),
    "term": lazy("Term"),
    "currency": lazy("Currency"),
    "period": lazy("Period"),
    "hours_per_month": lazy("Hours per month"),
    "sort": lazy("Order"),
    "cols": lazy("Columns"),
}


def _view(request: HttpRequest, slug: str) -> SavedView:
    try:
        reader = request.user.get_username()
        return view_get(slug, workspace_slug=workspace_slug(request), reader=reader)
    except InvalidParameters:
        # A private view of somebody else answers as one that is not there: its name is private, too.
        raise Http404 from None


def may_change(request: HttpRequest, view: SavedView) -> bool:
    """True if the person owns the view and may write, or is an admin."""
    is_mine = is_owner(view, request.user.get_username())
    return may(request, Scope.ADMIN) or (is_mine and may(request, Scope.WRITE))


def _own_view(request: HttpRequest, slug: str) -> SavedView:
    demand(request, Scope.WRITE)
    view = _view(request, slug)
    if not may_change(request, view):
        raise PermissionDenied(_("Only the owner of a view and admins change it."))
    return view


@readable
@require_safe
def views_page(request: HttpRequest) -> HttpResponse:
    """The shared views and one's own."""
    views = views_visible(workspace_slug(request), request.user.get_username())
    lines = [(view, state.chips(state.clean(view_params(view)), "")) for view in views]
    context = {"lines": lines, "may_write": may(request, Scope.WRITE)}
    return render(request, "views/list.html", context)


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def view_new(request: HttpRequest) -> HttpResponse:
    """Saves the ranking that the address asks for; the form says what that is."""
    demand(request, Scope.WRITE)
    opened, _base, errors = data_request(request)
    params, unknown = keepable(opened.params)
    form = ViewForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            view = view_create(
                workspace=workspace_of(request),
                **form.cleaned_data,
                params=params,
                actor=request.user.get_username(),
            )
            messages.success(request, _("The view is saved."))
            return HttpResponseRedirect(reverse("view", args=[view.slug]))
    base = opened.view if opened.view and may_change(request, opened.view) else None
    context = {
        "form": form,
        "chips": state.chips(state.clean(params), ""),
        "choices": _choices(params),
        "errors": errors,
        "unknown": unknown,
        "base": base,
        "changed": _difference_words(params, opened.kept),
        "asked": state.encode(params),
        "back": reverse("offers") + state.encode(dict(request.GET.lists())),
    }
    return render(request, "views/new.html", context)


@readable
@require_POST
def view_params_form(request: HttpRequest, slug: str) -> HttpResponse:
    """Gives a view the parameters of the address."""
    view = _own_view(request, slug)
    params, _unknown = keepable(dict(request.GET.lists()))
    try:
        view_update(view=view, params=params, actor=request.user.get_username())
    except InvalidValue as error:
        messages.error(request, _("Not changed: {error}.", error=error))
    else:
        messages.success(request, _("The view is changed. Its feeds follow at once."))
    return HttpResponseRedirect(reverse("view", args=[slug]))


def _difference_words(params: state.Params, kept: state.Params) -> list[str]:
    """Differences of the page from its view; none without one."""
    # Both cleaned, so that an empty field is no change.
    names = changes_from_view(state.clean(params), state.clean(kept)) if kept else []
    return [CHOICES.get(name) or words.parameter(name)[1] for name in names]


# --- one view ---------------------------------------------------------------------------------


def _choices(params: state.Params) -> list[tuple[str, str]]:
    """A view's choices beside its filters: label and value."""
    shown = state.clean(params)
    return [(label, ", ".join(shown[name])) for name, label in CHOICES.items() if name in shown]


def _page(request: HttpRequest, view: SavedView, **given: Any) -> HttpResponse:
    reader = request.user.get_username()
    keys = feed_keys_visible(workspace_slug(request), reader, is_admin=may(request, Scope.ADMIN))
    params = view_params(view)
    initial = {"name": view.name, "visibility": view.visibility}
    context = {
        "view": view,
        "chips": state.chips(state.clean(params), ""),
        "choices": _choices(params),
        "keys": [(key, is_in_force(key)) for key in keys.filter(view=view)],
        "now": clock.now(),
        "may_write": may(request, Scope.WRITE),
        "may_change": may_change(request, view),
        "form": ViewForm(initial=initial),
        "key_form": FeedKeyForm(),
        **given,
    }
    return render(request, "views/page.html", context)


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def view_page(request: HttpRequest, slug: str) -> HttpResponse:
    """A view; a POST changes its name, and who sees it."""
    if request.method != "POST":
        return _page(request, _view(request, slug))
    view = _own_view(request, slug)
    form = ViewForm(request.POST)
    if form.is_valid():
        with form.refusals():
            view_update(view=view, **form.cleaned_data, actor=request.user.get_username())
            messages.success(request, _("The view is changed."))
            return HttpResponseRedirect(reverse("view", args=[slug]))
    return _page(request, view, form=form)


def _view_question(request: HttpRequest, slug: str) -> Question:
    view = _own_view(request, slug)
    # All keys and not only one's own: deleting the view ends those of others as well.
    feeds = feed_keys_visible(workspace_slug(request), "", is_admin=True).filter(
        view=view, revoked_at=None
    )
    ended = (
        _("Feed {name} ends: spreadsheets that read it get no more figures.", name=key.name)
        for key in feeds
    )
    return Question(
        _("Delete the view {name}?", name=view.name),
        _("Delete view"),
        reverse("view", args=[slug]),
        (_("Links to this view stop working."), *ended),
    )


@readable
@confirm_first(_view_question)
def view_delete_form(request: HttpRequest, slug: str) -> HttpResponse:
    """Removes the view and ends its feeds."""
    view_delete(view=_own_view(request, slug), actor=request.user.get_username())
    messages.success(request, _("The view is deleted and its feeds ended."))
    return HttpResponseRedirect(reverse("views"))


@readable
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def feed_key_new(request: HttpRequest, slug: str) -> HttpResponse:
    """Makes a key and shows it, this once, with the formulas that hold it."""
    if request.method != "POST":  # the address that stays in the browser's line
        return HttpResponseRedirect(reverse("view", args=[_view(request, slug).slug]))
    demand(request, Scope.WRITE)
    view = _view(request, slug)
    form = FeedKeyForm(request.POST)
    if form.is_valid():
        try:
            with form.refusals():
                # Before the key is made: a view that can no longer be asked gets no feed.
                query, _errors = query_from(view_params(view))
                made, text = feed_key_create(
                    view=view, actor=request.user.get_username(), **form.cleaned_data
                )
                shown = feed_list(request, view, text, query)
                return _page(request, view, made=made, shown=shown)
        except InvalidParameters as error:
            form.add_error(
                None, _("The view asks for what is no longer known: {error}.", error=error)
            )
    return _page(request, view, key_form=form)


def _feed_key(request: HttpRequest, slug: str, key_id: UUID) -> FeedKey:
    demand(request, Scope.WRITE)
    reader = request.user.get_username()
    keys = feed_keys_visible(workspace_slug(request), reader, is_admin=may(request, Scope.ADMIN))
    return get_object_or_404(keys, pk=key_id, view__slug=slug)


def _feed_key_question(request: HttpRequest, slug: str, key_id: UUID) -> Question:
    key = _feed_key(request, slug, key_id)
    last = (
        _(
            "It was last used on {time} UTC.",
            time=f"{key.last_used_at:%Y-%m-%d %H:%M}",
        )
        if key.last_used_at
        else ""
    )
    return Question(
        _("Revoke the key {name}?", name=key.name),
        _("Revoke key"),
        reverse("view", args=[slug]),
        (_("Spreadsheets that read this view by it get no more figures."), *filter(None, (last,))),
    )


@readable
@confirm_first(_feed_key_question)
def feed_key_revoke_form(request: HttpRequest, slug: str, key_id: UUID) -> HttpResponse:
    key = _feed_key(request, slug, key_id)
    feed_key_revoke(key=key, actor=request.user.get_username())
    messages.success(request, _("The key {name} is revoked.", name=key.name))
    return HttpResponseRedirect(reverse("view", args=[slug]))
