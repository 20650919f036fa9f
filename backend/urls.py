"""The composition root of everything that answers over HTTP."""

from django.contrib import admin
from django.urls import include, path, re_path

from backend.api.health import healthz, readyz
from backend.api.prometheus import PrometheusView
from backend.api.urls import FORMATS
from backend.rankings.api.feeds import FeedView

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics-prometheus", PrometheusView.as_view(), name="prometheus"),
    path("api/v1/", include("backend.api.urls")),
    re_path(
        rf"^feeds/(?P<key>[^/]+)/(?P<slug>[a-z0-9-]+)\.(?P<format>{FORMATS})$",
        FeedView.as_view(),
        name="feed",
    ),
    path("admin/", admin.site.urls),
    path("", include("backend.site.urls")),
]
handler400 = "backend.api.errors.bad_request"
handler500 = "backend.api.errors.server_error"
