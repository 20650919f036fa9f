"""Addresses of the pages."""

from django.contrib.auth import views as auth_views
from django.urls import path

from backend.web.views import (
    campaigns,
    evidence,
    hosts,
    imports,
    metrics,
    offers,
    ranking,
    run_list,
    runs,
    samples,
    schedules,
)

urlpatterns = [
    path("", ranking.ranking_page, name="ranking"),
    path("offers/", ranking.ranking_page, name="offers"),
    path("offers/<slug:slug>/", offers.offer_page, name="offer"),
    path("runs/", run_list.runs_page, name="runs"),
    path("runs/<uuid:run_id>/", runs.run_page, name="run"),
    path("runs/<uuid:run_id>/progress/", runs.run_progress, name="run-progress"),
    path("runs/<uuid:run_id>/cancel/", runs.run_cancel_form, name="run-cancel"),
    path("runs/<uuid:run_id>/evidence/<int:n>/", evidence.evidence_page, name="evidence"),
    path("evidence/<int:evidence_id>/", evidence.imported_page, name="imported-evidence"),
    path("samples/<int:sample_id>/exclude/", samples.sample_exclude_form, name="sample-exclude"),
    path("metrics/<slug:key>/", metrics.metric_page, name="metric"),
    path("hosts/", hosts.hosts_page, name="hosts"),
    path("hosts/new/", hosts.host_new, name="host-new"),
    path("hosts/<uuid:host_id>/", hosts.host_page, name="host"),
    path("hosts/<uuid:host_id>/key/", hosts.host_key, name="host-key"),
    path("hosts/<uuid:host_id>/scan/", hosts.host_scan_form, name="host-scan"),
    path("hosts/<uuid:host_id>/approve/", hosts.host_approve_form, name="host-approve"),
    path("hosts/<uuid:host_id>/run/", hosts.host_run_form, name="host-run"),
    path("campaigns/", campaigns.campaigns_page, name="campaigns"),
    path("campaigns/new/", campaigns.campaign_new, name="campaign-new"),
    path("campaigns/<uuid:campaign_id>/", campaigns.campaign_page, name="campaign"),
    path(
        "campaigns/<uuid:campaign_id>/progress/",
        campaigns.campaign_progress,
        name="campaign-progress",
    ),
    path(
        "campaigns/<uuid:campaign_id>/start/", campaigns.campaign_start_form, name="campaign-start"
    ),
    path(
        "campaigns/<uuid:campaign_id>/cancel/",
        campaigns.campaign_cancel_form,
        name="campaign-cancel",
    ),
    path(
        "campaigns/<uuid:campaign_id>/retry/", campaigns.campaign_retry_form, name="campaign-retry"
    ),
    path("schedules/", schedules.schedules_page, name="schedules"),
    path("schedules/preview/", schedules.schedule_preview, name="schedule-preview"),
    path("schedules/<uuid:schedule_id>/switch/", schedules.schedule_switch, name="schedule-switch"),
    path("schedules/<uuid:schedule_id>/delete/", schedules.schedule_remove, name="schedule-delete"),
    path("subscriptions/new/", schedules.subscription_new, name="subscription-new"),
    path(
        "subscriptions/<uuid:subscription_id>/delete/",
        schedules.subscription_remove,
        name="subscription-delete",
    ),
    path("import/", imports.import_page, name="import"),
    path("import/run/", imports.archive_page, name="import-run"),
    path("import/offers/", imports.offer_names, name="offer-names"),
    path("accounts/login/", auth_views.LoginView.as_view(), name="login"),
    path("accounts/logout/", auth_views.LogoutView.as_view(), name="logout"),
]
