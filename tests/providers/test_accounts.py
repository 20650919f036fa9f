"""What an account at a provider must say, and the refusals with their JSON pointers."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import InvalidValue
from backend.providers.accounts import (
    MAX_SECRET_CHARACTERS,
    account_providers,
    check_secret,
    check_settings,
    identity_settings,
    is_static_key,
    needs_secret,
)
from backend.providers.registry import provider as record_of

ROLE = "arn:aws:iam::123456789012:role/rackrate"
PAIR = {"access_key_id": "AKIAEXAMPLEEXAMPLE", "secret_access_key": "x" * 40}
KEY_FILE = {
    "type": "service_account", "project_id": "bench-1", "client_email": "a@b.example",
    "private_key_id": "0123456789", "private_key": "-----BEGIN PRIVATE KEY-----\nabc\n",
    "token_uri": "https://oauth2.googleapis.com/token",
}  # fmt: skip


SUBNET = "subnet-0a1b2c3d4e5f60718"
UUID = "105bdce1-64c0-48ab-899d-868455867ecf"


def settings(provider="aws", access="workload_identity", *, endpoints=False, **given):
    given.setdefault("regions", ["eu-west-1"])
    return check_settings(provider, access, given, are_endpoints_allowed=endpoints)


def secret(provider, access, *, endpoints=False, **given):
    return check_secret(provider, access, given, are_endpoints_allowed=endpoints)


def refused(call):
    with pytest.raises(InvalidValue) as refusal:
        call()
    return refusal.value


# --- settings -------------------------------------------------------------------------------------


def test_settings_are_kept_without_repetition_and_blanks_when_sound():
    assert settings(
        "aws", "assume_role",
        regions=["eu-west-1", "us-gov-west-1", "eu-west-1"], role_arn=ROLE, external_id="rack:42",
        zones={"eu-west-1": ["eu-west-1a", "eu-west-1b", "eu-west-1a"]},
        image="/aws/service/debian/release/12/latest/{arch}", username="admin", ssh_port=2222,
        subnet_id={"eu-west-1": SUBNET},
    ) == {
        "regions": ["eu-west-1", "us-gov-west-1"],
        "zones": {"eu-west-1": ["eu-west-1a", "eu-west-1b"]},
        "image": "/aws/service/debian/release/12/latest/{arch}",
        "username": "admin", "ssh_port": 2222, "subnet_id": {"eu-west-1": SUBNET},
        "role_arn": ROLE, "external_id": "rack:42",
    }  # fmt: skip
    assert settings(image="", zones={}, ssh_port=None) == {"regions": ["eu-west-1"]}


def test_settings_differ_by_region_are_lists_and_pairs_where_they_may():
    given = {
        "regions": ["eu-west-1", "us-east-1"],
        "subnet_id": {"eu-west-1": SUBNET},
        "image": {"us-east-1": "ami-0a1b2c3d4e5f60718"},
        "address": "private",
        "allowed_cidrs": ["192.0.2.0/24"],
        "tags": {"Cost Center": "42"},
    }
    assert settings(**given) == given


@pytest.mark.parametrize("slug", account_providers())
def test_example_region_is_accepted_by_its_own_provider_when_checked(slug):
    record = record_of(slug)
    projects = {"ovh": "0f" * 16, "scaleway": "105bdce1-64c0-48ab-899d-868455867ecf"}
    required = {
        "project": projects.get(slug, "bench-1"), "folder": "/tmp/clouds", "subscription": UUID,
    }  # fmt: skip
    of_method = {
        "role_arn": ROLE, "external_id": "rack:42", "tenant_id": UUID, "client_id": UUID,
    }  # fmt: skip
    for access, method in record.auth_methods.items():
        given = {name: required.get(name) for name in record.required_settings}
        given |= {name: of_method[name] for name in method.settings}
        given["regions"] = [record.example_region]
        checked = check_settings(slug, access, given, are_endpoints_allowed=True)
        assert checked["regions"] == given["regions"]
        assert checked.keys() <= given.keys()


@pytest.mark.parametrize(
    ("pointer", "given"),
    [
        ("/settings/regions", {"regions": {"eu-west-1": []}}),
        ("/settings/regions", {"regions": "eu-west-1"}),
        ("/settings/regions", {"regions": ["eu-west-1"] * 51}),
        ("/settings/regions/1", {"regions": ["eu-west-1", "eu-west-1a"]}),
        ("/settings/regions/0", {"regions": [7]}),
        ("/settings/regions/0", {"regions": ["eu-west-1\n"]}),
        ("/settings/zones", {"zones": ["eu-west-1a"]}),
        ("/settings/zones/us-east-1", {"zones": {"us-east-1": ["us-east-1a"]}}),
        ("/settings/zones/eu-west-1", {"zones": {"eu-west-1": []}}),
        ("/settings/zones/eu-west-1", {"zones": {"eu-west-1": "eu-west-1a"}}),
        ("/settings/zones/eu-west-1/1", {"zones": {"eu-west-1": ["eu-west-1a", "us-east-1a"]}}),
        ("/settings/zones/eu-west-1/0", {"zones": {"eu-west-1": ["-o"]}}),
        ("/settings/zones/eu-west-1/0", {"zones": {"eu-west-1": [3]}}),
        ("/settings/image", {"image": "ami-1; rm -rf /"}),
        ("/settings/image", {"image": "-oProxyCommand=x"}),
        ("/settings/username", {"username": "-oX"}),
        ("/settings/ssh_port", {"ssh_port": 0}),
        ("/settings/ssh_port", {"ssh_port": 65_536}),
        ("/settings/ssh_port", {"ssh_port": True}),
        ("/settings/ssh_port", {"ssh_port": "22"}),
        ("/settings/subnet_id", {"subnet_id": "vpc-0a1b2c3d"}),
        ("/settings/subnet_id", {"subnet_id": SUBNET, "regions": ["eu-west-1", "us-east-1"]}),
        ("/settings/subnet_id/us-east-1", {"subnet_id": {"us-east-1": SUBNET}}),
        ("/settings/subnet_id/eu-west-1", {"subnet_id": {"eu-west-1": "vpc-1"}}),
        ("/settings/image/eu-west-1", {"image": {"eu-west-1": ["ami-1"]}}),
        ("/settings/address", {"address": "hidden"}),
        ("/settings/allowed_cidrs/1", {"allowed_cidrs": ["192.0.2.0/24", "192.0.2.0"]}),
        ("/settings/allowed_cidrs", {"allowed_cidrs": "192.0.2.0/24"}),
        ("/settings/tags/rackrate-token", {"tags": {"rackrate-token": "x"}}),
        ("/settings/tags/aws:x", {"tags": {"aws:x": "x"}}),
        ("/settings/tags", {"tags": ["x"]}),
        ("/settings/project", {"project": "bench-1"}),
        ("/settings/a~1b~0c", {"a/b~c": 1}),
        ("/settings/endpoint_url", {"endpoint_url": "https://ec2.example"}),
    ],
)
def test_settings_are_refused_by_pointer_when_they_have_no_meaning(pointer, given):
    assert refused(lambda: settings(**given)).field == pointer


@pytest.mark.parametrize(
    ("pointer", "provider", "access", "given"),
    [
        ("/provider", "rackspace", "token", {}),
        ("/access", "azure", "token", {}),
        ("/provider", "own", "workload_identity", {"folder": "/tmp/x"}),
        ("/access", "aws", "token", {}),
        ("/access", "hetzner", "static_key", {}),
        ("/settings/role_arn", "aws", "assume_role", {"external_id": "rack:42"}),
        ("/settings/external_id", "aws", "assume_role", {"role_arn": ROLE}),
        ("/settings/role_arn", "aws", "assume_role", {"role_arn": "arn:aws:iam::1:user/x", "external_id": "ab"}),
        ("/settings/external_id", "aws", "assume_role", {"role_arn": ROLE, "external_id": "a b"}),
        ("/settings/role_arn", "aws", "static_key", {"role_arn": ROLE}),
        ("/settings/project", "gcp", "workload_identity", {"regions": ["europe-west1"]}),
    ],
)  # fmt: skip
def test_account_is_refused_by_pointer_when_its_method_does_not_fit(
    pointer, provider, access, given
):
    assert refused(lambda: settings(provider, access, **given)).field == pointer


@pytest.mark.parametrize(
    ("table", "is_sound"),
    [
        ("billing-of-all.export.gcp_billing_export_v1_0123AB", True),
        ("export.gcp_billing_export_v1_0123AB", False),
        ("billing-of-all.export.x` WHERE true; DROP TABLE `y", False),
        ("billing-of-all.export.x`", False),
    ],
)
def test_table_of_a_billing_export_is_a_name_and_nothing_else(table, is_sound):
    """It stands within the text of a query."""
    given = {"regions": ["europe-west1"], "project": "bench-1", "billing_export": table}
    if is_sound:
        assert settings("gcp", **given)["billing_export"] == table
    else:
        assert refused(lambda: settings("gcp", **given)).field == "/settings/billing_export"


def test_account_that_only_reads_prices_needs_no_region():
    assert settings("digitalocean", "token", regions=[]) == {}
    assert settings("digitalocean", "token", regions=None) == {}
    refusal = refused(lambda: settings(regions=[], zones={"eu-west-1": ["eu-west-1a"]}))
    assert refusal.field == "/settings/zones/eu-west-1"


def test_address_of_ones_own_is_checked_when_the_server_allows_it():
    found = settings(endpoints=True, endpoint_url="http://127.0.0.1:5000")
    assert found["endpoint_url"] == "http://127.0.0.1:5000"
    for bad in (7, "file:///etc/passwd", "http://user@example.org", "http://-x"):
        refusal = refused(lambda bad=bad: settings(endpoints=True, endpoint_url=bad))
        assert refusal.field == "/settings/endpoint_url"


def test_settings_that_say_whose_machines_they_are_are_listed_when_asked():
    assert identity_settings("aws") == ["endpoint_url", "role_arn"]
    assert identity_settings("gcp") == ["endpoint_url", "project"]
    assert identity_settings("hetzner") == ["endpoint_url"]


# --- secrets --------------------------------------------------------------------------------------


def test_secret_has_the_fields_of_its_method_when_valid():
    assert secret("aws", "workload_identity") == {}
    assert secret("aws", "static_key", **PAIR) == PAIR
    assert secret("aws", "assume_role") == {}
    assert secret("aws", "assume_role", **PAIR) == PAIR
    assert secret("hetzner", "token", token=" abcdefghij\n") == {"token": "abcdefghij"}
    key_file = json.dumps(KEY_FILE)
    assert secret("gcp", "static_key", service_account_json=key_file, api_key="") == {
        "service_account_json": key_file
    }
    assert secret("gcp", "workload_identity", api_key="AIzaExample") == {"api_key": "AIzaExample"}


@pytest.mark.parametrize(
    ("pointer", "provider", "access", "given"),
    [
        ("/secret/token", "hetzner", "token", {}),
        ("/secret/token", "aws", "workload_identity", {"token": "abcdefghij"}),
        ("/secret/x", "hetzner", "token", {"token": "abcdefghij", "x": "y"}),
        ("/secret/secret_access_key", "aws", "static_key", {"access_key_id": "AKIAEXAMPLE"}),
        ("/secret/secret_access_key", "aws", "assume_role", {"access_key_id": "AKIAEXAMPLE"}),
        ("/secret/token", "hetzner", "token", {"token": "short"}),
        ("/secret/token", "hetzner", "token", {"token": "two words of it"}),
        ("/secret/token", "hetzner", "token", {"token": 12345678}),
        ("/secret/token", "hetzner", "token", {"token": "x" * (MAX_SECRET_CHARACTERS + 1)}),
        ("/secret/service_account_json", "gcp", "static_key", {"service_account_json": "{"}),
        ("/secret/service_account_json", "gcp", "static_key", {"service_account_json": "[" * 9999}),
        ("/secret/service_account_json", "gcp", "static_key", {"service_account_json": "[]"}),
    ],
)
def test_unfit_secret_is_refused_by_pointer_and_never_quoted(pointer, provider, access, given):
    refusal = refused(lambda: secret(provider, access, **given))
    assert refusal.field == pointer
    assert not any(isinstance(v, str) and len(v) > 3 and v in str(refusal) for v in given.values())


@pytest.mark.parametrize(
    "change",
    [
        {"type": "external_account"},  # it may name a program to start
        {"private_key": ""},
        {"project_id": 7},
        {"token_uri": "http://169.254.169.254/"},
        {"universe_domain": "example.org"},
    ],
)
def test_key_file_is_refused_when_it_leads_elsewhere(change):
    text = json.dumps(KEY_FILE | change)
    refusal = refused(lambda: secret("gcp", "static_key", service_account_json=text))
    assert refusal.field == "/secret/service_account_json"


def test_key_file_may_name_another_address_when_the_server_allows_it():
    text = json.dumps(KEY_FILE | {"token_uri": "http://127.0.0.1:1/token"})
    found = secret("gcp", "static_key", endpoints=True, service_account_json=text)
    assert found == {"service_account_json": text}


def test_static_key_is_flagged_when_the_provider_has_a_keyless_method():
    assert is_static_key("aws", "static_key", has_secret=True)
    assert is_static_key("aws", "assume_role", has_secret=True)
    assert not is_static_key("aws", "assume_role", has_secret=False)
    assert not is_static_key("hetzner", "token", has_secret=True)
    assert not is_static_key("forgotten", "token", has_secret=True)


def test_secret_is_needed_only_by_methods_with_a_secret():
    assert needs_secret("hetzner", "token")
    assert not needs_secret("aws", "assume_role")


@given(
    st.dictionaries(
        st.text(max_size=20),
        st.from_type(type(None))
        | st.integers()
        | st.text(max_size=30)
        | st.lists(st.text(max_size=9), max_size=3),
        max_size=5,
    )
)
def test_settings_are_valid_or_refused_below_settings(given_settings):
    pointer, found = "", {"regions": []}
    try:
        stated = {"regions": ["eu-west-1"]} | given_settings
        found = check_settings("aws", "workload_identity", stated, are_endpoints_allowed=False)
    except InvalidValue as refusal:
        pointer = refusal.field
    assert not pointer or pointer.startswith("/settings/")
    assert all(re.fullmatch("[a-z0-9-]+", region) for region in found["regions"])
