"""The fields of a scenario document as the editor shows them, by JSON pointer.

Which there are, their labels, their kinds and for which choice they count is what the document
says. An index of a list is a star here and a number in the form; a slash is a dot in the form's
names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from backend.catalog.selectors.current_prices import TERMS
from backend.domain.documents.model import Described, every_field
from backend.domain.documents.values import Value
from backend.domain.metrics import METRICS
from backend.domain.scenarios.document import ScenarioDocument
from backend.web.shared import words

Choices = tuple[tuple[str, str], ...]
PART = "options/*/parts/*"
PRICE = f"{PART}/price"

DEMAND_WORDS = {
    "daily": "Levels by time of day",
    "trace": "Recorded demand",
    "composed": "Day, week, growth and events",
}
POLICY_WORDS = {
    "perfect": "Perfect: what is needed, at once",
    "fixed": "A fixed number",
    "scheduled": "By the clock",
    "hpa": "Windows, as Kubernetes scales",
    "cluster_autoscaler": "Cluster autoscaler",
    "target_tracking": "Target tracking",
    "step": "One step up or down",
    "predictive": "Ahead of the demand",
}
BILLING_WORDS = {
    "per_second": "by the second",
    "per_minute": "by the minute",
    "hour_ceil": "hours begun",
    "hour_ceil_cap": "hours begun, capped a month",
    "monthly": "months begun",
    "reserved": "reserved, used or not",
    "savings": "savings plan",
    "sustained_use": "sustained use",
    "spot": "spot",
    "purchase": "own hardware",
    "dedicated": "dedicated, with set-up and term",
}
CHOICES: Mapping[str, Choices] = {
    "demand/kind": tuple(DEMAND_WORDS.items()),
    "policy/kind": tuple(POLICY_WORDS.items()),
    "capacity/metric": (
        ("", "as stated"),
        *((m.key, words.metric(m.key)) for m in METRICS.values() if m.is_higher_better),
    ),
    f"{PRICE}/term": (("", "as it is"), *((term, words.term(term)) for term in TERMS)),
    f"{PRICE}/billing": (("", "as the offer"), *BILLING_WORDS.items()),
}


@dataclass(frozen=True)
class Entry:
    """A field of the editor."""

    path: str
    field: Described
    when: str = ""
    """Pointer of the choice that decides whether the field counts; empty = it always does."""
    values: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Last part of the pointer."""
        return self.field.name

    @property
    def value(self) -> Value:
        return self.field.value

    @property
    def label(self) -> str:
        return self.value.label

    @property
    def kind(self) -> str:
        """decimal, text, whole, choice, count, convention, days, numbers, pairs, events, points or
        json: how the value is written."""
        return "choice" if self.path in CHOICES else self.value.editor

    @property
    def choices(self) -> Choices:
        return CHOICES.get(self.path, ())

    @property
    def default(self) -> str:
        """What is taken where nothing is typed."""
        return "" if self.field.default is None else str(self.field.default)


def _entries() -> tuple[Entry, ...]:
    fields = {path.removeprefix("/"): field for path, field in every_field(ScenarioDocument)}
    entries = []
    for path, field in fields.items():
        lists = path.partition("/windows/*")[0]
        decided = fields[f"{lists}/windows"] if lists != path else field
        if field.value.label and decided.value.when:
            switch = "billing" if path.startswith(PRICE) else "kind"
            above = lists if lists != path else path.rpartition("/")[0]
            entry = Entry(path, field, f"{above}/{switch}", frozenset(decided.value.when))
            entries.append(entry)
        elif field.value.label:
            entries.append(Entry(path, field))
    return tuple(entries)


EVERY = _entries()


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
PART_ENTRIES = tuple(e for e in EVERY if e.path.startswith(PART) and not e.when)
TERM_ENTRIES = tuple(e for e in EVERY if e.path.startswith(PART) and e.when)
