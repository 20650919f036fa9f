"""Parts of pages that are made once for all who read the same."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from django.core.cache import caches
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from backend.site.language import language

kept = caches["fragments"]


def fragment(
    request: HttpRequest,
    template: str,
    follows_from: object | None,
    context: Callable[[], Mapping[str, Any]],
) -> SafeString:
    """A template in the reader's language, made once for an address and all that its context follows
    from: values whose `repr` says all of it, or None to keep nothing.

    Of the request the template may use the address alone.
    """

    def made() -> SafeString:
        return render_to_string(template, {"request": request, **context()})

    if follows_from is None:
        return made()
    whole = repr((template, request.build_absolute_uri(), language(), follows_from))
    key = sha256(whole.encode()).hexdigest()
    html: SafeString | None = kept.get(key)
    if html is None:
        kept.set(key, html := made())
    return html
