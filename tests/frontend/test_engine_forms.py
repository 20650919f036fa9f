"""Forms of hosts, runs, campaigns and rentals: bad input gets one error, beside its field."""

from decimal import Decimal
from types import SimpleNamespace
from uuid import UUID

import pytest

from backend.accounts.models import Workspace
from backend.benchmarks.models import Campaign, HostState
from backend.benchmarks.pages.campaigns.forms import CampaignForm
from backend.benchmarks.pages.hosts.forms import HostForm
from backend.benchmarks.pages.imports.forms import ArchiveForm
from backend.benchmarks.pages.runs.forms import RunForm
from backend.benchmarks.pages.runs.parameter_forms import PREFIX, profile_default
from backend.benchmarks.pages.runs.rental_form import RentalForm
from backend.benchmarks.pages.schedules.forms import ScheduleForm
from backend.benchmarks.pages.schedules.subscription_form import SubscriptionForm
from backend.foundation.errors import InvalidValue
from backend.measure.profiles import PARAMETERS, PROFILES
from backend.providers.rentals import Budget
from backend.rankings.pages.saved_views.forms import FeedKeyForm, TokenForm, ViewForm

RACK, OTHER = UUID(int=1), UUID(int=2)


def host(pk: UUID, name: str, state: str = HostState.TRUSTED):
    return SimpleNamespace(pk=pk, name=name, state=state)


def run_form(**typed: str) -> RunForm:
    return RunForm({"profile": "quick", **typed}, peers=[host(RACK, "rack")])


def only_error(form) -> tuple[str, str]:
    """The one field in error and its one sentence."""
    ((field, messages),) = form.errors.items()
    (message,) = messages
    return field, message


# --- parameters -----------------------------------------------------------------------------------


def test_numbers_are_typed_in_units_that_people_use():
    name = next(n for n, p in PARAMETERS.items() if p.unit == "bytes")
    form = run_form(**{f"{PREFIX}{name}": "512"})
    assert form.is_valid(), form.errors
    assert form.run_parameters() == {name: 512 * 2**20}
    assert form.fields[f"{PREFIX}{name}"].label.endswith(", MiB")


def test_nothing_typed_is_no_parameter_and_every_probe():
    form = run_form()
    assert form.is_valid(), form.errors
    assert form.run_parameters() == {}
    assert form.probe_choice() is None
    assert not form.is_advanced


@pytest.mark.parametrize("name", PARAMETERS)
def test_number_outside_its_range_is_refused_with_the_bound(name):
    parameter = PARAMETERS[name]
    field = run_form().fields[f"{PREFIX}{name}"]
    for text, word in (
        (f"{parameter.low / field.size - 1:f}", "greater than or equal to"),
        (f"{parameter.high / field.size * 2 + 1:f}", "less than or equal to"),
        ("many", "is not a number."),
    ):
        form = run_form(**{f"{PREFIX}{name}": text})
        where, message = only_error(form)
        assert where == f"{PREFIX}{name}"
        assert word in message
        assert form.is_advanced  # or nobody would see it


def test_count_is_a_whole_number():
    name = next(n for n, p in PARAMETERS.items() if p.is_whole and p.unit != "bytes" and p.high > 2)
    form = run_form(**{f"{PREFIX}{name}": f"{PARAMETERS[name].low + 0.5}"})
    assert only_error(form) == (f"{PREFIX}{name}", "Enter a whole number.")


def test_lists_are_read_from_what_is_typed():
    form = run_form(
        matrix_depths="1, 8 32", matrix_jobs="4", directories=" /a \n\n/b\n", directory="/mnt"
    )
    assert form.is_valid(), form.errors
    assert form.run_parameters() == {
        "matrix_depths": [1, 8, 32],
        "matrix_jobs": [4],
        "directories": ["/a", "/b"],
        "directory": "/mnt",
    }


@pytest.mark.parametrize(
    ("field", "text", "message"),
    [
        ("matrix_depths", "1; 2", "Enter whole numbers, separated by commas."),
        ("matrix_jobs", "two", "Enter whole numbers, separated by commas."),
        ("profile", "slow", "Select a valid choice. slow is not one of the available choices."),
        ("peer", str(OTHER),
         f"Select a valid choice. {OTHER} is not one of the available choices."),
    ],
)  # fmt: skip
def test_wrong_value_of_a_run_has_one_error(field, text, message):
    assert only_error(run_form(**{field: text})) == (field, message)


def test_tools_are_installed_only_when_ticked():
    ticked = run_form(install_tools="on", peer=str(RACK))
    assert ticked.is_valid(), ticked.errors
    assert ticked.run_parameters() == {"peer": str(RACK), "install_tools": True}


def test_placeholders_are_the_defaults_of_the_chosen_profile():
    for profile in PROFILES:
        form = run_form(profile=profile)
        for name in PARAMETERS:
            shown = form.fields[f"{PREFIX}{name}"].widget.attrs
            assert shown["placeholder"] == profile_default(PROFILES[profile], name)
            assert shown["data-quick"] == profile_default(PROFILES["quick"], name)


@pytest.mark.parametrize(
    ("pointer", "field"),
    [
        ("/probes/3", "probes"),
        ("/parameters/matrix_depths/0", "matrix_depths"),
        ("/parameters/peer", "peer"),
        ("/parameters/directories/1", "directories"),
        ("/profile", "profile"),
    ],
)
def test_refusal_of_a_run_is_beside_its_field(pointer, field):
    form = run_form()
    form.refuse(InvalidValue(pointer, "is not there"))
    assert only_error(form) == (field, "is not there")


# --- campaigns ------------------------------------------------------------------------------------


def campaign(**typed) -> CampaignForm:
    hosts = [host(RACK, "rack"), host(OTHER, "new", HostState.UNVERIFIED)]
    given = {"name": "Weekly", "profile": "quick", "repeats": "1", "concurrency": "4",
             "network_pairs": "none"}  # fmt: skip
    return CampaignForm({**given, **typed}, hosts=hosts, workspace=Workspace(slug="default"))


def test_campaign_offers_trusted_hosts_and_names_the_others():
    form = campaign()
    assert form.fields["hosts"].choices == [(str(RACK), "rack")]
    assert [one.name for one in form.untrusted] == ["new"]


def test_offers_are_separated_by_blanks_commas_or_lines():
    form = campaign(offers=" m5-large,c5-xlarge\nt3.micro  ", purchase_model="spot")
    assert form.is_valid(), form.errors
    assert form.cleaned_data["offers"] == ["m5-large", "c5-xlarge", "t3.micro"]
    assert form.run_parameters() == {"purchase_model": "spot"}


def test_model_of_purchase_says_nothing_without_offers():
    form = campaign(purchase_model="spot")
    assert form.is_valid(), form.errors
    assert form.run_parameters() == {}


@pytest.mark.parametrize(
    ("typed", "budget"),
    [
        ({}, None),
        ({"budget_currency": "eur"}, None),
        ({"budget_amount": "0"}, {"amount": Decimal(0), "currency": "USD"}),
        (
            {"budget_amount": "12.50", "budget_currency": "eur"},
            {"amount": Decimal("12.50"), "currency": "EUR"},
        ),
    ],
)
def test_budget_of_a_campaign_is_an_amount_or_no_limit(typed, budget):
    form = campaign(**typed)
    assert form.is_valid(), form.errors
    assert form.document()["budget"] == budget


@pytest.mark.parametrize(
    ("field", "text", "word"),
    [
        ("name", "", "required"),
        ("repeats", "0", "greater than or equal to 1"),
        ("concurrency", "many", "is not a number"),
        ("network_pairs", "star", "star is not one"),
        ("budget_amount", "-1", "greater than or equal to 0"),
        ("budget_amount", "NaN", "is not a number"),
        ("budget_currency", "euro", "Enter a valid value"),
        ("hosts", [str(OTHER)], "not one of the available choices"),
        ("purchase_model", "free", "free is not one"),
    ],
)
def test_wrong_value_of_a_campaign_has_one_error(field, text, word):
    where, message = only_error(campaign(**{field: text}))
    assert where == field
    assert word in message


# --- rentals, hosts -------------------------------------------------------------------------------


def sold(kind: str = "dedicated", provider: str = "aws"):
    return SimpleNamespace(vcpu_kind=kind, provider=SimpleNamespace(slug=provider))


def test_mode_of_credits_is_chosen_where_a_type_is_sold_in_both():
    given = {"profile": "quick", "purchase_model": "on_demand", "credit_mode": "unlimited"}
    given |= {"budget_amount": "0.5", "budget_currency": "USD"}
    form = RentalForm(given, offer=sold("burstable"))
    assert form.is_valid(), form.errors
    assert form.run_parameters()["credit_mode"] == "unlimited"
    # Its box was not ticked.
    assert form.run_parameters()["install_tools"] is False
    for of in (sold(), sold("burstable", "azure")):
        form = RentalForm(given, offer=of)
        assert form.is_valid(), form.errors
        assert "credit_mode" not in form.run_parameters()


def test_rental_needs_a_budget_with_its_currency():
    given = {"profile": "quick", "purchase_model": "on_demand"}
    form = RentalForm({**given, "budget_amount": "0.5", "budget_currency": "usd"}, offer=sold())
    assert form.is_valid(), form.errors
    assert form.budget() == Budget(Decimal("0.5"), "USD")
    empty = RentalForm(given, offer=sold())
    assert set(empty.errors) == {"budget_amount", "budget_currency"}


@pytest.mark.parametrize(
    ("typed", "price"),
    [
        ({}, None),
        ({"price_currency": "EUR"}, None),
        ({"price_amount": "0"}, (Decimal(0), "USD", "month")),
        ({"price_amount": "0.1", "price_currency": "eur", "price_unit": "hour"},
         (Decimal("0.1"), "EUR", "hour")),
    ],
)  # fmt: skip
def test_price_of_a_host_is_what_was_typed(typed, price):
    given = {"name": "rack", "address": "h", "port": "22", "username": "u", "kind": "dedicated",
             "private_key": "k"}  # fmt: skip
    form = HostForm({**given, **typed})
    assert form.is_valid(), form.errors
    stated = form.document().get("price")
    assert (stated and tuple(stated.values())) == price


@pytest.mark.parametrize(
    ("field", "text", "word"),
    [
        ("address", "", "required"),
        ("port", "0", "greater than or equal to 1"),
        ("port", "65536", "less than or equal to 65535"),
        ("kind", "toaster", "toaster is not one"),
        ("price_amount", "-0.01", "greater than or equal to 0"),
        ("price_currency", "US$", "Enter a valid value"),
        ("price_unit", "week", "week is not one"),
    ],
)
def test_wrong_value_of_a_host_has_one_error(field, text, word):
    given = {"name": "rack", "address": "h", "port": "22", "username": "u", "kind": "dedicated",
             "private_key": "-----BEGIN KEY-----"}  # fmt: skip
    form = HostForm({**given, field: text})
    where, message = only_error(form)
    assert where == field
    assert word in message
    assert "BEGIN KEY" not in str(form)


# --- views, tokens, subscriptions -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "field", "word"),
    [
        (FeedKeyForm({"name": "sheet", "expires_days": "0"}), "expires_days", "equal to 1"),
        (FeedKeyForm({"name": "sheet", "expires_days": "9999999"}), "expires_days", "less than"),
        (TokenForm({"name": "ci", "scope": "root", "expires_days": "1"}), "scope", "root is not"),
        (TokenForm({"name": "", "scope": "read", "expires_days": "1"}), "name", "required"),
        (ViewForm({"name": "x", "visibility": "nobody"}), "visibility", "nobody is not one"),
        (SubscriptionForm({"channel": "pigeon", "address": "a", "kinds": ["run_failed"]}, campaigns=[]), "channel",
         "pigeon is not"),
        (ArchiveForm({"run_offer": "m5"}, {}), "archive", "required"),
    ],
)  # fmt: skip
def test_wrong_value_of_a_small_form_has_one_error(form, field, word):
    where, message = only_error(form)
    assert where == field
    assert word in message


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ({"way": "daily", "at": "02:05"}, "5 2 * * *"),
        ({"way": "weekly", "at": "23:00", "weekday": "7"}, "0 23 * * 7"),
        ({"way": "monthly", "at": "00:30", "month_day": "28"}, "30 0 28 * *"),
    ],
)
def test_preset_of_a_schedule_is_a_cron_line(typed, line):
    campaign = Campaign(name="Nightly")
    fields = {"campaign": str(campaign.pk), "time_zone": "Europe/Madrid", **typed}
    form = ScheduleForm(fields, campaigns=[campaign])
    assert form.is_valid(), form.errors
    assert (form.recurrence().cron, form.recurrence().every_s) == (line, None)
