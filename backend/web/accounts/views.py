"""Signing in by a link that works once."""

from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from backend.accounts.selectors.people import sign_in_links
from backend.accounts.services.people import sign_in_link_use


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_link_page(request: HttpRequest, secret: str) -> HttpResponse:
    """Asks first: what opens links only to show them, as chat programs do, must not use this one up."""
    if request.method == "POST":
        user = sign_in_link_use(secret=secret)
        if user is not None:
            login(request, user)
            return redirect(settings.LOGIN_REDIRECT_URL)
    link = sign_in_links(secret).select_related("user").first()
    answer = render(
        request, "registration/link.html", {"link": link}, status=404 if link is None else 200
    )
    # The path is never in a referrer. `no-referrer` would take the form's Origin as well, and
    # without that no form passes the check against forged requests.
    answer["Referrer-Policy"] = "strict-origin"
    return answer
