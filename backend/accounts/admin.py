"""People, workspaces, tokens and the audit trail in the admin."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from backend.accounts.models import ApiToken, AuditEntry, CloudAccount, User, Workspace
from backend.accounts.services.audit import audit_record
from backend.accounts.services.workspaces import default_workspace
from backend.core.admin import AnyAdmin, ReadOnlyAdmin

if TYPE_CHECKING:
    PersonBase = UserAdmin[User]
else:
    # Generic for the type checker only.
    PersonBase = UserAdmin


class AuditedAdmin(AnyAdmin):
    """Rows that may be written here: what Django notes in its own log is in the audit trail too,
    with the forms' changed fields."""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        _audit(request, "admin_add", obj, message)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        _audit(request, "admin_change", obj, message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        for row in queryset:
            _audit(request, "admin_delete", row, str(row))
        return super().log_deletions(request, queryset)


def _audit(request: HttpRequest, action: str, row: Model, message: Any) -> None:
    audit_record(
        workspace=default_workspace(),
        actor=request.user.get_username(),
        action=action,
        target=row,
        detail={"name": str(row), "form": message},
    )


@admin.register(User)
class PersonAdmin(AuditedAdmin, PersonBase):
    """Accounts; their roles are those of their memberships."""

    list_display = ("username", "is_active", "is_superuser", "last_login")
    list_filter = ("is_active",)


@admin.register(Workspace)
class WorkspaceAdmin(ReadOnlyAdmin):
    """Owners of what people create."""

    list_display = ("slug", "name", "created_at")


@admin.register(ApiToken)
class ApiTokenAdmin(ReadOnlyAdmin):
    """Tokens; made and revoked by command or API, so that the text is shown once."""

    list_display = ("name", "scope", "lookup", "expires_at", "revoked_at", "last_used_at")
    # Of no use to anybody who looks, and a target to guess against for whoever copies it.
    exclude = ("digest",)


@admin.register(CloudAccount)
class CloudAccountAdmin(ReadOnlyAdmin):
    """Accounts at clouds; changed on their pages or by API, so that the secret is only written."""

    list_display = ("name", "provider", "access", "is_enabled", "identity", "last_used_at")
    list_filter = ("provider", "is_enabled")
    exclude = ("sealed_secret",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """Who did what."""

    list_display = ("at", "actor", "action", "object_type", "object_id")
    list_filter = ("action", "object_type")
