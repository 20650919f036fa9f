"""`manage.py cloud bill`: a month's ledger beside the bill of AWS, of Azure and of Google."""

import asyncio
import datetime as dt
import io
import json
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command
from moto.ce.models import ce_backends
from moto.moto_api._internal.models import moto_api_backend
from moto.server import ThreadedMotoServer

from backend.benchmarks.models import LedgerEntry
from backend.foundation.errors import DriverError, Reason
from backend.money.money import Money
from backend.providers.aws.bill import AwsBill
from backend.providers.azure.bill import AzureBill
from backend.providers.gcp.bill import GcpBill
from backend.providers.machines import Access
from backend.rentals.services.cloud_accounts import account_create
from tests import factories
from tests.fakes.azure import Azure
from tests.fakes.gcp_bigquery import BigQuery, Usage
from tests.fakes.machines import Machines
from tests.workers.clouds import account, rented_run

NOVEMBER = (dt.date(2026, 11, 1), dt.date(2026, 12, 1))


@pytest.fixture
def azure(tmp_path):
    with Machines(tmp_path) as machines, Azure(machines) as running:
        yield running


def _settings(azure):
    return {
        "subscription": azure.subscription,
        "regions": [azure.region],
        "endpoint_url": azure.url,
    }


def said(*words):
    out = io.StringIO()
    try:
        call_command("cloud", *words, stdout=out)
    except CommandError as refusal:
        return out.getvalue(), str(refusal)
    return out.getvalue(), ""


def test_bill_of_aws_is_read_by_machine_with_all_digits():
    spans = [
        {
            "TimePeriod": {"Start": "2026-11-01", "End": "2026-12-01"},
            "Groups": [
                {
                    "Keys": [f"rackrate-token${token}"],
                    "Metrics": {"UnblendedCost": {"Amount": amount, "Unit": "USD"}},
                }
                for token, amount in (("", "812.50"), ("a", "0.0101516483"), ("b", "1.5"))
            ],
        }
    ]
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    try:
        moto_api_backend.set_ce_cost_usage(
            result={"ResultsByTime": spans}, account_id="123456789012"
        )
        host, port = server.get_host_and_port()
        settings = {"regions": ["eu-west-1"], "endpoint_url": f"http://{host}:{port}"}
        key = {"access_key_id": "AKIAOFTHEBILL", "secret_access_key": "none-that-counts"}
        bill = AwsBill(Access("static_key", settings, key))
        assert asyncio.run(bill.month(*NOVEMBER)) == {
            "a": Money(Decimal("0.0101516483"), "USD"),
            "b": Money(Decimal("1.5"), "USD"),
        }
        (asked,) = ce_backends["123456789012"]["aws"].cost_usage_results
        request = json.loads(asked)
        assert request["TimePeriod"] == {"Start": "2026-11-01", "End": "2026-12-01"}
        assert request["GroupBy"] == [{"Type": "TAG", "Key": "rackrate-token"}]
    finally:
        server.stop()


def test_bill_of_azure_is_read_over_all_pages(azure):
    azure.billed = [
        (0.1, "rackrate-a", "EUR"),
        (99.0, "somebody-elses", "EUR"),
        (2, "rackrate-b", "EUR"),
    ]
    bill = AzureBill(Access("workload_identity", _settings(azure)))
    assert asyncio.run(bill.month(*NOVEMBER)) == {
        "a": Money(Decimal("0.1"), "EUR"),
        "b": Money(Decimal(2), "EUR"),
    }
    period = azure.asked[0].body["timePeriod"]
    assert period == {"from": "2026-11-01T00:00:00Z", "to": "2026-11-30T23:59:59Z"}
    azure.faults.set("forbidden", times=1)
    with pytest.raises(DriverError) as refusal:
        asyncio.run(bill.month(*NOVEMBER))
    assert refusal.value.reason == Reason.AUTH


def used(day, token, cost, currency="EUR", month=11):
    at = dt.datetime(2026, month, day, 23, tzinfo=dt.UTC)
    return Usage(at, (("owner", "tester"), ("rackrate-token", token)), cost, currency)


@pytest.fixture
def export():
    with BigQuery() as running:
        yield running


@pytest.fixture
def bill_of_google(export):
    settings = {
        "project": export.project,
        "billing_export": export.table,
        "endpoint_url": export.url,
    }
    return GcpBill(Access("workload_identity", settings))


def test_bill_of_google_is_read_of_its_export_over_all_pages(export, bill_of_google):
    export.usage = [
        used(31, "a", 9.0, month=10),
        used(1, "a", 0.1), used(30, "a", 0.2), used(2, "b", 2), used(3, "c", 3),
        Usage(dt.datetime(2026, 11, 3, tzinfo=dt.UTC), (("owner", "somebody"),), 99.0),
        used(1, "b", 9.0, month=12),
    ]  # fmt: skip
    export.faults.set("late", times=2)
    assert asyncio.run(bill_of_google.month(*NOVEMBER)) == {
        "a": Money(Decimal("0.3"), "EUR"),
        "b": Money(Decimal(2), "EUR"),
        "c": Money(Decimal(3), "EUR"),
    }
    assert [asked.method for asked in export.asked] == ["POST", "GET", "GET", "GET"]


def test_bill_of_google_that_cannot_be_read_says_why(export, bill_of_google):
    export.usage = [used(1, "a", 1), used(1, "a", 1, "USD")]
    with pytest.raises(DriverError, match="a is billed in EUR and USD"):
        asyncio.run(bill_of_google.month(*NOVEMBER))
    export.faults.set("forbidden", times=1)
    with pytest.raises(DriverError, match="Access Denied: Table billing-of-all") as refusal:
        asyncio.run(bill_of_google.month(*NOVEMBER))
    assert (refusal.value.reason, refusal.value.retryable) == (Reason.AUTH, False)
    with pytest.raises(DriverError, match="name the table of the billing export"):
        asyncio.run(GcpBill(Access("workload_identity", {})).month(*NOVEMBER))


@pytest.mark.django_db
def test_command_names_what_differs_and_what_nobody_booked(azure, settings, queued):
    settings.CLOUD_ENDPOINTS = True
    region = factories.region(azure.region, provider_slug="azure")
    offer = factories.offer(
        provider_slug="azure", region=region, name="Standard_D2s_v5", arch="x86_64"
    )
    factories.price(offer, "0.36")
    account_create(
        workspace=factories.workspace(),
        name="bench",
        provider="azure",
        access="workload_identity",
        settings=_settings(azure),
        secret={},
        max_machines=2,
        budget=None,
        actor="tester",
    )
    resource = rented_run(offer).resource
    for month, hour, amount in ((10, 4, "9"), (11, 4, "0.25"), (11, 5, "0.05")):
        LedgerEntry.objects.create(
            resource=resource,
            period_start=dt.datetime(2026, month, 3, hour, tzinfo=dt.UTC),
            seconds=3600,
            amount=Decimal(amount),
            currency="USD",
        )
    azure.billed = [(0.5, f"rackrate-{resource.pk}", "USD"), (7, "rackrate-lost", "USD")]
    printed, error = said("bill", "bench", "--month", "2026-11", "--json")
    assert error == ""
    (document,) = json.loads(printed)
    lost, known = document["machines"]
    assert lost == {"token": "lost", "ledger": None, "bill": "7 USD", "difference": "7"}
    assert Decimal(known["difference"]) == Decimal("0.2")
    assert known["bill"] == "0.5 USD"
    printed, _ = said("bill", "bench", "--month", "2026-11")
    assert printed.splitlines()[0] == "bench, 2026-11: 2 machines"
    assert "not in the ledger" in printed


@pytest.mark.django_db
def test_command_says_why_when_there_is_no_bill(queued):
    account(name="bench")
    _, error = said("bill", "bench")
    assert "no bill of fake can be read" in error
    _, error = said("bill", "bench", "--month", "2026-13")
    assert error == "--month: '2026-13' is no month such as 2026-11"
