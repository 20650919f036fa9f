"""Systems and databases whose licence a provider charges within the price of a machine."""

import re
from collections.abc import Mapping

# docs.aws.amazon.com/AWSEC2/latest/UserGuide/billing-info-fields.html, read 2026-11-28: the usage
# operation of an instance; systems that cost what Linux does, and licences brought along, are left out.
AWS_OPERATIONS = {
    "0002": "Windows",
    "0102": "Windows, SQL Server Enterprise",
    "0006": "Windows, SQL Server Standard",
    "0202": "Windows, SQL Server Web",
    "0010": "Red Hat",
    "1010": "Red Hat, high availability",
    "0014": "Red Hat, SQL Server Standard",
    "0110": "Red Hat, SQL Server Enterprise",
    "0210": "Red Hat, SQL Server Web",
    "1014": "Red Hat, high availability, SQL Server Standard",
    "1110": "Red Hat, high availability, SQL Server Enterprise",
    "000g": "SUSE",
    "0g00": "Ubuntu Pro",
    "0004": "Linux, SQL Server Standard",
    "0100": "Linux, SQL Server Enterprise",
    "0200": "Linux, SQL Server Web",
}
FREE_OPERATIONS = frozenset({"00g0", "0800"})
OPERATION = re.compile(r"RunInstances(?::(\w+))?$")
NAMES = (
    ("Windows", re.compile(r"\bwindows\b", re.IGNORECASE)),
    ("Red Hat", re.compile(r"\brhel\b|\bred ?hat\b", re.IGNORECASE)),
    ("SUSE", re.compile(r"\bsuse\b|\bsles\b", re.IGNORECASE)),
    ("Ubuntu Pro", re.compile(r"\bubuntu pro\b", re.IGNORECASE)),
    ("SQL Server", re.compile(r"\bsql\b", re.IGNORECASE)),
)
OWN_LICENCE = re.compile(r"\bbyol\b|\byour own\b|hybrid benefit", re.IGNORECASE)
LICENCE = re.compile(r"\blicen[cs](?:es?|ing)\b(?! included)", re.IGNORECASE)
# Columns that describe a line.
DESCRIPTIONS = ("service", "family", "description", "meter")


def system_of(words: Mapping[str, str]) -> str:
    """The licensed system of a machine; "" where its price holds no licence.

    `words` by our names of the columns (formats).
    """
    code = OPERATION.search(words.get("operation", ""))
    if code and (number := (code[1] or "").lower()) in AWS_OPERATIONS.keys() | FREE_OPERATIONS:
        return AWS_OPERATIONS.get(number, "")
    names = ("system", "software", "meter", "description", "details")
    text = " ".join(words.get(name, "") for name in names)
    if OWN_LICENCE.search(text):
        return ""
    return ", ".join(name for name, pattern in NAMES if pattern.search(text))


def is_licence(words: Mapping[str, str]) -> bool:
    """True for a line that charges for a licence alone."""
    text = " ".join(words.get(name, "") for name in DESCRIPTIONS)
    if not LICENCE.search(text) or OWN_LICENCE.search(text):
        return False
    is_machine = words.get("service", "").startswith("Virtual Machines")
    return is_machine or any(pattern.search(text) for _, pattern in NAMES)
