"""The document of a campaign, which API, files, forms and stored rows share."""

from decimal import Decimal
from uuid import uuid4

import pytest

from backend.benchmarks.calc.campaign_document import CampaignDocument, CampaignPlan
from backend.foundation.documents.model import json_schema
from backend.foundation.errors import InvalidDocument
from backend.providers.rentals import Budget

NEEDED = {"name": "a", "profile": "quick"}


def faults(**stated: object) -> list[tuple[str, str]]:
    with pytest.raises(InvalidDocument) as refusal:
        CampaignDocument.read({**NEEDED, **stated})
    return refusal.value.errors


def test_document_reads_what_another_one_states():
    host = uuid4()
    budget = {"amount": "12.50", "currency": "EUR"}
    read = CampaignDocument.read({**NEEDED, "hosts": [str(host)], "budget": budget})
    assert (read.hosts, read.budget) == ([host], Budget(Decimal("12.50"), "EUR"))
    assert CampaignDocument.read(dict(read)) == read
    assert CampaignDocument.read(read.model_dump(mode="json")) == read
    assert read.model_dump()["budget"] == {"amount": "12.5", "currency": "EUR"}


def test_null_takes_a_value_away():
    read = CampaignDocument.read({**NEEDED, "budget": None, "probes": None, "repeats": None})
    assert (read.budget, read.probes, read.repeats) == (None, None, 1)
    assert read.model_dump()["budget"] is None


@pytest.mark.parametrize(
    ("budget", "pointer", "words"),
    [
        (12, "/budget", "an object with amount and currency"),
        ({"amount": "-0.01", "currency": "EUR"}, "/budget/amount", "not below zero"),
        ({"amount": "12345678901", "currency": "EUR"}, "/budget/amount", "at most 10 digits"),
        ({"amount": "0.12345678901", "currency": "EUR"}, "/budget/amount", "at most 10 digits"),
        ({"currency": "EUR"}, "/budget/amount", "such as 49.00"),
        ({"amount": 1}, "/budget/currency", "three capital letters"),
        ({"amount": 1, "currency": "EUR\n"}, "/budget/currency", "three capital letters"),
        ({"amount": 1, "currency": "EUR", "cap": 1}, "/budget/cap", "unknown field"),
    ],
)
def test_budget_is_refused_by_its_part(budget, pointer, words):
    ((field, detail),) = faults(budget=budget)
    assert field == pointer
    assert words in detail


@pytest.mark.parametrize("host", ["a", 7, None, ""])
def test_host_is_refused_unless_it_is_an_identifier(host):
    ((field, detail),) = faults(hosts=[str(uuid4()), host])
    assert field == "/hosts/1"
    assert "is not an identifier (UUID)" in detail


def test_plans_differ_in_fields_and_not_in_the_order_of_lists():
    plan = CampaignPlan(profile="quick", offers=["a", "b"])
    assert plan.differs_in(CampaignPlan(profile="quick", offers=["b", "a"])) == []
    other = CampaignPlan(profile="full", offers=["a"], concurrency=4)
    assert plan.differs_in(other) == ["profile", "offers"]
    nobody_checked_these = CampaignPlan(profile="quick", offers=["a", "b"], probes=["x", "x"])
    assert nobody_checked_these.differs_in(plan) == ["probes"]


def test_change_requires_nothing_and_has_no_defaults():
    class Change(CampaignDocument):
        is_change = True

    whole, change = json_schema(CampaignDocument), json_schema(Change)
    assert set(whole["required"]) == {"name", "profile"}
    assert whole["properties"]["repeats"]["default"] == 1
    assert "required" not in change
    assert not any("default" in field for field in change["properties"].values())
    assert change["properties"].keys() == whole["properties"].keys()
