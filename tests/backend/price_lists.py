"""Price lists for tests: those of the fixtures, and small ones of made-up rows."""

import datetime as dt
import io
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.conf import settings

from backend.catalog.models import (
    Offer,
    PriceObservation,
    PricePayload,
    Region,
    UnpricedType,
)
from backend.catalog.selectors.data_version import data_version
from backend.catalog.services.price_import import ImportReport, prices_record
from backend.money.price_lists import ParsedPrice, ParsedType, Result
from backend.money.pricing.purchase import PriceUnit, PurchaseModel
from backend.providers.aws import offer_file as aws_bulk
from backend.providers.azure import prices as azure
from backend.providers.digitalocean import prices as digitalocean
from backend.providers.gcp import prices as gcp
from backend.providers.hetzner import prices as hetzner
from backend.providers.linode import prices as linode
from tests import factories

FILES = Path(settings.FIXTURE_DIR) / "prices"
DAY = dt.timedelta(days=1)


def answer(name: str) -> str:
    return (FILES / name).read_text(encoding="utf-8")


def machine(name: str = "m5.large", region: str = "eu-west-1", **told: Any) -> ParsedType:
    return ParsedType(provider="aws", region=region, name=name, **told)


def price(amount: str = "0.1", offer: str = "m5.large", **fields: Any) -> ParsedPrice:
    told = {
        "provider": "aws",
        "offer": offer,
        "region": "eu-west-1",
        "purchase_model": PurchaseModel.ON_DEMAND,
        "currency": "USD",
        "unit": PriceUnit.HOUR,
        "source": "list",
        "raw_id": f"SKU.{offer}",
    }
    return ParsedPrice(amount=Decimal(amount), **{**told, **fields})


def record(results: Iterable[Result], day: int = 0, **changed: Any) -> ImportReport:
    return prices_record(
        **{
            "provider": "aws",
            "feed_kind": "on_demand",
            "region": "eu-west-1",
            "results": results,
            "observed_at": factories.AT + day * DAY,
            **changed,
        }
    )


def many(count: int = 30, amount: str = "0.1") -> list[Result]:
    """Prices of as many types; one missing of thirty is within the twentieth part."""
    return [price(amount, f"m5.{n}") for n in range(count)]


def everything() -> list[tuple[Any, ...]]:
    """All that a list must leave as it is when it is imported again."""
    models = (PriceObservation, Offer, Region, UnpricedType, PricePayload)
    return [
        (data_version(),),
        *(row for model in models for row in model.objects.order_by("pk").values_list()),
    ]


LISTS: dict[str, Callable[[], Iterable[Result]]] = {
    "aws": lambda: aws_bulk.from_json(io.StringIO(answer("aws-offer-file-synthetic.json"))),
    "gcp": lambda: gcp.parse(
        [answer("gcp-skus-synthetic.json")],
        gcp.shapes([answer("gcp-machine-types-synthetic.json")]),
    ),
    "azure": lambda: azure.parse([answer("azure-retail-synthetic.json")]),
    "hetzner": lambda: hetzner.parse(
        answer("hetzner-pricing-synthetic.json"), [answer("hetzner-server-types-synthetic.json")]
    ),
    "digitalocean": lambda: digitalocean.parse([answer("digitalocean-sizes-synthetic.json")]),
    "linode": lambda: linode.parse([answer("linode-types-synthetic.json")]),
}
