"""The fields of a scenario document as the editor shows them, by JSON pointer.

A place in a list is a star here and a number in the form; a slash is a dot in the form's names.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from backend.catalog.selectors.current_prices import TERMS
from backend.domain.metrics import METRICS
from backend.domain.scenarios.demand import KINDS as DEMANDS
from backend.domain.scenarios.documents import POLICY_FIELDS
from backend.domain.scenarios.prices import BILLINGS
from backend.web.shared import words

Choices = tuple[tuple[str, str], ...]
PART = "options/*/parts/*"
PRICE = f"{PART}/price"


@dataclass(frozen=True)
class Entry:
    """A field: pointer, label, how its value is written, and for which choice it counts."""

    path: str
    label: str
    kind: str = "decimal"
    """decimal, text, whole, choice, count, convention, days, numbers, pairs, events, points, json"""
    choices: Choices = ()
    when: str = ""
    """Pointer of the choice that decides whether the field counts; empty = it always does."""
    values: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """Last part of the pointer."""
        return self.path.rpartition("/")[2]


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
POLICY_LABELS: Mapping[str, tuple[str, str]] = {
    "count": ("Servers", "whole"),
    "time_zone": ("Time zone", "text"),
    "base": ("Servers outside the windows", "decimal"),
    "out_window_s": ("Window before servers start", "decimal"),
    "in_window_s": ("Window before servers end", "decimal"),
    "out_delay_s": ("Wait before servers start", "decimal"),
    "in_delay_s": ("Wait before servers end", "decimal"),
    "target": ("Target of the policy", "decimal"),
    "cooldown_s": ("Cool-down", "decimal"),
    "in_below": ("One server fewer below", "decimal"),
    "lead_s": ("Known ahead", "decimal"),
}
PRICE_LABELS: Mapping[str, tuple[str, str]] = {
    "minimum_s": ("Least time billed", "whole"),
    "minimum_minutes": ("Least minutes billed", "whole"),
    "cap": ("Most a month", "decimal"),
    "month_convention": ("What a month is", "convention"),
    "upfront": ("Paid at the start", "decimal"),
    "term_months": ("Term", "whole"),
    "commit_per_hour": ("Commitment an hour", "decimal"),
    "discount": ("Discount", "decimal"),
    "tiers": ("Tiers", "pairs"),
    "interruptions_per_month": ("Interruptions a month", "decimal"),
    "setup": ("Set-up", "decimal"),
    "minimum_months": ("Least months", "whole"),
    "notice": ("Notice", "text"),
    "hardware": ("Own hardware, as a document", "json"),
}


def _choices(labels: Mapping[str, str], names: tuple[str, ...]) -> Choices:
    return tuple((name, labels.get(name, name)) for name in names)


def _entry(path: str, label: str, kind: str, when: str, *values: str) -> Entry:
    return Entry(path, label, kind, (), when, frozenset(values))


HORIZON = (
    Entry("name", "Name", "text"),
    Entry("horizon/start", "Start", "text"),
    Entry("horizon/days", "Days"),
    Entry("horizon/months", "or calendar months", "whole"),
    Entry("horizon/step_s", "Step", "whole"),
)
_DEMAND = "demand/kind"
DEMAND = (
    Entry(_DEMAND, "Demand", "choice", _choices(DEMAND_WORDS, DEMANDS)),
    Entry("demand/unit", "Unit", "text"),
    _entry("demand/time_zone", "Time zone", "text", _DEMAND, "daily", "composed"),
    _entry("demand/base", "Level outside the windows", "decimal", _DEMAND, "daily"),
    _entry("demand/level", "Level", "decimal", _DEMAND, "composed"),
    _entry("demand/growth_per_month", "Growth a month", "decimal", _DEMAND, "composed"),
    _entry("demand/noise_cv", "Noise", "decimal", _DEMAND, "composed"),
    _entry("demand/seed", "Seed of the noise", "whole", _DEMAND, "composed"),
    _entry("demand/daily", "Factors of the 24 hours", "numbers", _DEMAND, "composed"),
    _entry("demand/weekly", "Factors from Monday on", "numbers", _DEMAND, "composed"),
    _entry("demand/events", "Events", "events", _DEMAND, "composed"),
    _entry("demand/csv", "Times and values", "points", _DEMAND, "trace"),
)
CAPACITY = (
    Entry("capacity/units_per_server", "Units a server carries"),
    Entry("capacity/target_utilisation", "Target utilisation"),
    Entry(
        "capacity/metric",
        "or a measured score",
        "choice",
        (
            ("", "as stated"),
            *((m.key, words.metric(m.key)) for m in METRICS.values() if m.is_higher_better),
        ),
    ),
    Entry("capacity/units_per_score", "Units of one point of it"),
)
_POLICY = "policy/kind"
_POLICIES = {
    name: tuple(kind for kind, fields in POLICY_FIELDS.items() if name in fields)
    for name in POLICY_LABELS
}
POLICY = (
    Entry(_POLICY, "Policy", "choice", _choices(POLICY_WORDS, tuple(POLICY_FIELDS))),
    Entry("policy/min", "Fewest servers", "whole"),
    Entry("policy/max", "Most servers", "whole"),
    Entry("policy/quota", "Quota of elastic servers", "whole"),
    Entry("policy/warmup_s", "Start of a server"),
    Entry("policy/lag_s", "Lag of the measurement"),
    *(
        _entry(f"policy/{name}", label, kind, _POLICY, *_POLICIES[name])
        for name, (label, kind) in POLICY_LABELS.items()
    ),
)
_BILLING = f"{PRICE}/billing"
OPTION = Entry("options/*/name", "Option", "text")
PART_ENTRIES = (
    Entry(f"{PART}/count", "How many", "count"),
    Entry(f"{PRICE}/offer", "Offer", "text"),
    Entry(
        f"{PRICE}/term", "Term", "choice", (("", "as it is"), *((t, words.term(t)) for t in TERMS))
    ),
    Entry(f"{PRICE}/amount", "Price"),
    Entry(_BILLING, "Billed", "choice", (("", "as the offer"), *BILLING_WORDS.items())),
    Entry(f"{PART}/capacity", "Units it carries"),
    Entry(f"{PRICE}/price_observation", "Price by its id", "text"),
)
TERM_ENTRIES = tuple(
    _entry(
        f"{PRICE}/{name}",
        label,
        kind,
        _BILLING,
        *(rule for rule, billing in BILLINGS.items() if name in billing.fields),
    )
    for name, (label, kind) in PRICE_LABELS.items()
)
EXTRA_LABELS: Mapping[str, tuple[str, str]] = {
    "egress_gb_per_month": ("Traffic out, GB a month", "decimal"),
    "egress_tiers": ("Prices of traffic", "pairs"),
    "storage_gb": ("Storage, GB", "decimal"),
    "storage_usd_per_gb_month": ("Price of a GB a month", "decimal"),
    "staff_hours_per_month": ("Staff hours a month", "decimal"),
    "staff_usd_per_hour": ("Price of an hour", "decimal"),
    "fixed_per_month": ("Fixed a month", "decimal"),
    "month_convention": ("What a month is", "convention"),
}
EXTRAS = tuple(Entry(f"extras/{n}", label, kind) for n, (label, kind) in EXTRA_LABELS.items())
OWN_EXTRAS = tuple(
    Entry(f"options/*/extras/{n}", label, kind) for n, (label, kind) in EXTRA_LABELS.items()
)
RISKS = (
    Entry("hazard_per_month", "Chance that the project ends in a month"),
    Entry("contract/minimum_months", "Least months of contracts", "whole"),
    Entry("contract/notice_days", "Days of notice", "whole"),
)
UNCERTAINTY = (
    Entry("uncertainty/draws", "Draws", "whole"),
    Entry("uncertainty/seed", "Seed", "whole"),
    Entry("uncertainty/demand_growth_cv", "Spread of the demand"),
    Entry("uncertainty/score_cv", "Spread of the score"),
    Entry("uncertainty/price_cv", "Spread of the price"),
    Entry("uncertainty/boot_cv", "Spread of the start"),
)


def windows(pointer: str, when: str, kind: str) -> tuple[Entry, ...]:
    """The fields of a line of windows."""
    named = (("from", "From"), ("to", "To"), ("level", "Level"), ("weekdays", "Weekdays"))
    kinds = {"level": "decimal", "weekdays": "days"}
    return tuple(
        _entry(f"{pointer}/windows/*/{name}", label, kinds.get(name, "text"), when, kind)
        for name, label in named
    )


DEMAND_WINDOWS = windows("demand", _DEMAND, "daily")
POLICY_WINDOWS = windows("policy", _POLICY, "scheduled")
EVERY = (
    *HORIZON,
    *DEMAND,
    *DEMAND_WINDOWS,
    *CAPACITY,
    *POLICY,
    *POLICY_WINDOWS,
    OPTION,
    *PART_ENTRIES,
    *TERM_ENTRIES,
    *OWN_EXTRAS,
    *EXTRAS,
    *RISKS,
    *UNCERTAINTY,
)
