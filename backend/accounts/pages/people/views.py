"""People of a workspace: who they are, what they may, and who is invited; for admins."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from backend.accounts.models import Membership, Scope
from backend.accounts.pages.people.forms import InvitationForm
from backend.accounts.selectors.people import invitations_of, manages, members_of
from backend.accounts.services.acting import workspace_of
from backend.accounts.services.members import (
    invitation_create,
    invitation_withdraw,
    member_remove,
    member_update,
)
from backend.accounts.services.people import sign_in_link_create, user_switch
from backend.rankings.services.feeds import feed_keys_of
from backend.site.access import demand, demand_installation, person_of, readable
from backend.site.confirming import Question, confirm_first
from backend.site.forms import refusals_said
from backend.site.language import _


@readable
# The page may show a link that lets somebody in, which no browser or proxy may keep.
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def people_page(request: HttpRequest) -> HttpResponse:
    """The members and the form that invites one; a new invitation's link is shown this once."""
    demand(request, Scope.ADMIN)
    made: dict[str, Any] = {}
    form = InvitationForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            invitation, secret = invitation_create(
                workspace=workspace_of(request),
                scope=form.cleaned_data["role"],
                note=form.cleaned_data["note"],
                actor=request.user.get_username(),
            )
            made = {"invitation": invitation, "link": _address("invitation", secret)}
            form = InvitationForm()
    return _page(request, form=form, **made)


def _page(request: HttpRequest, **more: Any) -> HttpResponse:
    workspace, admin = workspace_of(request), person_of(request)
    members = members_of(workspace)
    context = {
        "workspace": workspace,
        "members": [(member, manages(admin, member.user, workspace)) for member in members],
        "invitations": invitations_of(workspace),
        "scopes": Scope.choices,
        "form": InvitationForm(),
        **more,
    }
    return render(request, "people/page.html", context)


def _address(name: str, secret: str) -> str:
    return settings.PUBLIC_URL.rstrip("/") + reverse(name, args=[secret])


def _member(request: HttpRequest, member_id: UUID) -> Membership:
    demand(request, Scope.ADMIN)
    return get_object_or_404(members_of(workspace_of(request)), pk=member_id)


def _manageable_member(request: HttpRequest, member_id: UUID) -> Membership:
    """A member who belongs to this workspace alone, or anybody for who runs the installation."""
    member = _member(request, member_id)
    if not manages(person_of(request), member.user, workspace_of(request)):
        demand_installation(request)
    return member


@readable
@require_POST
def member_role_form(request: HttpRequest, member_id: UUID) -> HttpResponse:
    """Another role."""
    member = _member(request, member_id)
    with refusals_said(request):
        member_update(
            membership=member,
            scope=request.POST.get("role", ""),
            actor=request.user.get_username(),
        )
        messages.success(request, _("{name} has another role.", name=member.user.username))
    return HttpResponseRedirect(reverse("people"))


@readable
@require_POST
def member_switch_form(request: HttpRequest, member_id: UUID) -> HttpResponse:
    """Lets a person in no more, or again."""
    member = _manageable_member(request, member_id)
    with refusals_said(request):
        user_switch(
            user=member.user,
            is_active=request.POST.get("enable") == "1",
            workspace=member.workspace,
            actor=request.user.get_username(),
        )
    return HttpResponseRedirect(reverse("people"))


@readable
@never_cache
@require_POST
def member_link_form(request: HttpRequest, member_id: UUID) -> HttpResponse:
    """A link that signs the person in once, for who has forgotten the password; shown this once."""
    member = _manageable_member(request, member_id)
    made: dict[str, Any] = {}
    with refusals_said(request):
        link, secret = sign_in_link_create(user=member.user, actor=request.user.get_username())
        made = {"reset": link, "link": _address("sign-in-link", secret)}
    return _page(request, **made)


def feeds_ending(member: Membership) -> list[str]:
    """Feeds that end with the membership, one sentence each."""
    return [
        _(
            "Feed {name} of the view {view} ends: spreadsheets that read it get no more figures.",
            name=key.name,
            view=key.view.name,
        )
        for key in feed_keys_of(member.user, member.workspace)
    ]


def _remove_question(request: HttpRequest, member_id: UUID) -> Question:
    member = _member(request, member_id)
    return Question(
        _("Remove {name} from {workspace}?", name=member.user, workspace=member.workspace),
        _("Remove"),
        reverse("people"),
        (
            _("Their tokens here are refused at once."),
            *feeds_ending(member),
            _("What they made stays with the workspace."),
        ),
    )


@readable
@confirm_first(_remove_question)
def member_remove_form(request: HttpRequest, member_id: UUID) -> HttpResponse:
    member = _member(request, member_id)
    member_remove(membership=member, actor=request.user.get_username())
    messages.success(request, _("{name} is no longer a member.", name=member.user))
    return HttpResponseRedirect(reverse("people"))


@readable
@require_POST
def invitation_withdraw_form(request: HttpRequest, invitation_id: UUID) -> HttpResponse:
    """Nobody joins by it any more."""
    demand(request, Scope.ADMIN)
    invitation = get_object_or_404(invitations_of(workspace_of(request)), pk=invitation_id)
    invitation_withdraw(invitation=invitation, actor=request.user.get_username())
    messages.success(request, _("The invitation is withdrawn."))
    return HttpResponseRedirect(reverse("people"))
