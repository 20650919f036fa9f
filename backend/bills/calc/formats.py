"""The formats that bills come in: by which columns each is recognised, and what they mean.

Names of columns are compared without case and punctuation, so that `lineItem/UnblendedCost` of a
legacy report of AWS and `line_item_unblended_cost` of the newer one are the same.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backend.foundation.errors import InvalidValue

NOT_NAME = re.compile(r"[^a-z0-9]")


def comparable_name(name: str) -> str:
    """The name of a column as it is compared."""
    return NOT_NAME.sub("", name.lower())


@dataclass(frozen=True)
class BillFormat:
    """A format: its columns by what we call them, the preferred one of several first."""

    slug: str
    name: str
    marks: tuple[str, ...]
    """Columns that only this format has, all of them."""
    columns: Mapping[str, tuple[str, ...]]
    provider: str = ""
    """Slug of the provider whose format it is; "" where a column names it."""
    unit: str = ""
    """Unit of its quantity, where no column names it."""
    is_daily: bool = False
    """True where no line is of more than a day, so that a bill of one day is no month."""
    is_priced_by_month: bool = False
    """True where a machine has a price a month, which is the same in a short one."""

    def sources(self, header: Iterable[str]) -> dict[str, str]:
        """Our name → the header's, of the columns that are there. InvalidValue without those that
        a bill cannot be read without."""
        names = {comparable_name(name): name for name in header}
        named = {
            ours: next((names[theirs] for theirs in choice if theirs in names), "")
            for ours, choice in self.columns.items()
        }
        missing = [
            " or ".join(choice)
            for ours, choice in self.columns.items()
            if ours in NEEDED and not named[ours]
        ]
        if missing:
            raise InvalidValue(
                "/columns",
                f"{self.name} needs the columns {', '.join(missing)}; {column_names(names.values())}. "
                f"{REMEDY}",
            )
        return {ours: name for ours, name in named.items() if name}


# So many columns of a file that is not read are named.
NAMED_COLUMNS = 12
TEMPLATE = """\
type,provider,region,count,cost,currency,month
m6i.large,AWS,us-east-1,3,210.24,USD,2026-10
ccx13,Hetzner,fsn1,1,15.99,USD,2026-10
"""
REMEDY = (
    "Way out: a plain table with the columns type, provider, region, count or hours, cost, currency "
    "and month (the page Bills has a template)"
)


def column_names(header: Iterable[str]) -> str:
    """The columns that a file has, for a message."""
    names = [name.strip()[:40] for name in header if name.strip()]
    more = f" and {len(names) - NAMED_COLUMNS} more" if len(names) > NAMED_COLUMNS else ""
    return f"the file has {', '.join(names[:NAMED_COLUMNS])}{more}"


# Columns without which nothing can be said.
NEEDED = frozenset({"start", "billed", "currency"})
# Columns of numbers.
AMOUNTS = frozenset(
    ("billed", "effective", "listed", "quantity", "count", "credits", "unit_price")
) | frozenset(
    ("reserved", "saved", "unused_upfront", "unused_recurring", "plan_commitment", "plan_used")
)

FOCUS = BillFormat(
    slug="focus",
    name="FOCUS",
    # focus.finops.org, specification 1.0 to 1.2, "Columns"; read 2026-11-24 from the sample's header.
    # 1.3 has ServiceProviderName and HostProviderName in place of ProviderName. Names with an x are
    # those of the exports of AWS and Microsoft.
    marks=("billedcost", "chargeperiodstart"),
    columns={
        "start": ("chargeperiodstart",),
        "billed": ("billedcost",),
        "effective": ("effectivecost",),
        "listed": ("listcost",),
        "currency": ("billingcurrency",),
        "end": ("chargeperiodend",),
        "provider": ("providername", "serviceprovidername", "hostprovidername"),
        "service": ("servicename",),
        "family": ("servicecategory",),
        "region": ("regionid", "regionname", "region"),
        "description": ("chargedescription",),
        "charge": ("chargecategory",),
        "pricing": ("pricingcategory",),
        "status": ("commitmentdiscountstatus",),
        "class": ("chargeclass",),
        "commitment": ("commitmentdiscountid",),
        "plan": ("commitmentdiscounttype",),
        "usage": ("xusagetype",),
        "operation": ("xoperation",),
        "meter": ("xskumetersubcategory",),
        "quantity": ("pricingquantity", "consumedquantity"),
        "unit": ("pricingunit", "consumedunit"),
        "unit_price": ("contractedunitprice", "listunitprice"),
        "details": ("skupricedetails", "xskudetails"),
        "resource": ("resourceid",),
    },
)
CUR = BillFormat(
    slug="cur",
    name="AWS Cost and Usage Report",
    # docs.aws.amazon.com/cur/latest/userguide/data-dictionary.html
    marks=("lineitemunblendedcost", "lineitemlineitemtype"),
    columns={
        "start": ("lineitemusagestartdate",),
        "end": ("lineitemusageenddate",),
        "billed": ("lineitemunblendedcost",),
        "reserved": ("reservationneteffectivecost", "reservationeffectivecost"),
        "saved": (
            "savingsplannetsavingsplaneffectivecost",
            "savingsplansavingsplaneffectivecost",
        ),
        "reservation": ("reservationreservationarn",),
        "plan": ("savingsplansavingsplanarn",),
        "unused_upfront": ("reservationunusedamortizedupfrontfeeforbillingperiod",),
        "unused_recurring": ("reservationunusedrecurringfee",),
        "plan_commitment": ("savingsplantotalcommitmenttodate",),
        "plan_used": ("savingsplanusedcommitment",),
        "listed": ("pricingpublicondemandcost",),
        "currency": ("lineitemcurrencycode",),
        "service": ("lineitemproductcode",),
        "family": ("productproductfamily",),
        "region": ("productregioncode", "productregion"),
        "description": ("lineitemlineitemdescription",),
        "charge": ("lineitemlineitemtype",),
        "pricing": ("pricingterm",),
        "usage": ("lineitemusagetype",),
        "operation": ("lineitemoperation",),
        "system": ("productoperatingsystem",),
        "software": ("productpreinstalledsw",),
        "quantity": ("lineitemusageamount",),
        "unit": ("pricingunit",),
        "machine": ("productinstancetype",),
        "resource": ("lineitemresourceid",),
    },
    provider="aws",
)
AZURE = BillFormat(
    slug="azure",
    name="Azure usage details",
    # learn.microsoft.com/azure/cost-management-billing/automate/understand-usage-details-fields
    marks=("metercategory", "metername"),
    columns={
        "start": ("date", "usagedatetime", "usagedate"),
        "billed": ("costinbillingcurrency", "cost", "pretaxcost"),
        "currency": ("billingcurrencycode", "billingcurrency", "currency"),
        "service": ("metercategory",),
        "family": ("servicefamily",),
        "region": ("resourcelocation",),
        "description": ("metername",),
        "meter": ("metersubcategory",),
        "charge": ("chargetype",),
        "pricing": ("pricingmodel",),
        "reservation": ("reservationid",),
        "plan": ("benefitid",),
        "quantity": ("quantity", "usagequantity"),
        "unit": ("unitofmeasure",),
        "unit_price": ("unitprice",),
        "details": ("additionalinfo",),
        "resource": ("resourceid", "instanceid"),
    },
    provider="azure",
    is_daily=True,
)
GCP = BillFormat(
    slug="gcp",
    name="Google Cloud billing export",
    # cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/detailed-usage
    marks=("skudescription", "usagestarttime"),
    columns={
        "start": ("usagestarttime",),
        "end": ("usageendtime",),
        "billed": ("cost",),
        "credits": ("credits", "creditsamount"),
        "currency": ("currency",),
        "service": ("servicedescription",),
        "region": ("locationregion", "locationlocation"),
        "description": ("skudescription",),
        "charge": ("costtype",),
        "quantity": ("usageamountinpricingunits", "usageamount"),
        "unit": ("usagepricingunit", "usageunit"),
        "details": ("systemlabels",),
        "resource": ("resourceglobalname", "resourcename"),
    },
    provider="gcp",
)
PLAIN = BillFormat(
    slug="plain",
    name="Plain table",
    marks=("type",),
    columns={
        "machine": ("type",),
        "start": ("month", "date"),
        "billed": ("cost", "amount", "total", "price"),
        # Of one unit, unless there is another amount beside it.
        "unit_price": ("price",),
        "currency": ("currency",),
        "provider": ("provider",),
        "region": ("region",),
        "quantity": ("hours",),
        "count": ("count",),
    },
    unit="hours",
)
HETZNER = BillFormat(
    slug="hetzner",
    name="Hetzner invoice",
    # Columns of the invoice as CSV, the same in English and German; read 2026-11-28 from
    # github.com/gelkao/cloud-inefficiency-audit (normalize.sql).
    marks=("product", "quantity", "from", "until", "unit", "total"),
    columns={
        "start": ("from",),
        "end": ("until",),
        "billed": ("total",),
        "currency": ("total",),
        "service": ("product",),
        "quantity": ("quantity",),
        "unit": ("unit",),
        "resource": ("externalid", "reference", "description"),
    },
    provider="hetzner",
    is_priced_by_month=True,
)
FORMATS: Mapping[str, BillFormat] = {
    bill_format.slug: bill_format for bill_format in (FOCUS, CUR, AZURE, GCP, HETZNER, PLAIN)
}


def recognise_format(header: Iterable[str]) -> BillFormat:
    """The format whose columns a header has; InvalidValue when it is none that we read."""
    header = list(header)
    names = {comparable_name(name) for name in header}
    for bill_format in FORMATS.values():
        if names.issuperset(bill_format.marks):
            return bill_format
    known = ", ".join(bill_format.name for bill_format in FORMATS.values())
    raise InvalidValue(
        "/file",
        f"the columns are those of no bill that can be read ({known}); {column_names(header)}. {REMEDY}",
    )
