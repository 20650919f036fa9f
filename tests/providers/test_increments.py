"""Billing increments of the providers' records against the fact tables that state them."""

import csv
import datetime as dt
import gzip
from decimal import Decimal
from pathlib import Path

from backend.money.money import Money
from backend.providers.registry import PROVIDERS
from backend.providers.rentals import BY_HOUR, Increment

FIXTURES = Path(__file__).parents[2] / "fixtures"
STATED = {
    "hour": BY_HOUR,
    "second (minimum 60 s or 0.01 USD)": Increment(60, 1, Money(Decimal("0.01"), "USD")),
}


def rows(path):
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)


def stated():
    """Provider, increment and day of every fact that states an increment."""
    for path in (FIXTURES / "facts").glob("*.csv.gz"):
        for row in rows(path):
            if text := row.get("billing_increment"):
                slug = row.get("provider") or path.name.partition("_")[0]
                yield slug, text, row.get("price_date") or row.get("valid_from") or "2026-01-01"


def test_increment_of_a_provider_is_that_of_its_facts():
    facts = set(stated())
    assert {slug for slug, _, _ in facts} >= {"hetzner", "digitalocean", "stackit", "vultr", "ibm"}
    for slug, text, day in facts:
        if text != "month":
            rule = PROVIDERS[slug].increment.on(dt.date.fromisoformat(day))
            expected = STATED[text]
            assert (rule.minimum_s, rule.step_s, rule.least) == (
                expected.minimum_s, expected.step_s, expected.least,
            ), slug  # fmt: skip


def test_provider_that_bills_by_the_month_has_no_other_price():
    monthly = {slug for slug, text, _ in stated() if text == "month"}
    assert monthly == {"netcup", "contabo"}
    units = {
        (slug, row["unit"])
        for row in rows(FIXTURES / "catalog/market/prices.csv.gz")
        for slug in monthly
        if row["offer"].startswith(f"{slug}-")
    }
    assert units == {(slug, "month") for slug in monthly}
