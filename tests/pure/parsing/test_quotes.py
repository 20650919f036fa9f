"""Quotes and offers from a table: what is read, and every refusal by line and column."""

import csv
import datetime as dt
import io
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.catalog.calc.tables import tables
from backend.catalog.calc.tables.offers import COLUMNS as OFFER_COLUMNS
from backend.catalog.calc.tables.offers import offers
from backend.catalog.calc.tables.quotes import COLUMNS, quotes

TODAY = dt.date(2026, 11, 15)
# The columns of rule 26, in its order.
RULE = [
    "provider", "location", "model", "cpu", "cores", "threads", "ram_gib", "disks", "nic_gbit",
    "currency", "monthly_net", "setup_net", "min_term_months", "traffic_tb", "quoted_on",
    "valid_until", "url/contact", "note",
]  # fmt: skip
GOOD = {
    "provider": "Hetzner",
    "location": "FSN1",
    "model": "AX41-NVMe",
    "cpu": "AMD Ryzen 5 3600",
    "cores": "6",
    "threads": "12",
    "ram_gib": "64",
    "disks": "2x512 GB NVMe",
    "nic_gbit": "1",
    "currency": "EUR",
    "monthly_net": "37.30",
    "setup_net": "39",
    "min_term_months": "1",
    "traffic_tb": "unlimited",
    "quoted_on": "2026-11-01",
    "valid_until": "2026-12-31",
    "url/contact": "sales@hoster.example",
    "note": "by phone",
}


def table(*rows, columns=None, delimiter=","):
    columns = columns or list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, delimiter=delimiter, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def quoted(**cells):
    """What is read of one quote with these cells changed."""
    return quotes(table(GOOD | cells), today=TODAY)


def refusals(found):
    return [(remark.line, remark.column) for remark in found.refused]


def test_rule_26_a_quote_has_these_columns_and_is_read_exactly():
    found = quotes(table(GOOD, columns=RULE), today=TODAY)
    assert (found.refused, found.warnings, found.total) == ((), (), 1)
    [row] = found.rows
    assert (row.provider, row.region, row.name, row.kind) == (
        "Hetzner",
        "FSN1",
        "AX41-NVMe",
        "dedicated",
    )
    assert (row.cpu_model, row.vcpu_count, row.thread_count) == ("AMD Ryzen 5 3600", 12, 12)
    assert (row.memory_bytes, row.disk_bytes, row.disk_kind) == (64 * 2**30, 1024 * 10**9, "nvme")
    price = row.price
    assert (price.amount, price.currency, price.unit) == (Decimal("37.30"), "EUR", "month")
    assert (price.purchase_model, price.setup_amount, price.minimum_months) == ("monthly", 39, 1)
    assert (price.tax_basis, price.tax_rate) == ("net", None)
    assert (price.observed_on, price.valid_until) == (dt.date(2026, 11, 1), dt.date(2026, 12, 31))
    assert price.included == {"is_traffic_unlimited": True, "network_bits_per_s": 10**9}
    assert (price.source, price.note) == ("quote: sales@hoster.example", "by phone")


def test_rule_26_unknown_figures_stay_unknown():
    needed = ("provider", "model", "currency", "monthly_net", "quoted_on")
    [row] = quotes(table({name: GOOD[name] for name in needed}), today=TODAY).rows
    assert (row.vcpu_count, row.thread_count, row.memory_bytes) == (None, None, None)
    assert (row.disk_bytes, row.disk_kind, row.region) == (None, "", "")
    assert (row.price.setup_amount, row.price.minimum_months, row.price.included) == (
        None,
        None,
        {},
    )
    # a fee of nothing is known; cores stand for the CPUs where no threads are told
    [free] = quoted(setup_net="0", threads="", traffic_tb="0").rows
    assert (free.price.setup_amount, free.vcpu_count, free.thread_count) == (0, 6, None)
    assert free.price.included["traffic_bytes"] == 0


@pytest.mark.parametrize(
    ("cells", "column", "words"),
    [
        ({"currency": ""}, "currency", "no currency"),
        ({"currency": "$"}, "currency", "three-letter"),
        ({"monthly_net": "-5"}, "monthly_net", "negative"),
        ({"setup_net": "-1"}, "setup_net", "negative"),
        ({"monthly_net": "0"}, "monthly_net", "zero"),
        ({"monthly_net": ""}, "monthly_net", "a price is needed"),
        ({"monthly_net": "n/a"}, "monthly_net", "not a decimal number"),
        ({"monthly_net": "=1+1"}, "monthly_net", "not a decimal number"),
        ({"monthly_net": "1e3"}, "monthly_net", "not a decimal number"),
        ({"monthly_net": "10000000000"}, "monthly_net", "10^10"),
        ({"monthly_net": "1.1234567890123456789"}, "monthly_net", "18 decimals"),
        ({"monthly_net": "1" * 41}, "monthly_net", "not a decimal number"),
        ({"monthly_net": "1,037"}, "monthly_net", "1037 or 1.037"),
        ({"monthly_net": "10,37.30"}, "monthly_net", "groups of three"),
        ({"monthly_net": "", "setup_net": "", "monthly_gross": "9"}, "tax_rate", "rate of tax"),
        ({"monthly_gross": "9", "tax_rate": "19%", "setup_net": ""}, "monthly_gross", "give one"),
        ({"setup_gross": "44.39", "setup_net": ""}, "setup_gross", "monthly price is net"),
        ({"tax_rate": "19"}, "tax_rate", "0.19 or 19%"),
        ({"tax_rate": "x"}, "tax_rate", "not a decimal number"),
        ({"tax_rate": "0.12345"}, "tax_rate", "0.19 or 19%"),
        ({"quoted_on": "2026-11-16"}, "quoted_on", "in the future"),
        ({"quoted_on": ""}, "quoted_on", "a date is needed"),
        ({"quoted_on": "01/11/2026"}, "quoted_on", "YYYY-MM-DD"),
        ({"valid_until": "2026-10-31"}, "valid_until", "before the day of the quote"),
        ({"provider": ""}, "provider", "a value is needed"),
        ({"model": ""}, "model", "a value is needed"),
        ({"model": "x" * 151}, "model", "too many"),
        ({"cores": "6.5"}, "cores", "whole number"),
        ({"threads": "4"}, "threads", "fewer than 6 cores"),
        ({"ram_gib": "0"}, "ram_gib", "above 0"),
        ({"ram_gib": "64 GB"}, "ram_gib", "not a decimal number"),
        ({"traffic_tb": "-1"}, "traffic_tb", "not 0 and up"),
        ({"min_term_months": "121"}, "min_term_months", "0 to 120"),
        ({"locale": "klingon"}, "locale", "not known"),
    ],
)  # fmt: skip
def test_rule_26_a_quote_is_refused_naming_its_line_and_column(cells, column, words):
    found = quotes(table(GOOD, GOOD | {"model": "other"} | cells), today=TODAY)
    assert refusals(found) == [(3, column)]
    assert words in found.refused[0].detail
    assert str(found.refused[0]).startswith(f"line 3, {column}: ")
    # the good line beside it stays
    assert [row.line for row in found.rows] == [2]
    assert found.total == 2


def test_rule_26_every_fault_of_a_line_is_listed_at_once():
    found = quoted(currency="", monthly_net="-5", quoted_on="2027-01-01")
    assert {column for _, column in refusals(found)} == {"currency", "monthly_net", "quoted_on"}


def test_rule_26_gross_is_read_with_its_rate():
    price = quoted(monthly_net="", setup_net="", monthly_gross="44.387", setup_gross="46.41",
                   tax_rate="19 %", locale="en").rows[0].price  # fmt: skip
    assert (price.amount, price.setup_amount) == (Decimal("44.387"), Decimal("46.41"))
    assert (price.tax_basis, price.tax_rate) == ("gross", Decimal("0.19"))
    assert quoted(tax_rate="0.19").rows[0].price.tax_basis == "net"


def test_rule_26_an_expired_quote_is_kept_and_flagged():
    found = quoted(valid_until="2026-11-14")
    assert [row.price.valid_until for row in found.rows] == [dt.date(2026, 11, 14)]
    [flag] = found.warnings
    assert (flag.line, flag.column) == (2, "valid_until")
    assert "expired" in flag.detail
    # on its last day it still holds
    assert quoted(valid_until="2026-11-15").warnings == ()


@pytest.mark.parametrize("locale", ["de", "de_DE", "fr-FR", "de_AT.UTF-8"])
def test_rule_26_a_locale_settles_what_marks_mean(locale):
    row = quoted(locale=locale, monthly_net="37,30", ram_gib="0,5").rows[0]
    assert (row.price.amount, row.memory_bytes) == (Decimal("37.30"), 2**29)
    # there a point groups thousands, and never stands before decimals
    assert quoted(locale=locale, monthly_net="1.037").rows[0].price.amount == 1037
    wrong = quoted(locale=locale, monthly_net="37.30")
    assert refusals(wrong) == [(2, "monthly_net")]
    assert "a comma is the decimal mark" in wrong.refused[0].detail


@pytest.mark.parametrize("locale", ["en", "en-US", "de-CH"])
def test_rule_26_other_locales_write_a_point(locale):
    assert quoted(locale=locale).rows[0].price.amount == Decimal("37.30")
    assert refusals(quoted(locale=locale, monthly_net="37,30")) == [(2, "monthly_net")]


@pytest.mark.parametrize(
    ("cell", "kept"),
    [
        ("=HYPERLINK(1)", "HYPERLINK(1)"),
        ("+49 30 1234", "49 30 1234"),
        ("-2 % later", "2 % later"),
        ("@SUM(A1)", "SUM(A1)"),
        ("'=1", "1"),
        ("\t=1", "1"),
        ("＝1", "1"),
        ("=-+@", ""),
    ],
)
def test_rule_26_start_of_a_formula_is_stripped_with_a_remark(cell, kept):
    found = quoted(note=cell)
    assert found.rows[0].price.note == kept
    assert [(remark.line, remark.column) for remark in found.warnings] == [(2, "note")]


@pytest.mark.parametrize("mark", ["\x1b[31m", "\x07", "\x7f", "\x9b", "\u202e", "\u2066"])
def test_a_control_character_is_refused_where_it_stands(mark):
    found = quoted(model=f"AX{mark}41", note=f"a{mark}")
    assert sorted(refusals(found)) == [(2, "model"), (2, "note")]
    assert "control character" in found.refused[0].detail
    assert quoted(note="tab\tand\nline").refused == ()


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        (b"x" * 1_000_001, 1, "", "too many"),
        ("x" * 1_000_001, 1, "", "too many"),
        (b"provider,model\nHetzner,\x81\n", 2, "", "CSV UTF-8"),
        ("provider,model\nHetzner,A\0B\n", 2, "", "NUL"),
        ("", 1, "", "empty"),
        ("\n \n", 1, "", "empty"),
        (table(GOOD) + '"A', 3, "", "no CSV"),
        (table(GOOD | {"colour": "red"}), 1, "colour", "unknown column"),
        (table(GOOD).replace("location", "provider", 1), 1, "provider", "twice"),
        ("provider,model,monthly_net,quoted_on\nA,B,1,2026-01-01", 1, "currency", "missing"),
    ],
)
def test_rule_26_a_file_is_refused_as_a_whole(text, line, column, words):
    found = quotes(text, today=TODAY)
    assert (found.rows, found.total) == ((), 0)
    [remark] = found.refused
    assert (remark.line, remark.column) == (line, column)
    assert words in remark.detail


def test_rule_26_more_than_5000_rows_are_refused():
    rows = [GOOD | {"model": f"m{n}"} for n in range(5001)]
    needed = ["provider", "model", "currency", "monthly_net", "quoted_on"]
    slim = [{name: row[name] for name in needed} for row in rows]
    assert len(quotes(table(*slim[:5000]), today=TODAY).rows) == 5000
    found = quotes(table(*slim), today=TODAY)
    assert found.rows == ()
    assert refusals(found) == [(5002, "")]


def test_rule_26_a_line_of_another_width_is_refused_alone():
    lines = table(GOOD, GOOD | {"model": "b"}).splitlines()
    found = quotes("\n".join([lines[0], lines[1] + ",more", "", lines[2]]), today=TODAY)
    assert refusals(found) == [(2, "")]
    assert "19 cells under 18 columns" in str(found.refused[0])
    assert [row.line for row in found.rows] == [4]


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_table_may_be_separated_otherwise_and_begin_with_a_mark(delimiter):
    text = "\ufeff" + table(GOOD, delimiter=delimiter)
    assert quotes(text.encode(), today=TODAY).rows[0].price.amount == Decimal("37.30")


def test_line_is_the_one_on_which_a_row_begins():
    note = 'two\nlines and a ","'
    found = quotes(table(GOOD | {"note": note}, GOOD | {"currency": ""}), today=TODAY)
    assert refusals(found) == [(4, "currency")]
    assert found.rows[0].price.note == note


@pytest.mark.parametrize(
    ("disks", "bytes_", "kind"),
    [
        ("2x512 GB NVMe + 4 x 8 TB HDD", 1_024 * 10**9 + 32 * 10**12, "nvme+hdd"),
        ("1.92TB SSD", 1_920 * 10**9, "ssd"),
        ("2 × 480 GiB SATA SSD", 960 * 2**30, "sata"),
        ("1 TiB", 2**40, ""),
        ("1 TB; 2 TB HDD", 3 * 10**12, ""),
        ("a big one", None, ""),
        ("0 GB", None, ""),
    ],
)
def test_disks_are_summed_or_unknown(disks, bytes_, kind):
    found = quoted(disks=disks)
    assert (found.rows[0].disk_bytes, found.rows[0].disk_kind) == (bytes_, kind)
    assert len(found.warnings) == (bytes_ is None)


def test_minimum_term_separates_two_prices_of_one_model():
    plans = [quoted(min_term_months=n).rows[0].price.plan for n in ("", "0", "1", "12")]
    assert plans == ["", "", "", "12_months"]


# --- offers ---------------------------------------------------------------------------------------

OFFER = {"provider": "own", "offer": "Rack 7", "kind": "onprem"}
PRICED = OFFER | {"amount": "0.25", "currency": "usd", "unit": "hour"}


def test_offer_is_read_with_and_without_its_price():
    full = PRICED | {
        "region": "Berlin", "arch": "X86_64", "cpu": "EPYC", "vcpu": "2.5", "vcpu_kind": "shared",
        "threads": "4", "ram_gib": "16", "disk_gb": "100", "disk_kind": "ssd", "setup": "5",
        "minimum_months": "6", "tax_basis": "gross", "tax_rate": "19%", "observed_on": "2026-11-02",
        "source": "contract 7", "note": "ours",
    }  # fmt: skip
    found = offers(table(full, OFFER | {"offer": "unpriced"}), today=TODAY)
    assert (found.refused, found.warnings) == ((), ())
    row, bare = found.rows
    assert (row.provider, row.name, row.region, row.kind) == ("own", "Rack 7", "Berlin", "onprem")
    assert (row.arch, row.cpu_model, row.vcpu_count) == ("x86_64", "EPYC", Decimal("2.5"))
    assert (row.vcpu_kind, row.thread_count, row.note) == ("shared", 4, "ours")
    assert (row.memory_bytes, row.disk_bytes, row.disk_kind) == (2**34, 10**11, "ssd")
    price = row.price
    assert (price.amount, price.currency, price.unit) == (Decimal("0.25"), "USD", "hour")
    assert (price.purchase_model, price.term, price.plan) == ("on_demand", "", "6_months")
    assert (price.setup_amount, price.tax_basis, price.tax_rate) == (5, "gross", Decimal("0.19"))
    assert (price.observed_on, price.source) == (dt.date(2026, 11, 2), "contract 7")
    assert (bare.price, bare.vcpu_count) == (None, None)
    [plain] = offers(table(PRICED), today=TODAY).rows
    assert (plain.price.observed_on, plain.price.source) == (TODAY, "own list of offers")


@pytest.mark.parametrize(
    ("cells", "column", "words"),
    [
        ({"kind": "toaster"}, "kind", "cloud, vps"),
        ({"kind": ""}, "kind", "a value is needed"),
        ({"vcpu": "0"}, "vcpu", "above 0"),
        ({"vcpu": "0.0001"}, "vcpu", "three decimals"),
        ({"vcpu_kind": "fast"}, "vcpu_kind", "burstable"),
        ({"currency": ""}, "currency", "no currency"),
        ({"unit": ""}, "unit", "is needed"),
        ({"amount": "0"}, "amount", "zero"),
        ({"amount": "", "setup": "5"}, "setup", "without an amount"),
        ({"tax_basis": "gross"}, "tax_rate", "rate of tax"),
        ({"purchase_model": "reserved"}, "term", "1y"),
        ({"term": "1y"}, "term", "no term"),
        ({"unit": "once", "purchase_model": "spot"}, "unit", "once"),
        ({"purchase_model": "purchase"}, "unit", "once"),
        ({"observed_on": "2027-01-01"}, "observed_on", "future"),
    ],
)
def test_offer_is_refused_naming_its_line_and_column(cells, column, words):
    found = offers(table(PRICED, PRICED | {"offer": "b"} | cells), today=TODAY)
    assert refusals(found) == [(3, column)]
    assert words in found.refused[0].detail
    assert len(found.rows) == 1


def test_offer_keeps_commitments_and_purchases():
    reserved = PRICED | {"purchase_model": "reserved", "term": "1Y", "valid_until": "2026-01-01"}
    bought = PRICED | {"unit": "once", "offer": "bought"}
    found = offers(table(reserved, bought), today=TODAY)
    assert [(row.price.purchase_model, row.price.term) for row in found.rows] == [
        ("reserved", "1y"),
        ("purchase", ""),
    ]
    assert [remark.column for remark in found.warnings] == ["valid_until"]
    assert offers("offer\n", today=TODAY).total == 0


# --- whatever comes -------------------------------------------------------------------------------


@given(st.text(max_size=300) | st.binary(max_size=300))
def test_any_text_is_a_table_or_refused(text):
    for read in (quotes, offers):
        found = read(text, today=TODAY)
        assert len(found.rows) <= found.total
        assert found.rows or found.refused or found.total == 0


cell = st.text(max_size=20) | st.sampled_from(
    ["-1", "0", "1,5", "1.5", "EUR", "2026-11-01", "19%", "=A1", "de", "hour", "once", "1y"]
)


@given(st.lists(st.dictionaries(st.sampled_from(COLUMNS), cell), min_size=1, max_size=3))
def test_a_kept_quote_has_a_price_above_zero_and_a_currency(rows):
    found = quotes(table(*(GOOD | row for row in rows), columns=list(COLUMNS)), today=TODAY)
    for row in found.rows:
        assert row.price.amount > 0
        assert len(row.price.currency) == 3
        assert row.price.observed_on <= TODAY
        assert not row.name.startswith(tuple("=+-@"))
    lines = {remark.line for remark in found.refused} | {row.line for row in found.rows}
    assert not found.total or len(lines) == found.total


@given(st.lists(st.dictionaries(st.sampled_from(OFFER_COLUMNS), cell), min_size=1, max_size=3))
def test_a_kept_offer_has_no_price_or_one_above_zero(rows):
    found = offers(table(*(PRICED | row for row in rows), columns=list(OFFER_COLUMNS)), today=TODAY)
    for row in found.rows:
        assert row.price is None or (row.price.amount > 0 and len(row.price.currency) == 3)


def test_limits_are_those_of_the_rule():
    assert (tables.MAX_BYTES, tables.MAX_ROWS) == (1_000_000, 5_000)
