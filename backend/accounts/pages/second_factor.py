"""The second factor: set up, asked for at the sign-in, and removed."""

from typing import Any

import segno
from django.contrib import messages
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from backend.accounts.models import User
from backend.accounts.selectors.people import person_by_id
from backend.accounts.services.acting import SIGN_IN_BACKEND, workspace_of
from backend.accounts.services.second_factor import (
    authenticator_address,
    code_is_right,
    second_factor_begin,
    second_factor_confirm,
    second_factor_remove,
)
from backend.core import clock
from backend.site.access import person_of, sign_in_required
from backend.site.forms import WriteForm, text
from backend.site.language import _, lazy

# Key of the session of who gave the right password, and how long the code is waited for.
WAITING, WAITING_S = "waiting_for_code", 300


class CodeForm(WriteForm):
    """A code of the second factor."""

    code = text(
        lazy("Code"), maxlength=24, autocomplete="one-time-code", inputmode="text", autofocus=True
    )


def sign_in(request: HttpRequest, user: User, page: str) -> HttpResponse:
    """Signs the person in and leads to the page; first to that of the code where one is needed."""
    if not user.has_second_factor:
        login(request, user, backend=SIGN_IN_BACKEND)
        return HttpResponseRedirect(page)
    # Nobody is signed in before the code is right.
    request.session[WAITING] = [str(user.pk), clock.now().timestamp(), page]
    return redirect("second-factor")


def _waiting(request: HttpRequest) -> tuple[User, str] | None:
    kept: Any = request.session.get(WAITING)
    if not kept or clock.now().timestamp() - kept[1] > WAITING_S:
        return None
    user = person_by_id(kept[0])
    return (user, kept[2]) if user and user.is_active else None


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def code_page(request: HttpRequest) -> HttpResponse:
    """Asks who gave the right password for the code."""
    waiting = _waiting(request)
    if waiting is None:
        return redirect("login")
    user, page = waiting
    form = CodeForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        if code_is_right(user=user, code=form.cleaned_data["code"]):
            del request.session[WAITING]
            login(request, user, backend=SIGN_IN_BACKEND)
            return HttpResponseRedirect(page)
        form.add_error("code", _("Wrong code, or too many attempts. Try again in a moment."))
    return render(request, "account/code.html", {"form": form})


@sign_in_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor_set_page(request: HttpRequest) -> HttpResponse:
    """Shows the key to scan, and takes the first code; then the recovery codes, this once."""
    person = person_of(request)
    form = CodeForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        codes = second_factor_confirm(
            user=person, code=form.cleaned_data["code"], workspace=workspace_of(request)
        )
        if codes is not None:
            return render(request, "account/recovery.html", {"codes": codes})
        form.add_error("code", _("This code is wrong. Codes change every 30 seconds."))
    address = authenticator_address(second_factor_begin(user=person))
    context = {
        "form": form,
        # Not transparent: on a dark page cameras would not read the code.
        "picture": segno.make(address).svg_data_uri(scale=4, light="white"),
        "address": address,
    }
    return render(request, "account/second_factor.html", context)


@sign_in_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor_remove_page(request: HttpRequest) -> HttpResponse:
    """Removes it for who has a code."""
    person = person_of(request)
    form = CodeForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        if code_is_right(user=person, code=form.cleaned_data["code"]):
            second_factor_remove(
                user=person, workspace=workspace_of(request), actor=person.get_username()
            )
            messages.success(request, _("Signing in no longer asks for a code."))
            return HttpResponseRedirect(reverse("account"))
        form.add_error("code", _("Wrong code, or too many attempts. Try again in a moment."))
    return render(request, "account/code.html", {"form": form, "is_removing": True})
