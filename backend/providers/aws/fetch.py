"""The AWS interfaces that are asked with an account: GetProducts, and the spot price history."""

import datetime as dt
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

from backend.domain.errors import DriverError
from backend.domain.parsing.prices import Result, answers
from backend.providers.aws import api as aws_api
from backend.providers.aws import prices, spot
from backend.providers.http import FetchError, Validators
from backend.providers.machines import Access
from backend.providers.source import Wanted
from backend.providers.spool import Spool

PRICING_REGION = "us-east-1"
"""Where the price list's interface is; it tells the prices of every region."""
PRODUCTS, SPOT, ZONES = "products", "spot", "zones"
PER_PAGE, SPOT_PER_PAGE = 100, 1000
FILTERS: Mapping[str, str] = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
}
"""Attributes of the right rows (providers.aws.prices), so that little else is sent."""
SYSTEMS = [spot.CLASSIC, spot.VPC]


class Products:
    """On demand and reserved, as OfferFile, for the machines of one region only."""

    def fetch(self, wanted: Wanted, spool: Spool) -> Validators:
        asked = {**FILTERS, "regionCode": wanted.region}
        request = {
            "ServiceCode": "AmazonEC2",
            "Filters": [
                {"Type": "TERM_MATCH", "Field": name, "Value": value}
                for name, value in asked.items()
            ],
            "MaxResults": PER_PAGE,
        }
        calls = _Calls(wanted)
        client = calls.login().pricing(PRICING_REGION)
        for page in calls.pages(client.get_products, request):
            _write(spool.page(PRODUCTS), {"PriceList": page["PriceList"]})
        return Validators()

    def read(self, wanted: Wanted, spool: Spool) -> Iterator[Result]:
        return prices.parse(spool.pages(PRODUCTS))


class Spot:
    """The present spot price of each type in each zone."""

    def fetch(self, wanted: Wanted, spool: Spool) -> Validators:
        calls = _Calls(wanted)
        client = calls.login().ec2(wanted.region)
        zones = calls.patient(client.describe_availability_zones)
        _write(spool.page(ZONES), {"AvailabilityZones": zones["AvailabilityZones"]})
        request = {
            # From now on: the newest price of each, which held before and holds still.
            "StartTime": dt.datetime.now(dt.UTC),
            "ProductDescriptions": SYSTEMS,
            "MaxResults": SPOT_PER_PAGE,
        }
        for page in calls.pages(client.describe_spot_price_history, request):
            _write(spool.page(SPOT), {"SpotPriceHistory": page["SpotPriceHistory"]})
        return Validators()

    def read(self, wanted: Wanted, spool: Spool) -> Iterator[Result]:
        listed = spool.last(ZONES).get("AvailabilityZones")
        zones = {
            answers.word(zone, "ZoneName"): answers.word(zone, "ZoneId")
            for zone in answers.objects(listed, where="AvailabilityZones")
        }
        return spot.parse(spool.pages(SPOT), region=wanted.region, zone_ids=zones)


def _write(part: BinaryIO, answer: Mapping[str, Any]) -> None:
    """The answer, which the library has taken apart, as JSON again; it holds texts and times."""
    part.write(json.dumps(answer, default=_time, separators=(",", ":")).encode())


def _time(value: object) -> str:
    if not isinstance(value, dt.datetime):
        raise TypeError(type(value).__name__)
    return value.isoformat()


class _Calls:
    """Calls with the account's rights, tried again where that may help."""

    def __init__(self, wanted: Wanted) -> None:
        if wanted.access is None:
            raise FetchError("an account is needed")
        self._patience = wanted.patience
        self._access: Access = wanted.access
        if wanted.endpoint:
            settings = {**wanted.access.settings, "endpoint_url": wanted.endpoint}
            self._access = replace(wanted.access, settings=settings)

    def login(self) -> aws_api.Login:
        found: aws_api.Login = self.patient(lambda: aws_api.login(self._access))
        return found

    def pages(self, call: Callable[..., Any], request: Mapping[str, Any]) -> Iterator[Any]:
        """Every page of an answer."""
        token: dict[str, str] = {}
        while True:
            page = self.patient(partial(call, **request, **token))
            yield page
            if not page.get("NextToken"):
                return
            token = {"NextToken": page["NextToken"]}

    def patient(self, call: Callable[[], Any]) -> Any:
        """What the call returns. Raises FetchError."""
        tries = self._patience.tries()
        while True:
            self._patience.check()
            try:
                return call()
            except DriverError as error:
                failure = error
            except aws_api.ERRORS as error:
                failure = aws_api.failure(error, self._access)
            if not failure.retryable:
                raise FetchError(str(failure))
            tries.failed(str(failure))
