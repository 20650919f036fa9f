"""How fields of forms become HTML."""

import json
from hashlib import sha256
from typing import Any

from django.core.cache import caches
from django.forms.renderers import DjangoTemplates
from django.forms.widgets import Select
from django.http import HttpRequest

from backend.site.language import language

kept = caches["fields"]


class FormRenderer(DjangoTemplates):
    """Django's own. Lists to choose from are made once for all who see the same: each option is a template,
    and a page has hundreds."""

    def render(
        self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None
    ) -> str:
        def made() -> str:
            return super(FormRenderer, self).render(template_name, context, request)

        if template_name != Select.template_name:
            return made()
        # By what is written and not by `repr`: choices of rows of a table would be known by their addresses in
        # memory, which come again.
        whole = json.dumps((language(), context["widget"]), default=str)
        key = sha256(whole.encode()).hexdigest()
        html: str | None = kept.get(key)
        if html is None:
            kept.set(key, html := made())
        return html
