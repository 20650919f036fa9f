"""Billing exports of Google: each way that people get them out of BigQuery, whole or damaged."""

import csv
import io
import json
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import parquet

from backend.bills.calc.classes import ChargeKind
from backend.foundation.errors import InvalidValue
from tests.backend.test_bill_import import whole


def google(**fields):
    return {
        "usage_start_time": "2024-05-01 00:00:00 UTC",
        "service": {"description": "Compute Engine"},
        "sku": {"description": "N1 Predefined Instance Core running in Americas"},
        "location": {"region": "us-central1"},
        "cost": 0.126484,
        "currency": "USD",
        "credits": [{"name": "sustained", "amount": -0.02}, {"amount": -0.001}],
        "usage": {"amount_in_pricing_units": 4, "pricing_unit": "hour"},
        "system_labels": [
            {"key": "compute.googleapis.com/machine_spec", "value": "n1-standard-4"},
            {"key": "compute.googleapis.com/cores", "value": "4"},
        ],
        "cost_type": "regular",
        **fields,
    }


def google_file(form, rows):
    """As BigQuery, its command and its page write it, and as people make tables of it."""
    match form:
        case "lines":
            text = "\n".join(map(json.dumps, rows))
        case "array of lines":
            text = "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]"
        case "one line":
            text = json.dumps(rows)
        case "pretty":
            text = json.dumps(rows, indent=2)
        case "parquet":
            packed = io.BytesIO()
            parquet.write_table(pa.Table.from_pylist(rows), packed)
            return packed.getvalue()
        case "csv":
            out = io.StringIO()
            flat = [
                {
                    "usage_start_time": row["usage_start_time"],
                    "service.description": row["service"]["description"],
                    "sku.description": row["sku"]["description"],
                    "location.region": row["location"]["region"],
                    "cost": row["cost"],
                    "currency": row["currency"],
                    "credits": json.dumps(row["credits"]),
                    "usage.amount_in_pricing_units": row["usage"]["amount_in_pricing_units"],
                    "usage.pricing_unit": row["usage"]["pricing_unit"],
                    "system_labels": json.dumps(row["system_labels"]),
                }
                for row in rows
            ]
            writer = csv.DictWriter(out, list(flat[0]))
            writer.writeheader()
            writer.writerows(flat)
            text = out.getvalue()
    return text.encode()


@pytest.mark.parametrize(
    "form", ["lines", "array of lines", "one line", "pretty", "parquet", "csv"]
)
def test_export_of_google_has_credits_in_its_cost_and_hours_by_cores(form):
    rows = [google(), google(cost=1e-9, credits=[])]
    of = whole(google_file(form, rows))
    (machines,) = of.machines
    assert (machines.key.machine_type, machines.hours) == ("n1-standard-4", 2)
    assert of.total == Decimal("0.105484001")


@pytest.mark.parametrize("form", ["lines", "pretty", "csv"])
def test_hours_that_a_commitment_paid_for_are_committed(form):
    paid = {"name": "one year", "type": "COMMITTED_USAGE_DISCOUNT", "amount": -0.126484}
    fee = google(sku={"description": "Commitment v1: Cpu in Americas for 1 Year"}, credits=[])
    of = whole(google_file(form, [google(credits=[paid]), google(credits=[]), fee]))
    hours = {one.key.purchase: (one.hours, one.sums.billed) for one in of.machines}
    assert hours == {"committed": (1, 0), "on_demand": (1, Decimal("0.126484"))}
    assert dict(of.by_kind)[ChargeKind.COMMITMENT].billed == Decimal("0.126484")


def test_fields_that_the_first_object_lacks_are_read_of_the_others():
    """BigQuery leaves out what is empty."""
    bare = google(cost=1)
    for name in ("usage", "location", "system_labels", "credits"):
        del bare[name]
    of = whole(google_file("lines", [bare, google()]))
    assert (of.total, of.machines[0].hours) == (Decimal("1.105484"), 1)


def test_credits_that_cannot_be_read_make_a_bad_line_and_no_sum():
    head = "usage_start_time,service.description,sku.description,cost,currency,credits"
    row = "2024-05-01,Compute Engine,Core,1,USD"
    bad = ('"[{""amount"": ""x""}]"', "[broken", '"[1]"')
    of = whole("\n".join([head, f"{row},-0.25", *(f"{row},{one}" for one in bad)]).encode())
    assert (of.total, of.unreadable.lines) == (Decimal("0.75"), 3)
    assert of.unreadable.named[1] == (4, "'1' with credits '[broken' is no amount")


def test_array_of_json_that_breaks_off_is_refused_by_its_line():
    text = google_file("pretty", [google(), google()])[:-40]
    with pytest.raises(InvalidValue, match=r"array line 40 at character \d+: not JSON"):
        whole(text)
    with pytest.raises(InvalidValue, match="holds no JSON object"):
        whole(b"[1, 2]")


def test_broken_line_of_json_is_named_and_counted():
    of = whole((json.dumps(google()) + "\n{broken\n[1]\n\n" + json.dumps(google())).encode())
    assert (of.unreadable.lines, of.lines) == (2, 4)
    assert [number for number, _ in of.unreadable.named] == [2, 3]
