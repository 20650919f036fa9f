"""Price lists of full size in the shapes that providers answer, with invented amounts.

What the right price of each type is, is known beforehand.
"""

import csv
import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice, product
from pathlib import Path
from typing import Any

AWS_REGION = "eu-west-1"
AWS_TYPES, AWS_SKUS = 614, 50_969
SIZES = (("large", 2), ("xlarge", 4), ("2xlarge", 8), ("4xlarge", 16), ("8xlarge", 32))
# The first is the right one.
ROWS_A_TYPE = tuple(
    product(
        ("Shared", "Dedicated", "Host"),
        ("Used", "UnusedCapacityReservation", "AllocatedCapacityReservation"),
        ("Linux", "Windows", "RHEL", "SUSE"),
        ("NA", "SQL Web", "SQL Std"),
    )
)
USAGE = {
    "Used": "BoxUsage",
    "UnusedCapacityReservation": "UnusedBox",
    "AllocatedCapacityReservation": "Reservation",
}
LEASES = tuple(
    product(("1yr", "3yr"), ("No Upfront", "Partial Upfront"), ("standard", "convertible"))
)
COLUMNS = (
    "SKU",
    "OfferTermCode",
    "RateCode",
    "TermType",
    "PriceDescription",
    "EffectiveDate",
    "StartingRange",
    "EndingRange",
    "Unit",
    "PricePerUnit",
    "Currency",
    "LeaseContractLength",
    "PurchaseOption",
    "OfferingClass",
)
ATTRIBUTES = {
    "Location": "location",
    "Location Type": "locationType",
    "Instance Type": "instanceType",
    "vCPU": "vcpu",
    "Physical Processor": "physicalProcessor",
    "Memory": "memory",
    "Storage": "storage",
    "Tenancy": "tenancy",
    "Operating System": "operatingSystem",
    "License Model": "licenseModel",
    "CapacityStatus": "capacitystatus",
    "Pre Installed S/W": "preInstalledSw",
    "usageType": "usagetype",
    "Region Code": "regionCode",
    "MarketOption": "marketoption",
}
AZURE_REGIONS, AZURE_SIZES, AZURE_PAGE = 50, 350, 1000
AZURE_PRICES = AZURE_REGIONS * AZURE_SIZES * 4


def aws_right() -> dict[str, str]:
    """The one right on-demand price of each type, as the file writes it."""
    return {name: _amount(place, vcpus) for place, (name, vcpus) in enumerate(_types())}


def _types() -> Iterator[tuple[str, int]]:
    named = ((f"m{family}.{size}", vcpus) for family in range(1000) for size, vcpus in SIZES)
    return islice(named, AWS_TYPES)


def _amount(place: int, vcpus: int) -> str:
    return f"{Decimal('0.0481') * vcpus + Decimal(place) / 10**6:.10f}"


def _products() -> Iterator[tuple[str, dict[str, str], str]]:
    """(SKU, attributes, on-demand price); two in five cost 0, and of each type one is right."""
    left = AWS_SKUS
    for place, (name, vcpus) in enumerate(_types()):
        count = -(-left // (AWS_TYPES - place))
        left -= count
        for row, (tenancy, capacity, system, software) in enumerate(ROWS_A_TYPE[:count]):
            attributes = {
                "location": "EU (Ireland)",
                "locationType": "AWS Region",
                "instanceType": name,
                "vcpu": str(vcpus),
                "physicalProcessor": "Intel Xeon Platinum 8175",
                "memory": f"{vcpus * 4} GiB",
                "storage": "EBS only",
                "tenancy": tenancy,
                "operatingSystem": system,
                "licenseModel": "No License required",
                "capacitystatus": capacity,
                "preInstalledSw": software,
                "usagetype": f"EU-{USAGE[capacity]}:{name}",
                "regionCode": AWS_REGION,
                "marketoption": "OnDemand",
            }
            is_free = row > 0 and row * 2 % 5 < 2
            amount = _amount(place, vcpus) if row == 0 else _amount(place, vcpus + row)
            yield f"SKU{place:04}{row:03}", attributes, "0.0000000000" if is_free else amount


def _lines(sku: str, amount: str) -> Iterator[dict[str, str]]:
    """The on-demand line of a SKU and, where it costs something, those of its reservations."""
    line = {"Unit": "Hrs", "Currency": "USD", "EffectiveDate": "2026-01-01T00:00:00Z"}
    yield line | _code(sku, "JRTCKXETXF", "OnDemand") | {"PricePerUnit": amount}
    if not sku.endswith("000"):
        return
    for place, (lease, option, offering) in enumerate(LEASES):
        terms = _code(sku, f"RES{place}", "Reserved") | {
            "LeaseContractLength": lease,
            "PurchaseOption": option,
            "OfferingClass": offering,
        }
        yield line | terms | {"PricePerUnit": f"{Decimal(amount) * Decimal('0.4'):.10f}"}
        if option == "Partial Upfront":
            upfront = {"Unit": "Quantity", "RateCode": f"{terms['RateCode']}Q"}
            hours = 8760 if lease == "1yr" else 26280
            paid = f"{Decimal(amount) * hours * Decimal('0.2'):.0f}"
            yield line | terms | upfront | {"PricePerUnit": paid}


def _code(sku: str, term: str, kind: str) -> dict[str, str]:
    return {
        "SKU": sku,
        "OfferTermCode": term,
        "RateCode": f"{sku}.{term}.6YS6EN2CT7",
        "TermType": kind,
    }


def aws_csv(path: Path) -> None:
    """The offer file of a region as CSV."""
    header = [*COLUMNS, "Product Family", *ATTRIBUTES]
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        rows.writerow(["FormatVersion", "v1.0"])
        rows.writerow(header)
        for sku, attributes, amount in _products():
            told = {column: attributes[name] for column, name in ATTRIBUTES.items()}
            told["Product Family"] = "Compute Instance"
            for line in _lines(sku, amount):
                rows.writerow([(told | line).get(column, "") for column in header])


def aws_json(path: Path) -> None:
    """The same as JSON."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"formatVersion": "v1.0", "offerCode": "AmazonEC2", "products": {')
        for place, (sku, attributes, _) in enumerate(_products()):
            entry = {"sku": sku, "productFamily": "Compute Instance", "attributes": attributes}
            file.write(f"{', ' * bool(place)}{json.dumps(sku)}: {json.dumps(entry)}")
        file.write('}, "terms": {')
        for kind in ("OnDemand", "Reserved"):
            file.write(f'{", " * (kind == "Reserved")}"{kind}": {{')
            is_first = True
            for sku, _, amount in _products():
                terms = _terms(sku, amount, kind)
                if terms:
                    file.write(f"{', ' * (not is_first)}{json.dumps(sku)}: {json.dumps(terms)}")
                    is_first = False
            file.write("}")
        file.write("}}")


def _terms(sku: str, amount: str, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in _lines(sku, amount):
        if line["TermType"] != kind:
            continue
        term = found.setdefault(
            f"{sku}.{line['OfferTermCode']}",
            {
                "effectiveDate": line["EffectiveDate"],
                "priceDimensions": {},
                "termAttributes": {
                    name: line.get(name, "") for name in ("LeaseContractLength", "PurchaseOption")
                }
                | {"OfferingClass": line.get("OfferingClass", "")},
            },
        )
        term["priceDimensions"][line["RateCode"]] = {
            "rateCode": line["RateCode"],
            "unit": line["Unit"],
            "pricePerUnit": {line["Currency"]: line["PricePerUnit"]},
        }
    return found


def azure_pages(folder: Path) -> list[Path]:
    """Pages of the retail prices of all regions, 70,000 of whose rows are prices."""
    paths = []
    rows = _azure_rows()
    while items := list(islice(rows, AZURE_PAGE)):
        path = folder / f"azure-{len(paths) + 1:04}.json"
        path.write_text(json.dumps({"BillingCurrency": "USD", "Items": items}), encoding="utf-8")
        paths.append(path)
    return paths


def _azure_rows() -> Iterator[dict[str, Any]]:
    for region, size in product(range(AZURE_REGIONS), range(AZURE_SIZES)):
        hourly = Decimal("0.05") * 2 ** (size % 5) + Decimal(size * 100 + region) / 10**6
        for place, (kind, sort, system, amount, term) in enumerate(
            (
                ("Consumption", "", "", hourly, ""),
                ("Consumption", " Spot", "", hourly / 4, ""),
                ("Reservation", "", "", (hourly * 5000).quantize(Decimal(1)), "1 Year"),
                ("Reservation", "", "", (hourly * 10000).quantize(Decimal(1)), "3 Years"),
                ("Consumption", "", " Windows", hourly * 2, ""),
                ("Consumption", " Low Priority", "", hourly / 5, ""),
            )
        ):
            name = f"D{2 ** (size % 5)}s v{size // 5}"
            row: dict[str, Any] = {
                "currencyCode": "USD",
                "tierMinimumUnits": 0.0,
                # JSON writes the shortest text of a double, as the interface does.
                "retailPrice": float(amount),
                "armRegionName": f"region{region:02}",
                "effectiveStartDate": "2026-01-01T00:00:00Z",
                "meterId": f"meter-{region}-{size}-{place}",
                "meterName": f"{name}{sort}",
                "productName": f"Virtual Machines D Series{system}",
                "skuId": f"SKU{size}/{place}",
                "skuName": f"{name}{sort}",
                "serviceName": "Virtual Machines",
                "unitOfMeasure": "1 Hour",
                "type": kind,
                "armSkuName": f"Standard_{name.replace(' ', '_')}",
            }
            yield row | ({"reservationTerm": term} if term else {})
