"""Quotes from a table: stored as offers with monthly prices, good lines beside bad ones."""

import datetime as dt
import io
import json
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from backend.accounts.models import AuditEntry, Workspace
from backend.catalog.calc.tables.tables import Remark
from backend.catalog.models import Offer, PriceObservation, Provider, Region
from backend.catalog.selectors.data_version import data_version
from backend.catalog.services.table_rows import TableReport
from backend.catalog.services.tables import table_import
from tests import factories
from tests.backend.conftest import API, rows
from tests.pure.parsing.test_quotes import GOOD, table

pytestmark = pytest.mark.django_db
TODAY = dt.date(2026, 11, 15)


def imported(*quotes: dict[str, str], **given: Any) -> TableReport:
    text = given.pop("text", None) or table(*quotes)
    return table_import(
        **{
            "kind": "quotes",
            "workspace": factories.workspace(),
            "text": text,
            "actor": "test",
            "today": TODAY,
            **given,
        }
    )


def counts(report: TableReport) -> tuple[int, int, int, int]:
    return (
        report.offers_new,
        report.offers_changed,
        report.prices_new,
        report.prices_unchanged,
    )


def test_rule_26_a_quote_becomes_a_dedicated_offer_with_a_monthly_price() -> None:
    before = data_version()
    report = imported(GOOD)
    assert (counts(report), report.rows, report.refused) == ((1, 0, 1, 0), 1, [])
    assert data_version() > before
    offer = Offer.objects.get()
    assert (offer.slug, offer.name, offer.kind) == (
        "hetzner-ax41-nvme-fsn1",
        "AX41-NVMe",
        "dedicated",
    )
    assert (offer.provider.slug, offer.provider.name) == ("hetzner", "Hetzner")
    assert (offer.region and offer.region.code, offer.workspace) == (
        "FSN1",
        factories.workspace(),
    )
    assert (offer.vcpu_count, offer.thread_count, offer.vcpu_kind) == (12, 12, "dedicated")
    assert (offer.memory_bytes, offer.disk_bytes) == (64 * 2**30, 1024 * 10**9)
    price = PriceObservation.objects.get()
    assert (price.amount, price.currency, price.unit) == (Decimal("37.30"), "EUR", "month")
    assert (price.purchase_model, price.setup_amount, price.minimum_months) == ("monthly", 39, 1)
    assert price.valid_until == dt.date(2026, 12, 31)
    assert price.observed_at == dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
    assert price.included["is_traffic_unlimited"] is True
    assert (price.tax_basis, price.is_published, price.source) == (
        "net",
        True,
        "quote: sales@hoster.example",
    )
    entry = AuditEntry.objects.get(action="quotes_import")
    assert (entry.actor, entry.detail["prices_new"]) == ("test", 1)


def test_rule_26_good_lines_are_stored_and_bad_ones_listed() -> None:
    report = imported(GOOD, GOOD | {"model": "b", "currency": ""}, GOOD | {"model": "c"})
    assert report.rows == 3
    assert [str(remark)[:16] for remark in report.refused] == ["line 3, currency"]
    assert set(Offer.objects.values_list("name", flat=True)) == {"AX41-NVMe", "c"}


def test_rule_26_a_dry_run_says_the_same_and_stores_nothing() -> None:
    bad = GOOD | {"model": "b", "monthly_net": "-1"}
    version = data_version()
    dry = imported(GOOD, bad, is_dry=True)
    tables = (Offer, PriceObservation, Provider, Region, AuditEntry)
    assert [model.objects.count() for model in tables] == [0] * 5
    assert data_version() == version
    wet = imported(GOOD, bad)
    assert (counts(dry), dry.refused) == (counts(wet), wet.refused)
    assert (dry.is_dry, wet.is_dry) == (True, False)


def test_table_read_again_changes_nothing() -> None:
    imported(GOOD)
    version = data_version()
    assert counts(imported(GOOD)) == (0, 0, 0, 1)
    assert data_version() == version
    # a new quote of the same model is a new price; the old one stays
    assert counts(imported(GOOD | {"quoted_on": "2026-11-10", "monthly_net": "39"})) == (0, 0, 1, 0)
    assert PriceObservation.objects.count() == 2


def test_another_price_of_the_same_day_is_refused_and_not_overwritten() -> None:
    imported(GOOD)
    report = imported(GOOD | {"monthly_net": "40"})
    assert counts(report) == (0, 0, 0, 0)
    assert str(report.refused[0]) == "line 2: another price of 2026-11-01 is stored, of 37.3 EUR"
    twice = imported(GOOD | {"model": "new"}, GOOD | {"model": "new", "monthly_net": "40"})
    assert [remark.line for remark in twice.refused] == [3]
    assert "as line 2" in twice.refused[0].detail
    # unless the minimum term tells them apart
    both = imported(GOOD | {"model": "x"}, GOOD | {"model": "x", "min_term_months": "12"})
    assert (both.refused, both.prices_new, both.offers_new) == ([], 2, 1)


def test_a_quote_fills_in_what_is_not_known_and_warns_of_the_rest() -> None:
    imported(GOOD | {"ram_gib": "", "cores": "8", "threads": "16"})
    report = imported(GOOD | {"quoted_on": "2026-11-02"})
    assert counts(report) == (0, 1, 1, 0)
    offer = Offer.objects.get()
    assert (offer.memory_bytes, offer.thread_count) == (64 * 2**30, 16)
    assert {remark.detail.split()[0] for remark in report.warnings} == {
        "thread_count",
        "vcpu_count",
    }


def test_lines_of_one_model_are_merged_into_one_offer() -> None:
    report = imported(GOOD | {"ram_gib": ""}, GOOD | {"min_term_months": "12"})
    assert counts(report) == (1, 0, 2, 0)
    assert Offer.objects.get().memory_bytes == 64 * 2**30


def test_what_others_see_is_left_alone() -> None:
    factories.offer("hetzner-ax41-nvme-fsn1", provider_slug="hetzner", name="AX41-NVMe")
    elsewhere = Workspace.objects.create(slug="other", name="Other")
    factories.offer("hetzner-b-fsn1", provider_slug="hetzner", workspace=elsewhere, name="b")
    report = imported(GOOD, GOOD | {"model": "b"}, GOOD | {"model": "AX 41"})
    assert [remark.line for remark in report.refused] == [2, 3]
    assert all("not an offer of this workspace" in one.detail for one in report.refused)
    assert PriceObservation.objects.count() == 1


def test_names_that_make_no_address_or_the_same_one_are_refused() -> None:
    report = imported(
        GOOD | {"model": "***"},
        GOOD | {"model": "x" * 119},
        GOOD | {"model": "A B"},
        GOOD | {"model": "a-b"},
    )
    assert [remark.line for remark in report.refused] == [2, 3, 5]
    assert "is the offer 'A B' already" in report.refused[2].detail


def test_a_provider_is_made_on_first_use_under_its_own_name() -> None:
    imported(GOOD | {"provider": "Hosting Müller"}, GOOD | {"provider": "OVHcloud"})
    assert dict(Provider.objects.values_list("slug", "name")) == {
        "hosting-muller": "Hosting Müller",
        "ovh": "OVHcloud",
    }


def test_rule_26_an_expired_quote_is_listed_as_stale(client: Client) -> None:
    report = imported(GOOD | {"quoted_on": "2020-01-01", "valid_until": "2020-12-31"})
    assert [remark.column for remark in report.warnings] == ["valid_until"]
    [row] = rows(client.get(f"{API}/prices.csv"))
    assert (row["state"], row["setup"], row["tax_basis"]) == ("stale", "39", "net")
    assert rows(client.get(f"{API}/prices.csv?state=current")) == []
    assert len(rows(client.get(f"{API}/prices.csv?state=stale"))) == 1
    assert [row["state"] for row in rows(client.get(f"{API}/prices.csv?as_of=2020-01-02"))] == [
        "current"
    ]


def test_rule_24_a_quote_is_ranked_net_with_its_setup_fee_spread(client: Client) -> None:
    gross = {"monthly_net": "", "setup_net": "", "monthly_gross": "119", "setup_gross": "1190"}
    imported(GOOD | gross | {"tax_rate": "19%", "currency": "USD"})
    imported(GOOD | {"model": "net", "monthly_net": "100", "setup_net": "1000", "currency": "USD"})
    for offer in Offer.objects.all():
        factories.sample(offer, 5000.0)
    ranked = client.get(f"{API}/rankings?period=month").json()["results"]
    # 119 / 1.19 + 1,190 / 1.19 / 12 = 100 + 1,000 / 12; a month's price under the default term
    assert [round(Decimal(row["price"]), 2) for row in ranked] == [Decimal("183.33")] * 2
    bare = client.get(f"{API}/rankings?period=month&setup_months=0").json()["results"]
    assert [Decimal(row["price"]) for row in bare] == [100, 100]
    assert {row["price_term"] for row in ranked} == {"monthly"}
    price = PriceObservation.objects.get(tax_basis="gross")
    assert (price.amount, price.tax_rate) == (119, Decimal("0.19"))
    address = f"{API}/prices/{price.pk}"
    detail = client.get(address).json()
    assert Decimal(detail["amount_net"]) == 100
    assert (detail["amount_gross"], detail["setup"], detail["setup_months"]) == ("119", "1190", 12)
    assert Decimal(detail["setup_per_month"]).quantize(Decimal("0.01")) == Decimal("99.17")
    longer = client.get(f"{address}?setup_months=34").json()
    assert (longer["setup_months"], longer["setup_per_month"]) == (34, "35")


# --- the command ----------------------------------------------------------------------------------


def command(path: Path | str, *options: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("import_quotes", str(path), *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_command_stores_a_file_and_says_what_came_of_it(tmp_path: Path) -> None:
    file = tmp_path / "quotes.csv"
    file.write_text(table(GOOD | {"quoted_on": "2026-01-01", "note": "=x", "valid_until": ""}))
    told, warned = command(file, "--dry-run")
    assert "1 lines; would be stored: 1 new offers" in told
    assert "line 2, note" in warned
    assert not Offer.objects.exists()
    document = json.loads(command(file, "--json")[0])
    assert (document["offers_new"], document["prices_new"], document["refused"]) == (1, 1, [])
    assert document["warnings"][0]["column"] == "note"
    assert Offer.objects.count() == 1


def test_command_fails_with_one_line_when_a_line_was_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "quotes.csv"
    good = GOOD | {"quoted_on": "2026-01-01", "valid_until": ""}
    file.write_text(table(good, good | {"model": "b", "currency": ""}))
    with pytest.raises(
        CommandError, match="1 of 2 lines were refused; the first: line 3, currency"
    ):
        command(file)
    assert Offer.objects.count() == 1
    with pytest.raises(CommandError, match="No such file"):
        command(tmp_path / "none.csv")


def test_command_reads_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    text = table(GOOD | {"quoted_on": "2026-01-01", "valid_until": ""})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert "1 prices" in command("-")[0]


def test_report_is_a_document() -> None:
    report = TableReport(is_dry=False, rows=1, refused=[Remark(2, "currency", "none")])
    assert report.as_document()["refused"] == [{"line": 2, "column": "currency", "detail": "none"}]


# --- what waits, and what is corrected ------------------------------------------------------------


def test_an_implausible_price_waits_and_the_others_are_in_force(client: Client) -> None:
    tiny = GOOD | {"model": "tiny", "cores": "32", "threads": "", "monthly_net": "0.5"}
    report = imported(GOOD, tiny, GOOD | {"model": "huge", "monthly_net": "9000000000"})
    assert (report.prices_new, report.prices_waiting, report.refused) == (3, 2, [])
    assert [(one.line, one.state) for one in report.lines] == [
        (2, "new"),
        (3, "waiting"),
        (4, "waiting"),
    ]
    assert "more than any machine costs" in report.lines[2].why
    waiting = rows(client.get(f"{API}/prices.csv?state=quarantined"))
    assert {row["offer"] for row in waiting} == {"tiny", "huge"}
    assert [row["offer"] for row in rows(client.get(f"{API}/prices.csv"))] == ["AX41-NVMe"]


def test_a_price_ten_times_the_offers_others_waits() -> None:
    imported(GOOD)
    report = imported(GOOD | {"quoted_on": "2026-11-10", "monthly_net": "373.00"})
    assert (report.prices_waiting, report.lines[0].state) == (1, "waiting")
    assert "beside 37.3" in report.lines[0].why


def test_a_wrong_quote_of_the_same_day_is_corrected_when_asked_for() -> None:
    imported(GOOD | {"monthly_net": "3.73"})
    report = imported(GOOD, is_replacing=True)
    assert (report.prices_replaced, report.prices_waiting, report.refused) == (1, 0, [])
    assert PriceObservation.objects.get().amount == Decimal("37.30")
    entry = AuditEntry.objects.filter(action="quotes_import").latest("at")
    assert entry.detail["prices_replaced"] == 1


@pytest.mark.parametrize(
    ("old", "new"), [("3.73", "37.30"), ("37.30", "37.31"), ("1000", "0.5"), ("0.123456789", "2")]
)
def test_trail_keeps_the_old_and_the_new_amount_when_a_quote_is_replaced(old, new) -> None:
    imported(GOOD | {"monthly_net": old})
    imported(GOOD | {"monthly_net": new}, is_replacing=True)
    price = PriceObservation.objects.get()
    entry = AuditEntry.objects.get(action="price_replace")
    assert entry.object_id == str(price.pk)
    assert Decimal(str(entry.before["amount"])) == Decimal(old)
    assert Decimal(str(entry.after["amount"])) == Decimal(new) == price.amount
    assert {entry.before["offer"], entry.after["offer"]} == {price.offer.slug}
    assert (entry.before["currency"], entry.before["unit"]) == (price.currency, price.unit)


def test_trail_keeps_each_amount_when_one_price_is_replaced_six_times() -> None:
    amounts = ["10", "11", "12", "13", "14", "15", "16"]
    for amount in amounts:
        imported(GOOD | {"monthly_net": amount}, is_replacing=True)
    entries = AuditEntry.objects.filter(action="price_replace").order_by("id")
    kept = [(entry.before["amount"], entry.after["amount"]) for entry in entries]
    assert kept == list(pairwise(amounts))


def test_trail_says_nothing_of_prices_when_a_replacement_was_only_tried() -> None:
    imported(GOOD | {"monthly_net": "3.73"})
    imported(GOOD, is_replacing=True, is_dry=True)
    assert not AuditEntry.objects.filter(action="price_replace").exists()


def test_a_slip_in_a_providers_name_makes_no_new_provider() -> None:
    report = imported(GOOD | {"provider": "Hetzer"})
    assert [(one.line, one.column) for one in report.refused] == [(2, "provider")]
    assert "write 'Hetzner'" in report.refused[0].detail
    assert not Provider.objects.exists()
    assert imported(GOOD | {"provider": "Hetzer"}, known_providers=["Hetzer"]).prices_new == 1


def test_one_slug_serves_tables_and_price_lists() -> None:
    named = GOOD | {"model": "R1.1_a"}
    report = imported(named, GOOD | {"model": "R11a"})
    assert report.refused == []
    assert set(Offer.objects.values_list("slug", flat=True)) == {
        "hetzner-r1-1-a-fsn1",
        "hetzner-r11a-fsn1",
    }
    # an offer that an older version named otherwise is the same offer
    Offer.objects.filter(name="R1.1_a").update(slug="hetzner-r11-a-fsn1")
    assert imported(named).prices_unchanged == 1


def test_command_takes_the_locale_and_the_meaning_of_headers(tmp_path: Path) -> None:
    file = tmp_path / "quotes.csv"
    file.write_text("Hoster;Modell;Preis;Datum\nHosty;EX44;1.249 €;10.11.2025\n")
    told, _ = command(file, "--locale", "de", "--map", "Preis=monthly_net")
    assert "line 2: hosty-ex44 1249 EUR/month, new" in told
    assert PriceObservation.objects.get().amount == 1249
