"""The help page and the glossary."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from backend.site.access import readable
from backend.site.help.glossary import glossary
from backend.site.language import language


@readable
@require_safe
def help_page(request: HttpRequest) -> HttpResponse:
    """Purpose of each part, how to read the figures, and how to get an account."""
    return render(request, "help/page.html")


@readable
@require_safe
def glossary_page(request: HttpRequest) -> HttpResponse:
    return render(request, "help/glossary.html", {"sections": glossary(language())})
