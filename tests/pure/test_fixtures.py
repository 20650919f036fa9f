"""The tables of fixtures/ against their own README and against each other."""

import csv
import datetime as dt
import re
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from statistics import median

import pytest

from backend.measure.metrics import BURSTABLE_CPU_CV, CPU_CV, SHARED_VCPU_KINDS
from backend.measure.stats import PublishedGroup, pool_groups
from backend.money.pricing.effective import Charge, price_over

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
        assert dt.date(2013, 1, 1) <= dt.date.fromisoformat(
            row.get("as_of") or row.get("observed_on") or row["date"]
        )
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


@pytest.mark.parametrize(
    ("slug", "month"),
    [
        ("gcp-c2-standard-4-us-central1", "121.974357968"),
        ("gcp-f1-micro-europe-west1", "4.3946"),
        ("gcp-m1-ultramem-40-us-central1", "3215.7741"),
        ("gcp-m2-ultramem-208-us-central1", "21519.199296"),
        ("gcp-n1-standard-4-us-central1", "97.089489"),
        ("gcp-n2-standard-4-us-central1", "113.462182456"),
        ("gcp-n2d-standard-8-europe-west1", "217.176136464"),
    ],
)
def test_fixture_month_under_sustained_use_is_the_one_listed(slug, month):
    [price] = [p for p in PRICES if p["offer_slug"] == slug and p["purchase_model"] == "on_demand"]
    charge = Charge(Decimal(price["amount"]), "hour", sustained_use=price["sustained_use"])
    assert price_over(charge, "month", Decimal(730), is_sustained=True) == Decimal(month)


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
        assert row["cpu_model"]
        assert 0 < Decimal(row["sd_percent"]) < 10
        assert int(row["sample_count"]) >= 4


def test_fixture_rates_are_one_per_currency_of_one_day():
    rows = table("catalog/fx_rates.csv")
    assert len({row["currency"] for row in rows}) == len(rows) == 11
    assert {row["date"] for row in rows} == {"2026-10-30"}
    assert next(row for row in rows if row["currency"] == "USD")["units_per_eur"] == "1.1172"


def test_fixture_azure_deviations_are_those_the_methodology_states():
    kinds = {row["offer"]: row["vcpu_kind"] for row in table("catalog/offers_azure.csv")}
    assert {kinds[size] for size in kinds if size.startswith("Standard_B")} == {"burstable"}
    assert {kinds[size] for size in kinds if not size.startswith("Standard_B")} == {"dedicated"}
    groups = defaultdict(list)
    for row in table("published/coremark_azure.csv"):
        figures = float(row["coremark_score"]), float(row["sd_percent"]) / 100
        groups[row["machine_type"]].append(PublishedGroup(*figures, int(row["sample_count"])))
    ratios = defaultdict(list)
    for size, kind in kinds.items():
        ratios[kind].append(pool_groups(groups[size]).sd_ratio)
    own, bursting = ratios["dedicated"], ratios["burstable"]
    assert (len(own), len(bursting)) == (424, 10)
    assert round(median(own), 3) == 0.015
    assert round(max(own), 3) == 0.143
    assert round(sum(ratio <= CPU_CV for ratio in own) / len(own), 2) == 0.79
    assert (round(min(bursting), 3), round(max(bursting), 3)) == (0.068, 0.105)
    assert max(bursting) < BURSTABLE_CPU_CV


def azure_families():
    """Size → vCPUs of its full size and GiB, by family and features."""
    families = defaultdict(dict)
    for row in table("catalog/offers_azure.csv"):
        size = re.match(r"Standard_([A-Z]+)(\d+)(?:-\d+)?(\w*)", row["offer"])
        families[size[1], size[3]][int(size[2])] = int(row["ram_bytes"]) / 2**30
    return families


def test_azure_memory_is_the_size_sold():
    """N11: D4s_v5 had the 15.6 GiB that Linux shows; 16 are sold."""
    memory = {row["offer"]: int(row["ram_bytes"]) for row in table("catalog/offers_azure.csv")}
    sold = {"D2s_v5": 8, "D4s_v5": 16, "E20as_v5": 160, "E96ds_v5": 672, "HB120rs_v3": 448,
            "FX4mds": 84, "M192ims_v2": 4096, "DC1s_v3": 8, "M8ms": 218.75}  # fmt: skip
    for name, gib in sold.items():
        assert memory[f"Standard_{name}"] == gib * 2**30
    # Whole GiB but for the few sizes that are sold with quarters and halves.
    for name, size in memory.items():
        assert size % 2**28 == 0, name


def test_azure_memory_for_each_vcpu_is_constant_in_a_family():
    """Only the largest sizes may have less, as the host has no more; never a size below them."""
    for (family, features), sizes in azure_families().items():
        if family not in {"D", "DC", "E", "F", "FX", "L"} or features in {"_v2", "s_v2"}:
            continue
        ratios = [gib / vcpus for vcpus, gib in sorted(sizes.items())]
        usual = ratios[0]
        bent = [ratio for ratio in ratios if ratio != usual]
        assert ratios == [usual] * (len(ratios) - len(bent)) + bent, (family, features)
        assert all(ratio < usual for ratio in bent)
        assert usual in {2, 4, 8, 21} or len(ratios) <= 2
