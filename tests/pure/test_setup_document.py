"""Reading of the YAML file of hosts, campaigns, schedules and subscriptions."""

import pytest

from backend.benchmarks.calc.setup_document import SetupDocument, read_setup, with_lines
from backend.foundation.documents.model import json_schema
from backend.foundation.errors import InvalidDocument

HOST = "hosts:\n  - name: a\n    address: a.example\n    username: b\n"


def faults(text):
    with pytest.raises(InvalidDocument) as raised:
        read_setup(text)
    return [f"{place}: {detail}" for place, detail in raised.value.errors]


def test_file_has_defaults_and_lines():
    file = read_setup(HOST)
    (host,) = file.document.hosts
    assert (host.port, host.tags, host.is_in_production) == (22, [], False)
    assert file.document.campaigns is None
    assert file.line_of("/hosts/0/address") == 3
    assert file.line_of("/hosts/0/port") == 2
    assert read_setup("").document.hosts is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HOST + "    port: 0\n", "line 5: /hosts/0/port: '0' is not a whole number from 1 to 65535"),
        (HOST + "    prot: 1\n", "line 5: /hosts/0/prot: unknown field"),
        (HOST + "    is_in_production: maybe\n", "line 5: /hosts/0/is_in_production: true or false"),
        (HOST + "    name: b\n", "line 5: 'name' stands twice"),
        ("hosts:\n  - name: a\n", "line 2: /hosts/0/address: a value is needed"),
        ("hosts: [\n", "line 2: "),
        ("hosts: !!python/object:x {}\n", "line 1: could not determine a constructor"),
        ("- a\n", "line 1: /: an object is needed"),
        ("a: " * 2 + "[" * 25 + "]" * 25, "line 1: "),
        ("x: " + "[" * 25 + "]" * 25, "line 1: not YAML: more than 20 levels"),
        ("a: \x00", "line 1: not YAML"),
        (
            "campaigns:\n  - name: a\n    profile: quick\n    budget: {amount: -1.5, currency: EUR}\n",
            "line 4: /campaigns/0/budget/amount: an amount is a decimal",
        ),
        (
            "campaigns:\n  - name: a\n    profile: quick\n    budget: {amount: x, currency: EUR}\n",
            "line 4: /campaigns/0/budget/amount: an amount is a decimal",
        ),
        (
            "campaigns:\n  - name: a\n    profile: quick\n    parameters: [1]\n",
            "line 4: /campaigns/0/parameters: names with a value each",
        ),
    ],
)  # fmt: skip
def test_fault_is_named_by_its_line(text, said):
    assert said in faults(text)[0]


def test_every_fault_of_a_file_is_named():
    text = "hosts:\n  - name: a\n    username: b\n    port: x\n  - name: 1\n"
    assert [line.partition(": ")[2].partition(":")[0] for line in faults(text)] == [
        "/hosts/0/address", "/hosts/0/port", "/hosts/1/address", "/hosts/1/name",
        "/hosts/1/username",
    ]  # fmt: skip


def test_budget_is_a_decimal():
    text = "campaigns:\n  - {name: a, profile: quick, budget: {amount: '1.50', currency: EUR}}\n"
    assert str(read_setup(text).document.campaigns[0].budget.amount) == "1.50"


def test_schema_says_what_each_field_takes():
    schema = json_schema(SetupDocument)
    fields = {}

    def collect(of):
        for name, one in of.get("properties", {}).items():
            fields.setdefault(name, one)
        for one in of.values() if isinstance(of, dict) else ():
            for inner in one if isinstance(one, list) else [one]:
                if isinstance(inner, dict):
                    collect(inner)

    collect(schema)
    kinds = {name: fields[name]["type"] for name in ("is_in_production", "parameters", "amount")}
    assert kinds == {
        "is_in_production": ["boolean", "null"],
        "parameters": ["object", "null"],
        "amount": ["string", "number"],
    }


def test_values_are_read_as_they_are():
    text = (
        HOST
        + "    is_in_production: true\n"
        + ("campaigns:\n  - {name: a, profile: quick, parameters: {seconds: 5}}\n")
    )
    document = read_setup(text).document
    assert document.hosts[0].is_in_production is True
    assert document.campaigns[0].parameters == {"seconds": 5}


def test_faults_of_a_document_without_lines_keep_their_pointers():
    errors = [("/hosts/0/name", "is wrong")]
    assert with_lines(errors, {}).errors == errors
