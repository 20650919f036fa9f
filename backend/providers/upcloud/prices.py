"""Prices of UpCloud, from /1.3/price (cents an hour in the account's currency) and /1.3/plan."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from backend.foundation.units import BYTES_PER_GB, EXACT
from backend.money.price_lists import (
    NoPrice,
    ParsedPrice,
    ParsedType,
    Result,
    SkipReason,
    answers,
)
from backend.money.pricing.purchase import PriceUnit, PurchaseModel

PROVIDER = "upcloud"
SOURCE = "UpCloud prices, https://upcloud.com/pricing/"
PLAN = "server_plan_"
CENTS = Decimal(100)
MIB = 2**20


def parse(prices: str, plans: str, account: str) -> Iterator[Result]:
    """Hourly prices, one a zone and plan, from the JSON texts of the answers.

    `account` is that of /1.3/account/details, which alone names the currency. Raises InvalidValue
    for an answer that is not of this form.
    """
    currency = answers.inner(_answer(account, "account"), "account").get("currency")
    machines = {
        answers.word(plan, "name"): plan for plan in _rows(_answer(plans, "plans"), "plans", "plan")
    }
    for zone in _rows(_answer(prices, "prices"), "prices", "zone"):
        for key in zone:
            if key.startswith(PLAN):
                name = key.removeprefix(PLAN)
                yield from _price_plans(zone, name, machines, currency)


def _answer(text: str, where: str) -> dict[str, Any]:
    return answers.mapping(answers.document(text, where=where), where=where)


def _rows(answer: dict[str, Any], key: str, inner: str) -> list[dict[str, Any]]:
    where = f"{key}.{inner}"
    return answers.objects(answers.inner(answer, key).get(inner), where=where)


def _price_plans(
    zone: dict[str, Any], name: str, machines: Mapping[str, dict[str, Any]], currency: object
) -> Iterator[Result]:
    region, quote = answers.word(zone, "name"), answers.inner(zone, PLAN + name)
    known = {"offer": name, "region": region}
    try:
        if not region:
            raise NoPrice(SkipReason.NO_REGION)
        cents = answers.amount(quote.get("price"))
        # So many units cost that; plans are sold by one.
        units = answers.above_zero(quote.get("amount")) or Decimal(1)
        price = ParsedPrice(
            provider=PROVIDER,
            offer=name,
            region=region,
            purchase_model=PurchaseModel.ON_DEMAND,
            amount=EXACT.divide(cents, units * CENTS),
            currency=answers.currency(currency),
            unit=PriceUnit.HOUR,
            included=_price_extras(machines.get(name, {})),
            source=SOURCE,
            raw_id=f"{region}/{name}",
        )
    except NoPrice as why:
        yield answers.skip_row(why, provider=PROVIDER, raw_id=name, **known)
        return
    if name in machines:
        yield _type(machines[name], name, region)
    yield price


def _type(plan: dict[str, Any], name: str, region: str) -> ParsedType:
    return ParsedType(
        provider=PROVIDER,
        region=region,
        name=name,
        kind="cloud",
        vcpu_count=answers.above_zero(plan.get("core_number")),
        memory_bytes=answers.size(plan.get("memory_amount"), MIB),
        disk_bytes=answers.size(plan.get("storage_size"), BYTES_PER_GB),
        disk_kind=answers.word(plan, "storage_tier"),
    )


def _price_extras(plan: dict[str, Any]) -> dict[str, object]:
    traffic = answers.size(plan.get("public_traffic_out"), BYTES_PER_GB)
    return {} if traffic is None else {"traffic_bytes": traffic}
