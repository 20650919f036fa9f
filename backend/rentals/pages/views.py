"""Accounts at clouds: their list, making one, and one with its limits, login and machines."""

import datetime as dt
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from backend.accounts.models import AccessKind, CloudAccount, Scope
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.selectors.costs import Cost
from backend.core import clock
from backend.providers.accounts import account_providers, is_static_key
from backend.rentals.pages.forms import AccountForm, LimitsForm, LoginForm, initial_of
from backend.rentals.pages.policies import policies
from backend.rentals.selectors.cloud_accounts import (
    accounts_visible,
    preflight_by_region,
    secret_age_days,
)
from backend.rentals.selectors.spending import account_month, machines_rented, month_budget
from backend.rentals.services.cloud_accounts import (
    account_check,
    account_create,
    account_delete,
    account_secret_replace,
    account_update,
)
from backend.site import figures, machines
from backend.site.access import demand, readable
from backend.site.confirming import Question, confirm_first
from backend.site.forms import refusals_said
from backend.site.language import _

# All of them are in the API's list of resources.
MACHINES_SHOWN = 100
# A look at the regions that takes longer is given up.
LOOK_OVER = dt.timedelta(minutes=1)


@dataclass(frozen=True)
class AccountLine:
    """An account as the list and its own page show it."""

    account: CloudAccount
    access: str
    is_static: bool
    secret_age: int | None
    month: str


def _line(account: CloudAccount) -> AccountLine:
    has_secret = account.sealed_secret is not None
    return AccountLine(
        account=account,
        access=AccessKind(account.access).label,
        is_static=is_static_key(account.provider, account.access, has_secret=has_secret),
        secret_age=secret_age_days(account),
        month=_month_words(account, account_month(account)),
    )


def _month_words(account: CloudAccount, cost: Cost) -> str:
    words = figures.price(cost.known, cost.currency)
    words += (
        _(" and more of unknown price: {names}", names=", ".join(cost.unknown))
        if cost.unknown
        else ""
    )
    if account.budget_amount is None:
        return _("{words}, no limit", words=words)
    return _(
        "{words} of {budget}",
        words=words,
        budget=figures.price(account.budget_amount, account.budget_currency),
    )


def _account(request: HttpRequest, account_id: UUID) -> CloudAccount:
    return get_object_or_404(accounts_visible(workspace_of(request)), pk=account_id)


@readable
@require_safe
def clouds_page(request: HttpRequest) -> HttpResponse:
    """All accounts with what they have spent, and how to make another one."""
    demand(request, Scope.ADMIN)
    accounts = accounts_visible(workspace_of(request)).order_by("created_at")
    context = {"lines": [_line(account) for account in accounts], "providers": account_providers()}
    return render(request, "clouds/list.html", context)


@readable
@require_http_methods(["GET", "HEAD", "POST"])
def cloud_new(request: HttpRequest, provider: str) -> HttpResponse:
    """The form of a provider; a good one makes the account and asks who we are."""
    demand(request, Scope.ADMIN)
    # A provider whose prices are read without an account has nothing to log in to.
    if provider not in account_providers():
        return HttpResponseRedirect(reverse("clouds"))
    form = AccountForm(
        request.POST if request.method == "POST" else None,
        provider=provider,
        are_endpoints_allowed=settings.CLOUD_ENDPOINTS,
    )
    if request.method == "POST" and form.is_valid():
        with form.refusals():
            account = _create(request, form)
            messages.success(
                request, _("The account is saved. Its credentials are being verified.")
            )
            return HttpResponseRedirect(reverse("cloud", args=[account.pk]))
    context = {"form": form, "provider": provider, "policies": policies(provider)}
    return render(request, "clouds/new.html", context)


def _create(request: HttpRequest, form: AccountForm) -> CloudAccount:
    return account_create(
        workspace=workspace_of(request),
        name=form.cleaned_data["name"],
        provider=form.provider,
        access=form.cleaned_data["access"],
        settings=_method_settings(form, form.setting_values()),
        secret=form.secret(),
        **form.limits(),
        actor=request.user.get_username(),
    )


def _method_settings(form: LoginForm, typed: dict[str, object]) -> dict[str, object]:
    """Without the settings of the authentication methods that were not chosen."""
    # The fields of every method are on the page, and what was typed for another one is not meant.
    methods = form.record.auth_methods
    mine = methods[form.cleaned_data["access"]].settings
    others = {name for method in methods.values() for name in method.settings} - set(mine)
    return {name: value for name, value in typed.items() if name not in others}


# --- one account ----------------------------------------------------------------------------------


def _state_context(account: CloudAccount) -> dict[str, Any]:
    return {
        "account": account,
        "line": _line(account),
        "is_checking": account.check_requested_at is not None or _is_looked_over(account),
        "regions": preflight_by_region(account),
    }


def _is_looked_over(account: CloudAccount) -> bool:
    """True if a worker, having asked who we are, still looks at the regions."""
    asked, seen = account.checked_at, account.preflight_at
    # A look that is older than the last answer to who we are was for an earlier login.
    is_left = asked is not None and (seen is None or seen < asked) and not account.check_error
    return bool(is_left and account.rents_machines and asked and clock.now() - asked < LOOK_OVER)


def _limits_form(account: CloudAccount, data: Any = None) -> LimitsForm:
    return LimitsForm(data, provider=account.provider, initial=initial_of(account))


def _login_form(account: CloudAccount, data: Any = None) -> LoginForm:
    return LoginForm(
        data,
        provider=account.provider,
        are_endpoints_allowed=settings.CLOUD_ENDPOINTS,
        initial=initial_of(account),
    )


def _merge_settings(account: CloudAccount, form: LimitsForm | LoginForm) -> dict[str, object]:
    # The services store settings as a whole, and each form of the page has only some of them.
    names = form.setting_names()
    others = {name: value for name, value in account.settings.items() if name not in names}
    return others | form.setting_values()


def _page(request: HttpRequest, account: CloudAccount, **given: Any) -> HttpResponse:
    context = _state_context(account) | {
        "limits": _limits_form(account),
        "login": _login_form(account),
        "machines": [
            machines.line(machine) for machine in machines_rented(account)[:MACHINES_SHOWN]
        ],
        **given,
    }
    return render(request, "clouds/page.html", context)


@readable
@require_safe
def cloud_page(request: HttpRequest, account_id: UUID) -> HttpResponse:
    """An account: who we are there, its limits, its login, its machines."""
    demand(request, Scope.ADMIN)
    return _page(request, _account(request, account_id))


@readable
@require_safe
def cloud_state(request: HttpRequest, account_id: UUID) -> HttpResponse:
    """The part about who we are; while the provider is asked it asks for itself again."""
    demand(request, Scope.ADMIN)
    return render(request, "clouds/_state.html", _state_context(_account(request, account_id)))


@readable
@require_POST
def cloud_limits_form(request: HttpRequest, account_id: UUID) -> HttpResponse:
    demand(request, Scope.ADMIN)
    account = _account(request, account_id)
    form = _limits_form(account, request.POST)
    if form.is_valid():
        with form.refusals():
            account_update(
                account=account,
                name=form.cleaned_data["name"],
                settings=_merge_settings(account, form),
                **form.limits(),
                is_enabled=account.is_enabled,
                actor=request.user.get_username(),
            )
            messages.success(request, _("The limits are saved."))
            return HttpResponseRedirect(reverse("cloud", args=[account_id]))
    return _page(request, account, limits=form)


@readable
@require_POST
def cloud_login_form(request: HttpRequest, account_id: UUID) -> HttpResponse:
    """Another secret, perhaps another authentication method."""
    demand(request, Scope.ADMIN)
    account = _account(request, account_id)
    form = _login_form(account, request.POST)
    if form.is_valid():
        with form.refusals():
            account_secret_replace(
                account=account,
                access=form.cleaned_data["access"],
                settings=_method_settings(form, _merge_settings(account, form)),
                secret=form.secret(),
                actor=request.user.get_username(),
            )
            messages.success(request, _("The login is replaced. The provider is asked who we are."))
            return HttpResponseRedirect(reverse("cloud", args=[account_id]))
    return _page(request, account, login=form)


@readable
@require_POST
def cloud_check_form(request: HttpRequest, account_id: UUID) -> HttpResponse:
    """Asks a worker who the provider says we are."""
    demand(request, Scope.ADMIN)
    account_check(account=_account(request, account_id), actor=request.user.get_username())
    return HttpResponseRedirect(reverse("cloud", args=[account_id]))


@readable
@require_POST
def cloud_switch_form(request: HttpRequest, account_id: UUID) -> HttpResponse:
    """Rents nothing there from now on, or again; machines that live go on."""
    demand(request, Scope.ADMIN)
    account = _account(request, account_id)
    is_enabled = request.POST.get("enabled") == "1"
    with refusals_said(request):
        account_update(
            account=account,
            name=account.name,
            settings=account.settings,
            # The service stores an account as a whole; only the switch is changed.
            max_machines=account.max_machines,
            max_vcpus=account.max_vcpus,
            budget=month_budget(account),
            is_enabled=is_enabled,
            actor=request.user.get_username(),
        )
    return HttpResponseRedirect(reverse("cloud", args=[account_id]))


def _removal_question(request: HttpRequest, account_id: UUID) -> Question:
    demand(request, Scope.ADMIN)
    account = _account(request, account_id)
    return Question(
        _("Remove the cloud account {name}?", name=account.name),
        _("Remove account"),
        reverse("cloud", args=[account_id]),
        (
            _("No machine is rented there any more, also not by schedules."),
            _("Its secret is deleted here; revoke it at the provider, too."),
            _("Runs that were measured with it stay."),
        ),
    )


@readable
@confirm_first(_removal_question)
def cloud_delete_form(request: HttpRequest, account_id: UUID) -> HttpResponse:
    """Removes the account and its secret, after a question; refused while it may have a machine."""
    demand(request, Scope.ADMIN)
    # The service refuses while a machine of the account may exist: nobody could end that any more.
    account_delete(account=_account(request, account_id), actor=request.user.get_username())
    messages.success(request, _("The account is removed and its secret deleted."))
    return HttpResponseRedirect(reverse("cloud", args=[account_id]))
