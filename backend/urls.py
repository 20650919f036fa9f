"""The composition root of everything that answers over HTTP."""

from django.contrib import admin
from django.urls import include, path

from backend.api.health import healthz, readyz

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("api/v1/", include("backend.api.urls")),
    path("admin/", admin.site.urls),
    path("", include("backend.web.urls")),
]
handler500 = "backend.api.errors.server_error"
