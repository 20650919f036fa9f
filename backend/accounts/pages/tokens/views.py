"""API tokens: made, shown once, listed with their last use, revoked; for admins."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from backend.accounts.models import ApiToken, Scope
from backend.accounts.selectors.tokens import tokens_of
from backend.accounts.services.acting import workspace_of
from backend.accounts.services.tokens import token_create, token_revoke
from backend.rankings.pages.saved_views.forms import TokenForm
from backend.site.access import demand, person_of, readable
from backend.site.confirming import Question, confirm_first
from backend.site.language import _


@readable
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def tokens_page(request: HttpRequest) -> HttpResponse:
    """The tokens and the form that makes one; a new one's text is shown this once."""
    demand(request, Scope.ADMIN)
    made: dict[str, Any] = {}
    form = TokenForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            token, text = token_create(
                workspace=workspace_of(request),
                owner=person_of(request),
                actor=request.user.get_username(),
                **form.cleaned_data,
            )
            # In the answer to the POST and not behind a redirect: the text is stored nowhere to be
            # shown later.
            made = {"made": token, "text": text}
            form = TokenForm()
    context = {"form": form, "tokens": tokens_of(workspace_of(request)), **made}
    return render(request, "tokens/page.html", context)


def _token(request: HttpRequest, token_id: UUID) -> ApiToken:
    demand(request, Scope.ADMIN)
    return get_object_or_404(tokens_of(workspace_of(request)), pk=token_id)


def _token_question(request: HttpRequest, token_id: UUID) -> Question:
    token = _token(request, token_id)
    used = (
        _("last on {day}", day=f"{token.last_used_at:%Y-%m-%d}")
        if token.last_used_at
        else _("never so far")
    )
    return Question(
        _("Revoke the token {name}?", name=token.name),
        _("Revoke token"),
        reverse("tokens"),
        (_("Programs that use it are refused at once; it was used {used}.", used=used),),
    )


@readable
@confirm_first(_token_question)
def token_revoke_form(request: HttpRequest, token_id: UUID) -> HttpResponse:
    token = _token(request, token_id)
    token_revoke(token=token, actor=request.user.get_username())
    messages.success(request, _("The token {name} is revoked.", name=token.name))
    return HttpResponseRedirect(reverse("tokens"))
