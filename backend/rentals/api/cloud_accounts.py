"""Accounts at clouds: make, look at, change, check and remove; for admins."""

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from backend.accounts.api.authentication import actor
from backend.accounts.models import CloudAccount
from backend.accounts.services.acting import workspace_of
from backend.core.rest.documents import (
    AmountField,
    FlagField,
    NoDocument,
    Problem,
    Strict,
    TextField,
)
from backend.core.rest.permissions import ADMIN
from backend.core.rest.problem import BadGateway, Conflict
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer, ListView, View, created_response
from backend.core.rest.waiting import wait_for_worker
from backend.providers.accounts import is_static_key
from backend.providers.machines import Readiness
from backend.providers.rentals import Budget
from backend.rentals.selectors.cloud_accounts import accounts_visible, secret_age_days
from backend.rentals.selectors.spending import account_month, month_budget
from backend.rentals.services.cloud_accounts import (
    MAX_MACHINES,
    MAX_VCPUS,
    AccountInUse,
    account_check,
    account_create,
    account_delete,
    account_secret_replace,
    account_update,
)

CHECK_WAIT_S = 10.0
ACCOUNT_COLUMNS = (
    Column("id", ColumnType.TEXT, "Identifier"),
    Column("name", ColumnType.TEXT, "Name as given"),
    Column("provider", ColumnType.TEXT, "aws, gcp, hetzner, …"),
    Column("access", ColumnType.TEXT, "workload_identity, assume_role, token or static_key"),
    Column("regions", ColumnType.LIST, "Where machines may be rented"),
    Column("enabled", ColumnType.BOOLEAN, "Whether machines are rented there"),
    Column("has_secret", ColumnType.BOOLEAN, "Whether a secret is kept"),
    Column("static_key", ColumnType.BOOLEAN, "Whether a long-lived key is stored although keyless access is available"),
    Column("secret_set_at", ColumnType.TIME, "When the secret was given"),
    Column("secret_age", ColumnType.INTEGER, "Age of the secret", "d"),
    Column("last_used_at", ColumnType.TIME, "When a worker used the access last, to the minute"),
    Column("identity", ColumnType.TEXT, "Who the provider says we are"),
    Column("checking", ColumnType.BOOLEAN, "Whether the provider is being asked"),
    Column("checked_at", ColumnType.TIME, "When the provider was asked last"),
    Column("check_error", ColumnType.TEXT, "Why the provider did not say who we are"),
    Column("machines", ColumnType.INTEGER, "Machines that may exist"),
    Column("max_machines", ColumnType.INTEGER, "Machines that may exist at once"),
    Column("max_vcpus", ColumnType.INTEGER, "vCPUs of these in all; empty = no limit"),
    Column("budget", ColumnType.DECIMAL, "The most that a calendar month may cost; empty = no cap"),
    Column("budget_currency", ColumnType.TEXT, "Currency of the budget"),
    Column("reaped_at", ColumnType.TIME, "When its machines were last compared with ours"),
    Column("reap_error", ColumnType.TEXT, "Why they could not be"),
)  # fmt: skip


class BudgetDocument(Strict):
    """The most that a month may cost."""

    amount = AmountField()
    # `$` would let a line feed at the end through.
    currency = serializers.RegexField(r"^[A-Z]{3}\Z")


class AccountChange(Strict):
    """Changes of an account; settings as a whole."""

    name = TextField(max_length=100, required=False)
    settings = serializers.DictField(required=False)
    max_machines = serializers.IntegerField(min_value=0, max_value=MAX_MACHINES, required=False)
    max_vcpus = serializers.IntegerField(
        min_value=1, max_value=MAX_VCPUS, allow_null=True, required=False
    )
    budget = BudgetDocument(allow_null=True, required=False)
    enabled = FlagField(required=False)


class AccountDocument(Strict):
    """An account to be made; the secret is kept encrypted and never shown."""

    name = TextField(max_length=100)
    provider = TextField(max_length=50)
    access = TextField(max_length=20)
    settings = serializers.DictField()
    secret = serializers.DictField(required=False, default=dict, write_only=True)
    max_machines = serializers.IntegerField(min_value=0, max_value=MAX_MACHINES, default=20)
    max_vcpus = serializers.IntegerField(
        min_value=1, max_value=MAX_VCPUS, allow_null=True, required=False, default=None
    )
    budget = BudgetDocument(allow_null=True, required=False, default=None)


class SecretDocument(Strict):
    """Another secret, perhaps another authentication method; what is not given stays as it is."""

    access = TextField(max_length=20, required=False)
    settings = serializers.DictField(required=False)
    secret = serializers.DictField(write_only=True)


class MonthUsed(serializers.Serializer[Any]):
    """Amounts of this calendar month (UTC), spent or reserved."""

    amount = serializers.CharField(help_text="a decimal string")
    currency = serializers.CharField()
    unknown = serializers.ListField(
        child=serializers.CharField(),
        help_text="currencies that no rate converts, parts without a price; not in it",
    )


class PreflightLine(serializers.Serializer[Any]):
    """A thing that a launch needs in a region."""

    region = serializers.CharField()
    topic = serializers.CharField()
    state = serializers.ChoiceField([state.value for state in Readiness])
    detail = serializers.CharField()
    advice = serializers.CharField(help_text="what to do; empty where nothing is")


class AccountDetail(serializers.Serializer[Any]):
    """An account without its secret."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    provider = serializers.CharField()
    access = serializers.CharField()
    settings = serializers.DictField()
    enabled = serializers.BooleanField()
    has_secret = serializers.BooleanField()
    static_key = serializers.BooleanField()
    secret_set_at = serializers.DateTimeField(allow_null=True)
    secret_age = serializers.IntegerField(allow_null=True, help_text="days")
    last_used_at = serializers.DateTimeField(allow_null=True)
    identity = serializers.CharField(allow_null=True)
    checking = serializers.BooleanField()
    checked_at = serializers.DateTimeField(allow_null=True)
    check_error = serializers.CharField(allow_null=True)
    machines = serializers.IntegerField()
    max_machines = serializers.IntegerField()
    max_vcpus = serializers.IntegerField(allow_null=True)
    budget = BudgetDocument(allow_null=True)
    month_used = MonthUsed()
    preflight = PreflightLine(many=True)
    preflight_at = serializers.DateTimeField(allow_null=True)
    reaped_at = serializers.DateTimeField(allow_null=True)
    reap_error = serializers.CharField(allow_null=True)


class Identity(serializers.Serializer[Any]):
    """Who the provider says we are."""

    identity = serializers.CharField()
    checked_at = serializers.DateTimeField()


DOCUMENTS: Mapping[str, type[serializers.Serializer[Any]]] = {
    "cloud-account": AccountDocument,
    "cloud-account-change": AccountChange,
    "cloud-account-secret": SecretDocument,
    "cloud-account-detail": AccountDetail,
}


def _row(account: Any) -> dict[str, Any]:
    """The cells of one of accounts_visible."""
    has_secret = account.sealed_secret is not None
    return {
        "id": account.pk,
        "name": account.name,
        "provider": account.provider,
        "access": account.access,
        "regions": account.settings.get("regions") or None,
        "enabled": account.is_enabled,
        "has_secret": has_secret,
        "static_key": is_static_key(account.provider, account.access, has_secret=has_secret),
        "secret_set_at": account.secret_set_at,
        "secret_age": secret_age_days(account),
        "last_used_at": account.last_used_at,
        "identity": account.identity or None,
        "checking": account.check_requested_at is not None,
        "checked_at": account.checked_at,
        "check_error": account.check_error or None,
        "machines": account.machines,
        "max_machines": account.max_machines,
        "max_vcpus": account.max_vcpus,
        "budget": account.budget_amount,
        "budget_currency": account.budget_currency or None,
        "reaped_at": account.reaped_at,
        "reap_error": account.reap_error or None,
    }


def _account(request: Request, account_id: UUID) -> CloudAccount:
    return get_object_or_404(accounts_visible(workspace_of(request)), pk=account_id)


def _detail(request: Request, account_id: UUID) -> Any:
    account = _account(request, account_id)
    budget, month = month_budget(account), account_month(account)
    shown = _row(account) | {
        "settings": account.settings,
        "budget": {"amount": budget.amount, "currency": budget.currency} if budget else None,
        "month_used": {
            # Never with an exponent, which str() gives to very small and very large amounts.
            "amount": format(month.known, "f"),
            "currency": month.currency,
            "unknown": month.unknown,
        },
        "preflight": account.preflight,
        "preflight_at": account.preflight_at,
    }
    return AccountDetail(shown).data


class CloudAccountsView(ListView):
    """Accounts at clouds, without their secrets."""

    name = "cloud-accounts"
    orders = {"name": "name", "provider": "provider", "created_at": "created_at"}
    since = "created_at"
    columns = ACCOUNT_COLUMNS
    scopes: ClassVar[Mapping[str, str]] = {"GET": ADMIN, "POST": ADMIN}

    def listing(self, request: Request) -> ListAnswer:
        _, shown = self.parameters(request)
        rows = accounts_visible(workspace_of(request)).order_by("created_at", "id")
        return ListAnswer(ACCOUNT_COLUMNS, rows, rows.count(), cells=_row, **shown)

    @extend_schema(request=AccountDocument, responses={201: AccountDetail})
    def post(self, request: Request, **_: Any) -> Response:
        """Make an account; a worker asks the provider at once who we are (`checked_at`)."""
        document = AccountDocument(data=request.data)
        document.is_valid(raise_exception=True)
        values = document.validated_data
        budget = values.pop("budget")
        account = account_create(
            **values,
            workspace=workspace_of(request),
            budget=Budget(**budget) if budget else None,
            actor=actor(request),
        )
        return created_response(
            request, _detail(request, account.pk), "cloud-account", account_id=account.pk
        )


class CloudAccountView(View):
    """An account."""

    scopes: ClassVar[Mapping[str, str]] = {
        "GET": ADMIN, "PATCH": ADMIN, "DELETE": ADMIN,
    }  # fmt: skip

    @extend_schema(operation_id="cloud_accounts_get", responses={200: AccountDetail})
    def get(self, request: Request, account_id: UUID) -> Response:
        return Response(_detail(request, account_id))

    @extend_schema(request=AccountChange, responses={200: AccountDetail})
    def patch(self, request: Request, account_id: UUID) -> Response:
        """Change limits and settings. With a secret another `endpoint_url` needs that anew."""
        document = AccountChange(data=request.data)
        document.is_valid(raise_exception=True)
        values = document.validated_data
        account = _account(request, account_id)
        budget = month_budget(account)
        # `"budget": null` takes the cap away, which is not the same as leaving it out.
        if "budget" in values:
            budget = Budget(**values["budget"]) if values["budget"] else None
        account_update(
            account=account,
            name=values.get("name", account.name),
            settings=values.get("settings", account.settings),
            max_machines=values.get("max_machines", account.max_machines),
            max_vcpus=values.get("max_vcpus", account.max_vcpus),
            budget=budget,
            is_enabled=values.get("enabled", account.is_enabled),
            actor=actor(request),
        )
        return Response(_detail(request, account_id))

    @extend_schema(responses={204: None, 409: Problem})
    def delete(self, request: Request, account_id: UUID) -> Response:
        """Rent nothing there any more and forget the secret; 409 while machines may exist."""
        account = _account(request, account_id)
        try:
            account_delete(account=account, actor=actor(request))
        except AccountInUse as error:
            raise Conflict(str(error), machines=error.machines) from error
        return Response(status=204)


class CloudAccountSecretView(View):
    """The secret of an account, which is only ever written."""

    scopes: ClassVar[Mapping[str, str]] = {"POST": ADMIN}

    @extend_schema(request=SecretDocument, responses={200: AccountDetail})
    def post(self, request: Request, account_id: UUID) -> Response:
        """Replace the secret; a worker asks the provider at once who we are."""
        document = SecretDocument(data=request.data)
        document.is_valid(raise_exception=True)
        values = document.validated_data
        account = _account(request, account_id)
        account_secret_replace(
            account=account,
            access=values.get("access", account.access),
            settings=values.get("settings", account.settings),
            secret=values["secret"],
            actor=actor(request),
        )
        return Response(_detail(request, account_id))


class CloudAccountCheckView(View):
    """Ask the provider who we are."""

    keeps_answers = False
    scopes: ClassVar[Mapping[str, str]] = {"POST": ADMIN}

    @extend_schema(request=NoDocument, responses={200: Identity, 502: Problem, 504: Problem})
    def post(self, request: Request, account_id: UUID) -> Response:
        """Ask the provider who we are; waits up to 10 seconds for a worker.

        504 after that, 502 when the provider refuses us.
        The regions are looked over after that; `preflight_at` of the account says when."""
        NoDocument(data=request.data or {}).is_valid(raise_exception=True)
        account = _account(request, account_id)
        account_check(account=account, actor=actor(request))
        # Only workers open secrets, so the web process cannot ask the provider itself.
        wait_for_worker(
            account,
            lambda: account.check_requested_at is None,
            wait_s=CHECK_WAIT_S,
            late="no worker has asked the provider within 10 seconds",
        )
        if account.check_error:
            raise BadGateway(account.check_error)
        seen = {"identity": account.identity, "checked_at": account.checked_at}
        return Response(Identity(seen).data)
