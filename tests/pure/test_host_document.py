"""A host as people state it, in requests, files and lists."""

from decimal import Decimal

import pytest

from backend.benchmarks.calc.campaign_document import RunDocument
from backend.benchmarks.calc.host_document import MAX_TAGS, HostDocument, HostSettings, ListedHost
from backend.foundation.documents.model import fields_of, json_schema
from backend.foundation.documents.values import Many
from backend.foundation.errors import InvalidDocument

HOST = {"name": "rack 7", "address": "192.0.2.7", "username": "bench"}


def faults(read, *arguments):
    with pytest.raises(InvalidDocument) as raised:
        read(*arguments)
    return dict(raised.value.errors)


def test_host_has_defaults_and_its_price_is_kept_as_stated():
    host = HostDocument.read(
        {**HOST, "price": {"amount": "4.90", "currency": "EUR", "unit": "hour"}}
    )
    assert (host.port, host.tags, host.is_in_production, host.kind) == (22, [], False, "dedicated")
    assert (host.certificate, host.private_key, host.bastion, host.offer) == ("", None, None, None)
    assert host.price is not None
    assert (host.price.amount, host.price.setup) == (Decimal("4.90"), None)


@pytest.mark.parametrize(
    ("stated", "field", "said"),
    [
        ({"name": "a\nb"}, "/name", "1 to 100 printable characters"),
        ({"name": "x" * 101}, "/name", "text of 1 to 100 characters"),
        ({"name": None}, "/name", "a value is needed"),
        ({"address": "-oProxyCommand=x"}, "/address", "is not a host name or an IP address"),
        ({"username": "a b"}, "/username", "letters, digits, _ . - are allowed, a letter first"),
        ({"username": 7}, "/username", "letters, digits, _ . - are allowed, a letter first"),
        ({"port": True}, "/port", "is not a whole number from 1 to 65535"),
        ({"tags": ["db", "no blanks"]}, "/tags/1", "'no blanks': up to 40 letters"),
        ({"tags": ["a"] * 21}, "/tags", "a list of 0 to 20 is needed"),
        ({"private_key": "k" * 20_001}, "/private_key", "text of 0 to 20000 characters"),
        ({"certificate": "a\0"}, "/certificate", "a NUL character"),
        ({"price": "cheap"}, "/price", "an object is needed"),
        ({"price": {"amount": "1" * 11, "currency": "EUR", "unit": "hour"}}, "/price/amount",
         "at most 10 digits before and after the point"),
        ({"price": {"amount": 1, "currency": "euro", "unit": "hour"}}, "/price/currency",
         "three capital letters"),
    ],
)  # fmt: skip
def test_wrong_field_of_a_host_is_named(stated, field, said):
    (wrong,) = faults(HostDocument.read, {**HOST, **stated}).items()
    assert wrong[0] == field
    assert said in wrong[1]


def test_private_key_stands_in_no_message_and_is_only_written():
    host = HostDocument.read({**HOST, "private_key": "secret words"})
    assert "secret" not in repr(host)
    assert json_schema(HostDocument)["properties"]["private_key"]["writeOnly"] is True


def test_change_keeps_what_is_left_out_and_null_takes_a_value_away():
    before = HostSettings.read({**HOST, "tags": ["db"], "port": 2222, "is_in_production": True})
    after = before.merge({"name": "rack 8", "tags": None, "private_key": ""})
    assert (after.name, after.tags, after.port, after.private_key) == ("rack 8", [], 2222, "")
    assert after.is_in_production
    said = {"/is_in_production": "true or false is needed"}
    assert faults(before.merge, {"is_in_production": None}) == said
    assert faults(before.merge, {"colour": None}) == {"/colour": "unknown field"}


@pytest.mark.parametrize(
    ("word", "is_in_production"), [("YES", True), ("wahr", True), (True, True), ("non", False)]
)
def test_listed_host_may_be_in_production_in_words(word, is_in_production):
    listed = ListedHost.read({"name": "a", "address": "a.example", "production": word})
    assert listed.is_in_production is is_in_production
    stated = listed.stated_in({"name", "production", "kind", "bastion", "driver"})
    assert stated == {"name": "a", "is_in_production": is_in_production, "bastion": None}


def test_run_is_on_a_host_or_on_an_offer_within_a_budget():
    assert RunDocument.read(
        {"offer": "a", "profile": "quick", "budget": {"amount": 1, "currency": "EUR"}}
    )
    needed = {"/host": "exactly one of host and offer is needed"}
    assert faults(RunDocument.read, {"profile": "quick"}) == needed
    assert faults(RunDocument.read, {"offer": "a", "profile": "quick"}) == {
        "/budget": "an offer to rent needs a budget"
    }


def test_list_of_a_document_says_how_long_it_may_be():
    assert fields_of(HostDocument)["tags"].value.schema() == {"type": "array", "maxItems": MAX_TAGS}
    assert Many(low=1, high=3).schema() == {"type": "array", "minItems": 1, "maxItems": 3}
