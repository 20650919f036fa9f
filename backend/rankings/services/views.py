"""Saved views: the parameters of a ranking under a name, private or shared."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.db import IntegrityError, transaction

from backend.accounts.models import Workspace
from backend.accounts.services.audit import audit_record
from backend.benchmarks.services.current_data import current_stamp
from backend.core import clock
from backend.core.applying import Applied
from backend.core.rest.parameters import InvalidParameters
from backend.core.rest.parameters import given as stripped
from backend.core.slugs import free_slug, slug_base
from backend.foundation.errors import InvalidValue
from backend.rankings.models import FeedKey, SavedView, Visibility
from backend.rankings.selectors.ranking import query_from
from backend.rankings.selectors.views import NOT_KEPT, SLUG, Params, is_unknown

RESERVED = frozenset({"new"})
LONGEST_VALUE = 2_000
MOST_CHARACTERS = 16_000


@transaction.atomic
def view_create(
    *,
    workspace: Workspace,
    name: str,
    params: Mapping[str, Sequence[str]],
    visibility: str = Visibility.SHARED,
    slug: str = "",
    owner: str = "",
    actor: str,
) -> SavedView:
    """A new view, owned by the actor where no owner is named; without a slug it gets one made of its name.

    Raises InvalidValue for a blank name, a bad or taken slug, or parameters that mean nothing.
    """
    fields = _check_fields({"name": name, "visibility": visibility, "params": params})
    view = SavedView(
        workspace=workspace,
        slug=_slug(workspace, slug, fields["name"]),
        owner=owner or actor,
        **fields,
    )
    try:
        # A savepoint: after the refusal the outer transaction must still be usable.
        with transaction.atomic():
            view.save(force_insert=True)
    except IntegrityError as error:
        raise _conflict(view, error) from None
    detail = {"slug": view.slug, **fields}
    _record(view, actor, "view_create", detail, is_private=view.is_private)
    return view


@transaction.atomic
def view_update(
    *,
    view: SavedView,
    name: str | None = None,
    params: Mapping[str, Sequence[str]] | None = None,
    visibility: str | None = None,
    actor: str,
) -> SavedView:
    """Changes what is given; the slug stays, since links and feeds hold it. Raises InvalidValue.

    A view that becomes private ends the feed keys that others made of it.
    """
    given = {"name": name, "visibility": visibility, "params": params}
    fields = _check_fields({field: value for field, value in given.items() if value is not None})
    view = SavedView.objects.select_for_update(of=("self",)).get(pk=view.pk)
    changes = {
        field: {"from": getattr(view, field), "to": value}
        for field, value in fields.items()
        if getattr(view, field) != value
    }
    if not changes:
        return view
    was_private = view.is_private
    for field, value in fields.items():
        setattr(view, field, value)
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError as error:
        raise _conflict(view, error) from None
    if view.is_private and not was_private:
        others = FeedKey.objects.filter(view=view, revoked_at=None).exclude(created_by=view.owner)
        others.update(revoked_at=clock.now())
    is_private = was_private or view.is_private
    _record(view, actor, "view_update", changes, is_private=is_private)
    return view


@transaction.atomic
def views_apply(
    *,
    workspace: Workspace,
    items: Sequence[Mapping[str, Any]],
    owner: str,
    is_admin: bool,
    actor: str,
    is_dry: bool,
) -> Applied:
    """Make views what exported ones say, by their slugs; others are made, owned by `owner`.

    Raises InvalidDocument with every fault, below /items/<n>; nothing is changed then.
    """
    applied = Applied(is_dry)
    known = {
        saved_view.slug: saved_view for saved_view in SavedView.objects.filter(workspace=workspace)
    }
    for index, item in enumerate(items):
        fields = {name: item[name] for name in ("name", "visibility", "params")}
        view = known.get(item["slug"])
        with applied.faults_at(f"/items/{index}"):
            if view is None:
                view_create(
                    workspace=workspace, slug=item["slug"], owner=owner, actor=actor, **fields
                )
                applied.created.append(item["slug"])
            elif not (is_admin and not view.is_private) and view.owner != owner:
                raise InvalidValue("/slug", "only its owner, and admins where it is shared, may")
            elif view_update(view=view, actor=actor, **fields).updated_at == view.updated_at:
                applied.unchanged += 1
            else:
                applied.changed.append(view.slug)
    applied.finish()
    return applied


@transaction.atomic
def view_delete(*, view: SavedView, actor: str) -> None:
    """Removes the view and with it every feed key of it."""
    detail = {"slug": view.slug, "name": view.name}
    # First: the row's key is gone once it is deleted.
    _record(view, actor, "view_delete", detail, is_private=view.is_private)
    view.delete()


def _conflict(view: SavedView, error: IntegrityError) -> InvalidValue:
    """Which of slug and name another view has."""
    if "view_name_once" in str(error):
        return InvalidValue("/name", f"you have a view named {view.name!r}")
    return InvalidValue("/slug", f"{view.slug!r} is taken")


def _record(
    view: SavedView, actor: str, action: str, detail: Mapping[str, Any], *, is_private: bool
) -> None:
    """Into the audit trail, which others read: of a private view only what kind of thing was done."""
    shown: dict[str, Any] = {"private": sorted(detail)} if is_private else dict(detail)
    audit_record(actor=actor, action=action, target=view, detail=shown, is_private=is_private)


def _check_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields in the form in which they are kept."""
    checks: Mapping[str, Callable[[Any], Any]] = {
        "name": _name,
        "visibility": _visibility,
        "params": _params,
    }
    return {field: checks[field](value) for field, value in fields.items()}


def _name(value: str) -> str:
    name = " ".join(value.split())
    if not name or len(name) > 100 or not name.isprintable():
        raise InvalidValue("/name", "1 to 100 characters are needed")
    return name


def _visibility(value: str) -> str:
    if value not in Visibility.values:
        raise InvalidValue("/visibility", f"{value!r} is not one of {', '.join(Visibility.values)}")
    return str(value)


def _slug(workspace: Workspace, requested: str, name: str) -> str:
    """The slug requested, or the first free one made of the name."""
    if requested:
        if not SLUG.match(requested) or requested in RESERVED:
            raise InvalidValue("/slug", "1 to 80 of a-z, 0-9 and -, beginning with no -")
        return requested
    base = slug_base(name, "view")
    taken = SavedView.objects.filter(workspace=workspace, slug__startswith=base)
    used = RESERVED | set(taken.values_list("slug", flat=True))
    return free_slug(base, used)


def _params(given: Mapping[str, Sequence[str]]) -> Params:
    """Parameters that say something and that a ranking understands."""
    params = stripped(given)
    for name, values in params.items():
        if name in NOT_KEPT:
            raise InvalidValue(_pointer(name), "does not belong to a view")
        if not all(len(text) <= LONGEST_VALUE and _is_text(text) for text in values):
            detail = f"not text of up to {LONGEST_VALUE} characters"
            raise InvalidValue(_pointer(name), detail)
    if sum(len(text) for values in params.values() for text in values) > MOST_CHARACTERS:
        raise InvalidValue("/params", f"more than {MOST_CHARACTERS} characters")
    _check_parameters(params)
    return params


def _check_parameters(params: Params) -> None:
    """Raises InvalidValue for the first parameter that a ranking does not understand."""
    current_stamp()
    try:
        _, warnings = query_from(params)
    except InvalidParameters as error:
        name, detail = error.errors[0]
        raise InvalidValue(_pointer(name), detail) from None
    unknown = [name for name in params if warnings and is_unknown(name, params[name])]
    if unknown:
        raise InvalidValue(_pointer(unknown[0]), "is not a parameter of a ranking")


def _pointer(name: str) -> str:
    return f"/params/{name[:60].replace('~', '~0').replace('/', '~1')}"


def _is_text(value: str) -> bool:
    """True if a database can hold it: no NUL, no half of a surrogate pair."""
    return not any(letter == "\0" or "\ud800" <= letter <= "\udfff" for letter in value)
