"""One's own account: workspaces, password and sessions."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.pages.people.forms import WorkspaceForm
from backend.accounts.selectors.people import is_linked, memberships_of, workspaces_open_to
from backend.accounts.services.acting import workspace_of
from backend.accounts.services.people import BY_LINK, password_set, sessions_end
from backend.accounts.services.sessions import browser_sessions, session_end
from backend.site.access import person_of, sign_in_required
from backend.site.language import _


@sign_in_required
@never_cache
@require_safe
def account_page(request: HttpRequest) -> HttpResponse:
    """Which workspaces the person may act in, and how they sign in."""
    person = person_of(request)
    roles = {membership.workspace_id: membership for membership in memberships_of(person)}
    sessions = browser_sessions(person, request.session.session_key)
    context = {
        "acting": workspace_of(request),
        "workspaces": [
            (workspace, roles.get(workspace.pk)) for workspace in workspaces_open_to(person)
        ],
        "provider": settings.OIDC_NAME if settings.OIDC_ISSUER else "",
        "is_linked": is_linked(person, settings.OIDC_ISSUER),
        "sessions": sorted(sessions, key=lambda session: session.seen_at, reverse=True),
        "workspace_form": WorkspaceForm() if person.is_superuser else None,
    }
    return render(request, "account/page.html", context)


@sensitive_post_parameters()
@sign_in_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def password_page(request: HttpRequest) -> HttpResponse:
    """Another password, or the first; all other sessions of the person end."""
    person = person_of(request)
    is_known = person.has_usable_password() and not request.session.get(BY_LINK)
    kind: Any = PasswordChangeForm if is_known else SetPasswordForm
    form = kind(person, request.POST if request.method == "POST" else None, label_suffix="")
    if request.method == "POST" and form.is_valid():
        password_set(
            user=person,
            password=form.cleaned_data["new_password1"],
            is_by_link=BY_LINK in request.session,
        )
        # Django ends sessions that were opened with the former password; this one goes on.
        update_session_auth_hash(request, person)
        sessions_end(user=person, but=request.session.session_key or "")
        request.session.pop(BY_LINK, None)
        messages.success(request, _("The password is saved."))
        return HttpResponseRedirect(reverse("account"))
    return render(
        request, "account/password.html", {"form": form, "least": settings.LEAST_PASSWORD}
    )


@sign_in_required
@require_POST
def session_end_form(request: HttpRequest, name: str) -> HttpResponse:
    """Ends one session of the person."""
    if not session_end(user=person_of(request), name=name):
        raise Http404
    messages.success(request, _("The session is ended."))
    return HttpResponseRedirect(reverse("account"))


@sign_in_required
@require_POST
def sessions_end_form(request: HttpRequest) -> HttpResponse:
    """Ends all sessions of the person but this one."""
    sessions_end(user=person_of(request), but=request.session.session_key or "")
    messages.success(request, _("All other sessions are ended."))
    return HttpResponseRedirect(reverse("account"))
