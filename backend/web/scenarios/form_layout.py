"""The fields of a scenario document as the editor shows them, by JSON pointer.

Which there are, their labels, their kinds and for which choice they count is what the document
says. An index of a list is a star here and a number in the form; a slash is a dot in the form's
names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from backend.catalog.selectors.price_choice import TERMS
from backend.domain.documents.model import Described, every_field, fields_of
from backend.domain.documents.values import Value
from backend.domain.hardware_document import WHOLE, HardwareDocument
from backend.domain.metrics import METRICS
from backend.domain.scenarios.document import ScenarioDocument
from backend.domain.scenarios.price_document import PURCHASE
from backend.web.hardware.forms import DESCRIBED, LABELS
from backend.web.shared import words
from backend.web.shared.language import lazy

Choices = tuple[tuple[str, str], ...]
PART = "options/*/parts/*"
PRICE = f"{PART}/price"

DEMAND_WORDS = {
    "daily": lazy("Levels by time of day"),
    "trace": lazy("Recorded demand"),
    "composed": lazy("Day, week, growth and events"),
}
POLICY_WORDS = {
    "perfect": lazy("Perfect: what is needed, at once"),
    "fixed": lazy("A fixed number"),
    "scheduled": lazy("By the clock"),
    "hpa": lazy("Windows, as Kubernetes scales"),
    "cluster_autoscaler": lazy("Cluster autoscaler"),
    "target_tracking": lazy("Target tracking"),
    "step": lazy("One step up or down"),
    "predictive": lazy("Ahead of the demand"),
}
BILLING_WORDS = {
    "per_second": lazy("by the second"),
    "per_minute": lazy("by the minute"),
    "hour_ceil": lazy("per started hour"),
    "hour_ceil_cap": lazy("per started hour, capped a month"),
    "monthly": lazy("per started month"),
    "reserved": lazy("reserved, used or not"),
    "savings": lazy("savings plan"),
    "sustained_use": lazy("sustained use"),
    "spot": "spot",
    "purchase": lazy("own hardware"),
    "dedicated": lazy("dedicated, with set-up and term"),
}
CHOICES: Mapping[str, Choices] = {
    "demand/kind": tuple(DEMAND_WORDS.items()),
    "policy/kind": tuple(POLICY_WORDS.items()),
    "capacity/metric": (
        ("", lazy("as stated")),
        *((m.key, words.metric(m.key)) for m in METRICS.values() if m.is_higher_better),
    ),
    f"{PRICE}/term": (("", lazy("as it is")), *((term, words.term(term)) for term in TERMS)),
    f"{PRICE}/billing": (("", lazy("as the offer")), *BILLING_WORDS.items()),
}
HARDWARE = f"{PRICE}/hardware"
HARDWARE_LABELS: Mapping[str, str] = {
    "servers": lazy("Servers"),
    "items": lazy("What is bought"),
    **LABELS,
    **DESCRIBED,
    "disks": lazy("Disks"),
    "lease": lazy("Lease"),
}
# Lists and objects that are typed as text, each of a kind of its own.
HARDWARE_LINES = {f"{HARDWARE}/{name}": name for name in ("items", "disks", "lease")}
HARDWARE_WHOLE = frozenset(f"{HARDWARE}/{name}" for name in WHOLE)


@dataclass(frozen=True)
class Entry:
    """A field of the editor."""

    path: str
    field: Described
    # Pointer of the choice that decides whether the field counts; empty = it always does.
    when: str = ""
    values: frozenset[str] = frozenset()
    # Its label, where that of the document is not for people.
    words: str = ""

    @property
    def name(self) -> str:
        return self.field.name

    @property
    def value(self) -> Value:
        return self.field.value

    @property
    def label(self) -> str:
        return self.words or self.value.label

    @property
    def kind(self) -> str:
        """decimal, text, whole, choice, count, convention, days, numbers, pairs, events, items,
        disks, lease or points: how the value is written."""
        if self.path in CHOICES:
            return "choice"
        if self.path in HARDWARE_LINES:
            return HARDWARE_LINES[self.path]
        return "whole" if self.path in HARDWARE_WHOLE else self.value.editor

    @property
    def choices(self) -> Choices:
        return CHOICES.get(self.path, ())

    @property
    def default(self) -> str:
        """Value where nothing is typed."""
        return "" if self.field.default is None else str(self.field.default)


def _entries() -> tuple[Entry, ...]:
    fields = {path.removeprefix("/"): field for path, field in every_field(ScenarioDocument)}
    entries = []
    for path, field in fields.items():
        lists = path.partition("/windows/*")[0]
        # A field of a window counts where the list of windows does.
        decided = fields[f"{lists}/windows"] if lists != path else field
        if field.value.label and decided.value.when:
            switch = "billing" if path.startswith(PRICE) else "kind"
            above = lists if lists != path else path.rpartition("/")[0]
            entry = Entry(path, field, f"{above}/{switch}", frozenset(decided.value.when))
            entries.append(entry)
        elif field.value.label:
            entries.append(Entry(path, field))
    return tuple(entries)


def _of_hardware() -> tuple[Entry, ...]:
    """The fields of own hardware; its name and currency are those of the option and of all."""
    fields = fields_of(HardwareDocument)
    return tuple(
        Entry(f"{HARDWARE}/{name}", fields[name], f"{PRICE}/billing", frozenset({PURCHASE}), words)
        for name, words in HARDWARE_LABELS.items()
    )


# Of the hardware's own document, which the reader of prices embeds as a whole.
OF_HARDWARE = _of_hardware()
EVERY = (*(entry for entry in _entries() if entry.path != HARDWARE), *OF_HARDWARE)


def _under(*prefixes: str) -> tuple[Entry, ...]:
    """The entries of some objects, without those of their lists."""
    return tuple(e for e in EVERY if e.path.startswith(prefixes) and "*" not in e.path)


HORIZON = _under("name", "horizon/")
DEMAND = _under("demand/")
CAPACITY = _under("capacity/")
POLICY = _under("policy/")
EXTRAS = _under("extras/")
RISKS = _under(
    "hazard_per_month", "contract/", "tolerated_unserved_share", "price_per_unserved_unit_hour"
)
UNCERTAINTY = _under("uncertainty/")
DEMAND_WINDOWS = tuple(e for e in EVERY if e.path.startswith("demand/windows/"))
POLICY_WINDOWS = tuple(e for e in EVERY if e.path.startswith("policy/windows/"))
OPTION = next(e for e in EVERY if e.path == "options/*/name")
OWN_EXTRAS = tuple(e for e in EVERY if e.path.startswith("options/*/extras/"))
PART_ENTRIES = tuple(e for e in EVERY if e.path.startswith(PART))
# What is asked first of a price.
FIRST = frozenset({f"{PRICE}/{name}" for name in ("offer", "term", "amount", "billing")})
KEY_ENTRIES = tuple(
    sorted(
        (e for e in PART_ENTRIES if e.path in FIRST or e.path == f"{PART}/count"),
        # The offer first: with it the other fields of the price are filled in by the catalog.
        key=lambda entry: entry.name != "offer",
    )
)
KEY_HARDWARE = OF_HARDWARE[:2]
EXPERT_HARDWARE = OF_HARDWARE[2:]
EXPERT_ENTRIES = tuple(e for e in PART_ENTRIES if e not in {*KEY_ENTRIES, *OF_HARDWARE})
