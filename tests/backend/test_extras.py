"""Prices of extras: from a table, from a price list, and in the API."""

import datetime as dt
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.catalog.models import ExtraPrice
from backend.catalog.selectors.data_version import data_version
from backend.catalog.services.extra_tables import extras_import, extras_load
from backend.catalog.services.table_rows import TableReport
from backend.foundation.errors import InvalidValue
from backend.money.price_lists import ParsedExtra
from backend.providers.hetzner import prices as hetzner
from tests import factories
from tests.backend.conftest import API, fields, rows
from tests.backend.price_lists import answer, price, record
from tests.backend.test_rankings_api import results

pytestmark = pytest.mark.django_db
HEADER = "provider,region,kind,up_to,amount,currency,unit,observed_on,source\n"
TIERS = (
    "aws,us-east-2,egress,10240,0.09,USD,gb,2026-07-20,list",
    "aws,us-east-2,egress,,0.085,USD,gb,2026-07-20,list",
)


def imported(*lines: str, **given: Any) -> TableReport:
    text = HEADER + "\n".join(lines)
    return extras_import(workspace=factories.workspace(), text=text, actor="test", **given)


def refused(*lines: str) -> list[tuple[int, str]]:
    return [(remark.line, remark.column) for remark in imported(*lines).refused]


# --- tables -----------------------------------------------------------------------------------


def test_table_is_stored_and_counted() -> None:
    factories.region("us-east-2")
    before = data_version()
    report = imported(*TIERS, "aws,,disk,,0.08,USD,,2026-07-20,list")
    assert (report.rows, report.prices_new, report.refused) == (3, 2, [])
    egress = ExtraPrice.objects.get(kind="egress")
    assert egress.region is not None
    assert (egress.provider.slug, egress.region.code) == ("aws", "us-east-2")
    assert egress.tiers == [["10240", "0.09"], [None, "0.085"]]
    assert (egress.observed_on, egress.source) == (dt.date(2026, 7, 20), "list")
    assert data_version() > before
    assert AuditEntry.objects.get().action == "extras_import"


def test_table_read_again_changes_nothing() -> None:
    factories.region("us-east-2")
    imported(*TIERS)
    version = data_version()
    report = imported(*TIERS)
    assert (report.prices_new, report.prices_unchanged, report.refused) == (0, 1, [])
    # the same on a later day is known already, too
    later = [line.replace("2026-07-20", "2026-08-20") for line in TIERS]
    assert imported(*later).prices_unchanged == 1
    assert (ExtraPrice.objects.count(), data_version()) == (1, version)


def test_change_is_a_new_row_and_the_same_day_is_refused() -> None:
    factories.provider("aws")
    imported("aws,,disk,,0.08,USD,,2026-07-20,list")
    assert refused("aws,,disk,,0.09,USD,,2026-07-20,list") == [(2, "")]
    assert imported("aws,,disk,,0.09,USD,,2026-08-01,list").prices_new == 1
    # told late: it was so in between
    assert imported("aws,,disk,,0.085,USD,,2026-07-25,list").prices_new == 1
    stored = ExtraPrice.objects.order_by("observed_on").values_list("tiers", flat=True)
    assert [tiers[0][1] for tiers in stored] == ["0.08", "0.085", "0.09"]


def test_provider_and_region_must_be_known() -> None:
    factories.provider("aws")
    assert refused("awz,,disk,,0.08,USD,,,") == [(2, "provider")]
    assert refused("aws,us-east-9,disk,,0.08,USD,,,") == [(2, "region")]
    assert ExtraPrice.objects.count() == 0
    assert imported("Amazon Web Services,,disk,,0.08,USD,,,").prices_new == 1


def test_dry_run_says_the_same_and_stores_nothing() -> None:
    factories.provider("aws")
    report = imported("aws,,disk,,0.08,USD,,,", is_dry=True)
    assert (report.prices_new, ExtraPrice.objects.count()) == (1, 0)


def test_command_stores_a_file_and_fails_on_a_bad_line(tmp_path: Path) -> None:
    factories.provider("aws")
    file = tmp_path / "extras.csv"
    file.write_text(f"{HEADER}aws,,ipv4,,0.005,USD,,,")
    out = io.StringIO()
    call_command("import_extras", str(file), "--json", stdout=out)
    assert json.loads(out.getvalue())["prices_new"] == 1
    file.write_text(f"{HEADER}aws,,ipv6,,0.005,USD,,,")
    with pytest.raises(CommandError, match="line 2, kind"):
        call_command("import_extras", str(file), stderr=io.StringIO())


# --- price lists ------------------------------------------------------------------------------


def _hetzner(**given: Any) -> Any:
    lists = answer("hetzner-pricing-synthetic.json"), answer("hetzner-server-types-synthetic.json")
    return record(hetzner.parse(lists[0], [lists[1]]), provider="hetzner", region="", **given)


def test_address_of_a_price_list_counts_in_the_basis(client: Client) -> None:
    _hetzner()
    address = ExtraPrice.objects.get()
    assert (address.kind, address.currency) == ("ipv4", "EUR")
    assert address.region is not None
    assert address.region.code == "fsn1"
    offer = address.region.offers.get(name="aa11")
    factories.sample(offer, 100)
    [bare] = results(client, "period=month&currency=EUR")
    [row] = results(client, "period=month&currency=EUR&basis=ip,egress&basis_egress_gb=21991")
    # 730 h end at the cap of 0.5; 20 TiB = 21,990.23 GB of traffic are in, a TB beyond costs 1
    beyond = (Decimal(21991) - Decimal(21990232555520) / 10**9) / 1000
    assert Decimal(row["price"]) - Decimal(bare["price"]) == Decimal("0.5") + beyond
    assert row["price_basis"] == "machine+ip+egress"


def test_price_list_read_again_appends_no_extra() -> None:
    _hetzner()
    version = data_version()
    assert not _hetzner(day=1).is_changed
    assert (ExtraPrice.objects.count(), data_version()) == (1, version)


def test_changed_address_is_a_new_row_and_counts_as_a_change() -> None:
    def address(amount: str) -> ParsedExtra:
        return ParsedExtra(
            provider="aws",
            region="eu-west-1",
            name="ipv4",
            amount=Decimal(amount),
            currency="USD",
            unit="hour",
            source="list",
        )

    record([price(), address("0.005")])
    assert record([price(), address("0.006")], day=1).is_changed
    # the last word of a day counts
    record([price(), address("0.007")], day=1)
    stored = ExtraPrice.objects.order_by("observed_on").values_list("tiers", flat=True)
    assert list(stored) == [[[None, "0.005"]], [[None, "0.007"]]]


def test_other_extras_of_a_list_are_in_no_basis() -> None:
    told: dict[str, Any] = {
        "provider": "aws",
        "amount": Decimal(1),
        "currency": "USD",
        "unit": "hour",
    }
    floating = ParsedExtra(region="eu-west-1", name="floating", source="list", **told)
    nowhere = ParsedExtra(region="mars-1", name="ipv4", source="list", **told)
    record([price(), floating, nowhere])
    assert ExtraPrice.objects.count() == 0


# --- the API ----------------------------------------------------------------------------------


def test_list_shows_the_tiers_in_force(client: Client) -> None:
    factories.region("us-east-2")
    imported(*TIERS, "aws,,disk,,0.08,USD,,2026-07-20,list")
    imported("aws,,disk,,0.07,USD,,2026-08-20,list")
    listed = rows(client.get(f"{API}/extras.csv"))
    shown = ("region", "kind", "tier", "up_to", "amount")
    assert [tuple(row[name] for name in shown) for row in listed] == [
        ("", "disk", "1", "", "0.07"),
        ("us-east-2", "egress", "1", "10240", "0.09"),
        ("us-east-2", "egress", "2", "", "0.085"),
    ]
    assert {row["unit"] for row in listed} == {"GB-month", "GB"}
    then = client.get(f"{API}/extras?kind=disk&as_of=2026-08-19").json()
    assert [row["amount"] for row in then["results"]] == ["0.08"]
    assert then["count"] == 1
    assert client.get(f"{API}/extras?provider=gcp").json()["count"] == 0
    assert client.get(f"{API}/extras?region=us-east-2").json()["count"] == 2
    assert fields(client.get(f"{API}/extras?kind=ram")) == ["kind"]


def test_table_of_the_program_is_refused_as_a_whole_for_one_bad_line() -> None:
    with pytest.raises(InvalidValue, match="line 2, amount"):
        extras_load((HEADER + "aws,us-east-1,disk,,,USD,,,").encode(), today=dt.date(2026, 11, 22))
    assert not ExtraPrice.objects.exists()
