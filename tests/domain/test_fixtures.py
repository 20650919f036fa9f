"""The tables of fixtures/ against their own README and against each other."""

import csv
import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

from backend.domain.metrics import SHARED_VCPU_KINDS

FIXTURES = Path(__file__).parents[2] / "fixtures"
TABLES = sorted([*FIXTURES.glob("catalog/*.csv"), *FIXTURES.glob("published/*.csv")])


def table(name):
    with (FIXTURES / name).open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


OFFERS = table("catalog/offers_gcp.csv") + table("catalog/offers_aws.csv")
PRICES = table("catalog/prices_gcp.csv") + table("catalog/prices_aws.csv")


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.name)
def test_fixture_rows_carry_source_and_date_and_are_described(path):
    rows = table(path.relative_to(FIXTURES))
    assert rows
    for row in rows:
        assert row["source"]
        assert dt.date(2013, 1, 1) <= dt.date.fromisoformat(row.get("as_of") or row["date"])
        assert None not in row
        assert None not in row.values()
    assert path.name in (FIXTURES / "README.md").read_text(encoding="utf-8")


def test_fixture_counts_are_those_the_readme_names():
    assert len({row["offer"] for row in OFFERS if row["provider"] == "gcp"}) == 231
    assert len([row for row in OFFERS if row["region"] == "europe-west1"]) == 224
    assert len([row for row in OFFERS if row["provider"] == "aws"]) == 217
    assert len(table("published/cmips_2013.csv")) == 17
    assert len(table("published/coremark_gcp.csv")) == 233
    assert len(PRICES) == 1790 + 217


def test_fixture_slugs_are_unique_and_name_provider_and_region():
    slugs = [row["slug"] for row in OFFERS]
    assert len(set(slugs)) == len(slugs)
    for row in OFFERS:
        name = row["offer"].replace(".", "-")
        assert row["slug"] == f"{row['provider']}-{name}-{row['region']}"


def test_fixture_offers_have_one_hourly_price_each():
    hourly = [p["offer_slug"] for p in PRICES if p["purchase_model"] == "on_demand"]
    assert sorted(hourly) == sorted(row["slug"] for row in OFFERS)
    assert {p["offer_slug"] for p in PRICES} == set(hourly)
    keys = [(p["offer_slug"], p["purchase_model"], p["term"]) for p in PRICES]
    assert len(set(keys)) == len(keys)


def test_fixture_prices_are_plausible():
    hourly = {
        p["offer_slug"]: Decimal(p["amount"]) for p in PRICES if p["purchase_model"] == "on_demand"
    }
    for price in PRICES:
        amount, on_demand = Decimal(price["amount"]), hourly[price["offer_slug"]]
        assert amount > 0
        if price["purchase_model"] == "spot":
            assert amount < on_demand
        if price["purchase_model"] == "committed":
            assert price["term"] in ("1y", "3y")
            assert amount < on_demand * 730
    for month in table("catalog/prices_gcp_sustained_use.csv"):
        share = Decimal(month["amount"]) / (hourly[month["offer_slug"]] * 730)
        assert round(share, 3) in (Decimal("0.7"), Decimal("0.8"))


def test_fixture_offers_have_sizes_that_hang_together():
    for row in OFFERS:
        if not row["vcpu_count"]:
            assert row["offer"].endswith(".metal")
            assert row["ram_bytes"] == ""
            continue
        ram_gib = int(row["ram_bytes"]) / 2**30
        assert 0.25 <= ram_gib / int(row["vcpu_count"]) <= 64
        is_shared = row["vcpu_kind"] in SHARED_VCPU_KINDS
        assert is_shared == row["offer"].startswith(
            ("t3", "t4g", "f1", "g1", "e2-micro", "e2-small", "e2-medium")
        )


@pytest.mark.parametrize(
    ("slug", "arch", "vcpu_count", "ram_gib"),
    [
        ("gcp-n2-standard-4-us-central1", "x86_64", "4", 16),
        ("gcp-t2a-standard-8-us-central1", "arm64", "8", 32),
        ("gcp-e2-micro-europe-west1", "x86_64", "2", 1),
        ("aws-m7g-2xlarge-us-east-1", "arm64", "8", 32),
        ("aws-t3-small-us-east-1", "x86_64", "2", 2),
        ("aws-x2iedn-32xlarge-us-east-1", "x86_64", "128", 4096),
        ("aws-c8g-metal-24xl-us-east-1", "arm64", "96", 192),
        ("aws-i4i-large-us-east-1", "x86_64", "2", 16),
    ],
)
def test_fixture_offer_has_the_size_its_provider_names(slug, arch, vcpu_count, ram_gib):
    row = next(row for row in OFFERS if row["slug"] == slug)
    assert (row["arch"], row["vcpu_count"]) == (arch, vcpu_count)
    assert int(row["ram_bytes"]) == ram_gib * 2**30


def test_fixture_coremark_lists_each_type_once_with_its_spread():
    rows = table("published/coremark_gcp.csv")
    assert len({row["machine_type"] for row in rows}) == len(rows)
    assert {row["offer"] for row in OFFERS if row["provider"] == "gcp"} <= {
        row["machine_type"] for row in rows
    }
    for row in rows:
        assert row["cpu_platform"]
        assert 0 < Decimal(row["sd_percent"]) < 10
        assert int(row["sample_count"]) >= 4


def test_fixture_rates_are_one_per_currency_of_one_day():
    rows = table("catalog/fx_rates.csv")
    assert len({row["currency"] for row in rows}) == len(rows) == 11
    assert {row["date"] for row in rows} == {"2026-10-30"}
    assert next(row for row in rows if row["currency"] == "USD")["units_per_eur"] == "1.1172"
