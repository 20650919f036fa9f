"""What is exported is taken back by the matching import, and nothing differs afterwards."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.test import Client

from backend.accounts.models import AuditEntry
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.data_version import data_version
from tests import factories
from tests.backend.conftest import API, fields, rows
from tests.pure.parsing.test_quotes import GOOD, table

FILES = ("csv", "csv?dialect=excel", "csv?dialect=excel-eu", "tsv", "xlsx")
QUOTES = (
    GOOD | {"ram_gib": "1.5", "monthly_net": "1249.125"},
    GOOD | {"model": "big", "disks": "2x1.9 TB NVMe + 4x8 TB HDD", "traffic_tb": "20.5", "cpu": ""},
    GOOD | {"model": "cores", "threads": "", "valid_until": "", "setup_net": "", "url/contact": ""},
    GOOD | {
        "model": "gross", "monthly_net": "", "setup_net": "", "monthly_gross": "119",
        "setup_gross": "10.5", "tax_rate": "19%", "min_term_months": "24", "location": "",
    },
)  # fmt: skip


@pytest.fixture
def admin(caller: Callable[..., Client]) -> Client:
    return caller("admin")


def exported(client: Client, name: str, file: str) -> bytes:
    response = client.get(f"{API}/{name}.{file}")
    assert response.status_code == 200, response.content
    return response.content


def taken_back(client: Client, kind: str, content: bytes, **given: Any) -> Any:
    upload = SimpleUploadedFile("table", content)
    response = client.post(f"{API}/tables/import", {"kind": kind, "file": upload, **given})
    assert response.status_code == 200, response.content
    return response.json()


def nothing_new(report: Any) -> bool:
    names = ("offers_new", "offers_changed", "prices_new", "prices_replaced", "refused")
    return not any(report[name] for name in names)


def quotes_stored(client: Client) -> Any:
    report = taken_back(client, "quotes", table(*QUOTES).encode())
    assert (report["prices_new"], report["refused"]) == (len(QUOTES), [])
    return report


def without(found: list[dict[str, str]], *names: str) -> list[dict[str, str]]:
    return [{name: cell for name, cell in row.items() if name not in names} for row in found]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", ["rankings", "offers"])
def test_ranking_taken_back_changes_nothing(
    demo: None, admin: Client, name: str, file: str
) -> None:
    quotes_stored(admin)
    query = f"{file}{'&' if '?' in file else '?'}metric=cmips_score&currency=EUR"
    before = exported(admin, name, query)
    count = len(rows(admin.get(f"{API}/{name}.csv?metric=cmips_score")))
    version = data_version()
    report = taken_back(admin, "offers", before)
    assert nothing_new(report), report["refused"][:5]
    assert (report["rows"], report["offers_unchanged"]) == (count, count)
    assert count > 0
    assert data_version() == version
    if file != "xlsx":
        assert exported(admin, name, query) == before


@pytest.mark.parametrize("file", FILES)
def test_prices_taken_back_change_nothing(demo: None, admin: Client, file: str) -> None:
    quotes_stored(admin)
    before = exported(admin, "prices", f"{file}{'&' if '?' in file else '?'}state=all")
    version, count = data_version(), PriceObservation.objects.count()
    report = taken_back(admin, "prices", before)
    assert nothing_new(report), report["refused"][:5]
    assert (report["rows"], report["prices_unchanged"]) == (count, count)
    assert data_version() == version


def test_prices_come_back_to_offers_that_lost_them(admin: Client) -> None:
    quotes_stored(admin)
    before = rows(admin.get(f"{API}/prices.csv?state=all"))
    content = exported(admin, "prices", "csv?state=all")
    PriceObservation.objects.all().delete()
    report = taken_back(admin, "prices", content)
    assert (report["prices_new"], report["refused"]) == (len(QUOTES), [])
    after = rows(admin.get(f"{API}/prices.csv?state=all"))
    assert without(after, "price_id") == without(before, "price_id")


def test_changed_price_is_corrected_when_asked_for(demo: None, admin: Client) -> None:
    quotes_stored(admin)
    own = Offer.objects.get(name="big").slug
    text = exported(admin, "prices", f"csv?offer={own}").decode()
    assert ",37.3,EUR," in text
    changed = text.replace(",37.3,EUR,", ",39.9,EUR,").encode()
    report = taken_back(admin, "prices", changed)
    assert report["refused"][0]["detail"] == "it differs from the stored price in amount"
    report = taken_back(admin, "prices", changed, replace="true")
    assert (report["prices_replaced"], report["refused"]) == (1, [])
    price = PriceObservation.objects.get(offer__slug=own)
    assert (f"{price.amount.normalize():f}", price.source) == (
        "39.9",
        "quote: sales@hoster.example",
    )
    assert price.included["traffic_bytes"] == 20_500_000_000_000
    assert AuditEntry.objects.filter(action="prices_import").exists()
    listed = exported(admin, "prices", "csv?provider=aws").decode().splitlines()
    cells = listed[1].split(",")
    cells[listed[0].split(",").index("amount")] = "123"
    report = taken_back(admin, "prices", "\n".join((listed[0], ",".join(cells))).encode())
    assert "stays as it is: the line differs in amount" in report["refused"][0]["detail"]


def test_price_of_an_unknown_offer_is_refused(admin: Client) -> None:
    text = "provider,offer,amount,currency,unit\nHosty,EX44,9,EUR,month\n"
    report = taken_back(admin, "prices", text.encode())
    assert report["refused"][0]["detail"] == "no offer of this workspace is 'EX44': import it first"


def test_offer_for_everybody_stays_as_it_is(demo: None, admin: Client) -> None:
    head, first, *_ = exported(admin, "offers", "csv?provider=aws").decode().splitlines()
    cells = first.split(",")
    cells[head.split(",").index("vcpu")] = "777"
    report = taken_back(admin, "offers", "\n".join((head, ",".join(cells))).encode())
    assert "differs in vcpu_count" in report["refused"][0]["detail"]
    own = quotes_stored(admin) and Offer.objects.get(name="big")
    head, first = exported(admin, "offers", f"csv?q={own.slug}").decode().splitlines()
    cells = first.split(",")
    cells[head.split(",").index("vcpu")] = "48"
    report = taken_back(admin, "offers", "\n".join((head, ",".join(cells))).encode())
    assert (report["offers_changed"], report["refused"]) == (1, [])
    own.refresh_from_db()
    assert own.vcpu_count == 48


@pytest.mark.parametrize("file", FILES)
def test_quotes_taken_back_change_nothing(admin: Client, file: str) -> None:
    quotes_stored(admin)
    before = exported(admin, "quotes", file)
    report = taken_back(admin, "quotes", before)
    assert nothing_new(report), report["refused"]
    assert report["prices_unchanged"] == len(QUOTES)
    if file != "xlsx":
        assert exported(admin, "quotes", file) == before


@pytest.mark.parametrize("file", FILES)
def test_quotes_come_back_to_an_empty_workspace(admin: Client, file: str) -> None:
    quotes_stored(admin)
    before = rows(admin.get(f"{API}/quotes.csv"))
    content = exported(admin, "quotes", file)
    Offer.objects.all().delete()
    report = taken_back(admin, "quotes", content)
    assert (report["offers_new"], report["prices_new"]) == (len(QUOTES), len(QUOTES))
    after = rows(admin.get(f"{API}/quotes.csv"))
    assert without(after, "price_id") == without(before, "price_id")


def test_quotes_are_of_the_workspace_that_was_given_them(admin: Client) -> None:
    quotes_stored(admin)
    other = factories.offer("aws-x", workspace=None)
    factories.price(other, "1", source="quote: nobody")
    assert len(rows(admin.get(f"{API}/quotes.csv"))) == len(QUOTES)
    assert rows(Client().get(f"{API}/quotes.csv")) != []


def test_command_takes_the_list_of_prices_back(admin: Client, tmp_path: Any, capsys: Any) -> None:
    quotes_stored(admin)
    file = tmp_path / "prices.csv"
    file.write_bytes(exported(admin, "prices", "csv"))
    call_command("import_price_table", str(file), "--json")
    assert json.loads(capsys.readouterr().out)["prices_unchanged"] == len(QUOTES)


def test_form_takes_what_json_takes(admin: Client) -> None:
    text = b"Hoster;Modell;Preis;Datum\nHosty;EX44;1.249,00;10.11.2026\n"
    given = {"columns": '{"Preis": "monthly_net"}', "currency": "EUR", "dry_run": "true"}
    report = taken_back(admin, "quotes", text, **given)
    assert (report["is_dry"], report["prices_new"], report["refused"]) == (True, 1, [])
    assert Offer.objects.count() == 0
    for columns in ("{", "[" * 100_000):
        upload = SimpleUploadedFile("table", text)
        response = admin.post(
            f"{API}/tables/import", {"kind": "quotes", "file": upload, "columns": columns}
        )
        assert (response.status_code, fields(response)) == (400, ["/columns"])
