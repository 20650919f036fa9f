"""A table of prices of extras."""

import datetime as dt
import re
from decimal import Decimal
from pathlib import Path

import pytest

from backend.catalog.calc.tables.extras import extras

TODAY = dt.date(2026, 11, 21)
HEADER = "provider,region,kind,up_to,amount,currency,unit,observed_on,source\n"


def read(*lines):
    return extras(HEADER + "\n".join(lines), today=TODAY)


def refused(*lines):
    return [(remark.line, remark.column) for remark in read(*lines).refused]


def test_lines_of_one_price_are_its_tiers_in_the_order_of_their_bounds():
    table = read(
        "aws,us-east-2,egress,,0.05,usd,,2026-07-20,list",
        "aws,us-east-2,egress,10240,0.09,usd,,2026-07-20,list",
        "aws,,disk,,0.08,usd,gb_month,,",
    )
    first, second = table.rows
    assert first.tiers == ((Decimal(10240), Decimal("0.09")), (None, Decimal("0.05")))
    assert (first.line, first.currency, first.observed_on) == (2, "USD", dt.date(2026, 7, 20))
    assert (second.region, second.observed_on, second.source) == ("", TODAY, "own list of extras")
    assert (table.total, table.refused) == (3, ())


def test_address_of_a_month_is_paid_with_its_first_hour():
    [row] = read("hetzner,,ipv4,,0.5,eur,month,,").rows
    assert row.tiers == ((Decimal(1), Decimal("0.5")), (None, Decimal(0)))


def test_tier_may_cost_nothing_and_nothing_else_may_be_left_out():
    [row] = read("aws,,egress,100,0,usd,,,", "aws,,egress,,0.09,usd,,,").rows
    assert row.tiers[0] == (Decimal(100), Decimal(0))
    assert refused("aws,,egress,,,usd,,,") == [(2, "amount")]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        (",,disk,,1,usd,,,", "provider"),
        ("aws,,cpu,,1,usd,,,", "kind"),
        ("aws,,disk,,-1,usd,,,", "amount"),
        ('aws,,disk,,"1,500",usd,,,', "amount"),
        ("aws,,disk,,1,dollar,,,", "currency"),
        ("aws,,disk,,1,,,,", "currency"),
        ("aws,,disk,,1,usd,hour,,", "unit"),
        ("aws,,disk,,1,usd,,2026-11-22,", "observed_on"),
        ("aws,,disk,many,1,usd,,,", "up_to"),
        ("aws,,disk,100,1,usd,,,", "up_to"),
        ("aws,,ipv4,5,1,usd,month,,", "up_to"),
    ],
)
def test_bad_cell_is_refused_by_line_and_column(line, column):
    assert (2, column) in refused(line)
    assert read(line).rows == ()


def test_refused_line_takes_its_price_with_it_and_no_other():
    table = read(
        "aws,,egress,100,0.1,usd,,,", "aws,,egress,,oops,usd,,,", "gcp,,egress,,0.1,usd,,,"
    )
    assert [row.provider for row in table.rows] == ["gcp"]
    assert [remark.line for remark in table.refused] == [3]


def test_example_of_the_guide_is_read_whole():
    guide = (Path(__file__).parents[3] / "docs" / "tables.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```\n(provider,region,kind.*?)```", guide, flags=re.DOTALL)
    table = extras(example, today=TODAY)
    assert (table.refused, table.total) == ((), 5)
    assert [len(row.tiers) for row in table.rows] == [3, 1, 2]


def test_tiers_of_two_currencies_are_refused():
    lines = "aws,,egress,100,0.1,usd,,,", "aws,,egress,,0.1,eur,,,"
    assert refused(*lines) == [(3, "")]
    assert read(*lines).rows == ()


def test_bounds_that_repeat_are_refused():
    lines = "aws,,egress,9,1,usd,,,", "aws,,egress,9,2,usd,,,", "aws,,egress,,1,usd,,,"
    assert refused(*lines) == [(2, "up_to")]


def test_formula_is_stripped_with_a_warning_and_a_short_line_refused():
    table = read("aws,,disk,,1,usd,,,=1+1", "aws,disk")
    assert table.rows[0].source == "1+1"
    assert [remark.line for remark in table.warnings] == [2]
    assert ([remark.line for remark in table.refused], table.total) == ([3], 2)


def test_table_without_its_columns_is_refused_whole():
    table = extras("provider,kind\naws,disk\n", today=TODAY)
    assert (table.rows, table.total) == ((), 0)
    assert {remark.column for remark in table.refused} == {"amount", "currency"}
