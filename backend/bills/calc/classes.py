"""Kinds of charges on a bill's lines: a machine of some type, storage, traffic, a tax …"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from backend.bills.calc.systems import is_licence, system_of
from backend.bills.calc.volumes import BillVolume, volume_of


class ChargeKind(StrEnum):
    """Kinds of charges, in the order of pages."""

    MACHINE = "machine"
    STORAGE = "storage"
    TRAFFIC = "traffic"
    MANAGED = "managed"
    """A service that the provider runs, such as a database."""
    LICENCE = "licence"
    """Licences of systems and databases that have lines of their own."""
    COMMITMENT = "commitment"
    """Fees of commitments, and the part of them that nothing used."""
    SUPPORT = "support"
    TAX = "tax"
    CREDIT = "credit"
    OTHER = "other"


class PurchaseKind(StrEnum):
    """How the hours of a machine were bought."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    COMMITTED = "committed"


@dataclass(frozen=True)
class BillCharge:
    """Charge of all lines with the same words."""

    kind: ChargeKind
    provider: str = ""
    machine_type: str = ""
    """Type of a machine; "" where the bill does not say."""
    purchase: PurchaseKind = PurchaseKind.ON_DEMAND
    hours_per_unit: Fraction = Fraction(0)
    """Hours of the machine in one unit of the line's quantity; 0 where it counts something else."""
    volume: BillVolume | None = None
    gb_per_unit: Fraction = Fraction(0)
    """GB of a volume in one unit of the line's quantity."""
    system: str = ""
    """Licensed system in the price of a machine; "" for none."""
    is_usage: bool = True
    """True for what was used; fees, taxes and corrections do not say how long a bill is."""
    is_correction: bool = False
    """True for a discount, refund or credit of machines: of `machine_type`, "" for all of the provider."""
    is_idle: bool = False
    """True if the bill itself says that nothing uses it: an address, a disk, reserved capacity."""


HOURS = re.compile(
    r"^\s*(\d[\d,]*)?\s*(?:instance[- ]?)?(?:h|hr|hrs|hour|hours)\s*$", re.IGNORECASE
)
SECONDS = re.compile(r"^\s*(?:s|sec|secs|second|seconds)\s*$", re.IGNORECASE)
AWS_TYPE = re.compile(
    r"\b((?!db\.|cache\.|search\.)[a-z][a-z0-9]*\d[a-z0-9-]*\."
    r"(?:nano|micro|small|medium|large|xlarge|\d+xlarge|metal(?:-\d+xl)?))\b"
)
# Machines that run a service of the provider.
MANAGED_TYPE = re.compile(r"\b(?:db|cache|search|ml|dms|kafka|mq)\.[a-z0-9]+\.|\.search\b")
# The services that rent machines by their type, by provider; machines of any other service are part of it.
COMPUTE = {
    "aws": re.compile(r"amazon ?ec2|ec2|amazon elastic compute cloud.*", re.IGNORECASE),
    "azure": re.compile(r"virtual machines", re.IGNORECASE),
    "gcp": re.compile(r"compute engine", re.IGNORECASE),
}
LIGHTSAIL = re.compile(r"lightsail", re.IGNORECASE)
LIGHTSAIL_BUNDLE = re.compile(r"BundleUsage:(\S+)")
AZURE_TYPE = re.compile(
    r'"?(?:ServiceType|VMSize|vmSize)"?\s*:\s*"((?:Standard|Basic)_[A-Za-z0-9_-]+)"'
)
AZURE_MACHINES = "Virtual Machines"
AZURE_SPOT = re.compile(r" (?:Spot|Low Priority)$")
AZURE_SIZE = re.compile(r"[A-Z]{1,3}\d+[a-z-]*\d*[a-z]*(?: v\d)?")
GOOGLE_TYPE = re.compile(r'machine_spec"?,?\s*"?value"?\s*:\s*"([a-z0-9-]+)"')
GOOGLE_CORES = re.compile(r'/cores"?,?\s*"?value"?\s*:\s*"(\d+)"')
FOCUS_TYPE = re.compile(r'"(?:x_)?InstanceType"\s*:\s*"([^"]+)"')
FOCUS_SYSTEM = re.compile(r'"(?:x_)?operating_?system"\s*:\s*"([^"]+)"', re.IGNORECASE)
# What is read of a column that holds a document.
DETAILS = (FOCUS_TYPE, FOCUS_SYSTEM, AZURE_TYPE, GOOGLE_TYPE, GOOGLE_CORES)
PROVIDERS = {
    "aws": ("aws", "amazon"),
    "azure": ("azure", "microsoft"),
    "gcp": ("google", "gcp"),
    "oracle": ("oracle", "oci"),
}
KIND_WORDS: tuple[tuple[ChargeKind, re.Pattern[str]], ...] = (
    (
        ChargeKind.TRAFFIC,
        re.compile(
            r"data[- ]?transfer|datatransfer|bandwidth|egress|ingress|networking|nat ?gateway|"
            r"virtual network|network|load balanc|content delivery|cdn|ip address|\bip(?:v[46])?\b|vpn|dns",
            re.IGNORECASE,
        ),
    ),
    (
        ChargeKind.STORAGE,
        re.compile(
            r"storage|ebs|volume|disk|snapshot|backup|s3|\befs|file system|archive|gb[- ]?month",
            re.IGNORECASE,
        ),
    ),
    (
        ChargeKind.MANAGED,
        re.compile(
            r"database|sql|redis|cache|analytics|\bai\b|machine learning|function|lambda|container|"
            r"kubernetes|integration|queue|monitor|identity|security|management|developer|bigquery|"
            r"kms|secret|glue|iot|waf|event hub|data factory|cloudtrail|cloudwatch|registry|"
            r"mapreduce|\bemr\b|redshift|amazonmq|\bmq\b|opensearch|amazones\b|\brds\b|amazonrds|docdb|neptune|"
            r"memorydb|msk|kafka|sagemaker|workspaces|fargate|\beks\b|amazoneks|\becs\b|amazonecs|dataproc|"
            r"databricks|gamelift|app ?stream",
            re.IGNORECASE,
        ),
    ),
)
IDLE_WORDS = re.compile(r"\bidle|\bunused|\bunattached|\bstatic ip charge", re.IGNORECASE)
SUPPORT = re.compile(r"support(?!ed|ing|s\b)", re.IGNORECASE)
# Credits that are given and end are no price.
PROMOTION = re.compile(
    r"promo|activate|\bmap\b|free tier|\btrial|voucher|migration|startup|grant|educat",
    re.IGNORECASE,
)
# Of AWS, in the hours of a machine that has a line of its own: its faster disks, and the record of
# capacity that was reserved for it.
BESIDE_A_MACHINE = re.compile(r"(?:^|-)(?:EBSOptimized|Reservation|DedicatedRes):")
NOT_A_MACHINE = re.compile(
    r"dedicated host|ebs|egress|transfer|gib|gb|volume|storage|address|snapshot", re.IGNORECASE
)
COMMITTED = re.compile(r"^(?:commit|reserv|savings ?plan|used$)|discountedusage|savingsplancovered")


class LineType(StrEnum):
    """Effect of a line on a bill."""

    USAGE = "usage"
    DISCOUNT = "discount"
    REFUND = "refund"
    CREDIT = "credit"
    TAX = "tax"
    FEE = "fee"
    COMMITMENT = "commitment"


LINE_TYPES = {
    "tax": LineType.TAX,
    "credit": LineType.CREDIT,
    "promotion": LineType.CREDIT,
    "refund": LineType.REFUND,
    "adjustment": LineType.DISCOUNT,
    "purchase": LineType.FEE,
    "fee": LineType.FEE,
    "rifee": LineType.COMMITMENT,
    "savingsplanrecurringfee": LineType.COMMITMENT,
    "savingsplanupfrontfee": LineType.COMMITMENT,
    "savingsplannegation": LineType.COMMITMENT,
    "unusedreservation": LineType.COMMITMENT,
    "unusedsavingsplan": LineType.COMMITMENT,
}


def line_type(words: Mapping[str, str]) -> LineType:
    """By the line's own word for what kind of charge it is, whatever its service."""
    name = re.sub(r"[^a-z]", "", words.get("charge", "").lower())
    if words.get("status", "").lower() == "unused":
        return LineType.COMMITMENT
    # EdpDiscount, PrivateRateDiscount, BundledDiscount and their like.
    if name.endswith("discount"):
        return LineType.DISCOUNT
    kind = LINE_TYPES.get(name, LineType.USAGE)
    if kind is LineType.USAGE and words.get("class", "").lower() == "correction":
        return LineType.DISCOUNT
    return kind


def charge_of(words: Mapping[str, str], provider: str = "") -> BillCharge:
    """Charge of lines with these words; `words` by our names of the columns (formats)."""
    provider = provider or provider_of(words.get("provider", ""))
    kind = line_type(words)
    if kind is LineType.USAGE:
        charge = _usage_charge(words, provider)
    elif kind is LineType.DISCOUNT:
        charge = _discount_charge(words, provider)
    elif kind in {LineType.REFUND, LineType.CREDIT}:
        charge = _credit_charge(words, provider, kind)
    else:
        charge = BillCharge(_fee_kind(words, kind), provider, is_usage=False)
    text = f"{words.get('description', '')} {words.get('usage', '')}"
    is_idle = charge.kind is not ChargeKind.COMMITMENT and IDLE_WORDS.search(text)
    return replace(charge, is_idle=True) if is_idle else charge


def _fee_kind(words: Mapping[str, str], kind: LineType) -> ChargeKind:
    """Only a line with the identity of a commitment is one: a marketplace purchase is not."""
    if kind is LineType.TAX:
        return ChargeKind.TAX
    if kind is LineType.COMMITMENT or _has_commitment(words):
        return ChargeKind.COMMITMENT
    if _is_support(words):
        return ChargeKind.SUPPORT
    return ChargeKind.LICENCE if is_licence(words) else ChargeKind.OTHER


def _usage_charge(words: Mapping[str, str], provider: str) -> BillCharge:
    if provider == "gcp" and words.get("description", "").startswith("Commitment"):
        return BillCharge(ChargeKind.COMMITMENT, provider, is_usage=False)
    if _is_support(words):
        return BillCharge(ChargeKind.SUPPORT, provider, is_usage=False)
    if is_licence(words):
        return BillCharge(ChargeKind.LICENCE, provider)
    machine_type = _machine_type(words, provider)
    per_unit = _hours_per_unit(words, machine_type)
    if machine_type and (per_unit or _is_part_of_a_machine(words)):
        return BillCharge(
            ChargeKind.MACHINE,
            provider,
            machine_type,
            _purchase(words),
            per_unit,
            system=system_of(words),
        )
    text = " ".join(
        words.get(name, "")
        for name in ("service", "family", "description", "meter", "usage", "unit")
    )
    kind = next((kind for kind, word in KIND_WORDS if word.search(text)), ChargeKind.OTHER)
    volume, per_unit = volume_of(words)
    counts_in = {BillVolume.DISK: ChargeKind.STORAGE, BillVolume.EGRESS: ChargeKind.TRAFFIC}
    if volume is None or counts_in[volume] is not kind:
        return BillCharge(kind, provider)
    return BillCharge(kind, provider, volume=volume, gb_per_unit=per_unit)


def _discount_charge(words: Mapping[str, str], provider: str) -> BillCharge:
    """Discount on the kind that it makes cheaper."""
    if _has_commitment(words):
        return BillCharge(ChargeKind.COMMITMENT, provider, is_usage=False)
    if (machine := _machine_of_correction(words, provider)) is not None:
        return machine
    used = _usage_charge(words, provider)
    return BillCharge(used.kind, provider, is_usage=False)


def _credit_charge(words: Mapping[str, str], provider: str, kind: LineType) -> BillCharge:
    credit = BillCharge(ChargeKind.CREDIT, provider, is_usage=False)
    text = " ".join(words.get(name, "") for name in ("description", "usage", "charge"))
    if _has_commitment(words) or PROMOTION.search(text):
        return credit
    machine = _machine_of_correction(words, provider)
    # A refund of the whole service is one of its machines; a credit of it may be for anything.
    if machine is None or (kind is LineType.CREDIT and not machine.machine_type):
        return credit
    return replace(machine, kind=ChargeKind.CREDIT)


def _machine_of_correction(words: Mapping[str, str], provider: str) -> BillCharge | None:
    """The machines that a discount, refund or credit is of; None for anything else."""
    if NOT_A_MACHINE.search(f"{words.get('usage', '')} {words.get('description', '')}"):
        return None
    machine_type = _machine_type(words, provider)
    is_whole = bool(words.get("service")) and _is_compute(words, provider)
    is_whole &= not words.get("usage") and provider in COMPUTE
    if not machine_type and not is_whole:
        return None
    return BillCharge(
        ChargeKind.MACHINE,
        provider,
        machine_type,
        _purchase(words),
        system=system_of(words),
        is_usage=False,
        is_correction=True,
    )


def _has_commitment(words: Mapping[str, str]) -> bool:
    service = words.get("service", "").replace(" ", "").lower()
    return bool(words.get("commitment")) or "savingsplan" in service


def _is_support(words: Mapping[str, str]) -> bool:
    return bool(SUPPORT.search(f"{words.get('service', '')} {words.get('family', '')}"))


def provider_of(name: str) -> str:
    """Slug of the provider that a bill names in its own words; its name in lower case otherwise."""
    low = name.lower()
    known = (slug for slug, words in PROVIDERS.items() if any(word in low for word in words))
    return next(known, low.strip())


def _is_compute(words: Mapping[str, str], provider: str) -> bool:
    """True for the service that rents machines, also where a bill names no service."""
    service, known = words.get("service", ""), COMPUTE.get(provider)
    return not service or known is None or bool(known.fullmatch(service.strip()))


def _machine_type(words: Mapping[str, str], provider: str) -> str:
    text = " ".join(words.get(name, "") for name in ("description", "usage", "machine"))
    bundle = LIGHTSAIL_BUNDLE.search(words.get("usage", ""))
    if bundle and LIGHTSAIL.search(words.get("service", "")):
        return f"Lightsail {bundle[1]}"
    if MANAGED_TYPE.search(text) or not _is_compute(words, provider):
        return ""
    details = words.get("details", "")
    matches = (pattern.search(details) for pattern in (FOCUS_TYPE, AZURE_TYPE, GOOGLE_TYPE))
    stated = words.get("machine", "").strip() or next((match[1] for match in matches if match), "")
    if stated:
        return stated
    if (match := AWS_TYPE.search(text)) or words.get("service") != AZURE_MACHINES:
        return match[1] if match else ""
    if HOURS.match(words.get("unit", "")):
        # "D3 v2/DS3 v2" are of one size and price.
        meter = AZURE_SPOT.sub("", words.get("description", "")).partition("/")[0].strip()
        return f"Standard_{meter.replace(' ', '_')}" if AZURE_SIZE.fullmatch(meter) else ""
    return ""


def hours_of_unit(unit: str) -> int:
    """Hours of "1 Hour", "10 Hours", "Hrs"; 0 for any other unit."""
    match = HOURS.match(unit)
    return int((match[1] or "1").replace(",", "")) if match else 0


def _hours_per_unit(words: Mapping[str, str], machine_type: str) -> Fraction:
    """Machine hours in a unit; cores are charged by the hour too, so their hours are shared by its
    cores."""
    unit = words.get("unit", "")
    if not machine_type:
        return Fraction(0)
    each = Fraction(1, 3600) if SECONDS.match(unit) else Fraction(hours_of_unit(unit))
    cores = GOOGLE_CORES.search(words.get("details", ""))
    if cores:
        # Google charges cores and memory: the hours of the machine are those of its cores.
        is_core = re.search(r"\bcore\b", words.get("description", ""), re.IGNORECASE)
        return each / int(cores[1]) if is_core else Fraction(0)
    if re.search(
        r"dedicated host|ebs|egress|transfer|gib|gb", words.get("description", ""), re.IGNORECASE
    ) or BESIDE_A_MACHINE.search(words.get("usage", "")):
        return Fraction(0)
    return each


def _is_part_of_a_machine(words: Mapping[str, str]) -> bool:
    """True if it is the memory that Google charges beside the cores, or the like."""
    return bool(
        GOOGLE_TYPE.search(words.get("details", ""))
        and re.search(r"\b(?:ram|core|gpu)\b", words.get("description", ""), re.IGNORECASE)
    )


def _purchase(words: Mapping[str, str]) -> PurchaseKind:
    text = " ".join(
        words.get(name, "") for name in ("pricing", "charge", "description", "usage", "status")
    ).lower()
    if re.search(r"spot|preemptible|\bdynamic\b", text):
        return PurchaseKind.SPOT
    said = [words.get(name, "").lower() for name in ("pricing", "charge", "status")]
    if words.get("commitment") or any(COMMITTED.search(name) for name in said):
        return PurchaseKind.COMMITTED
    return PurchaseKind.ON_DEMAND
