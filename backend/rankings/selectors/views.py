"""Saved views: which of them a reader sees, and the parameters of a ranking that they keep.

A view is opened with `view=<slug>`. What else the URL gives wins over it, parameter by parameter;
an empty value takes a parameter of the view away.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from backend.core.rest.parameters import InvalidParameters
from backend.core.rest.parameters import given as stripped
from backend.rankings.models import SavedView, Visibility
from backend.rankings.selectors.parameters import canonical_names
from backend.rankings.selectors.ranking import query_from

Params = dict[str, list[str]]

# Parameters that say how much of a list is shown, not which list.
NOT_KEPT = frozenset({"view", "page", "per_page", "cursor", "dialect", "format"})
SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,79}\Z")


def views_visible(workspace_slug: str, reader: str) -> QuerySet[SavedView]:
    """The shared views of a workspace, and those that the reader owns.

    `reader` is a user name or `token <name>`; empty for a stranger, who owns nothing.
    """
    shown = Q(visibility=Visibility.SHARED) | (Q(owner=reader) if reader else Q(pk=None))
    return SavedView.objects.filter(shown, workspace__slug=workspace_slug)


def is_owner(view: SavedView, reader: str) -> bool:
    return bool(reader) and view.owner == reader


def view_get(slug: str, *, workspace_slug: str, reader: str) -> SavedView:
    """The view of this slug that the reader may see; raises InvalidParameters for `view`."""
    view = None
    if SLUG.match(slug):
        view = views_visible(workspace_slug, reader).filter(slug=slug).first()
    if view is None:
        raise InvalidParameters([("view", f"there is no view {slug[:80]!r}")])
    return view


def view_params(view: SavedView) -> Params:
    """The parameters of a view as lists of text, by name: a database keeps no order."""
    return {name: list(view.params[name]) for name in sorted(view.params)}


@dataclass(frozen=True)
class OpenedView:
    """The joint question of `view=` and the rest of a URL."""

    params: Params
    """Parameters in force, without `view`."""
    view: SavedView | None = None

    @property
    def kept(self) -> Params:
        """Parameters of the view alone; empty without one."""
        return view_params(self.view) if self.view else {}


def open_view(
    given: Mapping[str, Sequence[str]], *, workspace_slug: str, reader: str
) -> OpenedView:
    """The parameters with those of the view that they name; raises InvalidParameters for `view`."""
    slug = next((text.strip() for text in reversed(given.get("view", [])) if text.strip()), "")
    rest = {name: values for name, values in canonical_names(given).items() if name != "view"}
    if not slug:
        return OpenedView(rest)
    view = view_get(slug, workspace_slug=workspace_slug, reader=reader)
    return OpenedView(merge_params(rest, view_params(view)), view)


def merge_params(given: Mapping[str, Sequence[str]], kept: Mapping[str, Sequence[str]]) -> Params:
    """The view's parameters under those given; a name given empty is in neither."""
    both = {name: list(values) for name, values in {**kept, **given}.items()}
    return {name: values for name, values in both.items() if any(text.strip() for text in values)}


def changes_from_view(
    params: Mapping[str, Sequence[str]], kept: Mapping[str, Sequence[str]]
) -> list[str]:
    """Names whose values are not those of the view; the caller leaves defaults out of both."""
    names = (set(params) | set(kept)) - NOT_KEPT
    return sorted(
        name for name in names if ",".join(params.get(name, ())) != ",".join(kept.get(name, ()))
    )


def shorten_params(
    params: Mapping[str, Sequence[str]], kept: Mapping[str, Sequence[str]], slug: str
) -> Params:
    """The fewest parameters that, with `view=<slug>`, ask for `params` again."""
    differing = {name: list(params.get(name, [""])) for name in changes_from_view(params, kept)}
    paging = {name: list(params[name]) for name in params if name in NOT_KEPT - {"view"}}
    return {"view": [slug], **differing, **paging}


def keepable(given: Mapping[str, Sequence[str]]) -> tuple[Params, list[str]]:
    """The parameters that a view may keep, and the names that mean nothing to a ranking."""
    said = {
        name: values
        for name, values in stripped(canonical_names(given)).items()
        if name not in NOT_KEPT
    }
    unknown = [name for name, values in said.items() if is_unknown(name, values)]
    return {name: values for name, values in said.items() if name not in unknown}, unknown


def is_unknown(name: str, values: Sequence[str]) -> bool:
    """True if a ranking has no such parameter."""
    try:
        return bool(query_from({name: values})[1])
    except InvalidParameters:
        return False  # known, but not alone
