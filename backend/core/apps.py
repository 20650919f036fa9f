from django.apps import AppConfig

# The module and not the class: Django takes every class here for one of this app.
from django.contrib.admin import apps as admin_apps


class AdminSiteConfig(admin_apps.AdminConfig):
    """Django's own pages, which people enter by the sign-in page of all others."""

    default = False
    default_site = "backend.core.admin.Site"


class CoreConfig(AppConfig):
    name = "backend.core"
    default = True

    def ready(self) -> None:
        from backend.core import (
            checks,  # noqa: F401  (importing registers them)
            clock,
        )

        clock.start()
