"""The formats that bills come in: by which columns each is recognised, and what they mean.

Names of columns are compared without case and punctuation, so that `lineItem/UnblendedCost` of a
legacy report of AWS and `line_item_unblended_cost` of the newer one are the same.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backend.domain.errors import InvalidValue

NOT_NAME = re.compile(r"[^a-z0-9]")


def squeezed(name: str) -> str:
    """The name of a column as it is compared."""
    return NOT_NAME.sub("", name.lower())


@dataclass(frozen=True)
class BillFormat:
    """One format: its columns by what we call them, the preferred one of several first."""

    slug: str
    name: str
    marks: tuple[str, ...]
    """Columns that only this format has, all of them."""
    columns: Mapping[str, tuple[str, ...]]
    provider: str = ""
    """Slug of the provider whose format it is; "" where a column names it."""
    unit: str = ""
    """Of its quantity, where no column names it."""

    def sources(self, header: Iterable[str]) -> dict[str, str]:
        """Our name → the header's, of the columns that are there. InvalidValue without those that
        a bill cannot be read without."""
        names = {squeezed(name): name for name in header}
        named = {
            ours: next((names[theirs] for theirs in choice if theirs in names), "")
            for ours, choice in self.columns.items()
        }
        missing = [choice[0] for ours, choice in self.columns.items() if self._lacks(ours, named)]
        if missing:
            raise InvalidValue("/columns", f"{self.name} needs the columns {', '.join(missing)}")
        return {ours: name for ours, name in named.items() if name}

    @staticmethod
    def _lacks(ours: str, named: Mapping[str, str]) -> bool:
        return ours in NEEDED and not named[ours]


# Columns without which nothing can be said.
NEEDED = frozenset({"start", "billed", "currency"})
# Columns of numbers.
AMOUNTS = frozenset(("billed", "effective", "listed", "quantity", "count", "credits")) | frozenset(
    ("reserved", "saved", "unused_upfront", "unused_recurring", "plan_commitment", "plan_used")
)

FOCUS = BillFormat(
    slug="focus",
    name="FOCUS",
    # focus.finops.org, specification 1.0 to 1.2, "Columns"; read 2026-11-24 from the sample's header.
    marks=("billedcost", "chargeperiodstart"),
    columns={
        "start": ("chargeperiodstart",),
        "billed": ("billedcost",),
        "effective": ("effectivecost",),
        "listed": ("listcost",),
        "currency": ("billingcurrency",),
        "provider": ("serviceprovidername", "providername"),
        "service": ("servicename",),
        "family": ("servicecategory",),
        "region": ("regionid", "regionname", "region"),
        "description": ("chargedescription",),
        "charge": ("chargecategory",),
        "pricing": ("pricingcategory",),
        "status": ("commitmentdiscountstatus",),
        "quantity": ("pricingquantity", "consumedquantity"),
        "unit": ("pricingunit", "consumedunit"),
        "details": ("skupricedetails",),
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
        "billed": ("lineitemunblendedcost",),
        "reserved": ("reservationeffectivecost",),
        "saved": ("savingsplansavingsplaneffectivecost",),
        "reservation": ("reservationreservationarn",),
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
        "quantity": ("quantity", "usagequantity"),
        "unit": ("unitofmeasure",),
        "details": ("additionalinfo",),
        "resource": ("resourceid", "instanceid"),
    },
    provider="azure",
)
GCP = BillFormat(
    slug="gcp",
    name="Google Cloud billing export",
    # cloud.google.com/billing/docs/how-to/export-data-bigquery-tables/detailed-usage
    marks=("skudescription", "usagestarttime"),
    columns={
        "start": ("usagestarttime",),
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
        "billed": ("cost", "amount", "price"),
        "currency": ("currency",),
        "provider": ("provider",),
        "region": ("region",),
        "quantity": ("hours",),
        "count": ("count",),
    },
    unit="hours",
)
FORMATS: Mapping[str, BillFormat] = {one.slug: one for one in (FOCUS, CUR, AZURE, GCP, PLAIN)}


def recognised(header: Iterable[str]) -> BillFormat:
    """The format whose columns a header has; InvalidValue when it is none that we read."""
    names = {squeezed(name) for name in header}
    for one in FORMATS.values():
        if names.issuperset(one.marks):
            return one
    known = ", ".join(one.name for one in FORMATS.values())
    raise InvalidValue("/file", f"the columns are those of no bill that can be read: {known}")
