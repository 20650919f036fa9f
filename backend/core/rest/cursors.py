"""Lists that are followed by a cursor: each row that stays comes exactly once, whatever is added."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core import signing
from django.db.models import F, Q, QuerySet
from rest_framework.request import Request
from rest_framework.utils.urls import remove_query_param, replace_query_param

from backend.core.rest.problem import Conflict

FIRST = "*"
SALT = "cursor of a list"
MOST_CHARS = 2_000


@dataclass(frozen=True)
class ListPosition:
    """Where a page begins: behind a row of a sorted query, or at an offset in a state of the data."""

    sort: str = ""
    after: tuple[Any, Any] | None = None
    """Value that is sorted by, and key, of the last row."""
    offset: int = 0
    state: str | None = None

    def token(self) -> str:
        """As a word of an address; signed, so that nothing else has to be believed."""
        return signing.dumps([self.sort, self.after, self.offset, self.state], salt=SALT)


def cursor(value: str) -> ListPosition | None:
    """`*` begins, which is None; else what an answer's `next` has."""
    if value == FIRST:
        return None
    try:
        # Before the signature, which would be calculated over whatever somebody sends.
        if len(value) > MOST_CHARS:
            raise signing.BadSignature
        sort, after, offset, state = signing.loads(value, salt=SALT)
    except signing.BadSignature:
        raise ValueError("* begins a list; what follows is in the answer's `next`") from None
    return ListPosition(sort, tuple(after) if after else None, offset, state)


def page_behind(
    rows: Any, position: ListPosition | None, *, size: int, sort: str, field: str, state: str | None
) -> tuple[list[Any], ListPosition | None]:
    """The rows of a page behind a position, and where the next one begins; None where that was all.

    A query goes on behind the last row, in the order of `field` (`sort` with - from the largest) and
    of keys. Other lists go on at an offset, for as long as the data keep their state: Conflict then.
    """
    position = position or ListPosition(sort, state=state)
    if position.sort != sort:
        raise Conflict("the list is sorted otherwise than the cursor's: begin again with cursor=*")
    if _is_keyed(rows):
        return _page_keys(rows, position, size, field, is_descending=sort.startswith("-"))
    if position.state != state:
        raise Conflict("the data changed since the cursor was made: begin again with cursor=*")
    end = position.offset + size
    # One more than a page, which shows whether another one follows.
    taken = list(rows[position.offset : end + 1])
    following = ListPosition(sort, offset=end, state=state) if len(taken) > size else None
    return taken[:size], following


def key_order(field: str, *, is_descending: bool) -> tuple[Any, ...]:
    """By the field, and by keys where rows agree in it."""
    by = F(field)
    return (by.desc(nulls_last=True) if is_descending else by.asc(nulls_last=True), "pk")


def whole(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The same rows as a query that can be filtered further and put in another order."""
    if not rows.query.distinct_fields:
        return rows
    plain = rows.order_by().distinct()
    # Of all columns otherwise, which takes long and changes nothing: the keys below are unique.
    plain.query.distinct = False
    return plain.filter(pk__in=rows.values("pk"))


def _is_keyed(rows: Any) -> bool:
    """True if rows can be asked for by what they are behind."""
    if not isinstance(rows, QuerySet):
        return False
    query = rows.query
    return not (query.distinct_fields or query.combinator or query.is_sliced or query.values_select)


def _page_keys(
    rows: QuerySet[Any], position: ListPosition, size: int, field: str, *, is_descending: bool
) -> tuple[list[Any], ListPosition | None]:
    key = rows.model._meta.pk
    order: tuple[Any, ...] = ("pk",)
    if field:
        rows = rows.annotate(sorted_by=F(field))
        order = key_order("sorted_by", is_descending=is_descending)
    if position.after is not None:
        value, last = position.after
        is_later = Q(pk__gt=key.to_python(last))
        if field and value is None:
            is_later &= Q(sorted_by=None)
        elif field:
            value = rows.query.annotations["sorted_by"].output_field.to_python(value)
            beyond = Q(sorted_by__lt=value) if is_descending else Q(sorted_by__gt=value)
            # Rows without a value come last, behind every value.
            is_later = beyond | (is_later & Q(sorted_by=value)) | Q(sorted_by=None)
        rows = rows.filter(is_later)
    taken = list(rows.order_by(*order)[: size + 1])
    if len(taken) <= size:
        return taken, None
    last_row = taken[size - 1]
    after = (_plain(getattr(last_row, "sorted_by", None)), _plain(last_row.pk))
    return taken[:size], ListPosition(position.sort, after=after)


def _plain(value: Any) -> Any:
    """As JSON has it; the field reads it again without loss."""
    if value is None or isinstance(value, str | int | float):
        return value
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def cursor_links(request: Request, count: int, following: ListPosition | None) -> Mapping[str, Any]:
    """The envelope's members that lead on."""
    address = remove_query_param(request.build_absolute_uri(), "page")
    sealed = following and following.token()
    return {
        "count": count,
        "next": sealed and replace_query_param(address, "cursor", sealed),
        "previous": None,
    }
