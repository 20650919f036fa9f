"""The public AWS price files: a small index tells the file of a region, which is streamed to disk.

A file's address holds the date of its publication, so an address that we know is a file that we
have: it is compared as an ETag would be.
"""

from collections.abc import Iterator
from typing import Any

from backend.domain.parsing.prices import Result, answers
from backend.providers.aws import offer_file, savings
from backend.providers.http import MIB, Client, FetchError, NotModified, Validators
from backend.providers.source import Wanted
from backend.providers.spool import Spool

BASE = "https://pricing.us-east-1.amazonaws.com"
OFFERS = "offers/v1.0/aws/AmazonEC2/current/region_index.json"
SAVINGS = "savingsPlan/v1.0/aws/AWSComputeSavingsPlan/current/region_index.json"
INDEX, FILE = "index", "file.json"
FILE_BYTES = 4096 * MIB


class OfferFile:
    """EC2 on demand and reserved: hundreds of megabytes a region."""

    def fetch(self, wanted: Wanted, spool: Spool) -> Validators:
        return _fetch(OFFERS, wanted, spool)

    def read(self, wanted: Wanted, spool: Spool) -> Iterator[Result]:
        return offer_file.from_json(spool.pieces(FILE))


class SavingsFile:
    """Savings plans, whose rates name no machine but the SKU of its on-demand price."""

    def fetch(self, wanted: Wanted, spool: Spool) -> Validators:
        if not wanted.on_demand:
            raise FetchError(f"no on-demand prices of {wanted.region} are known to join on")
        return _fetch(SAVINGS, wanted, spool)

    def read(self, wanted: Wanted, spool: Spool) -> Iterator[Result]:
        return savings.parse(spool.pieces(FILE), wanted.on_demand)


def _fetch(index: str, wanted: Wanted, spool: Spool) -> Validators:
    with Client(wanted.endpoint or BASE, wanted.patience) as client:
        client.get(index, spool.page(INDEX))
        address = _address(spool.last(INDEX), wanted.region)
        if address == wanted.validators.etag:
            raise NotModified
        client.get(address, spool.part(FILE), limit_bytes=FILE_BYTES)
    return Validators(etag=address)


def _address(index: dict[str, Any], region: str) -> str:
    """The region's newest file. Both indexes are told here: an object by region, and a list."""
    regions = index.get("regions")
    listed = list(regions.values()) if isinstance(regions, dict) else regions
    for entry in answers.objects(listed, where="regions"):
        if answers.word(entry, "regionCode") == region:
            address = answers.word(entry, "currentVersionUrl") or answers.word(entry, "versionUrl")
            if address:
                return address
    raise FetchError(f"the price list has no region {region}")
