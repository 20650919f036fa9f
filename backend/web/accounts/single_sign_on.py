"""Signing in by OpenID Connect: to the provider, and back from it."""

from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth import login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from backend.accounts.services.acting import SIGN_IN_BACKEND
from backend.accounts.services.identities import identity_person
from backend.accounts.services.openid import (
    SignInRefused,
    authorization_begin,
    authorization_finish,
)
from backend.accounts.services.sign_ins import single_sign_on_refused
from backend.common import clock
from backend.common.rest.throttles import client_address, spent
from backend.web.accounts.second_factor import sign_in
from backend.web.accounts.views import NEXT_COOKIE, locked_out, next_page
from backend.web.shared.language import _, lazy

BEGUN, BEGUN_S = "single_sign_on", 900
"""Key of the session: what was sent to the provider, and how long its answer is waited for."""
_NOT_ADMITTED = lazy("It knows you, but you may not come in here. Ask whoever runs this Rackrate.")
REASONS = {
    "account_disabled": lazy("Your account here is switched off."),
    "email_not_verified": lazy("It does not say that your e-mail address is verified."),
    "name_taken": lazy(
        "Somebody here has your e-mail address as user name already. Ask whoever runs this Rackrate."
    ),
    "not_admitted": _NOT_ADMITTED,
    "workspace_unknown": _NOT_ADMITTED,
    "provider_failed": lazy("It cannot be reached, or its answer makes no sense. Try again later."),
}


@never_cache
@require_GET
def single_sign_on_begin(request: HttpRequest) -> HttpResponse:
    """Leads to the provider. A link and no form: the content policy lets no form lead elsewhere."""
    _demand_switched_on()
    tries = spent("sign-in", settings.THROTTLE_SIGN_IN, client_address(request))
    if tries is not None and tries.is_exceeded:
        return locked_out(request)
    try:
        address, kept = authorization_begin(return_address=_return_address())
    except SignInRefused as refused:
        return _refused(request, refused.reason)
    request.session[BEGUN] = {**kept, "at": clock.now().timestamp()}
    return HttpResponseRedirect(address)


@never_cache
@require_GET
def single_sign_on_return(request: HttpRequest) -> HttpResponse:
    """Where the provider sends the browser back to, once for each time it was led there."""
    _demand_switched_on()
    kept: Any = request.session.pop(BEGUN, None)
    try:
        if kept is None or clock.now().timestamp() - kept["at"] > BEGUN_S:
            raise SignInRefused("state")
        claims = authorization_finish(
            answer=request.GET.dict(), kept=kept, return_address=_return_address()
        )
        user = identity_person(claims)
    except SignInRefused as refused:
        return _refused(request, refused.reason)
    page = next_page(request)
    if settings.OIDC_SECOND_FACTOR:
        login(request, user, backend=SIGN_IN_BACKEND)
        entered: HttpResponse = HttpResponseRedirect(page)
    else:
        entered = sign_in(request, user, page)
    entered.delete_cookie(NEXT_COOKIE)
    return entered


def _demand_switched_on() -> None:
    if not settings.OIDC_ISSUER:
        raise Http404


def _return_address() -> str:
    # Not the Host of the request: the provider compares it with what it was told.
    return settings.PUBLIC_URL.rstrip("/") + reverse("single-sign-on-return")


def _refused(request: HttpRequest, reason: str) -> HttpResponse:
    single_sign_on_refused(request=request, reason=reason)
    why = REASONS.get(reason, _("Its answer is not for this sign-in. Start again."))
    context = {"provider": settings.OIDC_NAME, "why": why}
    return render(request, "registration/single_sign_on.html", context, status=HTTPStatus.FORBIDDEN)
