"""Providers, offers, prices and rates in the admin."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from backend.accounts.admin import AuditedAdmin
from backend.accounts.services.workspaces import default_workspace, may_write
from backend.catalog.models import ExchangeRate, Offer, PriceObservation, Provider, Region
from backend.catalog.services.data_version import data_version_bump
from backend.core.admin import ReadOnlyAdmin


class CountedAdmin(AuditedAdmin):
    """Rows that rankings show: every change counts the data version up."""

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        data_version_bump()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Provider)
class ProviderAdmin(CountedAdmin):
    list_display = ("slug", "name", "homepage")


@admin.register(Region)
class RegionAdmin(CountedAdmin):
    list_display = ("code", "provider", "name", "country")
    list_filter = ("provider",)


@admin.register(Offer)
class OfferAdmin(CountedAdmin):
    list_display = ("slug", "provider", "name", "kind", "vcpu_count", "is_demo")
    list_filter = ("provider", "kind", "is_demo")
    search_fields = ("slug", "name")
    readonly_fields = ("slug", "is_demo")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Offer | None = None) -> bool:
        is_owned = obj is None or may_write(default_workspace(), obj)
        return is_owned and super().has_change_permission(request, obj)


@admin.register(PriceObservation)
class PriceObservationAdmin(ReadOnlyAdmin):
    """Prices as quoted; a change is a new row."""

    list_display = ("offer", "purchase_model", "term", "amount", "currency", "unit", "observed_at")
    list_filter = ("purchase_model", "currency", "unit")
    search_fields = ("offer__slug",)
    list_select_related = ("offer",)


@admin.register(ExchangeRate)
class ExchangeRateAdmin(ReadOnlyAdmin):
    list_display = ("date", "currency", "units_per_eur", "source")
    list_filter = ("currency",)
