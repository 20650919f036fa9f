"""Small bills of known truth, worked by hand: total, machine hours, how many ran, and a month of today."""

import io
import json
import random
import zipfile
from decimal import Decimal

import pytest

from backend.accounts.services.workspaces import default_workspace
from backend.bills.calc.estate import estate
from backend.bills.calc.periods import DAY, HOUR, MONTH
from backend.bills.calc.unit_prices import PriceIs
from backend.bills.selectors.works import bill_months
from backend.bills.services import tables
from backend.bills.services.importing import BillFile, bill_import
from backend.bills.services.reading import bill_read
from backend.foundation.errors import InvalidValue
from tests import factories
from tests.backend.conftest import API
from tests.backend.test_bill_elsewhere import sold

pytestmark = pytest.mark.django_db
CUR = (
    "lineItem/LineItemType,lineItem/UsageStartDate,lineItem/ProductCode,lineItem/UsageType,"
    "lineItem/Operation,lineItem/ResourceId,lineItem/UsageAmount,lineItem/CurrencyCode,"
    "lineItem/UnblendedCost,product/instanceType,product/regionCode,pricing/unit,"
    "reservation/ReservationARN,reservation/EffectiveCost,savingsPlan/SavingsPlanARN,"
    "savingsPlan/SavingsPlanEffectiveCost\n"
)
AZURE = (
    "Date,MeterCategory,MeterSubCategory,MeterName,UnitOfMeasure,Quantity,UnitPrice,"
    "CostInBillingCurrency,BillingCurrencyCode,ResourceLocation,ResourceId,AdditionalInfo,ChargeType,"
    "PricingModel,ReservationId,PublisherType\n"
)
FOCUS = (
    "BilledCost,BillingCurrency,ChargePeriodStart,ChargePeriodEnd,ProviderName,ServiceName,"
    "ChargeDescription,PricingQuantity,PricingUnit,RegionId,ChargeCategory,CommitmentDiscountId,"
    "EffectiveCost,ResourceId\n"
)
PLAIN = "type,hours,cost,month,currency,provider,region\n"
SIZE = '"{""ServiceType"":""Standard_D2s_v5""}"'


def cur(kind="Usage", start="2026-01-01", product="AmazonEC2", *, cost, hours="", **given):
    usage = given.get("usage", "BoxUsage:m5.large" if product == "AmazonEC2" else "")
    operation = given.get("operation", "RunInstances" if kind == "Usage" else "")
    machine = given.get("type", "m5.large" if "m5.large" in usage else "")
    reserved, plan = given.get("reserved", ""), given.get("plan", "")
    return (
        f"{kind},{start},{product},{usage},{operation},{given.get('name', '')},{hours},USD,{cost},"
        f"{machine},us-east-1,Hrs,{'arn:r' if reserved else ''},{reserved},"
        f"{'arn:p' if plan else ''},{plan}\n"
    )


def azure(category="Virtual Machines", date="10/05/2026", *, quantity, cost, **given):
    return (
        f"{date},{category},{given.get('sub', 'Dsv5 Series')},{given.get('meter', 'D2s v5')},"
        f"{given.get('unit', '1 Hour')},{quantity},{given.get('price', '')},{cost},USD,"
        f"{given.get('region', 'EastUS')},{given.get('name', 'vm1')},{given.get('info', SIZE)},"
        f"{given.get('kind', 'Usage')},{given.get('model', 'OnDemand')},{given.get('reservation', '')},"
        f"{given.get('publisher', 'Azure')}\n"
    )


def focus(*, cost, hours="", category="Usage", day=1, **given):
    words = f"$0.096 per On Demand Linux {given.get('type', 'm5.large')} Instance Hour"
    return (
        f"{cost},USD,2026-01-{day:02d},2026-01-{day + 1:02d},AWS,"
        f"{given.get('service', 'Amazon Elastic Compute Cloud')},{given.get('words', words)},{hours},"
        f"Hours,us-east-1,{category},{given.get('commitment', '')},{given.get('effective', cost)},i-1\n"
    )


JANUARY = [f"2026-01-{day:02d}" for day in range(1, 32)]
DAILY = "".join(cur(start=day, hours=24, cost="2.304", name="i-1") for day in JANUARY)
FEE = "2026-01-15T10:23:11Z"
# name: file, total, machine hours, step of the lines, most machines at once, today of all machines.
# m5.large and D2s v5 cost 0.096 an hour: 70.08 a month of 730 hours.
TRUTHS = {
    # 31 × 24 h of one machine; a fee with a time stamp is no line of a machine.
    "daily, with a reservation fee": (
        CUR + DAILY + cur("Fee", FEE, cost=50, reserved="0"),
        "121.424", 744, DAY, 1, 70.08,
    ),
    # Two machines all January on one line each.
    "monthly, with a marketplace fee": (
        CUR + cur(hours=744, cost="71.424", name="i-1") + cur(hours=744, cost="71.424", name="i-2")
        + cur("Fee", FEE, "5xabc", cost=1000),
        "1142.848", 1488, MONTH, 2, 140.16,
    ),
    "plain, a whole January": (
        PLAIN + "m5.large,744,71.424,2026-01,USD,AWS,us-east-1\n", "71.424", 744, MONTH, 1, 70.08,
    ),
    "plain, a whole February": (
        PLAIN + "m5.large,672,64.512,2026-02,USD,AWS,us-east-1\n", "64.512", 672, MONTH, 1, 70.08,
    ),
    "plain, a month of 730 hours": (
        PLAIN + "m5.large,730,70.08,2026-01,USD,AWS,us-east-1\n", "70.08", 730, MONTH, 1, 70.08,
    ),
    # EMR's fee has the type of the machine that it runs on.
    "EMR beside its machine": (
        CUR + DAILY + cur(product="ElasticMapReduce", usage="BoxUsage:m5.large", hours=744, cost=17),
        "88.424", 744, DAY, 1, 70.08,
    ),
    "Redshift, MQ and OpenSearch": (
        CUR + DAILY
        + cur(product="AmazonRedshift", usage="Node:dc2.large", type="dc2.large", hours=744, cost=186)
        + cur(product="AmazonMQ", usage="mq.m5.large", type="mq.m5.large", hours=744, cost=214)
        + cur(product="AmazonES", usage="ESInstance:m6g.large", type="m6g.large.search", hours=744, cost=95),
        "566.424", 744, DAY, 1, 70.08,
    ),
    "marketplace software on the machine": (
        CUR + DAILY + cur(product="7abcdef", usage="SoftwareUsage:m5.large", hours=744, cost=30),
        "101.424", 744, DAY, 1, 70.08,
    ),
    # 8 % and 10 % off 71.424: 58.56768 in 744 h, 57.4656 a month.
    "discounts that repeat the usage": (
        CUR + DAILY + cur("EdpDiscount", hours=744, cost="-5.71392")
        + cur("PrivateRateDiscount", hours=744, cost="-7.1424"),
        "58.56768", 744, DAY, 1, 57.4656,
    ),
    # 7.1424 given back: 64.2816, 63.072 a month.
    "refund of the machine": (
        CUR + DAILY + cur("Refund", cost="-7.1424"), "64.2816", 744, DAY, 1, 63.072,
    ),
    "credit that is given away": (
        CUR + DAILY + cur("Credit", usage="Promotional credit BoxUsage:m5.large", cost=-71),
        "0.424", 744, DAY, 1, 70.08,
    ),
    # A plan covers it: 0.06 an hour, whatever the fee and the marketplace cost.
    "savings plan and marketplace": (
        CUR + "".join(
            cur("SavingsPlanCoveredUsage", day, hours=24, cost="2.304", plan="1.44", name="i-1")
            + cur("SavingsPlanNegation", day, hours=24, cost="-2.304", name="i-1") for day in JANUARY
        )
        + cur("SavingsPlanRecurringFee", product="ComputeSavingsPlans", hours=744, cost=60)
        + cur("Fee", FEE, "5xabc", cost=1000),
        "1060", 744, DAY, 1, 43.8,
    ),
    # Bought for 300 and given back; the machine is of another reservation at 0.05 an hour.
    "reservation that was refunded": (
        CUR + "".join(cur("DiscountedUsage", day, hours=24, cost=0, reserved="1.2") for day in JANUARY)
        + cur("Fee", FEE, cost=300, reserved="0", usage="HeavyUsage")
        + cur("Refund", FEE, cost=-300, reserved="0", usage="HeavyUsage"),
        "0", 744, DAY, 1, 36.5,
    ),
    "FOCUS, marketplace purchase": (
        FOCUS + "".join(focus(day=day, hours=24, cost="2.304") for day in range(1, 31))
        + focus(category="Purchase", cost=300, service="Datadog", words="Datadog", day=12),
        "369.12", 720, DAY, 1, 70.08,
    ),
    "FOCUS, purchase of a commitment": (
        FOCUS + "".join(
            focus(day=day, hours=24, cost=0, commitment="c-1", effective="1.2") for day in range(1, 31)
        )
        + focus(category="Purchase", cost=99, commitment="c-1", effective=0, day=12),
        "99", 720, DAY, 1, 36.5,
    ),
    "Azure, marketplace purchase": (
        AZURE + azure(quantity=24, cost="2.304") + azure(
            "SaaS", quantity=1, cost=700, meter="Firewall", kind="Purchase", publisher="Marketplace",
            name="", info="", unit="1",
        ),
        "702.304", 24, DAY, 1, 70.08,
    ),
    "Azure, licence with the size of its machine": (
        AZURE + azure(quantity=24, cost="2.304")
        + azure(
            "Virtual Machines Licenses", quantity=24, cost="2.208", sub="Windows Server",
            meter="2 vCPU License",
        ),
        "4.512", 24, DAY, 1, 70.08 + 67.16,
    ),
    "Azure, a month on a day": (
        AZURE + azure(quantity=730, cost="70.08", date="10/31/2026")
        + azure(quantity=730, cost="70.08", date="10/31/2026", name="vm2"),
        "140.16", 1460, MONTH, 2, 140.16,
    ),
    "Azure, blocks of ten hours": (
        AZURE + azure(quantity="2.4", unit="10 Hours", price="0.96", cost="2.304"),
        "2.304", 24, DAY, 1, 70.08,
    ),
    "Azure, hours in a unit of ten": (
        AZURE + azure(quantity=24, unit="10 Hours", price="0.96", cost="2.304"),
        "2.304", 24, DAY, 1, 70.08,
    ),
    # 15 % off: 0.0816 an hour.
    "Azure, hours in a unit of a hundred, discounted": (
        AZURE + azure(quantity=24, unit="100 Hours", price="9.6", cost="1.9584"),
        "1.9584", 24, DAY, 1, 59.568,
    ),
    "Azure, support": (
        AZURE + azure(quantity=24, cost="2.304") + azure("Support", quantity=1, cost=100, unit="1", info=""),
        "102.304", 24, DAY, 1, 70.08,
    ),
}  # fmt: skip


def whole(text):
    reading = bill_read(io.BytesIO(text.encode()))
    return estate(reading.groups(), reading.usage, reading.unreadable), reading


def imported(text, name="Bill", **given):
    files = [BillFile("bill.csv", lambda: io.BytesIO(text.encode()))]
    return bill_import(
        workspace=default_workspace(), name=name, files=files, actor="tester", **given
    )


def region_in(code, country, provider="aws"):
    region = factories.region(code, provider_slug=provider)
    region.country = country
    region.save()
    return region


def catalogue():
    sold("m5-large", "0.096", 1000.0, name="m5.large", region=region_in("us-east-1", "US"))
    eastus = region_in("eastus", "US", "azure")
    sold("d2s", "0.096", 1000.0, provider="azure", name="Standard_D2s_v5", region=eastus)


def answered(caller, slug="bill", more=""):
    return caller("write").get(f"{API}/bills/{slug}?metric=stress_ng_div16{more}").json()


@pytest.mark.parametrize("name", TRUTHS)
def test_bill_of_known_truth_gives_total_hours_peak_and_today(name, caller):
    text, total, hours, step, peak, today = TRUTHS[name]
    of, reading = whole(text)
    assert of.total == Decimal(total)
    assert sum(machines.hours for machines in of.machines) == hours
    assert reading.usage.step == step
    catalogue()
    bill = imported(text)
    answer = answered(caller)
    assert answer["compared"]["cost_per_month"] == pytest.approx(today, rel=1e-3)
    assert sum(Decimal(one["cost"]) for one in bill.estate["by_kind"]) == Decimal(total)
    (same,) = (one for one in answer["alternatives"] if one["kind"] == "same_provider")
    # As many machines of the same type, and never a cheaper one: there is only this one.
    assert sum(server["count"] for server in same["servers"]) == peak


@pytest.mark.parametrize("name", ["plain, a whole January", "daily, with a reservation fee"])
def test_same_machine_at_the_same_terms_costs_what_it_costs_today(name, caller):
    catalogue()
    imported(TRUTHS[name][0])
    answer = answered(caller)
    (same,) = (one for one in answer["alternatives"] if one["kind"] == "same_provider")
    assert same["cost_per_month"] == pytest.approx(answer["compared"]["cost_per_month"], rel=1e-3)


NO_MACHINES = (
    cur("Fee", "2026-01-20T03:04:05Z", "5xabc", cost=9),
    cur("Tax", FEE, cost=9),
    cur("Credit", FEE, cost=-9, usage="Promotional"),
    cur("RIFee", FEE, cost=9, hours=744),
    cur("Usage", FEE, "AmazonRDS", usage="InstanceUsage:db.m5.large", cost=9, hours=744),
    cur("Usage", FEE, "AmazonS3", usage="TimedStorage-ByteHrs", cost=9, hours=744),
    cur("Usage", FEE, "AWSSupportBusiness", usage="Dollar", cost=9, hours=1),
    cur("Usage", FEE, "ElasticMapReduce", usage="BoxUsage:m5.large", cost=9, hours=744),
)


def test_lines_that_are_no_machine_never_change_hours_peak_or_step():
    alone, reading = whole(CUR + DAILY)
    shuffled = random.Random(7)
    for _ in range(20):
        more = shuffled.choices(NO_MACHINES, k=4)
        of, other = whole(CUR + "".join([*more[:2], DAILY, *more[2:]]))
        assert [(one.key, one.hours, one.busiest) for one in of.machines] == [
            (one.key, one.hours, one.busiest) for one in alone.machines
        ]
        assert (other.usage.step, of.hours) == (reading.usage.step, alone.hours)


@pytest.mark.parametrize(
    "kind", ["EdpDiscount", "PrivateRateDiscount", "BundledDiscount", "Refund"]
)
def test_today_is_the_same_wherever_a_discount_stands(kind, caller):
    catalogue()
    imported(CUR + cur(hours=744, cost="60.00"))
    imported(CUR + cur(hours=744, cost="71.424") + cur(kind, cost="-11.424"), name="Split")
    write = caller("write")
    answers = [
        write.get(f"{API}/bills/{slug}?metric=stress_ng_div16") for slug in ("bill", "split")
    ]
    today = [answer.json()["compared"]["cost_per_month"] for answer in answers]
    assert today[0] == pytest.approx(today[1], abs=0.01)


def test_hours_are_never_more_than_machines_times_time():
    numbers = random.Random(11)
    for _ in range(30):
        count, hours = numbers.randint(1, 5), numbers.choice([24, 300, 730, 744])
        unit = numbers.choice(["1 Hour", "10 Hours"])
        price = "0.096" if unit == "1 Hour" else "0.96"
        lines = [
            azure(
                quantity=hours, cost=f"{hours * 0.096:.4f}", unit=unit, price=price, name=f"vm{n}"
            )
            for n in range(count)
        ]
        of, _reading = whole(AZURE + "".join(lines))
        assert sum(one.hours for one in of.machines) <= count * of.hours


def test_month_on_a_day_is_remarked_with_its_lines():
    bill = imported(TRUTHS["Azure, a month on a day"][0])
    assert [(note["note"], note["lines"]) for note in bill.estate["notes"]] == [
        ("month_on_a_day", 2)
    ]


def test_reservation_without_a_cost_is_said_to_be_unknown(client, caller, queued):
    catalogue()
    free = azure(quantity=24, cost=0, model="Reservation", reservation="r-1")
    imported(AZURE + free)
    answer = answered(caller)
    assert answer["alternatives"] == []
    assert answer["compared"]["left_out"][0]["why"] == "no_cost"
    client.force_login(factories.user(role="write"))
    page = client.get("/bills/bill/?metric=stress_ng_div16").content.decode()
    assert "cost today is unknown" in page


def test_support_of_aws_is_support():
    of, _ = whole(CUR + DAILY + cur(product="AWSSupportBusiness", usage="Dollar", cost=100))
    assert {kind: sums.billed for kind, sums in of.by_kind}["support"] == 100


def test_defaults_in_money_are_converted_to_the_currency_of_the_bill(caller):
    """At 1.1172 USD and 175.68 JPY a euro: 2,400 USD are 377,401 JPY, 60 USD are 9,435."""
    catalogue()
    factories.rate("USD", "1.1172")
    factories.rate("JPY", "175.68")
    imported(PLAIN + "m5.large,730,11000,2026-01,JPY,AWS,us-east-1\n")
    compared = answered(caller)["compared"]
    assert (compared["moving_cost"], compared["staff_per_server"]) == (377_000, 9_440)


@pytest.mark.parametrize(
    ("more", "names"),
    [("", {"near"}), ("&region_group=any", {"far"}), ("&region_group=asia", set())],
)
def test_replacements_stand_in_the_part_of_the_world_of_the_bill(more, names, caller):
    catalogue()
    for slug, amount, code, country in (("near", "0.05", "de", "DE"), ("far", "0.01", "us", "US")):
        sold(slug, amount, 1000.0, provider="gcp", region=region_in(code, country, "gcp"))
    imported(AZURE + azure(quantity=24, cost="2.304", region="westeurope"))
    targets = {one["kind"]: one for one in answered(caller, more=more)["alternatives"]}
    assert {server["name"] for server in targets.get("cloud", {"servers": []})["servers"]} == names


@pytest.mark.parametrize(
    ("table", "hours", "total"),
    [
        ("type,count,price,month,currency\nbox,6,70.08,2026-10,EUR\n", 4380, "420.48"),
        ("type,count,cost,month,currency\nbox,6,70.08,2026-10,EUR\n", 4380, "70.08"),
        ("type,hours,price,month,currency\nbox,730,0.096,2026-10,EUR\n", 730, "70.08"),
        ("type,count,amount,price,month,currency\nbox,2,100,70,2026-10,EUR\n", 1460, "100"),
    ],
)
def test_price_of_a_plain_table_is_of_one_unit_and_an_amount_is_the_total(table, hours, total):
    of, _ = whole(table)
    assert (of.machines[0].hours, of.total) == (hours, Decimal(total))


@pytest.mark.parametrize(
    ("column", "amount"), [("price", "420.48"), ("cost", "70.08"), ("total", "70.08")]
)
def test_amount_that_contradicts_the_list_price_is_asked_about(column, amount):
    """Six machines at a list price of 70.08 cost 420.48 together."""
    catalogue()
    table = (
        f"type,count,{column},month,currency,provider,region\n"
        f"m5.large,6,{amount},2026-10,USD,AWS,us-east-1\n"
    )
    with pytest.raises(Exception, match="price of one unit or the total of its line"):
        imported(table)
    answer = "total" if column == "price" else "unit"
    assert imported(table, price_is=PriceIs(answer)).total == Decimal("420.48")


HETZNER = "grouping,product,description,reference,quantity,from,until,condition,unit,external id,price,total\n"
ENGLISH = (
    'p,CPX22 Cloud Server,web,Server 1,"1.0000",2026-10-01,2026-10-31,,Months,Server 1,,"€ 19.4900"\n'
    'p,CPX22 Cloud Server,web,Server 2,"240",2026-10-01,2026-10-10,,Hours,Server 2,,"€ 7.4900"\n'
    'p,Volume,data,Volume 1,"1,000.0000",2026-10-01,2026-10-31,,GB Months,Volume 1,,"€ 44.0000"\n'
)
GERMAN = (
    'p,CPX22 Cloud Server,web,Server 1,"1,0000",01.10.2026,31.10.2026,,Monate,Server 1,,"19,4900 €"\n'
    'p,CPX22 Cloud Server,web,Server 2,"240",01.10.2026,10.10.2026,,Stunden,Server 2,,"7,4900 €"\n'
    'p,Volume,data,Volume 1,"1.000,0000",01.10.2026,31.10.2026,,GB Monate,Volume 1,,"44,0000 €"\n'
)


@pytest.mark.parametrize("text", [ENGLISH, GERMAN])
def test_invoice_of_hetzner_is_read_in_both_languages(text):
    """A month of October is 744 hours; 984 with the machine of 240. Its month is one month."""
    bill = imported(HETZNER + text)
    (machine,) = bill.estate["machines"]
    assert (bill.total, bill.currency, bill.formats) == (Decimal("70.98"), "EUR", "hetzner")
    assert (machine["type"], machine["provider"], machine["hours"]) == ("cpx22", "hetzner", "984")
    assert bill.estate["volumes"] == [{"volume": "disk", "gb": "1000", "cost": "44"}]
    assert bill_months(bill.estate) == 1


def test_licences_in_a_price_stay_with_the_machine_and_save_nothing(caller):
    """0.188 with Windows, 0.096 without: of 137.24 and 70.08 the licence is 67.16."""
    catalogue()
    imported(
        CUR
        + cur(hours=730, cost="137.24", operation="RunInstances:0002", name="i-1")
        + cur(hours=730, cost="70.08", name="i-2")
    )
    answer = answered(caller)
    assert answer["compared"]["cost_per_month"] == pytest.approx(207.32, abs=0.01)
    (same,) = (one for one in answer["alternatives"] if one["kind"] == "same_provider")
    assert same["cost_per_month"] == pytest.approx(207.32, abs=0.01)
    assert same["parts"]["licences"] == pytest.approx(67.16, abs=0.01)


def test_machine_with_a_licence_of_unknown_price_is_left_out(caller):
    region = factories.region("eu-x")
    sold("m5-large", "0.096", 1000.0, name="m5.large", region=region)
    imported(CUR + cur(hours=730, cost="137.24", operation="RunInstances:0002"))
    answer = answered(caller)
    assert [one["why"] for one in answer["compared"]["left_out"]] == ["no_licence"]


def test_your_own_servers_are_not_charged_for_staff_twice(caller):
    """Their price holds it: 1 and a spare one at 672.68."""
    catalogue()
    sold("rack", "672.68", 9000.0, provider="own", kind="onprem", unit="month", ram=64)
    imported(PLAIN + "m5.large,730,70.08,2026-01,USD,AWS,us-east-1\n")
    (own,) = (one for one in answered(caller)["alternatives"] if one["kind"] == "own")
    assert own["cost_per_month"] == pytest.approx(2 * 672.68, abs=0.01)


TOKENS = (
    "\ufeffBilledCost,BillingCurrency,ChargeCategory,ChargeDescription,ChargePeriodStart,EffectiveCost,"
    "PricingCurrency,ServiceProviderName,ServiceName\n"
    "100.00,USD,Purchase,tokens,5/1/26,0.00,USD,Example SaaS,Example\n"
    "0.00,USD,Usage,A,5/3/26,20.00,Token,Example SaaS,Example\n"
    "0.00,USD,Usage,B,5/3/26,6.50,Token,Example SaaS,Example\n"
)


def test_tokens_and_short_dates_of_focus_are_read():
    of, _ = whole(TOKENS)
    assert (of.total, of.currency, of.months[0][0]) == (Decimal("100.00"), "USD", "2026-05")
    assert sum(sums.effective for _, sums in of.by_kind) == Decimal("26.50")


def test_file_that_is_no_bill_is_refused_with_its_columns():
    with pytest.raises(Exception, match=r"the file has alpha, beta\. Way out: a plain table"):
        imported("alpha,beta\n1,2\n")


def test_promotions_of_google_are_credits_and_no_price():
    head = "usage_start_time,service.description,sku.description,cost,currency,credits\n"
    promotion = (
        '"[{""type"": ""PROMOTION"", ""amount"": -10}, {""type"": ""DISCOUNT"", ""amount"": -1}]"'
    )
    of, _ = whole(f"{head}2026-01-01,Compute Engine,N1 Core,10,USD,{promotion}\n")
    assert (of.total, of.lines) == (-1, 1)
    assert {kind: sums.billed for kind, sums in of.by_kind}["credit"] == -10


def test_step_is_that_of_machine_lines_by_the_hour():
    lines = "".join(
        cur(start=f"2026-01-01T{hour:02d}:00:00Z", hours=1, cost=1) for hour in range(24)
    )
    of, reading = whole(CUR + lines)
    assert (reading.usage.step, of.hours, of.machines[0].peak) == (HOUR, 24, 1)


PLAIN_HEAD = "type,count,cost,month,currency\n"


@pytest.mark.parametrize(
    "total", ["Total,,300.24,,\n", "Summe,,300.24,2026-10,USD\n", ",,300.24,,\n"]
)
def test_line_that_sums_a_table_is_named_and_not_counted(total):
    of, _ = whole(f"{PLAIN_HEAD}m5.large,3,210.24,2026-10,USD\nbox,1,90,2026-10,USD\n{total}")
    assert (of.total, of.unreadable.amount) == (Decimal("300.24"), 0)
    assert of.unreadable.named == ((4, "it sums other lines, and is left out"),)


def test_line_without_a_type_that_sums_nothing_is_counted():
    of, _ = whole(f"{PLAIN_HEAD}m5.large,3,210.24,2026-10,USD\n,,90,2026-10,USD\n")
    assert (of.total, of.unreadable.lines) == (Decimal("300.24"), 0)


@pytest.mark.parametrize(
    ("table", "hours", "total"),
    [
        # Points group where the file shows decimal commas, and the other way round.
        ("type;hours;cost;month;currency\nbox;2.190;1.210,24;2026-10;EUR\n", 2190, "1210.24"),
        ('type,hours,cost,month,currency\nbox,"2,190","1,210.24",2026-10,EUR\n', 2190, "1210.24"),
        ('type,count,cost,month,currency\nbox,"1,000",210.24,2026-10,EUR\n', 730_000, "210.24"),
        ('type,hours,cost,month,currency\nbox,730,"0,096",2026-10,EUR\n', 730, "0.096"),
        ("type;hours;cost;month;currency\nbox;2.190;210.5;2026-10;EUR\n", Decimal("2.19"), "210.5"),
        ("type;hours;cost;month;currency\nbox;730;1.234.567,5;10.2026;€\n", 730, "1234567.5"),
    ],
)
def test_marks_of_numbers_are_those_that_the_file_shows(table, hours, total):
    of, _ = whole(table)
    assert (of.machines[0].hours, of.total, of.currency) == (hours, Decimal(total), "EUR")


def test_sign_of_several_currencies_is_asked_about():
    with pytest.raises(InvalidValue, match=r"\$ may be one of several currencies: .*USD"):
        whole(f"{PLAIN_HEAD}box,1,10,2026-10,$\n")


def test_number_that_may_be_two_is_named():
    with pytest.raises(InvalidValue, match="line 2: '1,210' is no amount"):
        whole(PLAIN_HEAD + 'box,1,"1,210",2026-10,EUR\n')


def test_machines_whose_number_cannot_be_read_are_named_with_their_amount():
    of, _ = whole(f"{PLAIN_HEAD}box,1,10,2026-10,usd\nbox,3 or 4,30,2026-10,USD\n")
    assert (of.total, of.machines[0].hours) == (40, 730)
    assert (of.unreadable.amount, of.unreadable.named) == (30, ((3, "'3 or 4' is no number"),))


def test_dates_of_a_file_have_the_order_that_one_of_them_shows():
    # 24 hours on each day of October, as a spreadsheet in London writes the dates.
    lines = "".join(
        azure(date=f"{day:02d}/10/2026", quantity=24, cost="2.304") for day in range(1, 32)
    )
    of, _ = whole(AZURE + lines)
    assert [month for month, _ in of.months] == ["2026-10"]
    assert (of.machines[0].hours, of.hours, of.unreadable.lines) == (744, 744, 0)


def test_order_of_dates_that_shows_too_late_refuses_the_file(monkeypatch):
    monkeypatch.setattr(tables, "BLOCK_BYTES", 400)
    days = [1, 2, 3, 4, 25]
    lines = [azure(date=f"{day:02d}/10/2026", quantity=24, cost="2.304") for day in days]
    with pytest.raises(InvalidValue, match="day first"):
        whole(AZURE + "".join(lines))
    assert whole(AZURE + "".join(reversed(lines)))[0].months[0][0] == "2026-10"


@pytest.mark.parametrize("hour", ["3:00 PM", "15:00", "15:00:00", "15:00:00.000 UTC"])
def test_hours_of_short_dates_are_kept(hour):
    line = focus(cost="0.096", hours=1).replace("2026-01-01", f"10/1/2026 {hour}")
    of, reading = whole(FOCUS + line.replace("2026-01-02", "10/1/2026 16:00"))
    assert (reading.usage.begin.hour, of.hours) == (15, 1)


@pytest.mark.parametrize("usage", ["EBSOptimized:m5.large", "EUC1-Reservation:m5.large"])
def test_what_belongs_to_a_machine_adds_no_hours(usage):
    # The records of AWS for faster disks and reserved capacity run beside the machine's own line.
    lines = cur(cost="2.304", hours=24, name="i-1") + cur(cost="0", hours=24, usage=usage)
    of, _ = whole(CUR + lines)
    assert (of.machines[0].hours, of.total) == (24, Decimal("2.304"))


@pytest.mark.parametrize(
    ("head", "why"), [(b"%PDF-1.7\n", "document for people"), (b"<html><table>", "save its table")]
)
def test_document_is_refused_and_names_csv(head, why):
    with pytest.raises(InvalidValue, match=f"{why}.*CSV"):
        bill_read(io.BytesIO(head))


def test_workbook_is_refused_and_names_csv():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    packed.seek(0)
    with pytest.raises(InvalidValue, match="it is a workbook: save its table as CSV"):
        bill_read(packed)


def test_focus_as_json_is_read_like_focus():
    row = {
        "BilledCost": 0.096,
        "BillingCurrency": "USD",
        "ChargePeriodStart": "2026-01-01T00:00:00Z",
        "ChargePeriodEnd": "2026-01-01T01:00:00Z",
        "ProviderName": "AWS",
        "ServiceName": "Amazon Elastic Compute Cloud",
        "ChargeCategory": "Usage",
        "PricingQuantity": 1,
        "PricingUnit": "Hours",
        "SkuPriceDetails": {"InstanceType": "m5.large", "CoreCount": 2},
    }
    of, reading = whole(json.dumps(row) + "\n" + json.dumps(row))
    assert (reading.format.slug, of.total, of.machines[0].hours) == ("focus", Decimal("0.192"), 2)
    assert of.machines[0].key.machine_type == "m5.large"
