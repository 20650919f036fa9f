"""Forms of cloud accounts by themselves: which fields there are, and what becomes of them."""

from decimal import Decimal
from types import SimpleNamespace

import pytest

from backend.accounts.models import CloudAccount
from backend.foundation.errors import InvalidValue
from backend.providers.accounts import account_providers
from backend.providers.rentals import Budget
from backend.rentals.pages.forms import AccountForm, LimitsForm, LoginForm, initial_of

LIMITS = {"name": "main", "max_machines": "3", "settings_regions": "eu-west-1"}


def limits(provider: str = "aws", **typed: str) -> LimitsForm:
    return LimitsForm({**LIMITS, **typed}, provider=provider)


def login(provider: str = "aws", *, are_endpoints_allowed: bool = False, **typed: str) -> LoginForm:
    return LoginForm(typed, provider=provider, are_endpoints_allowed=are_endpoints_allowed)


@pytest.mark.parametrize("provider", account_providers())
def test_every_provider_has_a_form_that_renders(provider):
    form = AccountForm(provider=provider, are_endpoints_allowed=True)
    shown = [*(one.field for one in form.login_fields), *form.limit_fields]
    shown += [*form.machine_fields, *form.further_machine_fields]
    names = {field.name for field in shown} | {"name", "access"}
    assert names == set(form.fields)  # each field is on the page, in one of its parts
    assert all(str(field) for field in shown)
    assert [value for value, _ in form.fields["access"].choices] == list(form.record.auth_methods)


def test_login_field_names_the_methods_that_it_counts_with():
    by_name = {one.field.name: one.method_names for one in login().login_fields}
    assert by_name["settings_external_id"] == "assume_role"
    assert by_name["secret_access_key_id"] == "assume_role static_key"
    assert {one.method_names for one in login("hetzner").login_fields} == {""}


def test_external_id_is_proposed_and_another_one_each_time():
    ids = {login()["settings_external_id"].initial for _ in range(2)}
    assert len(ids) == 2


def test_account_that_only_reads_prices_leaves_regions_empty():
    form = limits("digitalocean", settings_regions=" ")
    assert form.is_valid(), form.errors
    assert form.setting_values() == {}
    # Where machines are rented is not folded away, though it may be empty.
    assert [field.name for field in form.machine_fields] == ["settings_regions"]


def test_endpoint_can_be_typed_only_where_it_is_allowed():
    assert "settings_endpoint_url" not in login().fields
    assert "settings_endpoint_url" in login(are_endpoints_allowed=True).fields


def test_secret_holds_what_was_filled_in_and_nothing_else():
    form = login(access="static_key", secret_access_key_id="AK", secret_secret_access_key="")
    assert form.is_valid(), form.errors
    assert form.secret() == {"access_key_id": "AK"}


@pytest.mark.parametrize(
    ("typed", "regions"),
    [
        ("eu-west-1", ["eu-west-1"]),
        (" eu-west-1, us-east-1\tap-south-1 ", ["eu-west-1", "us-east-1", "ap-south-1"]),
        ("eu-west-1,,us-east-1,", ["eu-west-1", "us-east-1"]),
    ],
)
def test_regions_are_separated_by_blanks_or_commas(typed, regions):
    form = limits(settings_regions=typed)
    assert form.is_valid(), form.errors
    assert form.setting_values() == {"regions": regions}


def test_zones_are_lines_of_a_region_with_its_zones_in_order():
    text = "eu-west-1: eu-west-1b eu-west-1a\r\n\r\n us-east-1 :us-east-1c,"
    form = limits(settings_zones=text, settings_ssh_port="2222")
    assert form.is_valid(), form.errors
    assert form.setting_values() == {
        "regions": ["eu-west-1"],
        "ssh_port": 2222,
        "zones": {"eu-west-1": ["eu-west-1b", "eu-west-1a"], "us-east-1": ["us-east-1c"]},
    }


def test_settings_by_region_lists_and_pairs_are_typed_and_shown_again():
    typed = {
        "settings_regions": "eu-west-1 us-east-1",
        "settings_subnet_id": "eu-west-1: subnet-0a1b2c3d\r\n us-east-1 : subnet-1a1b2c3d",
        "settings_image": "/aws/service/debian/release/13/latest/{arch}",
        "settings_allowed_cidrs": "192.0.2.0/24, 198.51.100.0/24",
        "settings_tags": "CostCenter=4=2\nOwner=bench",
    }
    form = limits(**typed)
    assert form.is_valid(), form.errors
    stored = form.setting_values()
    assert stored == {
        "regions": ["eu-west-1", "us-east-1"],
        "subnet_id": {"eu-west-1": "subnet-0a1b2c3d", "us-east-1": "subnet-1a1b2c3d"},
        "image": "/aws/service/debian/release/13/latest/{arch}",
        "allowed_cidrs": ["192.0.2.0/24", "198.51.100.0/24"],
        "tags": {"CostCenter": "4=2", "Owner": "bench"},
    }
    shown = initial_of(CloudAccount(name="main", provider="aws", settings=stored, max_machines=3))
    again = limits(**{name: str(value) for name, value in shown.items() if value})
    assert again.is_valid(), again.errors
    assert again.setting_values() == stored


def test_empty_settings_are_none_and_still_belong_to_the_form():
    form = limits(settings_subnet_id="", settings_zones=" ")
    assert form.is_valid(), form.errors
    assert form.setting_values() == {"regions": ["eu-west-1"]}
    assert {"regions", "subnet_id", "zones", "ssh_port"} <= form.setting_names()


@pytest.mark.parametrize(
    ("typed", "budget"),
    [
        ({}, None),
        ({"budget_currency": "EUR"}, None),
        ({"budget_amount": "0.0000000001"}, Budget(Decimal("0.0000000001"), "USD")),
        ({"budget_amount": "50", "budget_currency": "chf"}, Budget(Decimal(50), "CHF")),
    ],
)
def test_budget_of_a_month_is_an_amount_or_no_limit(typed, budget):
    form = limits(**typed)
    assert form.is_valid(), form.errors
    assert form.limits() == {"max_machines": 3, "max_vcpus": None, "budget": budget}


@pytest.mark.parametrize(
    ("field", "text", "word"),
    [
        ("name", "", "required"),
        ("max_machines", "-1", "greater than or equal to 0"),
        ("max_machines", "1000000", "less than or equal to"),
        ("max_vcpus", "0", "greater than or equal to 1"),
        ("budget_amount", "-1", "greater than or equal to 0"),
        ("budget_amount", "0.00000000001", "10 decimal places"),
        ("budget_amount", "Infinity", "is not a number"),
        ("budget_currency", "dollar", "Enter a valid value"),
        ("settings_ssh_port", "70000", "less than or equal to 65535"),
    ],
)
def test_wrong_limit_has_one_error(field, text, word):
    ((where, messages),) = limits(**{field: text}).errors.items()
    (message,) = messages
    assert where == field
    assert word in message


@pytest.mark.parametrize(
    ("pointer", "field"),
    [
        ("/settings/regions/0", "settings_regions"),
        ("/settings/zones/eu-west-1", "settings_zones"),
        ("/max_machines", "max_machines"),
        ("/max_vcpus", "max_vcpus"),
        ("/budget/amount", "budget_amount"),
        ("/budget/currency", "budget_currency"),
        ("/elsewhere", "__all__"),
    ],
)
def test_refusal_of_an_account_is_beside_its_field(pointer, field):
    form = limits()
    form.refuse(InvalidValue(pointer, "is not known there"))
    assert set(form.errors) == {field}


def test_form_of_an_account_shows_its_settings_and_nothing_of_its_secret():
    account = SimpleNamespace(
        name="main", access="static_key", max_machines=3, max_vcpus=8, budget_amount=Decimal("50.00"),
        budget_currency="", sealed_secret=b"sealed", provider="aws",
        settings={"regions": ["a", "b"], "zones": {"a": ["a1", "a2"]}, "ssh_port": 22},
    )  # fmt: skip
    shown = initial_of(account)
    assert shown == {
        "name": "main", "access": "static_key", "max_machines": 3, "max_vcpus": 8, "budget_amount": "50",
        "budget_currency": "USD", "settings_regions": "a b", "settings_zones": "a: a1 a2",
        "settings_ssh_port": 22,
    }  # fmt: skip
    again = LimitsForm({**shown, "max_machines": "3"}, provider="aws")
    assert again.is_valid(), again.errors
    assert again.setting_values() == account.settings
