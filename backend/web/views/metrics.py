"""What a metric means."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from backend.domain.errors import InvalidValue
from backend.domain.metrics import metric
from backend.web import words
from backend.web.access import readable


@readable
@require_safe
def metric_page(request: HttpRequest, key: str) -> HttpResponse:
    """Definition, method and limits of one metric."""
    try:
        found = metric(key)
    except InvalidValue as error:
        raise Http404(error.detail) from error
    context = {"metric": found, "intervals": words.INTERVALS}
    return render(request, "metrics/page.html", context)
