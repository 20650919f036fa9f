"""Bills read from files of each format, whole or damaged, and what is kept of them."""

import csv
import datetime as dt
import gzip
import io
import json
import zipfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from pyarrow import parquet

from backend.accounts.models import AuditEntry
from backend.accounts.services.workspaces import default_workspace
from backend.bills.calc.estate import estate
from backend.bills.models import Bill
from backend.bills.services import tables
from backend.bills.services.bills import bill_delete
from backend.bills.services.importing import BillFile, bill_import
from backend.bills.services.reading import bill_read
from backend.foundation.errors import InvalidValue

pytestmark = pytest.mark.django_db
FOCUS_SAMPLE = settings.BASE_DIR / "fixtures/bills/focus/focus_1_0_sample.csv"
HEAD = (
    "BilledCost,BillingCurrency,ChargePeriodStart,ServiceName,ChargeDescription,PricingQuantity,"
    "PricingUnit,ResourceId"
)
LINE = "0.10,USD,2024-09-0{day} 0{hour}:00:00,EC2,$0.10 per On Demand Linux m5.large Instance Hour,1,Hours,{name}"


def focus(*lines, head=HEAD):
    return "\n".join([head, *lines]).encode()


def line(day=1, hour=0, name="i-1"):
    return LINE.format(day=day, hour=hour, name=name)


def read(data, **given):
    return bill_read(io.BytesIO(data), **given)


def whole(data, **given):
    reading = read(data, **given)
    return estate(reading.groups(), reading.usage, reading.unreadable)


def kept(data, name="September", **given):
    files = [BillFile("bill.csv", lambda: io.BytesIO(data))]
    workspace = default_workspace()
    return bill_import(workspace=workspace, name=name, files=files, actor="tester", **given)


@pytest.mark.parametrize(
    ("name", "column", "currency"),
    [
        ("aws_cur_legacy_sample", "lineItem/UnblendedCost", "USD"),
        ("azure_ea_sample", "CostInBillingCurrency", "CAD"),
    ],
)
def test_public_samples_of_providers_reconcile_to_the_last_digit(name, column, currency):
    data = (Path(__file__).parent / f"data/bills/{name}.csv").read_bytes()
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"))))
    of = whole(data)
    assert (of.lines, of.unreadable.lines, of.currency) == (len(rows), 0, currency)
    assert of.total == sum(Decimal(row[column]) for row in rows)
    assert of.total == sum(amount for _, amount in of.months)
    assert of.total == sum(sums.billed for _, _, sums in of.by_service)


def test_public_sample_reconciles_to_the_last_digit():
    with FOCUS_SAMPLE.open(encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    of = whole(FOCUS_SAMPLE.read_bytes())
    expected = sum(Decimal(row["BilledCost"]) for row in rows)
    assert of.total == expected == sum(sums.billed for _, sums in of.by_kind)
    assert (of.lines, of.unreadable.lines, of.hours) == (299, 0, 719)
    # Some lines have 0 here beside a charge, and the other way round: both columns are kept.
    effective = sum(Decimal(row["EffectiveCost"]) for row in rows)
    assert sum(sums.effective for _, sums in of.by_kind) == effective != expected
    # All of Microsoft have a price for their zone.
    assert all(one.key.region[:1].isalpha() for one in of.machines)
    machines = [row for row in rows if row["ChargeDescription"].endswith(" Instance Hour")]
    assert len(machines) > 20
    hours = sum(Decimal(row["PricingQuantity"]) for row in machines)
    assert abs(sum(one.hours for one in of.machines) - hours) < Decimal("1e-9")


def test_cost_and_usage_report_spreads_commitments_and_reads_exponents():
    head = (
        "lineItem/UsageStartDate,lineItem/UnblendedCost,lineItem/CurrencyCode,lineItem/LineItemType,"
        "product/instanceType,lineItem/UsageAmount,pricing/unit,product/region,reservation/EffectiveCost,"
        "savingsPlan/SavingsPlanEffectiveCost,lineItem/ProductCode,lineItem/LineItemDescription,lineItem/ResourceId"
    )
    start = "2023-11-01T00:00:00Z"
    of = whole(
        focus(
            f"{start},8.85E-8,USD,Usage,,1,Requests,eu-west-1,,,AmazonS3,requests,",
            f"{start},0,USD,DiscountedUsage,m5.large,1,Hrs,eu-west-1,0.06,,AmazonEC2,m5.large reserved,i-1",
            f"{start},0.09,USD,SavingsPlanCoveredUsage,m5.large,1,Hrs,eu-west-1,,0.07,AmazonEC2,m5.large plan,i-2",
            f"{start},-0.09,USD,SavingsPlanNegation,m5.large,1,Hrs,eu-west-1,,,AmazonEC2,plan,i-2",
            f"{start},2,USD,Tax,,,,eu-west-1,,,AmazonEC2,VAT,",
            head=head,
        )
    )
    assert of.total == Decimal("2.0000000885")
    (machines,) = of.machines
    assert (machines.hours, machines.sums.effective, machines.sums.billed) == (
        2,
        Decimal("0.13"),
        Decimal("0.09"),
    )
    assert machines.key.purchase == "committed"


def test_cost_and_usage_report_names_what_commitments_cost_unused():
    head = (
        "lineItem/UsageStartDate,lineItem/UnblendedCost,lineItem/CurrencyCode,lineItem/LineItemType,"
        "reservation/ReservationARN,reservation/UnusedAmortizedUpfrontFeeForBillingPeriod,"
        "reservation/UnusedRecurringFee,savingsPlan/SavingsPlanEffectiveCost,"
        "savingsPlan/TotalCommitmentToDate,savingsPlan/UsedCommitment,lineItem/UsageType"
    )
    start = "2023-11-01T00:00:00Z"
    of = whole(
        focus(
            f"{start},30,USD,RIFee,arn:r,1.5,2.5,,,,HeavyUsage",
            f"{start},100,USD,Fee,arn:r,,,,,,HeavyUsage",
            f"{start},7,USD,Fee,,,,,,,Other",
            f"{start},10,USD,SavingsPlanRecurringFee,,,,,10,7.75,Plan",
            f"{start},-5,USD,SavingsPlanNegation,,,,,,,Plan",
            f"{start},3.60,USD,Usage,,,,,,,USE1-PublicIPv4:IdleAddress",
            head=head,
        )
    )
    # 4 of the reservation and 2.25 of the plan; upfront fees are in the hours that they pay for.
    assert (of.unused, of.idle, of.total) == (Decimal("6.25"), Decimal("3.6"), Decimal("145.6"))
    assert sum(sums.effective for _, sums in of.by_kind) == Decimal("6.25") + 7 + Decimal("3.6")


@pytest.mark.parametrize(
    ("form", "billed", "effective", "unused"),
    [("focus", "0", "3", 3), ("focus", "2", "0", 2), ("azure", "4", "", 4)],
)
def test_unused_commitments_of_focus_and_azure_are_named(form, billed, effective, unused):
    if form == "focus":
        head = HEAD + ",EffectiveCost,CommitmentDiscountStatus,ChargeCategory"
        rows = [f"{line().replace('0.10,', f'{billed},', 1)},{effective},Unused,Usage"]
        rows += [f"{line()},0.08,Used,Usage"]
    else:
        head = "Date,MeterCategory,MeterName,CostInBillingCurrency,BillingCurrencyCode,ChargeType"
        rows = [f"9/2/2023,Virtual Machines,D2s v3,{billed},CAD,UnusedReservation"]
        rows += ["9/2/2023,Virtual Machines,D2s v3,1,CAD,Usage"]
    assert whole(focus(*rows, head=head)).unused == unused


def test_usage_details_of_azure_are_read_with_the_month_first():
    head = (
        "Date,MeterCategory,MeterName,UnitOfMeasure,Quantity,CostInBillingCurrency,"
        "BillingCurrencyCode,AdditionalInfo,ResourceLocation,ResourceId"
    )
    info = '"{""ServiceType"": ""Standard_D2s_v3"", ""VMName"": ""web""}"'
    of = whole(
        focus(
            f"9/2/2023,Virtual Machines,D2s v3,10 Hours,2.4,2.3040,CAD,{info},uswest,/x/web",
            "9/3/2023,Bandwidth,Standard Data Transfer Out,1 GB,3,0.2610,CAD,,uswest,",
            head=head,
        )
    )
    (machines,) = of.machines
    assert (machines.key.machine_type, machines.hours) == ("Standard_D2s_v3", 24)
    assert (of.total, of.hours, of.currency) == (Decimal("2.565"), 48, "CAD")


def test_parquet_reads_as_csv_does():
    rows = list(csv.DictReader(FOCUS_SAMPLE.read_text("utf-8-sig").splitlines()))
    table = pa.table({name: [row[name] for row in rows] for name in rows[0]})
    money = pa.array([float(row["BilledCost"]) for row in rows])
    starts = pa.array([dt.datetime.fromisoformat(row["ChargePeriodStart"]) for row in rows])
    table = table.set_column(table.column_names.index("BilledCost"), "BilledCost", money)
    table = table.set_column(
        table.column_names.index("ChargePeriodStart"), "ChargePeriodStart", starts
    )
    packed = io.BytesIO()
    parquet.write_table(table, packed)
    assert whole(packed.getvalue()) == whole(FOCUS_SAMPLE.read_bytes())


@pytest.mark.parametrize("packing", ["gzip", "zip"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_file_is_read_however_it_is_packed_and_written(packing, encoding):
    text = focus(line(), line(hour=1).replace("EC2", "Größe")).decode().encode(encoding)
    packed = io.BytesIO()
    if packing == "gzip":
        packed.write(gzip.compress(text))
    else:
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("folder/bill.csv", text)
    of = whole(packed.getvalue())
    assert (of.total, of.unreadable.lines) == (Decimal("0.2"), 0)
    assert "Größe" in [service for service, _, _ in of.by_service]


def test_plain_table_of_a_spreadsheet_is_read_with_its_title_and_commas():
    text = "My servers\n\ntype;hours;cost;month;currency;provider\nm5.large;730;70,08;2026-10;EUR;AWS\n"
    of = whole(text.encode())
    (machines,) = of.machines
    assert (of.total, machines.hours, of.currency) == (Decimal("70.08"), 730, "EUR")
    assert (machines.key.provider, machines.key.machine_type) == ("aws", "m5.large")


def test_machines_of_which_only_the_number_is_known_ran_all_month():
    of = whole(b"type,count,price,month,currency\nbox,3,120,2026-10,EUR\n")
    assert (of.machines[0].hours, of.total) == (3 * 730, 3 * 120)


def test_broken_lines_are_named_by_number_and_stop_nothing():
    of = whole(
        focus(
            line(),
            "0.10,USD,2024-09-01",
            line().replace("2024-09-01 00:00:00", "yesterday"),
            line().replace("0.10,", "ten,", 1),
            line(hour=1),
        )
    )
    assert of.total == Decimal("0.3")
    assert (of.lines, of.unreadable.lines, of.unreadable.amount) == (5, 3, Decimal("0.1"))
    assert sorted(of.unreadable.named) == [
        (3, "3 columns where the head has 8"),
        (4, "'yesterday' is no date"),
        (5, "'ten' is no amount"),
    ]


def test_blocks_end_between_rows_and_lines_keep_their_numbers(monkeypatch):
    monkeypatch.setattr(tables, "BLOCK_BYTES", 200)
    quoted = line().replace("EC2", '"a ""name"" of\ntwo lines"')
    rows = [line(), quoted, "broken", line(), quoted, line().replace("0.10,", "x,", 1), line()]
    of = whole(focus(*rows))
    assert (of.total, of.lines) == (Decimal("0.5"), 7)
    assert sorted(number for number, _ in of.unreadable.named) == [5, 9]


def test_quotation_mark_that_is_never_closed_costs_some_lines_only(monkeypatch):
    monkeypatch.setattr(tables, "BLOCK_BYTES", 300)
    rows = [line()] * 3 + [line().replace("EC2", '"EC2')] + [line()] * 40
    of = whole(focus(*rows))
    assert of.unreadable.lines >= 1
    assert of.total >= Decimal("2.5")


def test_bytes_that_are_no_text_are_replaced_and_stop_nothing(monkeypatch):
    monkeypatch.setattr(tables, "HEAD_BYTES", 300)
    text = focus(*[line()] * 20) + b"\n" + line().encode().replace(b"EC2", b"EC2 \xff\xfe")
    of = whole(text)
    assert (of.total, of.unreadable.lines) == (Decimal("2.1"), 0)
    assert "EC2 \ufffd\ufffd" in [service for service, _, _ in of.by_service]


def test_words_for_nothing_and_negative_lines_are_amounts_of_their_own():
    credit = line().replace("0.10,", "-5.00,", 1).replace("i-1", "NULL")
    of = whole(focus(line(), credit))
    assert of.total == Decimal("-4.9")
    assert of.machines[0].resources == 1


def test_machines_that_always_ran_are_known_without_their_names():
    names = [line(hour=hour, name="secret-a") for hour in range(4)] + [line(name="secret-b")]
    reading = read(focus(*names))
    of = estate(reading.groups(), reading.usage, reading.unreadable)
    (machines,) = of.machines
    assert (machines.curve, machines.resources, machines.always_on) == ([2.0, 1.0, 1.0, 1.0], 2, 1)
    assert "secret" not in str(reading)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"\n \n", "it is empty"),
        (b"a,b\n1,2\n", "the columns are those of no bill"),
        (b"nothing at all", "no line with the names of columns"),
        (b"{}", "needs the columns"),
        (b"[\n]", "holds no JSON object"),
        (b"PAR1 and no more", "no Parquet file"),
        (b"\x1f\x8b\x08damaged", "cannot be unpacked"),
        (b"PK\x03\x04damaged", "the archive is damaged"),
        (HEAD.encode(), "no line of the bill can be read"),
    ],
)
def test_file_that_is_no_bill_is_refused_and_nothing_is_kept(data, why):
    with pytest.raises(InvalidValue, match=why):
        kept(data)
    assert not Bill.objects.exists()


def test_archive_of_several_files_is_refused():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.csv", "x")
        archive.writestr("b.csv", "y")
    with pytest.raises(InvalidValue, match="holds 2 files"):
        read(packed.getvalue())


def test_file_that_unpacks_to_too_much_is_refused(monkeypatch):
    monkeypatch.setattr(tables, "MOST_BYTES", 100_000)
    bomb = gzip.compress(focus(*[line()] * 5_000))
    assert len(bomb) < 5_000
    with pytest.raises(InvalidValue, match="holds more than"):
        kept(bomb)
    assert not Bill.objects.exists()


def test_bill_keeps_sums_and_an_entry_of_who_imported_it():
    bill = kept(focus(line(), line(hour=1)), name="Our September")
    assert (bill.slug, bill.total, bill.currency) == ("our-september", Decimal("0.2"), "USD")
    assert bill.estate["machines"][0]["hours"] == "2"
    assert "i-1" not in json.dumps(bill.estate)
    event = AuditEntry.objects.get(action="bill_import")
    assert event.detail["lines"] == 2
    bill_delete(bill=bill, actor="tester")
    assert not Bill.objects.exists()
    assert AuditEntry.objects.filter(action="bill_delete").exists()


def test_same_file_is_imported_once_and_names_may_repeat():
    data = focus(line())
    kept(data)
    with pytest.raises(InvalidValue, match="imported as 'September'"):
        kept(data, name="Again")
    assert kept(focus(line(hour=1))).slug == "september-2"


def test_several_files_are_one_bill_and_a_month_comes_once(tmp_path):
    for number, text in enumerate([focus(line()), focus(line(hour=3))]):
        (tmp_path / f"{number}.csv").write_bytes(text)
    out = io.StringIO()
    files = [str(tmp_path / "0.csv"), str(tmp_path / "1.csv")]
    with pytest.raises(CommandError, match="have the same lines of 2024-09"):
        call_command("import_bill", *files)
    (tmp_path / "1.csv").write_bytes(focus(line(hour=3), line(hour=4)))
    call_command("import_bill", *files, "--name", "Two", "--json", stdout=out)
    said = json.loads(out.getvalue())
    assert (said["lines"], said["total"], said["currency"], said["unreadable"]) == (
        3,
        "0.3",
        "USD",
        0,
    )
    machine = Bill.objects.get(pk=said["id"]).estate["machines"][0]
    # One machine in both files.
    assert (machine["resources"], machine["hours"]) == (1, "3")


def test_command_prints_sums_and_names_what_it_could_not_read(tmp_path):
    (tmp_path / "bill.csv").write_bytes(focus(line(), "1,2"))
    out, err = io.StringIO(), io.StringIO()
    call_command("import_bill", str(tmp_path / "bill.csv"), stdout=out, stderr=err)
    assert "bill: 2 lines, $0.10" in out.getvalue()
    assert "line 3: 2 columns where the head has 8" in err.getvalue()
    with pytest.raises(CommandError, match="No such file"):
        call_command("import_bill", str(tmp_path / "none.csv"))
    (tmp_path / "two.csv").write_bytes(focus(line(), line().replace("USD", "EUR")))
    with pytest.raises(CommandError, match="mixes EUR, USD"):
        call_command("import_bill", str(tmp_path / "two.csv"))


@pytest.mark.parametrize("name", ["", " ", "x" * 101, "a\x00b"])
def test_name_that_cannot_be_kept_is_refused(name):
    with pytest.raises(InvalidValue, match="name"):
        kept(focus(line()), name=name)
