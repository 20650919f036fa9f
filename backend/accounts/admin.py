"""People, workspaces, tokens and the audit trail in the admin."""

from typing import TYPE_CHECKING

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from backend.accounts.models import ApiToken, AuditEntry, CloudAccount, User, Workspace
from backend.common.admin import ReadOnlyAdmin

if TYPE_CHECKING:
    PersonBase = UserAdmin[User]
else:
    # Generic for the type checker only.
    PersonBase = UserAdmin


@admin.register(User)
class PersonAdmin(PersonBase):
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
