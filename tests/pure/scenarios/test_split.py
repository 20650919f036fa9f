"""Options that are calculated one by one, elsewhere, make the result of the whole to the last digit."""

import json
from typing import Any

import pytest

from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.simulate import compared, options_written, simulate
from backend.scenarios.calc.templates import TEMPLATES
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup

SPREADS = {
    "draws": 400,
    "seed": 3,
    "demand_growth_cv": "0.2",
    "score_cv": "0.05",
    "price_cv": "0.1",
    "boot_cv": "0.3",
}
RULES = startup(
    all_of("by the second", price("0.41", "per_second")),
    all_of("by the hour", price("0.4")),
    all_of("spot", {**price("0.13", "spot"), "interruptions_per_month": "2"}),
    all_of("dedicated", price("99.99", "monthly"), count="peak"),
    hybrid("both", price("100", "monthly"), price("0.4")),
    hybrid("best base", price("100", "monthly"), price("0.41"), count="optimal"),
)
DOCUMENTS: dict[str, Document] = {
    **{name: dict(template.document) for name, template in TEMPLATES.items()},
    "rules": RULES,
    "uncertain": {**RULES, "uncertainty": SPREADS},
    "may end": {**RULES, "hazard_per_month": "0.1", "uncertainty": SPREADS},
    "servers start slowly": {
        **RULES,
        # Each step of each draw is one of Python's: three days have all that can happen in thirty.
        "horizon": {**RULES["horizon"], "days": 3},
        "policy": {"kind": "target_tracking", "warmup_s": 120, "lag_s": 60},
        "uncertainty": SPREADS,
    },
    "unserved has a price": {
        **RULES,
        "price_per_unserved_unit_hour": "0.3",
        "uncertainty": SPREADS,
    },
}


def split(document: Document, size: int) -> dict[str, Any]:
    """As workers do it: so many options each, handed on as text."""
    handed: list[dict[str, Any]] = []
    for first in range(0, len(document["options"]), size):
        handed += json.loads(json.dumps(options_written(document, first, size)))
    return compared(document, handed)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_split_result_equals_the_whole_one(name: str) -> None:
    document = DOCUMENTS[name]
    # As text: the order of members is that of the answer, and 1 is not 1.0.
    whole = json.dumps(simulate(document))
    for size in (1, 2):
        assert json.dumps(split(document, size)) == whole


def test_an_option_that_is_missing_makes_no_result() -> None:
    with pytest.raises(ValueError, match="zip"):
        compared(RULES, options_written(RULES, 0, 2))


def test_a_fault_is_named_by_whoever_reads_it_first() -> None:
    with pytest.raises(InvalidDocument):
        options_written({**RULES, "options": []}, 0, 1)
