"""Signing in by password, or by a link that works once; either leads on to the page asked for."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from backend.accounts.models import User
from backend.accounts.pages.second_factor import sign_in
from backend.accounts.selectors.people import sign_in_links
from backend.accounts.services.people import BY_LINK, sign_in_link_use
from backend.accounts.services.sign_ins import must_wait
from backend.core.rest.throttles import client_network, spend

# Half an hour: time to get a link from somebody who can make one.
NEXT_COOKIE, NEXT_COOKIE_S = "next", 1800


class SignInPage(LoginView):
    """Remembers the page asked for: who has no password yet comes back by a link."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # Each try costs half a second of a core, whether or not the name is one.
        tries = spend("sign-in", settings.THROTTLE_SIGN_IN, client_network(request))
        if tries is not None and tries.is_exceeded:
            return lockout_page(request)
        if must_wait(request.POST.get("username", "")):
            return lockout_page(request)
        return super().post(request, *args, **kwargs)

    def get_context_data(self, **given: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**given)
        context["single_sign_on"] = settings.OIDC_ISSUER and settings.OIDC_NAME
        context["takes_passwords"] = settings.PASSWORD_SIGN_IN
        return context

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        user = form.get_user()
        assert isinstance(user, User)  # noqa: S101  (our only kind of people)
        return sign_in(self.request, user, self.get_success_url())

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer = super().get(request, *args, **kwargs)
        if page := self.get_redirect_url():
            # A cookie and not the address: the link that signs in is made by somebody who does not
            # know the page.
            answer.set_cookie(
                NEXT_COOKIE,
                page,
                max_age=NEXT_COOKIE_S,
                secure=request.is_secure(),
                httponly=True,
                samesite="Lax",
            )
        return answer


def lockout_page(request: HttpRequest, *_: Any, **__: Any) -> HttpResponse:
    """Too many wrong passwords: of one name from one address (django-axes), or of an address."""
    return render(request, "registration/locked.html", status=HTTPStatus.TOO_MANY_REQUESTS)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_link_page(request: HttpRequest, secret: str) -> HttpResponse:
    """Asks first: what opens links only to show them, as chat programs do, must not use this one up."""
    if request.method == "POST":
        # None where the link was used meanwhile; the page then says so as for an unknown one.
        user = sign_in_link_use(secret=secret)
        if user is not None:
            entered = sign_in(request, user, next_page(request))
            # Who comes by a link may have forgotten the password.
            request.session[BY_LINK] = True
            entered.delete_cookie(NEXT_COOKIE)
            return entered
    link = sign_in_links(secret).select_related("user").first()
    answer = render(
        request, "registration/link.html", {"link": link}, status=404 if link is None else 200
    )
    # The path is never in a referrer. `no-referrer` would take the form's Origin as well, and
    # without that no form passes the check against forged requests.
    answer["Referrer-Policy"] = "strict-origin"
    return answer


def next_page(request: HttpRequest) -> str:
    """The page asked for before; only one of ours."""
    page = request.COOKIES.get(NEXT_COOKIE, "")
    # Another host of the same domain may write a cookie of ours, so it is not trusted to lead out.
    is_ours = url_has_allowed_host_and_scheme(
        page, {request.get_host()}, require_https=request.is_secure()
    )
    return page if is_ours else settings.LOGIN_REDIRECT_URL
