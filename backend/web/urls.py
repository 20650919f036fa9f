"""Addresses of the pages."""

from django.contrib.auth import views as auth_views
from django.urls import path

from backend.web.views import hosts, metrics, offers, ranking, runs

urlpatterns = [
    path("", ranking.ranking_page, name="ranking"),
    path("offers/", ranking.ranking_page, name="offers"),
    path("offers/<slug:slug>/", offers.offer_page, name="offer"),
    path("runs/<uuid:run_id>/", runs.run_page, name="run"),
    path("runs/<uuid:run_id>/progress/", runs.run_progress, name="run-progress"),
    path("runs/<uuid:run_id>/cancel/", runs.run_cancel_form, name="run-cancel"),
    path("runs/<uuid:run_id>/evidence/<int:n>/", runs.evidence_page, name="evidence"),
    path("metrics/<slug:key>/", metrics.metric_page, name="metric"),
    path("hosts/", hosts.hosts_page, name="hosts"),
    path("accounts/login/", auth_views.LoginView.as_view(), name="login"),
    path("accounts/logout/", auth_views.LogoutView.as_view(), name="logout"),
]
