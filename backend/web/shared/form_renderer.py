"""How fields of forms become HTML."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from django.core.cache import caches
from django.forms.renderers import DjangoTemplates
from django.forms.widgets import Select
from django.http import HttpRequest
from django.utils.safestring import SafeString

from backend.web.shared.language import language

kept = caches["fields"]


class FormRenderer(DjangoTemplates):
    """Django's own. Lists to choose from are made once for all who see the same: each option is a template,
    and a page has hundreds."""

    def render(
        self, template_name: str, context: Mapping[str, Any], request: HttpRequest | None = None
    ) -> SafeString:
        def made() -> SafeString:
            return super(FormRenderer, self).render(template_name, context, request)

        if template_name != Select.template_name:
            return made()
        whole = repr((language(), context["widget"]))
        html: SafeString = kept.get_or_set(sha256(whole.encode()).hexdigest(), made)
        return html
