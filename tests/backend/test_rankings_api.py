"""GET /rankings, /offers and /value: the figures, the vocabulary, and the formats."""

import csv
import datetime as dt
import io
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from django.conf import LazySettings
from django.test import Client

from backend.catalog.services.data_version import data_version_bump
from backend.core.rest import views
from backend.rankings.selectors.columns import COLUMN
from backend.rankings.selectors.rows import DECIDED_BY, offer_cells
from tests import factories
from tests.backend.conftest import API, fields, rows

pytestmark = pytest.mark.django_db
HEADER = (
    "offer_id,provider,offer,kind,region,arch,vcpu,vcpu_kind,threads,ram_gib,disk_gb,disk_kind,"
    "price,currency,period,hours_per_month,price_basis,price_term,price_usd_hour,"
    "price_observed_on,fx_rate,fx_date,metric,score,score_ci95_low,score_ci95_high,"
    "score_n_instances,score_n_repeats,interval_basis,cup,value_per_cost,"
    "value_per_cost_ci95_low,value_per_cost_ci95_high,rank,rank_low,rank_high,tie_group,pareto,"
    "measured_at,method_version,source,result_url,data_version,flags,missing,price_zone,hours_run,"
    "setup_months,region_group,available,hardware,licence,commitment_months,"
    "load,cpu_baseline_ratio,credit_mode,burst_score"
)


def published_2013() -> list[dict[str, str]]:
    table = Path(__file__).parents[2] / "fixtures" / "published" / "cmips_2013.csv"
    with table.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def results(client: Client, query: str = "", **headers: Any) -> list[dict[str, Any]]:
    response = client.get(f"{API}/rankings?per_page=250&{query}", **headers)
    assert response.status_code == 200, response.content
    found: list[dict[str, Any]] = response.json()["results"]
    return found


# --- the figures ------------------------------------------------------------------------------


def test_rankings_print_the_published_cup_of_2013_in_order(client: Client, demo: None) -> None:
    listed = rows(client.get(f"{API}/rankings.csv?metric=cmips_score&hours_per_month=720"))
    published = published_2013()
    assert len(published) == 17
    assert [row["offer_id"] for row in listed] == [row["slug"] for row in published]
    for row, printed in zip(listed, published, strict=True):
        digits = Decimal(printed["cup_published_usd_per_hour"])
        # Some were published with fewer digits than the twelve that are printed.
        last_digit = Decimal(1).scaleb(int(digits.as_tuple().exponent))
        apart = abs(Decimal(row["cup"]) - digits)
        assert apart <= max(last_digit, digits * Decimal("1e-11")), row["offer_id"]
        assert row["source"] == "published"
        assert row["price_observed_on"] == "2013-09-21"


@pytest.mark.parametrize(
    ("given", "months"),
    [
        ({}, 0),
        ({"purchase_model": "monthly", "unit": "month"}, 1),
        ({"purchase_model": "monthly", "unit": "month", "minimum_months": 6}, 6),
        ({"purchase_model": "committed", "term": "1y"}, 12),
        ({"purchase_model": "reserved", "term": "3y"}, 36),
        ({"purchase_model": "purchase", "unit": "once"}, None),
    ],
)
def test_commitment_months_are_those_that_must_be_paid(
    client: Client, given: dict[str, Any], months: int | None
) -> None:
    offer = factories.offer()
    factories.price(offer, "10", **given)
    factories.sample(offer, 100.0)
    term = "_".join(filter(None, (given.get("purchase_model", "on_demand"), given.get("term"))))
    [row] = results(client, f"metric=cmips_score&term={term}")
    assert row["commitment_months"] == months


def test_every_cell_of_an_offer_names_the_fields_that_decide_it() -> None:
    assert set(offer_cells(factories.offer())) == {"offer_id", *DECIDED_BY}


def test_cup_and_value_follow_from_the_printed_columns(client: Client, demo: None) -> None:
    for query in (
        "metric=cmips_score&hours_per_month=720",
        "metric=coremark_score",
        "metric=coremark_score&currency=EUR&period=month&basis=sustained_use",
    ):
        for row in rows(client.get(f"{API}/rankings.csv?{query}")):
            price, score = Decimal(row["price"]), Decimal(row["score"])
            value = Decimal(row["value_per_cost"])
            assert abs(value / (score / price) - 1) < Decimal("1e-11")
            if row["cup"]:
                assert abs(Decimal(row["cup"]) / (price / score) - 1) < Decimal("1e-11")
            if row["value_per_cost_ci95_low"]:
                low = Decimal(row["score_ci95_low"]) / price
                assert abs(Decimal(row["value_per_cost_ci95_low"]) / low - 1) < Decimal("1e-11")


def test_cup_stays_per_hour_when_the_period_is_a_month(client: Client, demo: None) -> None:
    query = f"{API}/rankings.csv?hours_per_month=720"
    by_hour, by_month = (
        {row["offer_id"]: row for row in rows(client.get(f"{query}&period={period}"))}
        for period in ("hour", "month")
    )
    linode = by_month["linode-1x-priority-2013"]
    assert linode["price"] == "20"
    assert linode["cup"] == by_hour["linode-1x-priority-2013"]["cup"]


def test_metrics_are_never_mixed(client: Client, market: None) -> None:
    for metric, count in (("cmips_score", 17), ("coremark_score", 1322), ("passmark_score", 3)):
        listed = rows(client.get(f"{API}/rankings.csv?metric={metric}"))
        assert len(listed) == count
        assert {row["metric"] for row in listed} == {metric}


def test_rankings_count_the_offers_without_a_score(client: Client, market: None) -> None:
    basis = client.get(f"{API}/rankings?metric=coremark_score&provider=gcp,aws").json()["basis"]
    # 217 types of AWS and 14 machines of 2013 there: 11 by Amazon; all Google offers have one
    amazon_2013 = sum(row["provider"] == "aws" for row in published_2013())
    assert basis["without_score_count"] == 217 + amazon_2013
    assert basis["unit"] == "iterations/s"


def test_published_spread_becomes_the_interval(client: Client, market: None) -> None:
    [row] = results(client, "metric=coremark_score&offer=n2-standard-2&region=us-central1")
    # 34,735 with a standard deviation of 0.53 %: ± 1.96 × 0.0053 × 34,735 = 360.827
    assert row["score"] == 34735.0
    assert row["score_ci95_low"] == pytest.approx(34735 - 360.827, abs=0.01)
    assert row["score_ci95_high"] == pytest.approx(34735 + 360.827, abs=0.01)
    assert row["interval_basis"] == "published_sd"
    assert (row["score_n_instances"], row["score_n_repeats"]) == (None, 3672)


def test_a_processor_is_priced_only_as_a_purchase(client: Client, demo: None) -> None:
    [plain] = results(client, "metric=passmark_score&offer_id=own-core-i3-4130-2014")
    assert (plain["price"], plain["rank"], plain["missing"]) == (None, None, "price")
    query = "metric=passmark_score&offer_id=own-core-i3-4130-2014&term=purchase"
    [dollars] = results(client, f"{query}&currency=USD")
    [euros] = results(client, f"{query}&currency=EUR")
    assert (dollars["price"], euros["price"]) == ("124", "94")
    assert (euros["period"], euros["price_term"]) == ("once", "purchase")
    assert euros["price_usd_hour"] is None
    assert euros["fx_rate"] is None


def test_conversion_names_its_rate_and_day(client: Client, market: None) -> None:
    [row] = results(
        client, "metric=coremark_score&currency=EUR&offer=n2-standard-4&region=us-central1"
    )
    # 1 EUR = 1.1172 USD on 2026-10-30; the list price is in dollars
    [dollars] = results(client, "metric=coremark_score&offer=n2-standard-4&region=us-central1")
    assert row["fx_date"] == "2026-10-30"
    assert abs(Decimal(row["fx_rate"]) * Decimal("1.1172") - 1) < Decimal("1e-30")
    assert abs(Decimal(row["price"]) * Decimal("1.1172") / Decimal(dollars["price"]) - 1) < Decimal(
        "1e-11"
    )
    assert row["price_usd_hour"] == dollars["price"]


def test_the_newest_price_on_or_before_the_day_is_taken(client: Client) -> None:
    offer = factories.offer("dated")
    # Scores are those of the day, too.
    factories.sample(offer, 100.0, measured_at=dt.datetime(2026, 10, 1, tzinfo=dt.UTC))
    for day, amount in ((1, "0.1"), (10, "0.2"), (20, "0.4")):
        at = dt.datetime(2026, 11, day, 8, tzinfo=dt.UTC)
        factories.price(offer, amount, observed_at=at)
    prices = {
        as_of: results(client, f"as_of={as_of}")[0]["price"]
        for as_of in ("2026-10-31", "2026-11-01", "2026-11-19", "2026-11-20")
    }
    assert prices == {
        "2026-10-31": None,
        "2026-11-01": "0.1",
        "2026-11-19": "0.2",
        "2026-11-20": "0.4",
    }


def test_only_plain_linux_prices_rank(client: Client) -> None:
    offer = factories.offer("plain")
    factories.sample(offer, 100.0)
    factories.price(offer, "1")
    later = factories.AT + dt.timedelta(days=1)
    factories.price(offer, "2", operating_system="windows", observed_at=later)
    factories.price(offer, "3", tenancy="dedicated", observed_at=later)
    factories.price(offer, "4", zone="a", observed_at=later)
    factories.price(offer, "5", basis="sustained_use", observed_at=later)
    assert results(client)[0]["price"] == "1"
    assert results(client, "basis=sustained_use")[0]["price"] == "1"
    [monthly] = results(client, "basis=sustained_use&period=month&hours_per_month=720")
    assert (monthly["price"], monthly["price_basis"]) == ("3600", "sustained_use")
    [listed] = results(client, "basis=list&period=month&hours_per_month=720")
    assert (listed["price"], listed["price_basis"]) == ("720", "machine")


def test_on_demand_falls_back_to_a_month_without_commitment(client: Client) -> None:
    rented = factories.offer("rented", provider_slug="hetzner", kind="dedicated")
    factories.sample(rented, 1000.0)
    factories.price(rented, "73", purchase_model="monthly", unit="month")
    factories.price(rented, "60", purchase_model="monthly", unit="month", term="1y")
    [row] = results(client)
    assert (row["price_term"], row["price"]) == ("monthly", "0.1")
    [row] = results(client, "term=spot")
    assert (row["price"], row["missing"]) == (None, "price")


def test_spot_price_is_flagged_with_the_zone_that_counts(client: Client) -> None:
    offer = factories.offer("taken")
    factories.sample(offer, 100.0)
    for zone, amount in (("a", "0.2"), ("b", "0.1")):
        factories.price(offer, amount, purchase_model="spot", zone=zone)
    [row] = results(client, "term=spot")
    assert (row["price"], row["price_zone"]) == ("0.1", "b")
    assert "interruptible" in row["flags"].split()


def test_a_price_without_a_rate_is_missing_and_never_zero(client: Client) -> None:
    offer = factories.offer("yen")
    factories.sample(offer, 100.0)
    factories.price(offer, "15", currency="JPY")
    [row] = results(client)
    assert (row["price"], row["rank"], row["price_usd_hour"]) == (None, None, None)
    assert row["missing"] == "price fx_rate"
    [row] = results(client, "currency=JPY")
    assert (row["price"], row["rank"]) == ("15", 1)


# --- measured results -------------------------------------------------------------------------


def test_measured_repeats_show_provenance_and_interval(
    client: Client, settings: LazySettings
) -> None:
    settings.PUBLIC_URL = "https://rackrate.test"
    run = factories.run()
    factories.price(run.offer, "2")
    for repeat, value in enumerate((99.0, 100.0, 101.0)):
        factories.sample(
            run.offer,
            value,
            run=run,
            host=run.host,
            repeat=repeat,
            method_version="cmips 1",
            measured_at=factories.AT + dt.timedelta(seconds=repeat),
        )
    [row] = results(client, "measured=1")
    assert row["score"] == 100.0
    assert row["score_ci95_low"] < 100 < row["score_ci95_high"]
    assert (row["score_n_instances"], row["score_n_repeats"]) == (1, 3)
    assert row["interval_basis"] == "repeats_widened"
    assert row["measured_at"] == "2026-11-01T12:00:02Z"
    assert row["method_version"] == "cmips 1"
    assert row["result_url"] == f"https://rackrate.test/runs/{run.pk}/#evidence"
    assert Decimal(row["value_per_cost"]) == 50
    assert results(client, "measured=0") == []


def test_disturbed_repeats_are_left_out_where_others_exist(client: Client) -> None:
    run = factories.run()
    for repeat, (value, flags) in enumerate(
        ((100.0, []), (50.0, ["disturbed"]), (102.0, []), (104.0, []))
    ):
        factories.sample(run.offer, value, run=run, host=run.host, repeat=repeat, flags=flags)
    [row] = results(client)
    assert (row["score"], row["score_n_repeats"]) == (102.0, 3)
    assert "disturbed" not in row["flags"]


def test_offer_with_only_disturbed_repeats_is_last_and_unranked(
    client: Client,
) -> None:
    quiet, noisy = factories.offer("quiet"), factories.offer("noisy")
    for offer, value, flags in ((quiet, 10.0, []), (noisy, 1000.0, ["disturbed"])):
        factories.price(offer, "1")
        factories.sample(offer, value, flags=flags)
    for query in ("", "sort=-score", "sort=offer_id"):
        first, last = results(client, query)
        assert (first["offer_id"], first["rank"]) == ("quiet", 1)
        assert (last["offer_id"], last["score"], last["flags"]) == ("noisy", 1000.0, "disturbed")
        for name in ("rank", "rank_low", "value_per_cost", "cup", "tie_group", "pareto"):
            assert last[name] is None
    assert [row["offer_id"] for row in results(client, "flags=disturbed")] == ["noisy"]
    assert [row["offer_id"] for row in results(client, "flags!=disturbed")] == ["quiet"]


def test_measured_results_win_over_published_ones(client: Client) -> None:
    offer = factories.offer("both")
    factories.sample(offer, 5.0, source="published", source_note="a table")
    factories.sample(offer, 7.0)
    [row] = results(client)
    assert (row["score"], row["source"]) == (7.0, "measured")


def test_fallback_variant_ranks_only_without_the_canonical_one(client: Client) -> None:
    offer = factories.offer("disk")
    read = {"metric": "disk_read_bytes_per_s", "unit": "bytes/s"}
    factories.sample(offer, 3e8, variant="dd_fdatasync", **read)
    query = "metric=disk_read_bytes_per_s"
    [row] = results(client, query)
    assert (row["score"], row["flags"]) == (3e8, "")
    factories.sample(offer, 2e8, variant="dd_direct", **read)
    [row] = results(client, query)
    assert (row["score"], row["flags"]) == (2e8, "")


def test_cached_result_is_listed_without_a_rank(client: Client) -> None:
    cached, honest = factories.offer("cached"), factories.offer("honest")
    for offer in (cached, honest):
        factories.price(offer)
    read = {"metric": "disk_read_bytes_per_s", "unit": "bytes/s"}
    factories.sample(cached, 9e9, variant="dd_cached", flags=["cached"], **read)
    factories.sample(honest, 2e8, variant="dd_direct", **read)
    first, last = results(client, "metric=disk_read_bytes_per_s")
    assert (first["offer_id"], first["rank"]) == ("honest", 1)
    assert (last["offer_id"], last["score"], last["flags"]) == ("cached", 9e9, "cached")
    assert (last["rank"], last["value_per_cost"], last["tie_group"]) == (None, None, None)


@pytest.mark.parametrize(
    ("metric", "variant", "flag"),
    [("cmips_score", "all", "lower_bound"), ("job_time_s", "tar_nfs", "aborted")],
)
def test_bound_and_aborted_job_are_listed_without_a_rank(
    client: Client, metric: str, variant: str, flag: str
) -> None:
    for slug, value, flags in (("stated", 16_000.0, [flag]), ("known", 9_000.0, [])):
        offer = factories.offer(slug)
        factories.price(offer)
        factories.sample(offer, value, metric=metric, variant=variant, flags=flags)
    listed = {row["offer_id"]: row for row in results(client, f"metric={metric}")}
    assert listed["known"]["rank"] == 1
    row = listed["stated"]
    assert (row["score"], row["flags"]) == (16_000.0, flag)
    assert (row["rank"], row["value_per_cost"], row["cup"]) == (None, None, None)


def test_excluded_samples_do_not_count(client: Client) -> None:
    offer = factories.offer("excluded")
    factories.sample(offer, 5.0, excluded_reason="wrong kernel")
    assert results(client) == []


def test_flags_name_shared_cpus_and_stale_prices(client: Client) -> None:
    shared = factories.offer("shared", vcpu_kind="shared")
    burst = factories.offer("burst", vcpu_kind="burstable")
    factories.sample(shared, 10.0)
    factories.sample(burst, 20.0)
    factories.price(shared, observed_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    by_slug = {row["offer_id"]: row["flags"] for row in results(client, "as_of=2026-11-02")}
    assert by_slug == {"shared": "shared_vcpu stale_price", "burst": "burstable"}


def test_flag_names_the_credits_that_a_provider_sells_in_one_mode_only(client: Client) -> None:
    """S8: Azure's B series is slowed without credits; at AWS the buyer chooses."""
    for provider in ("azure", "aws"):
        offer = factories.offer(provider, provider_slug=provider, vcpu_kind="burstable")
        factories.sample(offer, 10.0)
    by_slug = {row["offer_id"]: row["flags"] for row in results(client)}
    assert by_slug == {"azure": "burstable credit_standard", "aws": "burstable"}


def test_flags_of_samples_that_explain_a_score_are_its_own(client: Client) -> None:
    noted = factories.offer("noted")
    factories.sample(noted, 10.0, flags=["volume_small", "small_pages", "not_steady"])
    by_slug = {row["offer_id"]: row["flags"] for row in results(client)}
    assert by_slug == {"noted": "small_pages volume_small"}


def test_flag_says_that_an_offer_is_discontinued_from_that_day_on(client: Client) -> None:
    factories.sample(factories.offer("gone", discontinued_on=dt.date(2026, 11, 22)), 10.0)
    flags = [results(client, query)[0]["flags"] for query in ("", "as_of=2026-11-21")]
    assert flags == ["discontinued", ""]


def test_expired_quote_counts_as_stale_only_without_another_price(client):
    offer = factories.offer("quoted", kind="dedicated")
    factories.sample(offer, 10.0)
    quote = {"purchase_model": "monthly", "unit": "month"}
    factories.price(offer, "73", valid_until=dt.date(2026, 11, 1), **quote)
    (row,) = results(client, "as_of=2026-11-01")
    assert (row["price"], row["flags"]) == ("0.1", "")
    (row,) = results(client, "as_of=2026-11-02")
    assert (row["price"], row["flags"]) == ("0.1", "stale_price")
    earlier = dt.datetime(2026, 10, 20, tzinfo=dt.UTC)
    factories.price(offer, "146", plan="12_months", observed_at=earlier, **quote)
    (row,) = results(client, "as_of=2026-11-02")
    assert (row["price"], row["flags"]) == ("0.2", "")


# --- filters and order ------------------------------------------------------------------------


def shelf() -> None:
    """Offers 1 to 6: that many vCPUs and dollars (the fourth unpriced), value 110, 120, … 160."""
    for place in range(1, 7):
        offer = factories.offer(
            f"shelf-{place}",
            provider_slug="aws" if place % 2 else "gcp",
            kind="cloud" if place < 4 else "vps",
            vcpu_count=place,
            memory_bytes=place * 2**30,
            cpu_model="Fast 9000" if place == 3 else "",
        )
        factories.sample(offer, float(place * (100 + 10 * place)))
        if place != 4:
            factories.price(offer, str(place))


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("provider=gcp", {2, 4, 6}),
        ("provider!=gcp", {1, 3, 5}),
        ("provider=gcp,aws", {1, 2, 3, 4, 5, 6}),
        ("provider=gcp&provider=hetzner", {2, 4, 6}),
        ("kind=vps", {4, 5, 6}),
        ("vcpu__gte=3&vcpu__lte=5", {3, 4, 5}),
        ("vcpu=2,3", {2, 3}),
        ("ram_gib__gte=5.5", {6}),
        ("price__lte=3", {1, 2, 3}),
        ("price__gte=0", {1, 2, 3, 5, 6}),
        ("missing=price", {4}),
        ("q=shelf fast", {3}),
        ("q=FAST", {3}),
        ("score__lte=110", {1}),
        ("score=110", {1}),
        ("value_per_cost__gte=149.5", {5, 6}),
        ("rank__lte=2", {5, 6}),
        ("pareto=true&vcpu__lte=3", {1, 2, 3}),
        ("price_observed_on__gte=2026-11-02", set()),
        ("measured_at__gte=2026-11-01T11:59:00%2B00:00&vcpu=1", {1}),
        ("q=&kind=&vcpu__gte=", {1, 2, 3, 4, 5, 6}),
    ],
)
def test_filter_keeps_the_rows_that_meet_it(client: Client, query: str, places: set[int]) -> None:
    shelf()
    found = {int(row["offer_id"].removeprefix("shelf-")) for row in results(client, query)}
    assert found == places


def test_ranks_are_of_the_filtered_list(client: Client) -> None:
    shelf()
    ranks = {row["offer_id"]: row["rank"] for row in results(client, "provider=aws")}
    assert ranks == {"shelf-5": 1, "shelf-3": 2, "shelf-1": 3}
    ranks = {row["offer_id"]: row["rank"] for row in results(client, "value_per_cost__lte=155")}
    assert ranks == {"shelf-5": 1, "shelf-3": 2, "shelf-2": 3, "shelf-1": 4}
    hidden = {row["offer_id"]: row["rank"] for row in results(client, "rank__gte=4")}
    assert hidden == {"shelf-2": 4, "shelf-1": 5}


def test_many_sort_keys_order_like_python_with_unknown_last(client: Client) -> None:
    numbers = random.Random(7)
    for place in range(40):
        offer = factories.offer(f"sorted-{place:02}", vcpu_count=numbers.choice([None, 1, 2, 4]))
        factories.sample(offer, float(numbers.choice([10, 20, 30])))
    for query, sign in (("sort=vcpu,-score", 1), ("sort=-vcpu,-score", -1)):
        found = results(client, query)

        def key(row: dict[str, Any], sign: int = sign) -> tuple[Any, ...]:
            vcpu = row["vcpu"]
            return (vcpu is None, sign * (vcpu or 0), -row["score"], row["offer_id"])

        assert found == sorted(found, key=key)
        assert found[-1]["vcpu"] is None


def test_repeated_sort_keys_change_nothing(client: Client, demo: None) -> None:
    once = results(client, "sort=vcpu,-score")
    assert results(client, "sort=" + ",".join(["vcpu", "-score", "-vcpu"] * 1000)) == once


def test_cols_choose_the_columns_and_their_order(client: Client, demo: None) -> None:
    response = client.get(f"{API}/rankings.csv?cols=score,offer_id,score")
    assert response.content.decode().splitlines()[0] == "score,offer_id"
    assert list(results(client, "cols=score,offer_id")[0]) == ["score", "offer_id"]


# --- parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("metric=speed", "metric"),
        ("period=week", "period"),
        ("currency=XXX", "currency"),
        ("hours_per_month=0", "hours_per_month"),
        ("hours_per_month=0.000000001", "hours_per_month"),
        ("hours_per_month=745", "hours_per_month"),
        ("hours_per_month=NaN", "hours_per_month"),
        ("term=forever", "term"),
        ("basis=all", "basis"),
        ("as_of=yesterday", "as_of"),
        ("as_of=9999-12-31", "as_of"),
        ("sort=-speed", "sort"),
        (f"sort={','.join(list(COLUMN)[:11])}", "sort"),
        ("cols=offer_id,speed", "cols"),
        ("per_page=0", "per_page"),
        ("per_page=251", "per_page"),
        ("page=0", "page"),
        ("page=x", "page"),
        ("kind=cluod", "kind"),
        ("vcpu__gte=many", "vcpu__gte"),
        ("vcpu__gte=1e999999999", "vcpu__gte"),
        ("pareto=maybe", "pareto"),
        ("measured=perhaps", "measured"),
        ("price_observed_on__lte=2026-13-01", "price_observed_on__lte"),
        ("dialect=klingon", "dialect"),
    ],
)
def test_bad_value_is_a_400_that_names_the_parameter(
    client: Client, query: str, field: str
) -> None:
    response = client.get(f"{API}/rankings?{query}")
    assert response.status_code == 400
    assert fields(response) == [field]


def test_all_bad_values_are_named_at_once(client: Client) -> None:
    response = client.get(f"{API}/rankings?metric=a&period=b&vcpu__lte=c")
    assert sorted(fields(response)) == ["metric", "period", "vcpu__lte"]


@pytest.mark.parametrize("name", ["colour", "limit", "provider__gte"])
def test_unknown_parameter_is_a_visible_warning(client: Client, name: str) -> None:
    response = client.get(f"{API}/rankings?{name}=1")
    assert response.status_code == 200
    [warning] = response.json()["warnings"]
    assert name in warning
    assert name in client.get(f"{API}/rankings.csv?{name}=1")["X-Warning"]


def test_warnings_of_a_csv_are_all_in_its_header_whatever_their_letters(client: Client) -> None:
    warning = client.get(f"{API}/rankings.csv?farbe%0D%0A=1&größe=2")["X-Warning"]
    assert "farbe" in warning
    assert "gr??e" in warning
    assert "\n" not in warning


def test_long_list_is_written_as_text_and_refused_as_a_workbook(
    client: Client, market: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{API}/rankings.csv?metric=coremark_score&provider=gcp"
    whole = client.get(address)
    monkeypatch.setattr(views, "MAX_EXPORT_ROWS", 454)
    refused = client.get(address.replace(".csv", ".xlsx"))
    assert refused.status_code == 400
    assert b"455 rows" in refused.content
    written = client.get(address)
    assert written.streaming
    assert b"".join(written) == whole.content
    assert written["Content-Length"] == str(len(whole.content))
    for name in ("Content-Type", "Content-Disposition", "ETag", "X-Total-Count"):
        assert written[name] == whole[name]
    marked = b"".join(client.get(f"{address}&dialect=excel-eu"))
    assert marked.startswith(b"\xef\xbb\xbfoffer_id;provider;")
    assert client.get(f"{API}/rankings?metric=coremark_score").status_code == 200


def test_error_of_a_csv_address_is_one_line_of_text(client: Client) -> None:
    response = client.get(f"{API}/rankings.csv?metric=speed")
    assert response.status_code == 400
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode().count("\n") == 1
    assert "metric" in response.content.decode()


# --- formats ----------------------------------------------------------------------------------


def test_csv_has_the_columns_of_version_one_in_their_order(client: Client) -> None:
    response = client.get(f"{API}/rankings.csv")
    assert response.content == f"{HEADER}\r\n".encode()
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert client.get(f"{API}/offers.csv").content == f"{HEADER}\r\n".encode()


def is_word(cell: object) -> bool:
    """Whether JSON and CSV spell the cell differently: 1 and 0 are numbers, true and false not."""
    return cell is None or isinstance(cell, bool)


def test_json_and_csv_hold_the_same_cells(client: Client, market: None) -> None:
    query = "metric=coremark_score&currency=EUR&provider=gcp"
    as_json = results(client, query)
    as_csv = rows(client.get(f"{API}/rankings.csv?{query}"))
    assert len(as_csv) == 455
    for left, right in zip(as_json, as_csv, strict=False):
        for name, cell in left.items():
            printed = {None: "", True: "TRUE", False: "FALSE"}[cell] if is_word(cell) else str(cell)
            assert printed == right[name], name


def test_the_suffix_beats_accept(client: Client) -> None:
    response = client.get(f"{API}/rankings.csv", headers={"accept": "application/json"})
    assert response["Content-Type"].startswith("text/csv")
    response = client.get(f"{API}/rankings.json", headers={"accept": "text/csv"})
    assert response["Content-Type"] == "application/json"
    response = client.get(f"{API}/rankings", headers={"accept": "text/csv"})
    assert response["Content-Type"].startswith("text/csv")
    response = client.get(f"{API}/rankings", headers={"accept": "text/html"})
    assert response["Content-Type"] == "application/json"
    response = client.get(f"{API}/rankings.tsv")
    assert response.content.decode().startswith("offer_id\tprovider\t")


@pytest.mark.parametrize("start", ["=1+1", "@x", "-y", "+z", "\tt", "\rr"])
def test_text_that_looks_like_a_formula_is_guarded(client: Client, start: str) -> None:
    offer = factories.offer("guarded", name=f"{start}name")
    factories.sample(offer, 100.0)
    [row] = rows(client.get(f"{API}/rankings.csv"))
    assert row["offer"] == f"'{start}name"
    assert results(client)[0]["offer"] == f"{start}name"
    book = openpyxl.load_workbook(io.BytesIO(client.get(f"{API}/rankings.xlsx").content))
    cell = book["rankings"]["C2"]
    assert cell.data_type == "s"


def test_excel_dialects_add_mark_semicolon_and_comma(client: Client) -> None:
    offer = factories.offer("dialect", vcpu_count="0.5")
    factories.sample(offer, 1.5)
    address = f"{API}/rankings.csv?cols=offer_id,vcpu,score,measured_at&dialect="
    assert client.get(f"{address}excel").content == (
        b"\xef\xbb\xbfoffer_id,vcpu,score,measured_at\r\ndialect,0.5,1.5,2026-11-01 12:00:00\r\n"
    )
    assert client.get(f"{address}excel-eu").content == (
        b"\xef\xbb\xbfoffer_id;vcpu;score;measured_at\r\ndialect;0,5;1,5;2026-11-01 12:00:00\r\n"
    )


def test_xlsx_has_typed_cells_a_filter_and_a_sheet_about(client: Client, demo: None) -> None:
    response = client.get(f"{API}/rankings.xlsx?hours_per_month=720")
    book = openpyxl.load_workbook(io.BytesIO(response.content))
    sheet = book["rankings"]
    header = [cell.value for cell in sheet[1]]
    assert ",".join(map(str, header)) == HEADER
    first = dict(zip(header, sheet[2], strict=True))
    assert first["offer_id"].value == "linode-1x-priority-2013"
    assert first["score"].value == 1427
    assert first["cup"].value == pytest.approx(0.0000194658568870202)
    assert first["price_observed_on"].value == dt.datetime(2013, 9, 21)
    assert first["pareto"].value is True
    assert first["region"].value is None
    assert sheet.freeze_panes == "B2"
    assert sheet.auto_filter.ref.endswith("18")
    about = {row[0].value: row[1].value for row in book["About"].iter_rows()}
    assert "hours_per_month=720" in str(about["address"])


def test_amounts_are_strings_and_scores_numbers_in_json(client: Client, market: None) -> None:
    row = results(client, "metric=coremark_score&offer=e2-micro")[0]
    assert isinstance(row["price"], str)
    assert "E" not in row["price"]
    assert isinstance(row["value_per_cost"], str)
    assert isinstance(row["score"], float)
    assert row["vcpu"] == 2
    assert row["flags"] == "shared_vcpu stale_price"


# --- pages and caching ------------------------------------------------------------------------


def test_pages_lead_on_and_back(client: Client, market: None) -> None:
    query = "metric=coremark_score&provider=gcp&per_page=200"
    first = client.get(f"{API}/rankings?{query}").json()
    assert (first["count"], len(first["results"]), first["previous"]) == (455, 200, None)
    second = client.get(first["next"]).json()
    third = client.get(second["next"]).json()
    assert (len(third["results"]), third["next"]) == (55, None)
    assert client.get(second["previous"]).json()["results"] == first["results"]
    slugs = {row["offer_id"] for page in (first, second, third) for row in page["results"]}
    assert len(slugs) == 455
    assert client.get(f"{API}/rankings?{query}&page=4").status_code == 404
    assert len(rows(client.get(f"{API}/rankings.csv?{query}&page=2"))) == 455


def test_unchanged_data_answer_304_and_changed_data_do_not(client: Client, demo: None) -> None:
    address = f"{API}/rankings.csv?metric=cmips_score"
    first = client.get(address)
    again = client.get(address, headers={"if-none-match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    other = client.get(f"{address}&period=month", headers={"if-none-match": first["ETag"]})
    assert other.status_code == 200
    data_version_bump()
    changed = client.get(address, headers={"if-none-match": first["ETag"]})
    assert changed.status_code == 200
    assert changed["ETag"] != first["ETag"]


def test_data_version_is_on_every_row_and_grows(client: Client, demo: None) -> None:
    before = client.get(f"{API}/rankings").json()
    data_version_bump()
    after = client.get(f"{API}/rankings").json()
    assert after["data_version"] == before["data_version"] + 1
    assert {row["data_version"] for row in after["results"]} == {after["data_version"]}


def test_a_new_result_shows_at_once_after_the_version_grew(client: Client, demo: None) -> None:
    assert len(results(client)) == 17
    factories.sample(factories.offer("newcomer"), 9999.0)
    data_version_bump()
    assert len(results(client)) == 18


def test_a_page_takes_few_queries(
    client: Client, demo: None, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(12):
        client.get(f"{API}/rankings?metric=coremark_score")
    with django_assert_max_num_queries(4):
        client.get(f"{API}/rankings?metric=coremark_score")
    with django_assert_max_num_queries(12):
        client.get(f"{API}/offers/gcp-n2-standard-4-us-central1?metric=coremark_score")


# --- offers and values ------------------------------------------------------------------------


def test_offers_list_also_those_without_a_score(client: Client, market: None) -> None:
    page = client.get(f"{API}/offers?metric=coremark_score&provider=aws,gcp&per_page=250").json()
    listed = rows(client.get(f"{API}/offers.csv?metric=coremark_score&provider=aws,gcp"))
    ranked = [row for row in listed if row["rank"]]
    assert len(listed) == page["count"] > len(ranked) == 455
    assert listed[:455] == ranked
    assert {row["score"] for row in listed[455:]} == {""}
    c6a = next(row for row in listed if row["offer_id"] == "aws-c6a-large-us-east-1")
    assert (c6a["price"], c6a["missing"]) == ("0.0765", "score")


def test_one_offer_shows_its_prices_and_summaries(client: Client, market: None) -> None:
    address = f"{API}/offers/gcp-n2-standard-4-us-central1"
    offer = client.get(f"{address}?metric=coremark_score").json()
    assert offer["offer"] == "n2-standard-4"
    assert offer["rank"] >= 1
    models = {(price["purchase_model"], price["term"]) for price in offer["prices"]}
    assert {("on_demand", None), ("spot", None), ("committed", "1y")} <= models
    scores = {summary["metric"]: summary["value"] for summary in offer["summaries"]}
    assert scores["coremark_score"] == 66884
    assert scores["stress_ng_div16"] == 3682.04
    assert scores["general_performance"] == 2.1301
    assert client.get(f"{API}/offers/none-such").status_code == 404


def test_value_is_one_number_as_text(client: Client, demo: None) -> None:
    address = f"{API}/value?offer=linode-1x-priority-2013&hours_per_month=720"
    response = client.get(address)
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content == b"1427.0"
    cup = client.get(f"{address}&column=cup").content
    assert cup == b"0.000019465856887"
    assert len(cup) <= 64
    assert fields(client.get(f"{API}/value?column=offer")) == ["offer", "column"]
    assert client.get(f"{address}&column=fx_rate").status_code == 404
    assert client.get(f"{API}/value?offer=none-such").status_code == 404


def test_metrics_and_columns_explain_themselves(client: Client, db: None) -> None:
    metrics = {row["metric"]: row for row in client.get(f"{API}/metrics").json()["results"]}
    assert metrics["memory_latency_ns"]["better"] == "lower"
    assert metrics["dd_bytes_per_s"]["variant"] is None
    columns = [row["column"] for row in client.get(f"{API}/columns?per_page=250").json()["results"]]
    assert ",".join(columns) == HEADER


def test_private_machines_of_another_workspace_stay_hidden(client: Client, caller: Any) -> None:
    from backend.accounts.models import Workspace

    other = Workspace.objects.create(slug="other", name="Other")
    factories.sample(factories.offer("theirs", workspace=other), 5.0)
    factories.sample(factories.offer("ours", workspace=factories.workspace()), 6.0)
    factories.sample(factories.offer("everybodys"), 7.0)
    assert {row["offer_id"] for row in results(client)} == {"ours", "everybodys"}
    assert client.get(f"{API}/offers/theirs").status_code == 404
    theirs = caller(workspace=other)
    assert {row["offer_id"] for row in results(theirs)} == {"theirs", "everybodys"}


def test_not_is_another_word_for_the_exclamation_mark(client: Client) -> None:
    for arch in ("x86_64", "arm64"):
        factories.sample(factories.offer(arch.replace("_", "-"), arch=arch), 100.0)
    lists = [
        [row["offer_id"] for row in client.get(f"{API}/rankings?{query}").json()["results"]]
        for query in ("arch!=x86_64", "arch__not=x86_64", "arch!=&arch__not=x86_64")
    ]
    assert lists == [["arm64"]] * 3
    assert client.get(f"{API}/rankings?arch__not=x86_64").json()["warnings"] == []


def test_page_takes_not_for_the_exclamation_mark(client: Client) -> None:
    page = client.get("/offers/?arch__not=arm64")
    assert page.context["address"].params["arch!"] == ["arm64"]


def test_lots_with_one_derived_figure_tie_at_equal_prices_alone(client: Client, settings) -> None:
    """N17: auction servers of one CPU model at 43.57, 44.69 and 45.81 were one tie group."""
    settings.PUBLIC_READ = True
    for name, price in (("a", "43.57"), ("b", "44.69"), ("c", "44.69"), ("d", "45.81")):
        lot = factories.offer(f"lot-{name}")
        factories.price(lot, price, unit="month", purchase_model="monthly")
        factories.sample(
            lot,
            100.0,
            source="published",
            flags=["derived"],
            parameters={"cpu_models": {"E-2176G": 3}},
        )
    data_version_bump()
    found = results(client, "period=month")
    standing = [
        tuple(row[name] for name in ("rank", "rank_low", "rank_high", "tie_group")) for row in found
    ]
    assert standing == [(1, 1, 1, 1), (2, 2, 3, 2), (2, 2, 3, 2), (4, 4, 4, 3)]
