"""The market's load form beside the fact tables, and its load."""

import csv
import datetime as dt
import gzip
import random
import re
from collections import Counter, defaultdict
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.conf import LazySettings, settings
from django.core.management import call_command
from django.db.models import Count

from backend.benchmarks.models import Sample, StoredSummary
from backend.benchmarks.services.demo import demo_load
from backend.catalog.models import CurrentPrice, Offer, PriceObservation
from backend.catalog.selectors.price_list import PriceFilter
from backend.catalog.selectors.price_movements import price_movements
from backend.catalog.services.fact_faults import without_odd_prices
from backend.catalog.services.fact_sources import fact_rows
from backend.catalog.services.fact_tables import MARKET
from backend.rankings.calc.region_groups import REGION_GROUPS, region_group
from backend.rankings.selectors.ranking import query_from, ranking

FACTS = Path(settings.FIXTURE_DIR) / "facts"
NAMES = ("instance_type", "vm_size", "machine_type", "offer")
PLACES = ("region", "location")


def table(path: Path) -> list[dict[str, str]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def load_form(part: str, name: str) -> list[dict[str, str]]:
    return table(Path(settings.FIXTURE_DIR) / "catalog" / part / f"{name}.csv.gz")


@pytest.fixture(scope="module")
def facts() -> dict[str, list[dict[str, str]]]:
    """Fact rows by the type that they are of, in lower case."""
    rows = defaultdict(list)
    for path in FACTS.glob("*.csv.gz"):
        for row in table(path):
            for name in NAMES:
                if name in row:
                    rows[row[name].lower()].append(row)
    return rows


def test_build_gives_the_stored_load_form_byte_for_byte(
    tmp_path: Path, settings: LazySettings
) -> None:
    folder = tmp_path / "fixtures"
    (folder / "catalog").mkdir(parents=True)
    (folder / "facts").symlink_to(FACTS)
    (folder / "published/sparecores").mkdir(parents=True)
    scores = "published/sparecores/scores.csv.gz"
    (folder / scores).symlink_to(FACTS.parent / scores)
    for path in (FACTS.parent / "catalog").glob("*.csv"):
        (folder / "catalog" / path.name).symlink_to(path)
    settings.FIXTURE_DIR = folder
    call_command("build_fixtures", stdout=StringIO())
    made = [*(folder / "catalog").glob("*/*.gz"), folder / "published/sparecores/figures.csv.gz"]
    assert len(made) == 7
    for path in made:
        stored = FACTS.parent / path.relative_to(folder)
        assert path.read_bytes() == stored.read_bytes(), path.name


@pytest.mark.parametrize("part", ["market", "world"])
def test_500_random_prices_are_figures_of_a_fact_row(
    part: str, facts: dict[str, list[dict[str, str]]]
) -> None:
    names = {row["slug"]: row for row in load_form(part, "offers")}
    prices = [row for row in load_form(part, "prices") if row["offer"] in names]
    stated = {
        (row["provider"], row["region"]): row["stated_as"] for row in table(FACTS / "regions.csv")
    }
    for price in random.Random(part).sample(prices, 500):
        offer = names[price["offer"]]
        if offer["provider"] == "oci":
            assert Decimal(price["amount"]) == _oracle_hour(offer["name"])
            continue
        amounts = {
            Decimal(value)
            for row in facts[offer["name"].lower()]
            if _is_there(row, {stated[offer["provider"], offer["region"]]})
            for value in row.values()
            if re.fullmatch(r"[0-9]+(\.[0-9]+)?", value)
        }
        assert Decimal(price["amount"]) in amounts, price


def test_every_price_of_the_older_tables_is_a_figure_of_a_fact_row(
    facts: dict[str, list[dict[str, str]]],
) -> None:
    """Of the same day and place."""
    catalog = FACTS.parent / "catalog"
    offers = {row["slug"]: row for path in catalog.glob("offers_*.csv") for row in table(path)}
    places = {"most": "default (most regions)"}
    prices = [row for path in catalog.glob("prices_*.csv") for row in table(path)]
    assert len(prices) > 5000
    for price in prices:
        offer = offers[price["offer_slug"]]
        amounts = {
            Decimal(value)
            for row in facts[offer["offer"].lower()]
            if _is_there(row, {places.get(offer["region"], offer["region"])})
            if _is_of_day(row, price["as_of"])
            for value in row.values()
            if re.fullmatch(r"[0-9]+(\.[0-9]+)?", value)
        }
        assert Decimal(price["amount"]) in amounts, price
        assert Decimal(price.get("setup_amount") or 0) in amounts | {0}, price


def _is_of_day(row: dict[str, str], day: str) -> bool:
    """True also for a row of a table that has one day for all."""
    days = [value for name, value in row.items() if "date" in name]
    return not days or day in days


def _is_there(row: dict[str, str], places: set[str]) -> bool:
    """Whether the row is of the place, or has a column of its own for each."""
    named = {row[name] for name in PLACES if name in row}
    return not named or bool(named & places)


def _oracle_hour(name: str) -> Decimal:
    shape, ocpus, gb = re.fullmatch(r"(\S+) (\d+) OCPU (\d+) GB", name).groups()
    [row] = [row for row in table(FACTS / "oci_unit_prices_2026.csv.gz") if row["shape"] == shape]
    hour, memory = Decimal(row["usd_per_ocpu_hour"]), Decimal(row["usd_per_gb_ram_hour"])
    return int(ocpus) * hour + int(gb) * memory


@pytest.mark.parametrize("path", sorted(FACTS.glob("*.csv*")), ids=lambda path: path.name)
def test_fact_table_is_listed_with_its_licence(path: Path) -> None:
    name = path.name.removesuffix(".gz").removesuffix(".csv")
    lines = (FACTS / "README.md").read_text(encoding="utf-8").splitlines()
    [line] = [line for line in lines if line.startswith(f"| `{name}`")]
    assert len(line.split("|")) == 6
    assert all(cell.strip() for cell in line.split("|")[1:-1])


def test_windows_prices_of_azure_are_left_out() -> None:
    """The list holds them in whole regions of four families, and in some B v2 sizes."""
    names = {row["name"] for part in ("market", "world") for row in load_form(part, "offers")}
    assert "Standard_D4as_v6" in names
    assert not [name for name in names if re.fullmatch(r"Standard_[DE]\d+ad?s_v5", name)]
    rows = [
        {"vm_size": "Standard_B2ats_v2", "region": "x", "usd_per_hour": "0.0186"},
        {"vm_size": "Standard_B2ts_v2", "region": "x", "usd_per_hour": "0.0104"},
        {"vm_size": "Standard_D2s_v5", "region": "x", "usd_per_hour": "0.096"},
        {"vm_size": "Standard_A0", "region": "x", "usd_per_hour": "9"},
    ]
    clean = {"Standard_B2ats_v2": 0.0094, "Standard_B2ts_v2": 0.0104, "Standard_D2s_v5": 0.096}
    assert without_odd_prices(rows, clean) == rows[1:]


@pytest.mark.parametrize(
    ("offer", "hour"),
    [
        # The hour that the month contradicts, twice A16C, where the catalogue slips, and rounding.
        ("pop2-6c-24g", "0.2205"),
        ("standard2-a32c-128g", "1.0078"),
        ("standard3-x6c-24g", "0.2425"),
        ("basic3-x16c-32g", "0.355247"),
    ],
)
def test_slips_of_scaleway_yield_to_its_other_list(offer: str, hour: str) -> None:
    prices = {
        (row["offer"], row["observed_at"]): row["amount"] for row in load_form("market", "prices")
    }
    assert prices[f"scaleway-{offer}-fr-par-1", "2026-08-17"] == hour


def test_google_shared_cores_are_not_doubled() -> None:
    """Another list doubles them; that one is not used."""
    listed = {
        (row["machine_type"], row["region"]): Decimal(row["usd_per_hour"])
        for row in fact_rows(Path(settings.FIXTURE_DIR), "gcp_prices")
        if row["machine_type"].startswith("e2-")
    }
    for row in fact_rows(Path(settings.FIXTURE_DIR), "gcp_prices_all_2026"):
        key = row["machine_type"], row["region"]
        if key in listed:
            assert Decimal(row["usd_per_hour"]) == listed[key]


def test_hand_kept_lists_are_marked() -> None:
    notes = defaultdict(set)
    for row in load_form("market", "offers"):
        notes[row["provider"]].add("is kept by hand" in row["note"])
    hand_kept = {provider for provider, marks in notes.items() if marks == {True}}
    assert hand_kept == {"stackit", "netcup", "exoscale", "civo", "contabo", "upcloud"}


@pytest.mark.django_db
def test_demo_holds_the_market_of_autumn_2026() -> None:
    demo_load(settings.FIXTURE_DIR, (MARKET,))
    offers = Offer.objects.filter(is_demo=True, discontinued_on=None)
    priced = offers.filter(pk__in=CurrentPrice.objects.values("offer"))
    assert priced.count() >= 20_000
    assert priced.values("provider").distinct().count() >= 14
    for provider in ("azure", "gcp"):
        countries = (
            priced.filter(provider__slug=provider)
            .values_list("region__code", "region__country")
            .distinct()
        )
        assert len(countries) >= 12
        groups = {region_group(country) for _, country in countries}
        assert groups == {*REGION_GROUPS} - {"antarctica"}
    for name in ("m5.large", "c5.xlarge", "r5.2xlarge", "t3.medium"):
        assert priced.filter(name=name, region__code="us-east-1").exists()
    _assert_hetzner_rises()
    _assert_june_is_the_change_table()
    _assert_twins_share_figures()
    assert set(demo_load(settings.FIXTURE_DIR, (MARKET,)).values()) == {0}


def _assert_hetzner_rises() -> None:
    prices = PriceObservation.objects.filter(offer__slug="hetzner-ccx23-fsn1").order_by("began_at")
    caps = [(str(row.valid_from), row.applies_to, float(row.monthly_cap)) for row in prices]
    assert caps == [
        ("None", "all", 23.99),
        ("2026-04-01", "all", 31.49),
        ("2026-06-15", "new", 85.99),
        ("2026-06-15", "new", 85.99),
    ]
    [current] = CurrentPrice.objects.filter(offer__slug="hetzner-ccx23-fsn1")
    assert float(current.observation.monthly_cap) == 85.99


def _assert_june_is_the_change_table() -> None:
    """As the report of price changes sums it up, and as rankings of both days see it."""
    june = {
        (row["offer"].lower(), frozenset(row["location"].split("/"))): Decimal(row["new_price"])
        / Decimal(row["old_price"])
        for row in fact_rows(Path(settings.FIXTURE_DIR), "price_changes_2024-2026")
        if row["date"].startswith("2026-06-") and row["unit"].startswith("EUR")
    }
    days = dt.date(2026, 5, 31), dt.date(2026, 6, 30)
    movements = {
        (each.name, frozenset(each.regions)): each.ratio
        for line in price_movements(*days, PriceFilter())
        for each in line.movements
    }
    assert movements.keys() == june.keys()
    # The table compares months, and hours are rounded to four decimals.
    for key, ratio in movements.items():
        assert float(ratio) == pytest.approx(float(june[key]), rel=0.03), key
    prices = []
    for day in days:
        asked = {"as_of": [str(day)], "currency": ["EUR"], "q": ["hetzner-cx53-fsn1"]}
        [row] = ranking(query_from({**asked, "metric": ["general_performance"]})[0]).rows
        prices.append(row.price)
    assert prices == [Decimal("0.036"), Decimal("0.0473")]


def _assert_twins_share_figures() -> None:
    """One type has one public figure, in every region."""
    regions = StoredSummary.objects.filter(offer__name="n2-standard-4", metric="coremark_score")
    assert regions.count() >= 12
    assert regions.values("value").distinct().count() == 1
    scores = StoredSummary.objects.filter(metric="stress_ng_div16", offer__name="Standard_D4s_v5")
    alike = scores.values("value", "ci95_low", "ci95_high", "cpu_models").annotate(n=Count("pk"))
    assert [row["n"] for row in alike] == [scores.count()]
    assert scores.count() >= 12
    without = Counter(
        Sample.objects.filter(metric="stress_ng_div16", variant="all")
        .exclude(offer__summaries__metric="stress_ng_div16")
        .values_list("offer__name", flat=True)
    )
    assert not without
