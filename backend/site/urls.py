"""Addresses of the pages."""

from django.contrib.auth import views as auth_views
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.i18n import set_language

from backend.accounts.pages import own, second_factor, single_sign_on
from backend.accounts.pages import views as accounts
from backend.accounts.pages.activity import views as activity
from backend.accounts.pages.people import joining
from backend.accounts.pages.people import views as people
from backend.accounts.pages.tokens import views as tokens
from backend.benchmarks.pages.campaigns import views as campaigns
from backend.benchmarks.pages.hosts import authorities, login_key
from backend.benchmarks.pages.hosts import views as hosts
from backend.benchmarks.pages.imports import views as imports
from backend.benchmarks.pages.metrics import views as metrics
from backend.benchmarks.pages.operations import views as operations
from backend.benchmarks.pages.runs import comparison, evidence_views, list_views, sample_views
from backend.benchmarks.pages.runs import views as runs
from backend.benchmarks.pages.schedules import views as schedules
from backend.bills.pages import views as bills
from backend.calculators.pages import views as storage
from backend.catalog.pages.hardware import views as hardware
from backend.catalog.pages.prices import discounts
from backend.catalog.pages.prices import refresh as price_refresh
from backend.catalog.pages.prices import views as prices
from backend.rankings.pages.answer import views as answer
from backend.rankings.pages.compare import views as compare
from backend.rankings.pages.data import views as data
from backend.rankings.pages.frontier import views as frontier
from backend.rankings.pages.offers import change, score_page
from backend.rankings.pages.offers import views as offers
from backend.rankings.pages.ranking import views as ranking
from backend.rankings.pages.requirements import views as requirements
from backend.rankings.pages.saved_views import views as saved_views
from backend.rentals.pages import views as clouds
from backend.reports.pages import freezing
from backend.reports.pages import views as reports
from backend.scenarios.pages import editor_views, job_views, offers_page, trace_views
from backend.scenarios.pages import views as scenarios
from backend.search.pages import views as search_views
from backend.site.help import views as help_views

urlpatterns = [
    path("", answer.first_page, name="answer"),
    # Exempt: the choice is harmless, and a token would give every stranger a cookie.
    path("language/", csrf_exempt(set_language), name="language"),
    path("offers/", ranking.ranking_page, name="offers"),
    path("compare/", compare.compare_page, name="compare"),
    path("frontier/", frontier.frontier_page, name="frontier"),
    path("offers/<slug:slug>/", offers.offer_page, name="offer"),
    path("offers/<slug:slug>/change/", change.offer_change, name="offer-change"),
    path("offers/<slug:slug>/delete/", change.offer_delete_form, name="offer-delete"),
    path("offers/<slug:slug>/measure/", offers.offer_measure_form, name="offer-measure"),
    path("offers/<slug:slug>/scores/<slug:key>/", score_page.score_page, name="score"),
    path("runs/", list_views.runs_page, name="runs"),
    path("runs/compare/", comparison.run_compare_page, name="run-compare"),
    path("runs/<uuid:run_id>/", runs.run_page, name="run"),
    # A fragment has an address of its own: a cache or the way back cannot show it as the page.
    path("runs/<uuid:run_id>/progress/", runs.run_progress, name="run-progress"),
    path("runs/<uuid:run_id>/cancel/", runs.run_cancel_form, name="run-cancel"),
    path("runs/<uuid:run_id>/evidence/<int:n>/", evidence_views.evidence_page, name="evidence"),
    path("runs/<uuid:run_id>/delete/", runs.run_delete_form, name="run-delete"),
    path("evidence/<int:evidence_id>/", evidence_views.import_page, name="imported-evidence"),
    path(
        "evidence/<int:evidence_id>/delete/",
        evidence_views.import_delete_form,
        name="import-delete",
    ),
    path(
        "samples/<int:sample_id>/exclude/", sample_views.sample_exclude_form, name="sample-exclude"
    ),
    path("metrics/", metrics.metrics_page, name="metrics"),
    path("metrics/<slug:key>/", metrics.metric_page, name="metric"),
    path("hosts/", hosts.hosts_page, name="hosts"),
    path("hosts/authorities/", authorities.host_authorities_page, name="host-authorities"),
    path(
        "hosts/authorities/<uuid:authority_id>/remove/",
        authorities.host_authority_remove_form,
        name="host-authority-remove",
    ),
    path("hosts/login-key/", login_key.login_key_page, name="login-key"),
    path("hosts/login-key/replace/", login_key.login_key_replace_form, name="login-key-replace"),
    path("hosts/login-key/drop/", login_key.login_key_drop_form, name="login-key-drop"),
    path("hosts/import/", hosts.host_import, name="host-import"),
    path("hosts/new/", hosts.host_new, name="host-new"),
    path("hosts/<uuid:host_id>/", hosts.host_page, name="host"),
    path("hosts/<uuid:host_id>/change/", hosts.host_change, name="host-change"),
    path("hosts/<uuid:host_id>/remove/", hosts.host_remove_form, name="host-remove"),
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
    path("campaigns/<uuid:campaign_id>/change/", campaigns.campaign_change, name="campaign-change"),
    path(
        "campaigns/<uuid:campaign_id>/start/", campaigns.campaign_start_form, name="campaign-start"
    ),
    path(
        "campaigns/<uuid:campaign_id>/delete/",
        campaigns.campaign_delete_form,
        name="campaign-delete",
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
        "subscriptions/<uuid:subscription_id>/test/",
        schedules.subscription_test_form,
        name="subscription-test",
    ),
    path(
        "subscriptions/<uuid:subscription_id>/delete/",
        schedules.subscription_remove,
        name="subscription-delete",
    ),
    path("prices/", prices.prices_page, name="prices"),
    path("prices/changes/", prices.price_changes_page, name="price-changes"),
    path("prices/unpriced/", prices.page_without_prices, name="price-unpriced"),
    path("prices/discounts/", discounts.discounts_page, name="price-discounts"),
    path(
        "prices/discounts/<uuid:discount_id>/delete/",
        discounts.discount_delete_form,
        name="price-discount-delete",
    ),
    path("prices/tables/", prices.tables_page, name="price-tables"),
    path(
        "prices/tables/mappings/<uuid:mapping_id>/forget/",
        prices.table_mapping_forget,
        name="table-mapping-forget",
    ),
    path("prices/refresh/", price_refresh.price_refresh_form, name="price-refresh"),
    path("prices/refresh/state/", price_refresh.price_refresh_state, name="price-refresh-state"),
    path("prices/lists/", prices.price_feed_new, name="price-feed-new"),
    path("prices/lists/<uuid:feed_id>/", prices.price_feed_switch, name="price-feed-switch"),
    path(
        "prices/lists/<uuid:feed_id>/review/",
        prices.price_list_review_form,
        name="price-list-review",
    ),
    path("prices/payloads/<int:payload_id>/", prices.payload_page, name="price-payload"),
    path("prices/<uuid:price_id>/", prices.price_page, name="price"),
    path("prices/<uuid:price_id>/delete/", prices.price_delete_form, name="price-delete"),
    path("prices/<uuid:price_id>/review/", prices.price_review_form, name="price-review"),
    path("offers/<slug:slug>/price/", prices.price_new, name="price-new"),
    path("hardware/", hardware.hardware_page, name="hardware"),
    path("hardware/new/", hardware.hardware_new, name="hardware-new"),
    path("hardware/<uuid:model_id>/", hardware.hardware_model_page, name="hardware-model"),
    path("hardware/<uuid:model_id>/delete/", hardware.hardware_delete_form, name="hardware-delete"),
    path("import/", imports.import_page, name="import"),
    path("import/run/", imports.archive_page, name="import-run"),
    path("import/offers/", imports.offer_names, name="offer-names"),
    path("reports/", reports.reports_page, name="reports"),
    # Before the slugs, which would take `new` for one; the same holds for scenarios and views.
    path("reports/new/", freezing.report_new, name="report-new"),
    path("reports/new/comparison/", freezing.report_new_comparison, name="report-new-comparison"),
    path(
        "reports/new/scenario/<slug:slug>/",
        freezing.report_new_scenario,
        name="report-new-scenario",
    ),
    path(
        "reports/new/hardware/<uuid:model_id>/",
        freezing.report_new_hardware,
        name="report-new-hardware",
    ),
    path("reports/new/prices/", freezing.report_new_prices, name="report-new-prices"),
    path("reports/new/bill/<slug:slug>/", freezing.report_new_bill, name="report-new-bill"),
    path("reports/<slug:slug>/", reports.report_page, name="report"),
    path("reports/<slug:slug>.pdf", reports.report_pdf, name="report-pdf"),
    path("reports/<slug:slug>/delete/", reports.report_remove, name="report-remove"),
    path("bills/", bills.bills_page, name="bills"),
    path("bills/state/", bills.bills_state, name="bills-state"),
    path("bills/template.csv", bills.bill_template, name="bill-template"),
    path("bills/uploads/<uuid:upload_id>/", bills.upload_answer_form, name="bill-upload-answer"),
    path("bills/<slug:slug>/", bills.bill_page, name="bill"),
    path("bills/<slug:slug>/delete/", bills.bill_delete_form, name="bill-delete"),
    path("scenarios/", scenarios.scenarios_page, name="scenarios"),
    path("scenarios/new/", editor_views.scenario_new, name="scenario-new"),
    path("scenarios/preview/", editor_views.scenario_preview, name="scenario-preview"),
    path("scenarios/trace/", trace_views.scenario_trace, name="scenario-trace"),
    path("scenarios/compare/", scenarios.scenarios_compare, name="scenarios-compare"),
    path("scenarios/<slug:slug>/", scenarios.scenario_page, name="scenario"),
    path("scenarios/jobs/<uuid:job_id>/", job_views.scenario_job_page, name="scenario-job"),
    path(
        "scenarios/jobs/<uuid:job_id>/cancel/",
        job_views.scenario_job_cancel_form,
        name="scenario-job-cancel",
    ),
    path(
        "scenarios/<slug:slug>/background/",
        job_views.scenario_job_form,
        name="scenario-background",
    ),
    path("scenarios/<slug:slug>/map/", scenarios.scenario_map, name="scenario-map"),
    path("scenarios/<slug:slug>/curves/", scenarios.scenario_curves, name="scenario-curves"),
    path("scenarios/<slug:slug>/offers/", offers_page.scenario_offers, name="scenario-offers"),
    path("scenarios/<slug:slug>/edit/", editor_views.scenario_edit, name="scenario-edit"),
    path("scenarios/<slug:slug>/copy/", scenarios.scenario_copy_form, name="scenario-copy"),
    path("scenarios/<slug:slug>/delete/", scenarios.scenario_delete_form, name="scenario-delete"),
    path("requirements/", requirements.requirements_page, name="requirements"),
    path("storage/", storage.storage_page, name="storage"),
    path("search", search_views.search_page, name="search"),
    path("help/", help_views.help_page, name="help"),
    path("glossary/", help_views.glossary_page, name="glossary"),
    path("activity/", activity.activity_page, name="activity"),
    path("operations/", operations.operations_page, name="operations"),
    path("views/", saved_views.views_page, name="views"),
    path("views/new/", saved_views.view_new, name="view-new"),
    path("views/<slug:slug>/", saved_views.view_page, name="view"),
    path("views/<slug:slug>/params/", saved_views.view_params_form, name="view-params"),
    path("views/<slug:slug>/delete/", saved_views.view_delete_form, name="view-delete"),
    path("views/<slug:slug>/keys/", saved_views.feed_key_new, name="feed-key-new"),
    path(
        "views/<slug:slug>/keys/<uuid:key_id>/revoke/",
        saved_views.feed_key_revoke_form,
        name="feed-key-revoke",
    ),
    path("data/", data.data_page, name="data"),
    path("accounts/tokens/", tokens.tokens_page, name="tokens"),
    path("accounts/tokens/<uuid:token_id>/revoke/", tokens.token_revoke_form, name="token-revoke"),
    path("accounts/clouds/", clouds.clouds_page, name="clouds"),
    path("accounts/clouds/new/<slug:provider>/", clouds.cloud_new, name="cloud-new"),
    path("accounts/clouds/<uuid:account_id>/", clouds.cloud_page, name="cloud"),
    path("accounts/clouds/<uuid:account_id>/state/", clouds.cloud_state, name="cloud-state"),
    path(
        "accounts/clouds/<uuid:account_id>/limits/", clouds.cloud_limits_form, name="cloud-limits"
    ),
    path("accounts/clouds/<uuid:account_id>/login/", clouds.cloud_login_form, name="cloud-login"),
    path("accounts/clouds/<uuid:account_id>/check/", clouds.cloud_check_form, name="cloud-check"),
    path(
        "accounts/clouds/<uuid:account_id>/switch/", clouds.cloud_switch_form, name="cloud-switch"
    ),
    path(
        "accounts/clouds/<uuid:account_id>/delete/", clouds.cloud_delete_form, name="cloud-delete"
    ),
    path("accounts/", own.account_page, name="account"),
    path("accounts/password/", own.password_page, name="password"),
    path("accounts/code/", second_factor.code_page, name="second-factor"),
    path("accounts/second-factor/", second_factor.second_factor_set_page, name="second-factor-set"),
    path(
        "accounts/second-factor/remove/",
        second_factor.second_factor_remove_page,
        name="second-factor-remove",
    ),
    path("accounts/sessions/end/", own.sessions_end_form, name="sessions-end"),
    path("accounts/sessions/<slug:name>/end/", own.session_end_form, name="session-end"),
    path("accounts/workspaces/new/", joining.workspace_new_form, name="workspace-new"),
    path(
        "accounts/workspaces/<slug:slug>/enter/",
        joining.workspace_enter_form,
        name="workspace-enter",
    ),
    path(
        "accounts/workspaces/<slug:slug>/leave/",
        joining.workspace_leave_form,
        name="workspace-leave",
    ),
    path("accounts/invitation/<slug:secret>/", joining.invitation_page, name="invitation"),
    path("accounts/people/", people.people_page, name="people"),
    path("accounts/people/<uuid:member_id>/role/", people.member_role_form, name="member-role"),
    path(
        "accounts/people/<uuid:member_id>/switch/", people.member_switch_form, name="member-switch"
    ),
    path("accounts/people/<uuid:member_id>/link/", people.member_link_form, name="member-link"),
    path(
        "accounts/people/<uuid:member_id>/remove/", people.member_remove_form, name="member-remove"
    ),
    path(
        "accounts/people/invitations/<uuid:invitation_id>/withdraw/",
        people.invitation_withdraw_form,
        name="invitation-withdraw",
    ),
    path("accounts/login/", accounts.SignInPage.as_view(), name="login"),
    path("accounts/link/<slug:secret>/", accounts.sign_in_link_page, name="sign-in-link"),
    path("accounts/single-sign-on/", single_sign_on.single_sign_on_begin, name="single-sign-on"),
    path(
        "accounts/single-sign-on/return/",
        single_sign_on.single_sign_on_return,
        name="single-sign-on-return",
    ),
    path("accounts/single-sign-on/link/", single_sign_on.identity_page, name="identity-link"),
    path(
        "accounts/single-sign-on/unlink/",
        single_sign_on.identity_page,
        {"is_removing": True},
        name="identity-unlink",
    ),
    path("accounts/logout/", auth_views.LogoutView.as_view(), name="logout"),
]
