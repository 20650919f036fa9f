"""Long lists, fifty rows a page; what narrows them is all in the address."""

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest

PER_PAGE = 50


def paging_context(
    request: HttpRequest, rows: Any, count: int | None = None, per_page: int = PER_PAGE
) -> dict[str, Any]:
    """Context of a list: its page, the addresses beside it, and what it is narrowed to.

    `count` spares a second query where the caller knows how many rows there are.
    """
    paginator = Paginator(rows, per_page)
    if count is not None:
        paginator.count = count
    page = paginator.get_page(request.GET.get("page"))
    # Without empty fields, which a form sends along, so that addresses stay short.
    kept = {name: value for name, value in request.GET.items() if name != "page" and value}
    return {
        "page": page,
        "is_narrowed": bool(kept),
        "earlier": f"?{urlencode({**kept, 'page': page.number - 1})}" if page.number > 1 else "",
        "further": f"?{urlencode({**kept, 'page': page.number + 1})}" if page.has_next() else "",
        "query": urlencode(kept),
    }
