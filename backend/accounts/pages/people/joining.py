"""Workspaces of the person who has signed in: made, entered and left; and joined by a link."""

from django.contrib import messages
from django.contrib.auth import HASH_SESSION_KEY, login, update_session_auth_hash
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from backend.accounts.models import Invitation, Membership, User
from backend.accounts.pages.people.forms import JoinForm, WorkspaceForm
from backend.accounts.pages.people.views import feeds_ending
from backend.accounts.selectors.people import invitations, memberships_of, workspaces_open_to
from backend.accounts.services.acting import CHOSEN, SIGN_IN_BACKEND
from backend.accounts.services.members import invitation_accept, member_remove, workspace_create
from backend.site.access import demand_installation, person_of, readable
from backend.site.confirming import Question, confirm_first
from backend.site.forms import refusals_said
from backend.site.language import _


@readable
@require_POST
def workspace_new_form(request: HttpRequest) -> HttpResponse:
    """Makes a workspace and enters it; for who runs the installation."""
    demand_installation(request)
    person, form = person_of(request), WorkspaceForm(request.POST)
    if form.is_valid():
        with form.refusals():
            workspace = workspace_create(
                slug=form.cleaned_data["slug"],
                name=form.cleaned_data["name"],
                admin=person,
                actor=person.get_username(),
            )
            request.session[CHOSEN] = workspace.slug
            messages.success(request, _("You are in {name} now.", name=workspace.name))
            return HttpResponseRedirect(reverse("people"))
    for errors in form.errors.values():
        messages.error(request, " ".join(map(str, errors)))
    return HttpResponseRedirect(reverse("account"))


@readable
@require_POST
def workspace_enter_form(request: HttpRequest, slug: str) -> HttpResponse:
    """Acts in another of one's workspaces from now on."""
    workspace = get_object_or_404(workspaces_open_to(person_of(request)), slug=slug)
    request.session[CHOSEN] = workspace.slug
    messages.success(request, _("You are in {name} now.", name=workspace.name))
    return HttpResponseRedirect("/")


def _own_membership(request: HttpRequest, slug: str) -> Membership:
    return get_object_or_404(memberships_of(person_of(request)), workspace__slug=slug)


def _leave_question(request: HttpRequest, slug: str) -> Question:
    member = _own_membership(request, slug)
    return Question(
        _("Leave {name}?", name=member.workspace.name),
        _("Leave"),
        reverse("account"),
        (
            _("Your tokens there are refused at once. Only an invitation lets you in again."),
            *feeds_ending(member),
        ),
    )


@readable
@confirm_first(_leave_question)
def workspace_leave_form(request: HttpRequest, slug: str) -> HttpResponse:
    member = _own_membership(request, slug)
    member_remove(membership=member, actor=request.user.get_username())
    request.session.pop(CHOSEN, None)
    messages.success(request, _("You have left {name}.", name=member.workspace.name))
    return HttpResponseRedirect("/")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation_page(request: HttpRequest, secret: str) -> HttpResponse:
    """Asks before it lets join: what opens links only to show them must not use this one up."""
    invitation = invitations(secret).first()
    form = JoinForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and invitation is not None:
        person = _join(request, secret, form)
        if person is not None:
            return _enter(request, person, invitation)
    context = {"invitation": invitation, "form": form}
    status = 404 if invitation is None else 200
    answer = render(request, "people/invitation.html", context, status=status)
    # As on the page of a link that signs in.
    answer["Referrer-Policy"] = "strict-origin"
    return answer


def _join(request: HttpRequest, secret: str, form: JoinForm) -> User | None:
    if isinstance(request.user, User):
        with refusals_said(request):
            return invitation_accept(
                secret=secret, user=request.user, session_key=request.session.session_key or ""
            )
    elif form.is_valid():
        with form.refusals():
            return invitation_accept(secret=secret, user=None, name=form.cleaned_data["name"])
    return None


def _enter(request: HttpRequest, person: User, invitation: Invitation) -> HttpResponse:
    is_new = not isinstance(request.user, User)
    if is_new:
        login(request, person, backend=SIGN_IN_BACKEND)
    request.session[CHOSEN] = invitation.workspace.slug
    messages.success(request, _("You have joined {name}.", name=invitation.workspace.name))
    if not is_new and request.session.get(HASH_SESSION_KEY) != person.get_session_auth_hash():
        # The service ended the password, and with it every session but this one.
        update_session_auth_hash(request, person)
        messages.warning(
            request,
            _("Choose a new password: an admin of another workspace could know the one before."),
        )
        return redirect("password")
    return redirect("account" if is_new else "/")
