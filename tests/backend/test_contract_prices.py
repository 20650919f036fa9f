"""Prices after the discounts of a contract: for those who may see it, and for nobody else."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from backend.accounts.models import Workspace
from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db
Headers = dict[str, str]


@pytest.fixture(autouse=True)
def offers(settings: Any) -> None:
    settings.PUBLIC_READ = True
    region = factories.region()
    for slug, provider, model in (
        ("demanded", "aws", "on_demand"), ("spare", "aws", "spot"), ("other", "gcp", "on_demand"),
    ):  # fmt: skip
        place = region if provider == "aws" else None
        offer = factories.offer(slug, provider_slug=provider, region=place)
        factories.price(offer, "0.1", purchase_model=model)
        factories.sample(offer, 100)
    factories.extra("disk", "0.1", region=region)


@pytest.fixture
def writer(token: Callable[..., str]) -> Headers:
    return bearer(token("write"))


def bearer(text: str) -> Headers:
    return {"authorization": f"Bearer {text}"}


def agreed(client: Client, headers: Headers, **given: Any) -> str:
    document = {"provider": "aws", "service": "compute", "percent": "12", **given}
    answer = client.post(
        f"{API}/discounts", document, content_type="application/json", headers=headers
    )
    assert answer.status_code == 201, answer.content
    made: str = answer.json()["id"]
    return made


def prices(client: Client, headers: Headers, query: str = "basis=contract") -> dict[str, Any]:
    answer = client.get(f"{API}/rankings?metric=cmips_score&{query}", headers=headers)
    assert answer.status_code == 200, answer.content
    return {row["offer_id"]: row for row in answer.json()["results"]}


def test_contract_lowers_the_prices_that_it_is_about(client: Client, writer: Headers) -> None:
    agreed(client, writer)
    found = prices(client, writer)
    assert Decimal(found["demanded"]["price"]) == Decimal("0.088")
    assert found["demanded"]["price_basis"] == "machine+contract"
    assert Decimal(found["demanded"]["price_usd_hour"]) == Decimal("0.088")
    assert (found["other"]["price"], found["other"]["price_basis"]) == ("0.1", "machine")
    [spot] = [
        row
        for slug, row in prices(client, writer, "basis=contract&term=spot").items()
        if slug == "spare"
    ]
    assert (spot["price"], spot["price_basis"]) == ("0.1", "machine")
    assert prices(client, writer, "basis=machine")["demanded"]["price"] == "0.1"


def test_value_and_order_follow_the_contract(client: Client, writer: Headers) -> None:
    agreed(client, writer)
    assert next(iter(prices(client, writer))) == "demanded"
    month = prices(client, writer, "basis=contract&period=month")["demanded"]
    # 0.1 × 730 × 0.88, and 100 points for that.
    assert Decimal(month["price"]) == Decimal("64.24")
    assert float(month["value_per_cost"]) == pytest.approx(100 / 64.24, rel=1e-11)


def test_each_service_has_its_own_discount(client: Client, writer: Headers) -> None:
    agreed(client, writer)
    agreed(client, writer, service="storage", percent="50")
    query = "basis=contract,disk&basis_disk_gb=100&period=month&provider=aws"
    # 100 GB at 0.1 for half.
    assert Decimal(prices(client, writer, query)["demanded"]["price"]) == Decimal("69.24")


@pytest.mark.parametrize("who", ["nobody", "read"])
def test_contract_is_no_figure_for_others(
    client: Client, writer: Headers, token: Callable[..., str], who: str
) -> None:
    agreed(client, writer)
    headers = {} if who == "nobody" else bearer(token(who))
    for path in ("rankings?", "answer?", "compare?o=demanded,other&", "rankings.csv?"):
        answer = client.get(f"{API}/{path}basis=contract", headers=headers)
        assert answer.status_code == 400, path
        assert b"may write" in answer.content
        assert b"0.088" not in answer.content
    assert prices(client, headers, "basis=machine")["demanded"]["price"] == "0.1"


def test_contract_of_another_workspace_does_not_count(
    client: Client, writer: Headers, token: Callable[..., str]
) -> None:
    agreed(client, writer)
    foreign = bearer(
        token("write", workspace=Workspace.objects.create(slug="elsewhere", name="Elsewhere"))
    )
    assert prices(client, foreign)["demanded"]["price"] == "0.1"


def test_change_of_a_discount_is_seen_at_once(client: Client, writer: Headers) -> None:
    made = agreed(client, writer)
    tag = {"if-none-match": client.get(
        f"{API}/rankings?metric=cmips_score&basis=contract", headers=writer).headers["ETag"]}  # fmt: skip
    changed = client.patch(
        f"{API}/discounts/{made}", {"percent": "50"},
        content_type="application/json", headers=writer,
    )  # fmt: skip
    assert changed.status_code == 200
    again = prices(client, writer | tag)
    assert Decimal(again["demanded"]["price"]) == Decimal("0.05")
    assert client.delete(f"{API}/discounts/{made}", headers=writer).status_code == 204
    assert prices(client, writer)["demanded"]["price"] == "0.1"


def test_answer_and_comparison_take_the_same_price(client: Client, writer: Headers) -> None:
    agreed(client, writer)
    best = client.get(f"{API}/answer?metric=cmips_score&period=hour&basis=contract", headers=writer)
    assert Decimal(best.json()["best"]["price"]) == Decimal("0.088")
    assert best.json()["best"]["offer_id"] == "demanded"


def test_list_prices_and_a_contract_exclude_each_other(client: Client, writer: Headers) -> None:
    answer = client.get(f"{API}/rankings?basis=list,contract", headers=writer)
    assert answer.status_code == 400
    assert b"contract asks for: name one" in answer.content
