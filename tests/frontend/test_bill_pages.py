"""Pages of bills: sent by a form, seen while it is read, and what it contains."""

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from backend.bills.models import Bill, BillUpload
from tests import factories
from tests.backend.test_bill_elsewhere import sold
from tests.frontend.spacing import shown
from workers import bills as worker

pytestmark = pytest.mark.django_db
SAMPLE = (Path(__file__).parents[2] / "fixtures/bills/focus/focus_1_0_sample.csv").read_bytes()
HEAD = "type,hours,cost,month,currency,provider\n"


@pytest.fixture
def analyst(client, queued):
    client.force_login(factories.user(role="write"))
    return client


def sent(client, content, name="bill.csv", **given):
    file = SimpleUploadedFile(name, content if isinstance(content, bytes) else content.encode())
    return client.post("/bills/", {"file": file, **given}, follow=True)


def test_bill_goes_from_the_form_to_its_page(analyst):
    page = shown(sent(analyst, SAMPLE, name="september.csv"))
    assert "september.csv is being read" in page
    assert 'hx-trigger="every 2s"' in page
    worker.read_waiting()
    upload = BillUpload.objects.get()
    part = analyst.get(f"/bills/state/?sent={upload.pk}")
    assert part["HX-Redirect"] == "/bills/september/"
    assert analyst.get(f"/bills/?sent={upload.pk}")["Location"] == "/bills/september/"
    assert analyst.get("/bills/?sent=nothing").status_code == 200
    part = shown(analyst.get("/bills/state/"))
    assert "hx-trigger" not in part
    assert '<a href="/bills/september/">september</a>' in part
    page = shown(analyst.get("/bills/september/"))
    assert "18.30 USD in 1 month." in page
    assert "93.8% of it is for machines of 14 types." in page
    assert "g5.4xlarge" in page
    assert "Credits" in page


def test_lines_that_could_not_be_read_are_named_on_the_page(analyst):
    sent(analyst, HEAD + "m5.large,10,1,2026-10,EUR,AWS\nm5.large,10,one,2026-10,EUR,AWS\n")
    worker.read_waiting()
    page = shown(analyst.get("/bills/bill/"))
    assert "1 line could not be read" in page
    assert "line 3: &#x27;one&#x27; is no amount" in page


def test_bill_of_hours_draws_the_week(analyst):
    head = "BilledCost,BillingCurrency,ChargePeriodStart,ServiceName,ChargeDescription,PricingQuantity,PricingUnit\n"
    rows = [
        f"0.1,USD,2024-09-{day:02} {hour:02}:00:00,EC2,$0.1 per On Demand Linux m5.large Instance Hour,2,Hours\n"
        for day in range(2, 9)
        for hour in range(24)
    ]
    sent(analyst, head + "".join(rows))
    worker.read_waiting()
    page = shown(analyst.get("/bills/bill/"))
    assert "Machines by the hour of the week" in page
    assert "at most 2 together" in page


def test_refused_file_says_why_where_it_was_sent(analyst):
    sent(analyst, "a,b\n1,2\n", name="notes.csv")
    worker.read_waiting()
    page = shown(analyst.get("/bills/"))
    assert "notes.csv could not be read: bill.csv" not in page
    assert "notes.csv could not be read" in page
    assert "No bill yet." in page


def test_empty_file_is_refused_beside_its_field(analyst):
    page = shown(sent(analyst, b""))
    assert "The submitted file is empty." in page


def test_bill_is_deleted_after_a_question(analyst):
    sent(analyst, HEAD + "m5.large,10,1,2026-10,EUR,AWS\n")
    worker.read_waiting()
    assert "Delete the bill bill?" in shown(analyst.get("/bills/bill/delete/"))
    analyst.post("/bills/bill/delete/")
    assert not Bill.objects.exists()
    assert analyst.get("/bills/bill/").status_code == 404


@pytest.mark.parametrize("address", ["/bills/", "/bills/state/", "/bills/x/", "/bills/x/delete/"])
def test_nobody_below_an_analyst_sees_bills(client, address):
    assert client.get(address).status_code == 403
    client.force_login(factories.user(role="read"))
    assert client.get(address).status_code == 403


def test_table_of_unclear_amounts_is_read_with_the_answer(analyst):
    """Six machines with a list price of 73.00 a month: 438.00 is the total."""
    sold("m5-large", "0.10", 1000.0, name="m5.large", region=factories.region())
    table = (
        "type,count,price,month,currency,provider,region\n"
        "m5.large,6,438,2026-10,USD,AWS,us-east-1\n"
    )
    sent(analyst, table, name="servers.csv")
    worker.read_waiting()
    page = shown(analyst.get("/bills/"))
    assert "servers.csv waits for your answer" in page
    assert "being read" not in page
    upload = BillUpload.objects.get()
    analyst.post(f"/bills/uploads/{upload.pk}/", {"price_is": "total"})
    worker.read_waiting()
    assert Bill.objects.get().total == 438
    assert not upload.parts.exists()


def test_file_that_could_not_be_read_is_not_said_to_be_read(analyst):
    page = shown(sent(analyst, "alpha,beta\n1,2\n", name="other.csv"))
    worker.read_waiting()
    page = shown(analyst.get("/bills/"))
    assert "other.csv could not be read" in page
    assert "the file has alpha, beta" in page
    assert "is being read" not in page


def test_template_is_a_bill_that_can_be_read(analyst):
    response = analyst.get("/bills/template.csv")
    assert response["Content-Disposition"] == 'attachment; filename="bill-template.csv"'
    assert "/bills/template.csv" in analyst.get("/bills/").content.decode()
    sent(analyst, response.content, name="template.csv")
    worker.read_waiting()
    assert Bill.objects.get().formats == "plain"
