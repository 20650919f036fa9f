"""From a provider's server to the rows of the database, one provider after the other."""

import gzip
import io
import json
import tarfile
from base64 import b64encode
from decimal import Decimal

import pytest

from backend.accounts.models import CloudAccount
from backend.catalog.models import ExchangeRate, Offer, PriceObservation, PricePayload, UnpricedType
from backend.foundation.errors import InvalidValue
from backend.providers.http import FetchError
from backend.providers.registry import PROVIDERS
from tests.fakes.price_faults import refused, too_many
from tests.fakes.price_servers import DAYS_90, fixture
from tests.workers.feeds import (
    KEY,
    RATES,
    TOKEN,
    account,
    aws_account,
    due_again,
    enable,
    fetched,
    gcp_account,
    published,
)
from workers.pricelists import fetching
from workers.remote.registry import fetcher

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued")]
OFFER_FILE = "/offers/v1.0/aws/AmazonEC2/20260101000000/eu-west-1/index.json"


def amounts(**conditions):
    return {place: row.amount for place, row in published(**conditions).items()}


def test_hetzner_is_read_page_by_page_to_prices_when_due(price_server):
    account("hetzner")
    feed = fetched(enable("hetzner"))
    assert price_server.paths() == ["/v1/pricing", *["/v1/server_types"] * 3]
    assert {asked.headers["authorization"] for asked in price_server.asked} == {f"Bearer {TOKEN}"}
    row = published()["aa11", "fsn1"]
    assert (row.amount, row.currency, row.unit) == (Decimal("0.0052"), "EUR", "hour")
    assert (row.tax_basis, row.feed) == ("net", feed)
    assert row.monthly_cap is not None
    assert (feed.last_error, feed.failures, feed.summary["priced"]) == ("", 0, 2)
    assert CloudAccount.objects.get().last_used_at is not None


def test_digitalocean_is_read_along_its_links_when_due(price_server):
    account("digitalocean")
    fetched(enable("digitalocean"))
    assert [asked.query.get("page") for asked in price_server.asked] == [None, "2"]
    assert amounts() == {
        ("s-1vcpu-1gb", "fra1"): Decimal("0.00744"),
        ("s-1vcpu-1gb", "nyc3"): Decimal("0.00744"),
        ("g-2vcpu-8gb", "fra1"): Decimal("0.09375"),
        ("gpu-x1", "tor1"): Decimal("3.39"),
    }


def test_auction_of_hetzner_is_read_without_an_account(price_server):
    reports = fetching.fetch_now(provider="hetzner")
    assert {kind: report.priced for kind, report in reports.items()} == {"auction": 3}
    assert price_server.paths() == ["/_resources/app/data/app/live_data_sb_EUR.json"]
    offers = Offer.objects.filter(kind="dedicated", region__code="fsn1")
    row = PriceObservation.objects.get(offer__in=offers, setup_amount__isnull=False)
    assert (row.amount, row.setup_amount, row.unit) == (90, 79, "month")


@pytest.mark.parametrize(
    ("kind", "path", "priced"),
    [
        ("robot", "/order/server/product", 2),
        ("robot_market", "/order/server_market/product", 2),
    ],
)
def test_robot_is_asked_with_its_own_login(price_server, kind, path, priced):
    account("hetzner", secret={"token": TOKEN, "robot_user": "#ws+rates", "robot_password": KEY})
    (report,) = fetching.fetch_now(provider="hetzner", kind=kind).values()
    assert (report.priced, price_server.paths()) == (priced, [path])
    (asked,) = price_server.asked
    pair = b64encode(f"#ws+rates:{KEY}".encode()).decode()
    assert asked.headers["authorization"] == f"Basic {pair}"


def test_robot_says_so_when_the_account_has_no_login_for_it(price_server):
    account("hetzner")
    with pytest.raises(FetchError, match="the account has no robot_user"):
        fetching.fetch_now(provider="hetzner", kind="robot")
    assert price_server.asked == []


def test_ovh_is_read_catalogue_by_catalogue_when_asked(price_server):
    reports = fetching.fetch_now(provider="ovh")
    assert {kind: report.priced for kind, report in reports.items()} == {
        "on_demand": 4,
        "dedicated": 3,
    }
    names = ("cloud", "eco", "baremetalServers")
    assert price_server.paths() == [f"/1.0/order/catalog/public/{name}" for name in names]
    assert {asked.query["ovhSubsidiary"] for asked in price_server.asked} == {"IE"}
    assert Offer.objects.get(name="99syn01", region__code="GRA").kind == "dedicated"
    assert Offer.objects.get(name="y3-8", region__code="GRA11").kind == "cloud"


def test_vultr_is_read_page_by_page_when_asked(price_server):
    (report,) = fetching.fetch_now(provider="vultr").values()
    assert (report.priced, report.unpriced) == (4, 2)
    assert price_server.paths() == ["/v2/plans", "/v2/plans", "/v2/plans-metal"]
    assert [asked.query.get("cursor") for asked in price_server.asked] == [None, "second", None]
    assert Offer.objects.get(name="vbm-9c-99gb").kind == "dedicated"


def test_scaleway_is_read_page_by_page_for_one_zone(price_server):
    (report,) = fetching.fetch_now(provider="scaleway", region="nl-ams-1").values()
    assert (report.priced, report.unpriced) == (103, 3)
    path = "/instance/v1/zones/nl-ams-1/products/servers"
    assert [(one.path, one.query["page"]) for one in price_server.asked] == [
        (path, "1"),
        (path, "2"),
    ]


def test_upcloud_is_read_in_the_currency_of_the_account(price_server):
    account("upcloud", secret={"username": "sub/one-account", "password": KEY})
    (report,) = fetching.fetch_now(provider="upcloud").values()
    assert (report.priced, report.unpriced) == (3, 1)
    assert price_server.paths() == [
        "/1.3/price", "/1.3/plan", "/1.3/account/details/sub%2Fone-account",
    ]  # fmt: skip
    row = published()["9xCPU-9GB", "fi-hel1"]
    assert (row.amount, row.currency, row.unit) == (Decimal("0.00833"), "EUR", "hour")


def test_linode_has_a_price_in_each_region_that_sells_machines_when_read(price_server):
    fetched(enable("linode"))
    assert price_server.paths() == [*["/v4/linode/types"] * 2, *["/v4/regions"] * 3]
    assert amounts(offer__name="g6-nanode-1") == {
        ("g6-nanode-1", "eu-central"): Decimal("0.0075"),
        ("g6-nanode-1", "br-gru"): Decimal("0.0105"),
    }
    assert not Offer.objects.filter(region__code="us-store-only").exists()


def test_azure_is_read_for_one_region_along_its_links_when_due(price_server, slept):
    feed = fetched(enable("azure", region="francecentral"))
    queries = [asked.query for asked in price_server.asked]
    assert [query.get("$skip") for query in queries] == [None, "8", "16"]
    assert {query["api-version"] for query in queries} == {"2023-01-01-preview"}
    assert {"'USD'"} == {query["currencyCode"] for query in queries}
    right = amounts(purchase_model="on_demand")
    assert right["Standard_D2s_v3", "francecentral"] == Decimal("0.112")
    models = PriceObservation.objects.values_list("purchase_model", flat=True)
    assert set(models) == {"on_demand", "spot", "reserved", "savings"}
    assert (feed.summary["priced"], sum(slept)) == (9, 0)


def test_azure_is_left_alone_for_a_minute_when_no_request_remains(price_server, slept):
    price_server.azure_remaining = "0"
    fetched(enable("azure", region="francecentral"))
    # After the first and the second page; the third is the last.
    assert sum(slept) == 2 * 65
    assert amounts()


def test_azure_is_asked_again_after_a_minute_when_it_said_too_many(price_server, slept):
    price_server.fault("/api/retail/prices", too_many(retry_after=""))
    fetched(enable("azure", region="francecentral"))
    assert 65 <= sum(slept) <= 65 * 1.25 + 1
    assert amounts()


def test_aws_offer_file_is_streamed_to_one_right_price_a_type_when_due(price_server):
    feed = fetched(enable("aws", region="eu-west-1"))
    assert price_server.paths()[1:] == [OFFER_FILE]
    right = {place[0]: amount for place, amount in amounts(purchase_model="on_demand").items()}
    assert right == {
        "m5.large": Decimal("0.107"),
        "m6g.metal": Decimal("2.752"),
        "i3en.24xlarge": Decimal(3),
    }
    assert PriceObservation.objects.filter(purchase_model="reserved").count() == 4
    assert UnpricedType.objects.filter(feed=feed).count() == feed.summary["unpriced"] == 2
    assert feed.etag == OFFER_FILE


def test_aws_offer_file_is_not_fetched_again_while_its_version_is_known(price_server):
    feed = fetched(enable("aws", region="eu-west-1"))
    before = PriceObservation.objects.count()
    fetched(due_again(feed))
    assert price_server.paths().count(OFFER_FILE) == 1
    price_server.version = "20260202000000"
    fetched(due_again(feed))
    assert price_server.paths()[-1] == OFFER_FILE.replace("20260101", "20260202")
    assert PriceObservation.objects.count() == before


def test_aws_region_that_the_index_does_not_name_is_an_error_of_the_feed(price_server):
    feed = fetched(enable("aws", region="mars-north-1"))
    assert feed.last_error == "the price list has no region mars-north-1"
    assert (feed.failures, feed.checked_at) == (1, None)


def test_aws_products_are_read_signed_and_paged_when_an_account_is_there(price_server):
    aws_account()
    fetched(enable("aws", "products", "eu-west-1"))
    bodies = [json.loads(asked.body) for asked in price_server.asked]
    assert [body.get("NextToken") for body in bodies] == [None, "second"]
    filters = {one["Field"]: one["Value"] for one in bodies[0]["Filters"]}
    assert filters["regionCode"] == "eu-west-1"
    assert filters["operatingSystem"] == "Linux"
    assert amounts(purchase_model="on_demand")["m5.large", "eu-west-1"] == Decimal("0.107")
    sent = [f"{asked.headers}{asked.body!r}" for asked in price_server.asked]
    assert all("AWS4-HMAC-SHA256" in text and TOKEN not in text for text in sent)


def test_rule_07_aws_spot_is_read_by_zone_id_for_both_products(price_server):
    aws_account()
    feed = fetched(enable("aws", "spot", "eu-west-1"))
    asked = [request.body.decode() for request in price_server.asked]
    assert "Linux%2FUNIX+%28Amazon+VPC%29" in asked[1]
    assert "ProductDescription.2" in asked[1]
    assert "StartTime" in asked[1]
    # eu-west-1a is euw1-az2 for this account; where both products are told, the VPC's counts.
    assert amounts(purchase_model="spot") == {
        ("m5.large", "eu-west-1", "euw1-az2"): Decimal("0.0412"),
        ("m5.large", "eu-west-1", "euw1-az3"): Decimal("0.0387"),
        ("m5.large", "eu-west-1", "euw1-az1"): Decimal("0.047"),
    }
    assert feed.every_s == 3600
    assert 3600 <= (feed.next_due_at - feed.checked_at).total_seconds() <= 3600 * 1.1


def test_aws_savings_are_joined_on_the_on_demand_prices_that_are_known(price_server):
    feed = enable("aws", "savings", "eu-west-1")
    assert "no on-demand prices of eu-west-1" in fetched(feed).last_error
    assert price_server.asked == []
    fetched(enable("aws", region="eu-west-1"))
    feed = fetched(due_again(feed))
    assert (feed.last_error, feed.failures, feed.summary["priced"]) == ("", 0, 3)
    row = published(purchase_model="savings", plan="compute", term="1y")["m5.large", "eu-west-1"]
    assert row.amount == Decimal("0.078")


def test_gcp_key_goes_in_a_header_and_prices_are_sums_of_components(price_server):
    gcp_account(api_key=KEY)
    fetched(enable("gcp"))
    skus = [one for one in price_server.asked if one.path.endswith("/skus")]
    types = [one for one in price_server.asked if "machineTypes" in one.path]
    assert [one.query.get("pageToken") for one in (*skus, *types)] == [None, "second"] * 2
    assert {one.query["pageSize"] for one in skus} == {"5000"}
    assert all(one.headers["x-goog-api-key"] == KEY for one in skus)
    assert all(KEY not in str(one.query) for one in price_server.asked)
    assert all("x-goog-api-key" not in one.headers for one in types)
    right = amounts(purchase_model="on_demand", offer__name="n2-standard-4")
    assert right == {("n2-standard-4", "us-central1"): Decimal("0.194236")}


def test_gcp_is_read_with_a_service_account_alone_when_there_is_no_key(price_server):
    gcp_account()
    feed = fetched(enable("gcp"))
    assert feed.last_error == ""
    headers = {one.headers["authorization"] for one in price_server.asked}
    # One signed for each of the two places.
    assert len(headers) == 2
    assert all(header.startswith("Bearer ey") for header in headers)


def test_gcp_waits_half_a_minute_when_the_catalogue_said_too_many(price_server, slept):
    gcp_account(api_key=KEY)
    price_server.fault("/v1/services", too_many(retry_after=""))
    assert fetched(enable("gcp")).last_error == ""
    assert 30 <= sum(slept) <= 30 * 1.25 + 1


def test_ecb_rates_are_recorded_and_asked_about_conditionally_when_due(price_server):
    price_server.files[DAYS_90] = RATES.encode()
    feed = fetched(enable("ecb", "fx"))
    assert ExchangeRate.objects.count() == 3
    assert feed.summary["last_day"] == "2026-10-30"
    changed = feed.changed_at
    feed = fetched(due_again(feed))
    assert "if-none-match" in price_server.asked[-1].headers
    assert (feed.changed_at, feed.last_error) == (changed, "")
    assert PricePayload.objects.filter(feed=feed).count() == 1


# --- what is common -------------------------------------------------------------------------------


def test_every_kind_of_price_feed_has_a_fetcher_that_loads():
    for slug, record in PROVIDERS.items():
        assert all(callable(fetcher(slug, feed.kind).fetch) for feed in record.feeds)


def test_answer_is_kept_as_it_came_once_when_it_is_read_twice(price_server):
    feed = fetched(enable("aws", region="eu-west-1"))
    feed.etag = ""
    feed.save()
    fetched(due_again(feed))
    kept = PricePayload.objects.get(feed=feed)
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(kept.raw_gzip))) as archive:
        parts = {name: archive.extractfile(name).read() for name in archive.getnames()}
    assert list(parts) == ["index-00001.json", "offers-00001.json"]
    assert json.loads(parts["offers-00001.json"]) == fixture("aws-offer-file")
    assert kept.size_bytes == len(gzip.decompress(kept.raw_gzip))
    assert {row.payload_sha256 for row in published().values()} == {kept.sha256}


def test_feed_that_needs_an_account_says_so_when_there_is_none(price_server):
    CloudAccount.objects.filter(pk=account("hetzner").pk).update(is_enabled=False)
    feed = fetched(enable("hetzner"))
    assert feed.last_error == "there is no enabled account at hetzner"
    assert price_server.asked == []


def test_account_whose_last_check_failed_is_the_second_choice(price_server):
    bad = account("hetzner")
    CloudAccount.objects.filter(pk=bad.pk).update(name="older", check_error="unauthorized")
    good = account("hetzner")
    fetched(enable("hetzner"))
    good.refresh_from_db()
    bad.refresh_from_db()
    assert (good.last_used_at is not None, bad.last_used_at) == (True, None)


def test_fetch_now_reads_all_that_can_be_read_when_asked(price_server):
    assert set(fetching.fetch_now(provider="aws", region="eu-west-1")) == {"on_demand", "savings"}
    aws_account()
    reports = fetching.fetch_now(provider="aws", region="eu-west-1")
    assert set(reports) == {"on_demand", "savings", "spot"}
    # It is not conditional: a person wants it read.
    assert price_server.paths().count(OFFER_FILE) == 2
    assert reports["on_demand"].unchanged == reports["on_demand"].priced == 7


def test_fetch_now_makes_no_feed_that_is_read_by_itself(price_server):
    fetching.fetch_now(provider="linode")
    assert fetching.fetch_due() == 0


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"provider": "nobody"}, InvalidValue, "/provider"),
        ({"provider": "ecb"}, InvalidValue, "publishes no prices"),
        ({"provider": "aws"}, InvalidValue, "/region"),
        ({"provider": "linode", "region": "eu-central"}, InvalidValue, "one list of all"),
        ({"provider": "aws", "kind": "futures"}, InvalidValue, "/kind"),
        ({"provider": "azure", "region": "x' or 1 eq 1"}, InvalidValue, "/region"),
        ({"provider": "digitalocean"}, FetchError, "no enabled account"),
    ],
)
def test_fetch_now_refuses_with_the_reason_what_cannot_be_asked_for(
    price_server, asked, error, words
):
    with pytest.raises(error, match=words):
        fetching.fetch_now(**asked)
    assert price_server.asked == []


def test_fetch_now_raises_what_it_wrote_on_the_feed_when_refused(price_server):
    account("digitalocean")
    price_server.fault("/v2/sizes", refused("you shall not pass"))
    with pytest.raises(FetchError, match=r"answered 403.*you shall not pass"):
        fetching.fetch_now(provider="digitalocean")
    assert not PriceObservation.objects.exists()
