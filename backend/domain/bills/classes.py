"""What a line of a bill charges for: a machine of some type, storage, traffic, a tax …"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction

from backend.domain.bills.volumes import BillVolume, volume_of


class ChargeKind(StrEnum):
    """What is charged for; the order is that of pages."""

    MACHINE = "machine"
    STORAGE = "storage"
    TRAFFIC = "traffic"
    MANAGED = "managed"
    """A service that the provider runs, such as a database."""
    COMMITMENT = "commitment"
    """Fees of commitments, and the part of them that nothing used."""
    SUPPORT = "support"
    TAX = "tax"
    CREDIT = "credit"
    OTHER = "other"


class Purchase(StrEnum):
    """How the hours of a machine were bought."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    COMMITTED = "committed"


@dataclass(frozen=True)
class BillCharge:
    """What all lines with the same words charge for."""

    kind: ChargeKind
    provider: str = ""
    machine_type: str = ""
    """Of a machine; "" where the bill does not say."""
    purchase: Purchase = Purchase.ON_DEMAND
    hours_per_unit: Fraction = Fraction(0)
    """Hours of the machine in one unit of the line's quantity; 0 where it counts something else."""
    volume: BillVolume | None = None
    gb_per_unit: Fraction = Fraction(0)
    """Of a volume, in one unit of the line's quantity."""
    is_idle: bool = False
    """Whether the bill itself says that nothing uses it: an address, a disk, reserved capacity."""


HOURS = re.compile(
    r"^\s*(\d[\d,]*)?\s*(?:instance[- ]?)?(?:h|hr|hrs|hour|hours)\s*$", re.IGNORECASE
)
SECONDS = re.compile(r"^\s*(?:s|sec|secs|second|seconds)\s*$", re.IGNORECASE)
AWS_TYPE = re.compile(
    r"\b((?!db\.|cache\.|search\.)[a-z][a-z0-9]*\d[a-z0-9-]*\."
    r"(?:nano|micro|small|medium|large|xlarge|\d+xlarge|metal(?:-\d+xl)?))\b"
)
# Machines that run a service of the provider.
MANAGED_TYPE = re.compile(r"\b(?:db|cache|search|ml|dms|kafka)\.[a-z0-9]+\.")
AZURE_TYPE = re.compile(
    r'"?(?:ServiceType|VMSize|vmSize)"?\s*:\s*"((?:Standard|Basic)_[A-Za-z0-9_-]+)"'
)
AZURE_MACHINES = "Virtual Machines"
AZURE_SPOT = re.compile(r" (?:Spot|Low Priority)$")
AZURE_SIZE = re.compile(r"[A-Z]{1,3}\d+[a-z-]*\d*[a-z]*(?: v\d)?")
GOOGLE_TYPE = re.compile(r'machine_spec"?,?\s*"?value"?\s*:\s*"([a-z0-9-]+)"')
GOOGLE_CORES = re.compile(r'/cores"?,?\s*"?value"?\s*:\s*"(\d+)"')
FOCUS_TYPE = re.compile(r'"(?:x_)?InstanceType"\s*:\s*"([^"]+)"')
# What is read of a column that holds a document.
DETAILS = (FOCUS_TYPE, AZURE_TYPE, GOOGLE_TYPE, GOOGLE_CORES)
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
            r"virtual network|network|load balanc|content delivery|cdn|ip address|vpn|dns",
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
            r"kms|secret|glue|iot|waf|event hub|data factory|cloudtrail|cloudwatch|registry",
            re.IGNORECASE,
        ),
    ),
)
IDLE_WORDS = re.compile(r"\bidle|\bunused|\bunattached|\bstatic ip charge", re.IGNORECASE)
# By the line's own word for what kind of charge it is, whatever its service.
CHARGES = {
    "tax": ChargeKind.TAX,
    "credit": ChargeKind.CREDIT,
    "refund": ChargeKind.CREDIT,
    "promotion": ChargeKind.CREDIT,
    "purchase": ChargeKind.COMMITMENT,
    "rifee": ChargeKind.COMMITMENT,
    "fee": ChargeKind.COMMITMENT,
    "savingsplanrecurringfee": ChargeKind.COMMITMENT,
    "savingsplanupfrontfee": ChargeKind.COMMITMENT,
    "savingsplannegation": ChargeKind.COMMITMENT,
    "unusedreservation": ChargeKind.COMMITMENT,
    "unusedsavingsplan": ChargeKind.COMMITMENT,
}


def charge_of(words: Mapping[str, str], provider: str = "") -> BillCharge:
    """What lines with these words are for; `words` by our names of the columns (formats)."""
    charge = _used_charge(words, provider)
    said = f"{words.get('description', '')} {words.get('usage', '')}"
    is_idle = charge.kind is not ChargeKind.COMMITMENT and IDLE_WORDS.search(said)
    return replace(charge, is_idle=True) if is_idle else charge


def _used_charge(words: Mapping[str, str], provider: str) -> BillCharge:
    whose = provider or provider_of(words.get("provider", ""))
    said = re.sub(r"[^a-z]", "", words.get("charge", "").lower())
    if said in CHARGES or words.get("status", "").lower() == "unused":
        return BillCharge(CHARGES.get(said, ChargeKind.COMMITMENT), whose)
    if whose == "gcp" and words.get("description", "").startswith("Commitment"):
        return BillCharge(ChargeKind.COMMITMENT, whose)
    machine_type = _machine_type(words)
    per_unit = _hours_per_unit(words, machine_type)
    if machine_type and (per_unit or _is_part_of_a_machine(words)):
        return BillCharge(ChargeKind.MACHINE, whose, machine_type, _purchase(words), per_unit)
    if re.search(
        r"\bsupport\b", f"{words.get('service', '')} {words.get('family', '')}", re.IGNORECASE
    ):
        return BillCharge(ChargeKind.SUPPORT, whose)
    described = " ".join(
        words.get(name, "")
        for name in ("service", "family", "description", "meter", "usage", "unit")
    )
    kind = next((kind for kind, word in KIND_WORDS if word.search(described)), ChargeKind.OTHER)
    volume, per_unit = volume_of(words)
    counts_in = {BillVolume.DISK: ChargeKind.STORAGE, BillVolume.EGRESS: ChargeKind.TRAFFIC}
    if volume is None or counts_in[volume] is not kind:
        return BillCharge(kind, whose)
    return BillCharge(kind, whose, volume=volume, gb_per_unit=per_unit)


def provider_of(name: str) -> str:
    """Slug of the provider that a bill names in its own words; its name in lower case otherwise."""
    low = name.lower()
    known = (slug for slug, words in PROVIDERS.items() if any(word in low for word in words))
    return next(known, low.strip())


def _machine_type(words: Mapping[str, str]) -> str:
    text = " ".join(words.get(name, "") for name in ("description", "usage", "machine"))
    if MANAGED_TYPE.search(text):
        return ""
    if words.get("machine"):
        return words["machine"].strip()
    details = words.get("details", "")
    for pattern in (FOCUS_TYPE, AZURE_TYPE, GOOGLE_TYPE):
        if match := pattern.search(details):
            return match[1]
    if match := AWS_TYPE.search(text):
        return match[1]
    if words.get("service") == AZURE_MACHINES and HOURS.match(words.get("unit", "")):
        # "D3 v2/DS3 v2" are of one size and price.
        meter = AZURE_SPOT.sub("", words.get("description", "")).partition("/")[0].strip()
        return f"Standard_{meter.replace(' ', '_')}" if AZURE_SIZE.fullmatch(meter) else ""
    return ""


def _hours_per_unit(words: Mapping[str, str], machine_type: str) -> Fraction:
    """Of a machine; cores are charged by the hour too, so their hours are shared by its cores."""
    unit = words.get("unit", "")
    if not machine_type:
        return Fraction(0)
    each = Fraction(0)
    if match := HOURS.match(unit):
        each = Fraction(int((match[1] or "1").replace(",", "")))
    elif SECONDS.match(unit):
        each = Fraction(1, 3600)
    cores = GOOGLE_CORES.search(words.get("details", ""))
    if cores:
        # Google charges cores and memory: the hours of the machine are those of its cores.
        is_core = re.search(r"\bcore\b", words.get("description", ""), re.IGNORECASE)
        return each / int(cores[1]) if is_core else Fraction(0)
    if re.search(
        r"dedicated host|ebs|egress|transfer|gib|gb", words.get("description", ""), re.IGNORECASE
    ):
        return Fraction(0)
    return each


def _is_part_of_a_machine(words: Mapping[str, str]) -> bool:
    """Whether it is the memory that Google charges beside the cores, or the like."""
    return bool(
        GOOGLE_TYPE.search(words.get("details", ""))
        and re.search(r"\b(?:ram|core|gpu)\b", words.get("description", ""), re.IGNORECASE)
    )


def _purchase(words: Mapping[str, str]) -> Purchase:
    said = " ".join(
        words.get(name, "") for name in ("pricing", "charge", "description", "usage", "status")
    ).lower()
    if re.search(r"spot|preemptible|\bdynamic\b", said):
        return Purchase.SPOT
    if re.search(r"commit|reserv|discountedusage|savingsplan|savings plan|\bused\b", said):
        return Purchase.COMMITTED
    return Purchase.ON_DEMAND
