"""`manage.py import_prices`: what each file is, all of it or nothing, and errors by file and line."""

import gzip
import io
import json
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from backend.catalog.models import Offer, PriceFeed, PriceObservation, PricePayload
from backend.catalog.services.price_import import ImportReport
from backend.providers.http import FetchError
from tests.backend.price_lists import FILES, everything
from workers.management.commands import import_prices

pytestmark = pytest.mark.django_db


def fixture(name: str) -> Path:
    return FILES / f"{name}-synthetic.json"


CSV = FILES / "aws-offer-file-synthetic.csv"
WHOLE = {
    "aws": [fixture("aws-spot"), fixture("aws-savings-plans"), CSV],
    "gcp": [fixture("gcp-machine-types"), fixture("gcp-skus")],
    "azure": [fixture("azure-retail")],
    "hetzner": [fixture("hetzner-server-types"), fixture("hetzner-pricing")],
    "digitalocean": [fixture("digitalocean-sizes")],
    "linode": [fixture("linode-types")],
    "ovh": [fixture("ovh-servers"), fixture("ovh-cloud")],
    "scaleway": ["--region", "fr-par-1", fixture("scaleway-servers")],
    "upcloud": [fixture(f"upcloud-{name}") for name in ("price", "plan", "account")],
    "vultr": [fixture("vultr-plans"), fixture("vultr-plans-metal")],
}


def imported(*given: Any) -> str:
    output = io.StringIO()
    call_command("import_prices", *map(str, given), stdout=output, stderr=output)
    return output.getvalue()


@pytest.mark.parametrize("provider", WHOLE)
def test_files_are_recognised_by_their_content_in_any_order(provider: str) -> None:
    reports = json.loads(imported(provider, "--json", *WHOLE[provider]))
    assert sum(report["published"] for report in reports.values()) > 0
    assert all(report["published"] == report["priced"] for report in reports.values())
    assert PriceObservation.objects.count() == sum(r["priced"] for r in reports.values())
    before = everything()
    again = json.loads(imported(provider, "--json", *WHOLE[provider]))
    assert not any(report["is_changed"] for report in again.values())
    assert everything() == before


def test_aws_files_are_lists_of_their_own_kinds() -> None:
    files = [*WHOLE["aws"], fixture("aws-get-products")]
    reports = json.loads(imported("aws", *files, "--json"))
    assert {kind: report["priced"] for kind, report in reports.items()} == {
        "on_demand": 7,
        "products": 7,
        "savings": 3,
        "spot": 3,
    }
    assert set(PriceFeed.objects.values_list("region", flat=True)) == {"eu-west-1"}
    # Two lists tell the same four machines.
    assert Offer.objects.count() == 4


def test_hetzner_files_are_lists_of_their_own_kinds() -> None:
    names = ("hetzner-auction", "hetzner-robot-market", "hetzner-robot-products")
    reports = json.loads(imported("hetzner", *WHOLE["hetzner"], *map(fixture, names), "--json"))
    assert {kind: report["priced"] for kind, report in reports.items()} == {
        "on_demand": 2,
        "auction": 3,
        "robot_market": 2,
        "robot": 2,
    }
    kinds = Offer.objects.values_list("kind", flat=True)
    assert Counter(kinds) == {"vps": 2, "dedicated": 7}


def test_auction_may_shrink_and_still_publishes_what_is_new(tmp_path: Path) -> None:
    imported("hetzner", fixture("hetzner-auction"))
    auction = json.loads(fixture("hetzner-auction").read_text())
    lot = {**auction["server"][0], "cpu": "Synthetic new"}
    smaller = tmp_path / "auction.json"
    smaller.write_text(json.dumps({"server": [lot]}))
    report = json.loads(imported("hetzner", smaller, "--json"))["auction"]
    assert (report["published"], report["missing"], report["incomplete"]) == (1, 3, [])


def test_forms_of_one_list_agree() -> None:
    imported("aws", CSV)
    report = json.loads(imported("aws", fixture("aws-offer-file"), "--json"))["on_demand"]
    assert (report["unchanged"], report["published"]) == (7, 0)


def test_packed_file_is_the_same_as_the_plain_one(tmp_path: Path) -> None:
    packed = tmp_path / "list.json.gz"
    packed.write_bytes(gzip.compress(fixture("linode-types").read_bytes()))
    imported("linode", packed)
    assert PriceObservation.objects.count() == 3
    assert imported("linode", fixture("linode-types")).count("unchanged") == 1


def test_pages_in_several_files_are_one_list(tmp_path: Path) -> None:
    page = json.loads(fixture("digitalocean-sizes").read_text())
    paths = []
    for place, item in enumerate(page["sizes"]):
        paths.append(tmp_path / f"page-{place}.json")
        paths[-1].write_text(json.dumps({"sizes": [item]}))
    report = json.loads(imported("digitalocean", *paths, "--json"))["on_demand"]
    assert (report["priced"], report["unpriced"]) == (4, 2)
    assert PriceFeed.objects.count() == 1


def test_payload_is_kept_and_named(tmp_path: Path) -> None:
    imported("linode", fixture("linode-types"))
    payload = PricePayload.objects.get()
    assert fixture("linode-types").read_bytes() in gzip.decompress(bytes(payload.raw_gzip))
    hashes = set(PriceObservation.objects.values_list("payload_sha256", flat=True))
    assert hashes == {payload.sha256}


def test_linode_types_have_the_region_that_is_named() -> None:
    imported("linode", "--region", "br-gru", fixture("linode-types"))
    row = PriceObservation.objects.get(offer__name="g6-nanode-1")
    assert (row.offer.region and row.offer.region.code, row.amount) == ("br-gru", Decimal("0.0105"))


def test_line_says_what_was_done_with_the_list() -> None:
    told = imported("hetzner", *WHOLE["hetzner"])
    assert told.startswith("hetzner/on_demand: 2 priced, 2 new or changed, 2 new types")
    assert "2 types without a price, 2 other rows (2 not_offered)" in told


def broken(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("provider", "text", "said"),
    [
        ("linode", '{\n"data": [\n{]}', "list: line 3: not JSON"),
        ("linode", '{"data": [1]}', "list: data[0]: is missing, or no object"),
        ("aws", '{"products": {"a":\n{"b": x}}}', "list: line 2 at character"),
        ("aws", '{"products": {', "list: line 1 at character 14: the text ends too early"),
        ("aws", '"FormatVersion","v1"\n"SKU","x"\n', "list: line 2: no header with the columns"),
        ("aws", '{"products": [{"sku": 1}], "regionCode": "x"}', "list: no on-demand prices of x"),
        ("aws", '{"products": []}', "list: names no region: give it with --region"),
        ("aws", "{}", "list: is no price document of aws"),
        ("azure", '{"Items": [', "list: line 1: not JSON"),
        ("gcp", '{"skus": []}', "gcp: a file is missing: machine_types"),
    ],
)
def test_error_names_the_file_and_the_line(
    tmp_path: Path, provider: str, text: str, said: str
) -> None:
    path = broken(tmp_path, "list", text)
    with pytest.raises(CommandError) as caught:
        imported(provider, path)
    assert said in str(caught.value)
    assert "page 1" not in str(caught.value)
    assert not PriceFeed.objects.exists()


def test_error_names_the_second_file_when_the_first_is_right(tmp_path: Path) -> None:
    path = broken(tmp_path, "second.json", '{"data":\n[')
    with pytest.raises(CommandError, match=r"second\.json: line 2: not JSON"):
        imported("linode", fixture("linode-types"), path)
    assert not PriceObservation.objects.exists()


def test_nothing_is_taken_over_when_the_last_list_is_wrong(tmp_path: Path) -> None:
    path = broken(tmp_path, "spot.json", '{"SpotPriceHistory": [}')
    with pytest.raises(CommandError, match=r"spot\.json"):
        imported("aws", CSV, path, "--region", "eu-west-1")
    assert not PriceObservation.objects.exists()


@pytest.mark.parametrize("damage", ["cut", "crc", "bytes"])
def test_damaged_file_is_refused_by_name(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "list.gz"
    packed = bytearray(gzip.compress(fixture("linode-types").read_bytes()))
    if damage == "cut":
        del packed[len(packed) // 2 :]
    else:
        packed[-6 if damage == "crc" else 40] ^= 0xFF
    path.write_bytes(packed)
    with pytest.raises(CommandError, match=r"list\.gz: is damaged"):
        imported("linode", path)


def test_file_of_other_bytes_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_bytes(b'{"data": [\xff\xfe')
    with pytest.raises(CommandError, match=r"list\.json: not UTF-8"):
        imported("linode", path)


def test_missing_file_is_an_error() -> None:
    with pytest.raises(CommandError, match="No such file"):
        imported("linode", "/nowhere/at/all.json")


@pytest.mark.parametrize("given", [[], ["--live", "x.json"]])
def test_either_files_or_the_provider_are_asked(given: list[str]) -> None:
    with pytest.raises(CommandError, match="either FILEs or --live"):
        imported("linode", *given)


def test_live_asks_the_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, str]] = []

    def fetched(**given: str) -> dict[str, ImportReport]:
        asked.append(given)
        return {"on_demand": ImportReport(priced=3, feeds=["aws/on_demand/eu-west-1"])}

    monkeypatch.setattr(import_prices, "fetch_now", fetched)
    assert imported("aws", "--live", "--region", "eu-west-1") == (
        "aws/on_demand/eu-west-1: 3 priced\n"
    )
    assert asked == [{"provider": "aws", "region": "eu-west-1"}]


def test_provider_that_does_not_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(**_: str) -> None:
        raise FetchError("api.example: 503")

    monkeypatch.setattr(import_prices, "fetch_now", failed)
    with pytest.raises(CommandError, match=r"api\.example: 503"):
        imported("aws", "--live", "--region", "eu-west-1")


def test_shorter_list_waits_until_it_is_accepted(tmp_path: Path) -> None:
    imported("digitalocean", fixture("digitalocean-sizes"))
    page = json.loads(fixture("digitalocean-sizes").read_text())
    page["sizes"][0]["price_hourly"] = 0.0075
    page["sizes"] = page["sizes"][:1]
    path = broken(tmp_path, "short.json", json.dumps(page))
    assert "--accept-missing says that it is whole" in imported("digitalocean", path)
    fresh = PriceObservation.objects.filter(amount=Decimal("0.0075"), offer__region__code="fra1")
    assert [row.is_published for row in fresh] == [False]
    told = imported("digitalocean", path, "--accept-missing")
    assert "accept-missing" not in told
    assert [row.is_published for row in fresh.all()] == [True]


def test_progress_is_printed_while_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_prices, "PROGRESS_EVERY_S", 0.0)
    path = tmp_path / "types.json"
    shutil.copy(fixture("linode-types"), path)
    assert f"{path}: 0 MB read (file 1 of 1)" in imported("linode", path)
