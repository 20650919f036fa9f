"""Tables that Rackrate exported itself: columns beside the known ones, and figures of its dialects."""

import datetime as dt
from decimal import Decimal

import pytest

from backend.benchmarks.calc.host_lists.host_lists import read_hosts
from backend.catalog.calc.tables.offers import offers
from backend.catalog.calc.tables.price_rows import prices_of_table
from backend.catalog.calc.tables.quotes import quotes
from backend.catalog.calc.tables.table_figures import guess_locale
from backend.catalog.calc.tables.tables import Options
from backend.foundation.errors import InvalidDocument
from tests.pure.parsing.test_quotes import TODAY, table

PRICE = {
    "price_id": "7d6b0e4c-0000-4000-8000-000000000001",
    "offer_id": "hosty-ex44",
    "amount": "0.125",
    "currency": "EUR",
    "unit": "hour",
    "observed_at": "2026-11-10T08:00:00.250000Z",
    "state": "current",
}


def price(**cells):
    found = prices_of_table(table(PRICE | cells), today=TODAY)
    assert found.refused == ()
    return found.rows[0]


def refused(**cells):
    found = prices_of_table(table(PRICE | cells), today=TODAY)
    assert found.rows == ()
    return [(one.column, one.detail) for one in found.refused]


@pytest.mark.parametrize(
    ("cells", "locale"),
    [
        (["0.25", "1.249", "text"], "en"),
        (["0,25", "1.249,5"], "de"),
        (["0.25", "0,25"], ""),
        (["1.249", "7"], ""),
    ],
)
def test_figures_of_a_table_show_their_locale(cells, locale):
    assert guess_locale(cells) == locale


@pytest.mark.parametrize(("figures", "ram"), [("0.5;1.249", 1.249), ("0,5;1,249", 1.249)])
def test_ambiguous_figure_of_an_export_means_what_others_show(figures, ram):
    text = f"offer_id;provider;offer;kind;price;ram_gib\nown-a;own;a;onprem;{figures}\n"
    found = offers(text, today=TODAY)
    assert (found.refused, found.rows[0].memory_bytes) == ((), round(ram * 2**30))
    assert (found.rows[0].slug, found.rows[0].price) == ("own-a", None)
    assert "calculated figures" in found.warnings[0].detail


def test_locale_that_is_stated_wins_over_what_an_export_shows():
    text = "offer_id;provider;offer;kind;ram_gib\nown-a;own;a;onprem;1.249\n"
    assert offers(text, today=TODAY).refused[0].column == "ram_gib"
    found = offers(text, today=TODAY, options=Options({"locale": "de"}))
    assert found.rows[0].memory_bytes == 1249 * 2**30


def test_calculated_columns_are_unknown_without_the_offers_slug():
    text = "provider,offer,kind,score\nown,a,onprem,5\n"
    [remark] = offers(text, today=TODAY).refused
    assert (remark.column, remark.detail[:14]) == ("score", "unknown column")


def test_size_of_a_float_is_the_whole_byte():
    text = f"offer_id,provider,offer,kind,ram_gib\na,own,a,onprem,{658203738 / 2**30!r}\n"
    assert offers(text, today=TODAY).rows[0].memory_bytes == 658203738


def test_quote_states_the_size_of_its_disks_as_the_list_does():
    text = (
        "price_id,provider,model,currency,monthly_net,quoted_on,disk_gb,disk_kind,state\n"
        ",Hosty,EX44,EUR,37.5,2026-11-01,1024.5,nvme+hdd,current\n"
    )
    row = quotes(text, today=TODAY).rows[0]
    assert (row.disk_bytes, row.disk_kind) == (1_024_500_000_000, "nvme+hdd")


def test_price_is_read_to_its_moment():
    row = price()
    assert (row.slug, row.price_id) == ("hosty-ex44", PRICE["price_id"])
    assert (row.price.amount, row.price.purchase_model) == (Decimal("0.125"), "on_demand")
    assert row.price.observed_at == dt.datetime(2026, 11, 10, 8, 0, 0, 250000, dt.UTC)
    assert price(observed_at="2026-11-10 08:00:00").price.observed_at.tzinfo == dt.UTC
    undated = price(observed_at="").price
    assert (undated.observed_at, undated.observed_on) == (None, TODAY)


def test_price_names_its_offer_otherwise_where_it_has_no_slug():
    row = price(offer_id="", provider="Hosty", offer="EX44", region="FSN1")
    assert (row.provider, row.name, row.region) == ("Hosty", "EX44", "FSN1")
    assert [column for column, _ in refused(offer_id="")] == ["provider", "offer"]


@pytest.mark.parametrize(
    ("cells", "column", "words"),
    [
        ({"amount": ""}, "amount", "a price is needed"),
        ({"unit": "once", "purchase_model": "spot"}, "unit", "is not paid per once"),
        ({"purchase_model": "reserved"}, "term", "needs one of"),
        ({"price_id": "", "tax_basis": "gross"}, "tax_rate", "needs its rate of tax"),
        ({"observed_at": "2026-11-16T00:00:00Z"}, "observed_at", "in the future"),
        ({"observed_at": "soon"}, "observed_at", "is not a time"),
        ({"observed_at": "0001-01-01T00:00:00+14:00"}, "observed_at", "is not a time"),
    ],
)
def test_price_that_cannot_be_kept_is_refused(cells, column, words):
    [(where, detail)] = refused(**cells)
    assert where == column
    assert words in detail


def test_gross_price_of_a_list_may_lack_its_rate():
    assert price(tax_basis="gross").price.tax_rate is None


def test_table_of_prices_without_amounts_is_refused():
    found = prices_of_table("offer_id,currency\na,EUR\n", today=TODAY)
    assert [one.column for one in found.refused] == ["amount", "unit"]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_exported_hosts_keep_their_ids_and_leave_out_the_workers_own(mark):
    lines = [
        "id,name,driver,address,port,tags,bastion,is_in_production",
        "a,'=rack,static,192.0.2.7,22,db web,b,TRUE",
        "b,gate,static,192.0.2.1,2222,,,FALSE",
        "c,here,local,,22,,,FALSE",
    ]
    text = "\ufeff" + "\r\n".join(lines).replace(",", mark)
    reading = read_hosts(text, "csv")
    assert [entry.host_id for entry in reading.hosts] == ["a", "b"]
    rack, gate = (entry.host.stated_in(reading.columns) for entry in reading.hosts)
    assert rack == {
        "name": "=rack", "address": "192.0.2.7", "port": 22, "tags": ["db", "web"], "bastion": "b",
        "is_in_production": True,
    }  # fmt: skip
    assert (gate["tags"], gate["port"], gate["bastion"]) == ([], 2222, None)
    assert gate["is_in_production"] is False


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("TRUE", "FALSE"),
        ("WAHR", "FALSCH"),
        ("VRAI", "FAUX"),
        ("VERDADERO", "FALSO"),
        ("VERO", "0"),
    ],
)
def test_flags_of_a_spreadsheet_in_another_language_are_read(yes, no):
    for column in ("is_in_production", "production"):
        text = f"id,name,address,{column}\na,rack,192.0.2.7,{yes}\nb,gate,192.0.2.1,{no}\n"
        rack, gate = (entry.host for entry in read_hosts(text, "csv").hosts)
        assert (rack.is_in_production, gate.is_in_production) == (True, False)


def test_columns_of_the_export_are_unknown_without_its_id():
    with pytest.raises(InvalidDocument) as caught:
        read_hosts("address,driver\n192.0.2.7,static\n", "csv")
    assert caught.value.errors[0][0] == "/text/1"
