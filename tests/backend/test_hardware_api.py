"""Own hardware over the API: calculated, kept by versions, ranked beside what is rented."""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from backend.accounts.models import AuditEntry, Workspace
from backend.benchmarks.models import Run
from backend.catalog.calc.hardware_assumptions import ASSUMPTIONS
from backend.catalog.calc.hardware_document import FIELDS, ITEM_FIELDS
from backend.catalog.models import HardwareModel, Offer, PriceObservation
from backend.catalog.selectors.current_prices import current_price
from backend.catalog.selectors.hardware import hardware_visible
from backend.catalog.services.hardware import hardware_create
from backend.foundation.errors import InvalidValue
from tests import factories
from tests.backend.conftest import API, fields, rows

pytestmark = pytest.mark.django_db
JSON = "application/json"
# Everything but capital at nothing, as decimal strings.
BARE: dict[str, Any] = {
    "name": "Rack 7",
    "currency": "EUR",
    "servers": 1,
    "items": [{"name": "server", "count": 1, "unit_price": "8000", "watts": "0"}],
    "life_months": 60,
    "residual_ratio": "0",
    "discount_rate_per_year": "0",
    "pue": "1",
    "energy_price_per_kwh": "0",
    "rack_units": "0",
    "rack_price_per_unit_month": "0",
    "support_ratio_per_year": "0",
    "staff_hours_per_month": "0",
    "staff_price_per_hour": "0",
    "network_price_per_month": "0",
    "annual_failure_rate": "0",
    "repair_days": "0",
    "offer": None,
}
RACK = BARE | {
    "name": "ten",
    "currency": "USD",
    "servers": 10,
    "items": [
        {"name": "server", "count": 10, "unit_price": "8000", "watts": "300"},
        {"name": "switch", "count": 1, "unit_price": "2000", "watts": "150"},
    ],
    "residual_ratio": "0.1",
    "pue": "1.5",
    "energy_price_per_kwh": "0.2",
    "rack_units": "21",
    "rack_price_per_unit_month": "30",
    "support_ratio_per_year": "0.06",
    "staff_hours_per_month": "5",
    "staff_price_per_hour": "60",
    "network_price_per_month": "100",
    "annual_failure_rate": "0.05",
    "repair_days": "73",
}
# The same hardware with everything taken from the table of assumptions.
DEFAULTS = {name: BARE[name] for name in ("currency", "servers", "items", "offer")}


@pytest.fixture
def analyst(caller: Callable[..., Client]) -> Client:
    return caller("write")


def posted(client: Client, document: object, status: int = 201) -> Any:
    body = document if isinstance(document, str) else json.dumps(document)
    response = client.post(f"{API}/hardware", body, content_type=JSON)
    assert response.status_code == status, response.content
    return response if status != 201 else response.json()


def cents(text: str) -> str:
    return str(Decimal(text).quantize(Decimal("0.01")))


# --- what it comes to -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "months", "monthly"),
    [
        ("0", 60, "133.33"),  # 8000 / 60
        ("0.05", 60, "150.97"),  # 8000 · (.05/12) / (1 − (1 + .05/12)^−60)
        ("0.08", 36, "250.69"),  # 8000 · (.08/12) / (1 − (1 + .08/12)^−36)
    ],
)
def test_capital_is_recovered_as_the_reference_works_it_out(
    analyst: Client, rate: str, months: int, monthly: str
) -> None:
    made = posted(analyst, BARE | {"discount_rate_per_year": rate, "life_months": months})
    assert cents(made["price_per_month"]) == monthly
    assert made["breakdown"]["capital"] == made["price_per_month"]
    # the answer is not rounded
    assert len(made["price_per_month"].replace(".", "")) >= 20


def test_energy_is_calculated_as_the_reference_works_it_out(analyst: Client) -> None:
    item = {"name": "server", "count": 1, "unit_price": "8000", "watts": "350"}
    made = posted(analyst, BARE | {"items": [item], "pue": "1.56", "energy_price_per_kwh": "0.2"})
    # 1.56 · 350 W · 730 h / 1000 = 398.58 kWh; · 0.20 = 79.716
    assert Decimal(made["set_energy_kwh_per_month"]) == Decimal("398.58")
    assert Decimal(made["breakdown"]["energy"]) == Decimal("79.716")


def test_breakdown_of_a_rack_is_that_of_one_server_and_of_the_set(analyst: Client) -> None:
    made = posted(analyst, RACK)
    whole = {
        "capital": "1366.67",  # 82,000 / 60
        "spares": "136.67",  # one spare of 8,200 / 60
        "residual": "-150.33",  # a tenth of 90,200 / 60
        "energy": "689.85",  # 1.5 · 3,150 · 730 / 1000 · .2
        "space": "630.00",
        "support": "410.00",
        "staff": "300.00",
        "network": "100.00",
    } | dict.fromkeys(
        ("transit", "remote_hands", "disks", "installation", "migration", "lease"), "0.00"
    )
    assert {name: cents(part) for name, part in made["set_breakdown"].items()} == whole
    assert list(made["breakdown"]) == list(whole)
    assert (cents(made["set_price_per_month"]), made["spares"]) == ("3482.85", 1)
    assert Decimal(made["price_per_month"]).quantize(Decimal("1e-6")) == Decimal("348.285")
    assert Decimal(made["price_per_hour"]).quantize(Decimal("1e-5")) == Decimal("0.47710")
    assert sum(map(Decimal, made["breakdown"].values())).quantize(Decimal("1e-20")) == Decimal(
        made["price_per_month"]
    ).quantize(Decimal("1e-20"))


def test_assumptions_are_taken_where_the_document_leaves_them_out(
    analyst: Client, client: Client
) -> None:
    made = posted(analyst, DEFAULTS | {"name": "plain"})
    # 150.97 + 30 + 33.33 + 120: capital at 5 %, a rack unit, support and two hours of staff
    assert cents(made["price_per_month"]) == "334.30"
    listed = client.get(f"{API}/hardware/assumptions").json()
    assert listed["count"] == len(ASSUMPTIONS)
    assert {row["name"]: row["default"] for row in listed["results"]} == {
        name: made["document"][name] if name != "life_months" else "60" for name in ASSUMPTIONS
    }
    for row in listed["results"]:
        assert row["unit"]
        assert row["source"]
        assert Decimal(row["low"]) <= Decimal(row["default"]) <= Decimal(row["high"])
    assert len(rows(client.get(f"{API}/hardware/assumptions.csv"))) == len(ASSUMPTIONS)


# --- what is kept ---------------------------------------------------------------------------------


def test_price_is_monthly_so_that_own_hardware_is_ranked_by_default(analyst: Client) -> None:
    made = posted(analyst, BARE | {"currency": "USD"})
    offer = Offer.objects.get(slug="own-rack-7")
    assert (offer.kind, offer.provider.slug, offer.name) == ("onprem", "own", "Rack 7")
    price = PriceObservation.objects.get()
    assert str(price.pk) == made["price"]
    assert (price.purchase_model, price.unit, price.currency) == ("monthly", "month", "USD")
    # 18 decimals of 133.33… in the column; all digits beside it
    assert price.amount == Decimal("133.333333333333333333")
    assert price.source == "own hardware Rack 7 version 1"
    assert current_price(offer) == price
    factories.sample(offer, 5000.0)
    [row] = analyst.get(f"{API}/rankings").json()["results"]
    assert (row["offer_id"], row["price_term"]) == ("own-rack-7", "monthly")
    # N10: bought is paid for its whole life.
    assert row["commitment_months"] == 60
    assert Decimal(row["price"]).quantize(Decimal("1e-9")) == Decimal("0.182648402")  # / 730


def test_same_name_again_is_the_next_version_and_a_new_price(analyst: Client) -> None:
    first = posted(analyst, BARE)
    second = posted(analyst, BARE | {"life_months": 72})
    third = posted(analyst, BARE | {"life_months": 48, "offer": "own-rack-7"})
    assert [one["version"] for one in (first, second, third)] == [1, 2, 3]
    assert {one["offer"] for one in (first, second, third)} == {"own-rack-7"}
    prices = PriceObservation.objects.order_by("observed_at").values_list("amount", flat=True)
    assert [cents(str(amount)) for amount in prices] == ["133.33", "111.11", "166.67"]
    # what was kept before is still there as it was
    assert analyst.get(f"{API}/hardware/{first['id']}").json() == first
    assert [row["version"] for row in rows(analyst.get(f"{API}/hardware.csv"))] == ["3"]
    every = rows(analyst.get(f"{API}/hardware.csv?all=1&name=Rack 7&offer=own-rack-7"))
    assert [row["version"] for row in every] == ["3", "2", "1"]
    assert [cents(row["cost_capital"]) for row in every] == ["166.67", "111.11", "133.33"]
    assert rows(analyst.get(f"{API}/hardware.csv?offer=other")) == []
    [row] = rows(analyst.get(f"{API}/prices.csv"))
    assert row["price_id"] == third["price"]
    assert AuditEntry.objects.filter(action="hardware_create").count() == 3


def test_hardware_may_price_a_machine_that_is_there(analyst: Client) -> None:
    machine = factories.offer(
        "own-box", provider_slug="own", kind="dedicated", workspace=factories.workspace()
    )
    assert posted(analyst, BARE | {"offer": "own-box"})["offer"] == "own-box"
    assert current_price(machine) == PriceObservation.objects.get()
    assert Offer.objects.count() == 1


@pytest.mark.parametrize(
    ("document", "pointers"),
    [
        (BARE | {"colour": "red"}, ["/colour"]),
        (BARE | {"pue": "0.5", "servers": 0}, ["/pue", "/servers"]),
        (BARE | {"items": [{"name": "a", "count": 1, "unit_price": "x"}]}, ["/items/0/unit_price"]),
        (BARE | {"items": []}, ["/items"]),
        (BARE | {"currency": "euro"}, ["/currency"]),
        (BARE | {"offer": 7}, ["/offer"]),
        (BARE | {"offer": "own-none"}, ["/offer"]),
        (BARE | {"offer": "\0"}, ["/offer"]),
        (BARE | {"offer": "aws-x"}, ["/offer"]),
        (BARE | {"name": "used"}, ["/name"]),
        (BARE | {"items": [BARE["items"][0] | {"unit_price": "0"}]}, ["/items"]),
        (
            BARE | {"items": [BARE["items"][0] | {"count": 1000000, "unit_price": "9999999"}]},
            ["/items"],
        ),
        ([], [""]),
        ("{", []),
        ('{"pue": NaN}', []),
    ],
)
def test_document_is_refused_by_pointer_and_nothing_is_kept(
    analyst: Client, document: object, pointers: list[str]
) -> None:
    factories.offer("aws-x")
    factories.offer("own-used", provider_slug="own")
    assert fields(posted(analyst, document, 400)) == pointers
    assert not HardwareModel.objects.exists()
    assert not PriceObservation.objects.exists()


def test_numbers_of_json_keep_their_digits(analyst: Client) -> None:
    body = json.dumps(BARE | {"pue": 0}).replace('"pue": 0', '"pue": 1.000000000000000001')
    assert posted(analyst, body)["document"]["pue"] == "1.000000000000000001"
    price = json.dumps(BARE | {"energy_price_per_kwh": "?"}).replace('"?"', "0.1")
    assert posted(analyst, price)["document"]["energy_price_per_kwh"] == "0.1"


def test_another_offer_needs_another_name(analyst: Client) -> None:
    posted(analyst, BARE)
    factories.offer("own-box", provider_slug="own", workspace=factories.workspace())
    refused = posted(analyst, BARE | {"offer": "own-box"}, 400)
    assert fields(refused) == ["/offer"]
    assert "own-rack-7" in refused.content.decode()


def test_writing_needs_the_scope_and_a_workspace_sees_its_own(
    caller: Callable[..., Client], client: Client
) -> None:
    response = caller("read").post(f"{API}/hardware", json.dumps(BARE), content_type=JSON)
    assert response.status_code == 403
    assert client.post(f"{API}/hardware", "{}", content_type=JSON).status_code == 401
    made = posted(caller("write", name="ours"), BARE)
    other = Workspace.objects.create(slug="other", name="Other")
    stranger = caller("admin", name="theirs", workspace=other)
    assert rows(stranger.get(f"{API}/hardware.csv")) == []
    assert stranger.get(f"{API}/hardware/{made['id']}").status_code == 404
    assert hardware_visible(other).count() == 0
    with pytest.raises(InvalidValue):
        hardware_create(workspace=other, document=BARE | {"offer": "own-rack-7"}, actor="x")


def test_version_is_deleted_unless_costs_need_its_price(analyst: Client) -> None:
    first, second = posted(analyst, BARE), posted(analyst, BARE)
    path = f"{API}/hardware/{second['id']}"
    consequences = analyst.delete(f"{path}?dry_run=1").json()["consequences"]
    assert consequences[0] == "The price that it gave Rack 7 is deleted, too."
    run = factories.run(factories.host(Offer.objects.get(slug=second["offer"])))
    Run.objects.filter(pk=run.pk).update(price=second["price"])
    for refused in (analyst.delete(path), analyst.delete(f"{path}?dry_run=1")):
        assert refused.status_code == 409
        assert "costs of runs" in refused.json()["detail"]
    Run.objects.filter(pk=run.pk).update(price=None)
    assert analyst.delete(path).status_code == 204
    assert str(HardwareModel.objects.get().pk) == first["id"]
    assert str(PriceObservation.objects.get().pk) == first["price"]
    assert AuditEntry.objects.filter(action="hardware_delete", object_id=second["id"]).exists()


def test_schema_names_the_fields_that_are_read(client: Client) -> None:
    schema = client.get(f"{API}/schemas/hardware.json").json()
    assert set(schema["properties"]) == {*FIELDS, "offer"}
    assert set(schema["properties"]["items"]["items"]["properties"]) == set(ITEM_FIELDS)
    assert set(schema["required"]) == {"name", "currency", "servers", "items"}
    assert schema["additionalProperties"] is False
    months = schema["properties"]["life_months"]
    assert (months["minimum"], months["maximum"]) == (1, 240)
