"""Signing in by OpenID Connect, to the provider and back from it, and linking an account with it."""

from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate, login
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods

from backend.accounts.pages.second_factor import sign_in
from backend.accounts.pages.views import NEXT_COOKIE, lockout_page, next_page
from backend.accounts.services.acting import SIGN_IN_BACKEND, workspace_of
from backend.accounts.services.identities import (
    identity_link,
    identity_unlink,
    identity_user_get_or_create,
)
from backend.accounts.services.openid import (
    SignInRefused,
    authorization_begin,
    authorization_finish,
)
from backend.accounts.services.sign_ins import refusal_record
from backend.core import clock
from backend.core.rest.throttles import client_network, spend
from backend.site.access import person_of, sign_in_required
from backend.site.forms import WriteForm
from backend.site.language import _, lazy

# Key of the session: what was sent to the provider, and how long its answer is waited for.
BEGUN, BEGUN_S = "single_sign_on", 900
# Key of the session: when the person gave their password to link the account, and how long it
# holds.
LINK, LINK_S = "single_sign_on_link", 300
_NOT_ADMITTED = lazy(
    "Your sign-in worked there, but you have no access here. Ask the administrator "
    "of this Rackrate."
)
REASONS = {
    "account_disabled": lazy("Your account here is switched off."),
    "email_not_verified": lazy("It does not say that your e-mail address is verified."),
    "name_taken": lazy(
        "Your e-mail address is already a user name here. Ask the administrator of this Rackrate."
    ),
    "not_admitted": _NOT_ADMITTED,
    "subject_taken": lazy("Another account here is linked with it already."),
    "workspace_unknown": _NOT_ADMITTED,
    "provider_failed": lazy("It cannot be reached, or its answer makes no sense. Try again later."),
}


@never_cache
@require_GET
def single_sign_on_begin(request: HttpRequest) -> HttpResponse:
    """Leads to the provider. A link and no form: the content policy lets no form lead elsewhere."""
    _demand_switched_on()
    tries = spend("sign-in", settings.THROTTLE_SIGN_IN, client_network(request))
    if tries is not None and tries.is_exceeded:
        return lockout_page(request)
    try:
        address, kept = authorization_begin(return_address=_return_address())
    except SignInRefused as refused:
        return _refuse(request, refused.reason)
    request.session[BEGUN] = {
        **kept,
        "at": clock.now().timestamp(),
        "person": _who_links(request),
    }
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
        if person := kept.get("person"):
            return _link_account(request, person, claims)
        user = identity_user_get_or_create(claims)
    except SignInRefused as refused:
        return _refuse(request, refused.reason)
    page = next_page(request)
    if settings.OIDC_SECOND_FACTOR:
        login(request, user, backend=SIGN_IN_BACKEND)
        entered: HttpResponse = HttpResponseRedirect(page)
    else:
        entered = sign_in(request, user, page)
    entered.delete_cookie(NEXT_COOKIE)
    return entered


class PasswordForm(WriteForm):
    """The password of somebody who is signed in already."""

    password = forms.CharField(
        label=lazy("Password"),
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password", "autofocus": True}),
    )


@sensitive_post_parameters()
@sign_in_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def identity_page(request: HttpRequest, *, is_removing: bool = False) -> HttpResponse:
    """Asks for the password, which ends the link and is then the way in, or shows the way to the
    provider: no form may lead there."""
    _demand_switched_on()
    form = PasswordForm(request.POST if request.method == "POST" else None)
    provider = settings.OIDC_NAME
    context = {"form": form, "provider": provider, "is_removing": is_removing}
    if _is_confirmed(request, form):
        if is_removing:
            identity_unlink(user=person_of(request), workspace=workspace_of(request))
            messages.success(
                request, _("You no longer sign in with {provider}.", provider=provider)
            )
            return HttpResponseRedirect(reverse("account"))
        request.session[LINK] = clock.now().timestamp()
        context["is_confirmed"] = True
    return render(request, "account/identity.html", context)


def _is_confirmed(request: HttpRequest, form: PasswordForm) -> bool:
    """True if the form brings the person's password; wrong ones count as they do at the sign-in."""
    if request.method != "POST" or not form.is_valid():
        return False
    person = person_of(request)
    known = authenticate(
        request, username=person.get_username(), password=form.cleaned_data["password"]
    )
    if known != person:
        form.add_error(
            "password", _("Wrong password, or too many attempts. Try again in a moment.")
        )
    return known == person


def _who_links(request: HttpRequest) -> str | None:
    """Id of the person who has just given the password to link their account, once."""
    confirmed_at = request.session.pop(LINK, None)
    if confirmed_at is None or clock.now().timestamp() - confirmed_at > LINK_S:
        return None
    return str(person_of(request).pk)


def _link_account(request: HttpRequest, person: str, claims: Any) -> HttpResponse:
    # Somebody else may have signed in within this browser meanwhile.
    if str(request.user.pk) != person:
        raise SignInRefused("state")
    identity_link(user=person_of(request), workspace=workspace_of(request), claims=claims)
    messages.success(
        request, _("You can sign in with {provider} now.", provider=settings.OIDC_NAME)
    )
    return HttpResponseRedirect(reverse("account"))


def _demand_switched_on() -> None:
    if not settings.OIDC_ISSUER:
        raise Http404


def _return_address() -> str:
    # Not the Host of the request: the provider compares it with what it was told.
    return settings.PUBLIC_URL.rstrip("/") + reverse("single-sign-on-return")


def _refuse(request: HttpRequest, reason: str) -> HttpResponse:
    # As seldom as other refusals.
    refusal_record(request=request, action="login_failed", by="single sign-on", reason=reason)
    why = REASONS.get(reason, _("Its answer is not for this sign-in. Start again."))
    context = {"provider": settings.OIDC_NAME, "why": why}
    return render(request, "registration/single_sign_on.html", context, status=HTTPStatus.FORBIDDEN)
