"""The AWS price lists: public files, and two interfaces that are asked with an account.

A small index names the file of a region, which is streamed to disk. A file's address contains the
date of its publication, so an address that we know is a file that we have: it is compared as an ETag
would be.
"""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from backend.foundation.errors import DriverError, Reason
from backend.money.price_lists import Result, answers
from backend.providers.aws import api, offer_file, prices, savings, spot
from backend.providers.fetcher import FetchRequest
from backend.providers.http import MIB, Client, FetchError, NotModified, Validators
from backend.providers.machines import Access
from backend.providers.price_refresh import Trouble
from backend.providers.spool import Spool

BASE = "https://pricing.us-east-1.amazonaws.com"
OFFERS_INDEX = "offers/v1.0/aws/AmazonEC2/current/region_index.json"
SAVINGS_INDEX = "savingsPlan/v1.0/aws/AWSComputeSavingsPlan/current/region_index.json"
# Files have hundreds of megabytes; without a limit a wrong answer would fill the disk.
FILE_BYTES = 4096 * MIB
# One of the few regions where the interface is; it covers every region.
PRICING_REGION = "us-east-1"
INDEX, OFFERS, PRODUCTS, SAVINGS, SPOT, ZONES = (
    "index",
    "offers",
    "products",
    "savings",
    "spot",
    "zones",
)
# The most that each interface gives.
PER_PAGE, SPOT_PER_PAGE = 100, 1000
# Attributes of the right rows (see prices.py), so that little else is sent.
FILTERS: Mapping[str, str] = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
}
TROUBLES: Mapping[Reason, Trouble] = {
    Reason.UNREACHABLE: Trouble.UNREACHABLE,
    Reason.AUTH: Trouble.REFUSED,
    Reason.QUOTA: Trouble.THROTTLED,
}
SYSTEMS = [spot.CLASSIC, spot.VPC]


# --- public files ---------------------------------------------------------------------------------


class OfferFile:
    """EC2 on demand and reserved: hundreds of megabytes a region."""

    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        return _fetch_file(OFFERS_INDEX, OFFERS, request, spool)

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return offer_file.parse(spool.pieces(OFFERS))


class SavingsFile:
    """Savings plans, whose rates name no machine but the SKU of its on-demand price."""

    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        # Before anything is fetched: without prices to join on, hundreds of megabytes would say nothing.
        if not request.on_demand:
            raise FetchError(f"no on-demand prices of {request.region} are known to join on")
        return _fetch_file(SAVINGS_INDEX, SAVINGS, request, spool)

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return savings.parse(spool.pieces(SAVINGS), prices.skus(request.on_demand))


def _fetch_file(index: str, kind: str, request: FetchRequest, spool: Spool) -> Validators:
    with Client(request.endpoint or BASE, request.patience) as client:
        client.get(index, spool.page(INDEX))
        address = _address(spool.last(INDEX), request.region)
        # Its own ETag is of no use: the file at an address never changes, the index names another one.
        if address == request.validators.etag:
            raise NotModified
        client.get(address, spool.page(kind), limit_bytes=FILE_BYTES)
    return Validators(etag=address)


def _address(index: dict[str, Any], region: str) -> str:
    """The region's newest file. One index is an object by region, the other one a list."""
    regions = index.get("regions")
    listed = list(regions.values()) if isinstance(regions, dict) else regions
    for entry in answers.objects(listed, where="regions"):
        if answers.word(entry, "regionCode") == region:
            address = answers.word(entry, "currentVersionUrl") or answers.word(entry, "versionUrl")
            if address:
                return address
    raise FetchError(f"the price list has no region {region}")


# --- interfaces -----------------------------------------------------------------------------------


class Products:
    """On demand and reserved, as OfferFile, for the machines of one region only."""

    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        calls = _Calls(request, spool)
        client = calls.login().pricing(PRICING_REGION)
        filters = {**FILTERS, "regionCode": request.region}
        calls.pages(
            PRODUCTS,
            client.get_products,
            {
                "ServiceCode": "AmazonEC2",
                "Filters": [
                    {"Type": "TERM_MATCH", "Field": name, "Value": value}
                    for name, value in filters.items()
                ],
                "MaxResults": PER_PAGE,
            },
        )
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        return prices.parse(spool.pages(PRODUCTS))


class Spot:
    """The present spot price of each type in each zone."""

    def fetch(self, request: FetchRequest, spool: Spool) -> Validators:
        calls = _Calls(request, spool)
        client = calls.login().ec2(request.region)
        calls.pages(ZONES, client.describe_availability_zones, {})
        calls.pages(
            SPOT,
            client.describe_spot_price_history,
            {
                # From now on: the newest price of each, which held before and holds still.
                "StartTime": dt.datetime.now(dt.UTC),
                "ProductDescriptions": SYSTEMS,
                "MaxResults": SPOT_PER_PAGE,
            },
        )
        return Validators()

    def read(self, request: FetchRequest, spool: Spool) -> Iterator[Result]:
        # Files come without the zones' ids: their names stay then.
        zone_ids = spot.zone_ids(spool.pages(ZONES)) or None
        return spot.parse(spool.pages(SPOT), region=request.region, zone_ids=zone_ids)


class _Calls:
    """Calls with the account's rights, tried again where that may help; bodies go to the spool."""

    def __init__(self, request: FetchRequest, spool: Spool) -> None:
        if request.access is None:
            raise FetchError("an account is needed", trouble=Trouble.NO_ACCOUNT)
        self._patience, self._spool = request.patience, spool
        self._access: Access = request.access
        if request.endpoint:
            settings = {**request.access.settings, "endpoint_url": request.endpoint}
            self._access = replace(request.access, settings=settings)

    def login(self) -> api.Login:
        login: api.Login = self._patient(lambda: api.login(self._access))
        return login

    def pages(self, kind: str, call: Callable[..., Any], request: Mapping[str, Any]) -> None:
        """Write every page of an answer to the spool as it came."""
        token: dict[str, str] = {}
        while True:
            with api.bodies(call) as received:
                page = self._patient(partial(call, **request, **token))
            self._spool.page(kind).write(received[-1])
            if not page.get("NextToken"):
                return
            token = {"NextToken": page["NextToken"]}

    def _patient(self, call: Callable[[], Any]) -> Any:
        """Result of the call. Raises FetchError."""
        tries = self._patience.tries()
        while True:
            self._patience.check()
            try:
                return call()
            except DriverError as error:
                failure = error
            except api.ERRORS as error:
                failure = api.failure(error, self._access)
            trouble = TROUBLES.get(failure.reason, Trouble.BROKEN)
            if not failure.retryable:
                raise FetchError(str(failure), trouble=trouble)
            tries.failed(str(failure), trouble=trouble)


FETCHERS = {
    "on_demand": OfferFile(),
    "products": Products(),
    "savings": SavingsFile(),
    "spot": Spot(),
}
