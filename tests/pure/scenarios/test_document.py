"""The document of a scenario: its schema, its defaults and its ranges."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from backend.foundation.documents.model import Described, every_field, json_schema
from backend.foundation.documents.values import Number, WholeNumber
from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.document import ScenarioDocument
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.simulate import simulate
from backend.scenarios.calc.templates import TEMPLATES
from tests.pure.scenarios.documents import Document, all_of, price, startup

VALIDATOR = Draft202012Validator(json_schema(ScenarioDocument))
FIELDS = dict(every_field(ScenarioDocument))
FROM_THE_CATALOG = {"offer", "price_observation", "term", "metric", "units_per_score"}
WINDOW = {"from": "10:00", "to": "15:00", "level": 2, "weekdays": [0]}
TRACE = [["2026-01-01T00:00:00+00:00", 1]]
HARDWARE = {
    "name": "own",
    "currency": "USD",
    "servers": 1,
    "items": [{"name": "server", "count": 1, "unit_price": "3000", "watts": "100"}],
}
DEMANDS: dict[str, Document] = {
    "daily": {"base": 1, "time_zone": "UTC", "windows": [WINDOW]},
    "trace": {"points": TRACE, "remarks": ["a page is missing"]},
    "composed": {
        "time_zone": "UTC",
        "level": 1,
        "daily": [1] * 24,
        "weekly": [1] * 7,
        "growth_per_month": "0.1",
        "noise_cv": "0.1",
        "events": [{"at": "2026-01-01T01:00:00+00:00", "duration_s": 60, "level": 1}],
        "seed": 1,
    },
}
POLICIES: dict[str, Document] = {
    "perfect": {},
    "fixed": {"count": 2},
    "scheduled": {"time_zone": "UTC", "base": 1, "windows": [WINDOW]},
    "hpa": {"out_window_s": 60, "in_window_s": 60},
    "cluster_autoscaler": {"out_delay_s": 60, "in_delay_s": 60},
    "target_tracking": {"target": "0.5", "cooldown_s": 60},
    "step": {"target": "0.5", "cooldown_s": 60, "in_below": "0.2"},
    "predictive": {"lead_s": 60},
}
BILLINGS: dict[str, Document] = {
    "per_second": {"minimum_s": 60},
    "per_minute": {"minimum_minutes": 10},
    "hour_ceil": {},
    "hour_ceil_cap": {"cap": "9", "month_convention": "30d"},
    "monthly": {"month_convention": 730},
    "reserved": {
        "upfront": "1",
        "term_months": 12,
        "minimum_s": 60,
        "renews": True,
        "example": "1",
    },
    "savings": {"commit_per_hour": "1", "discount": "0.3", "minimum_s": 60},
    "sustained_use": {"tiers": [["0.5", "1"], ["1", "0.5"]], "month_convention": "calendar"},
    "spot": {"minimum_s": 60, "interruptions_per_month": "0.1"},
    "purchase": {"hardware": HARDWARE},
    "dedicated": {
        "setup": "9",
        "minimum_months": 2,
        "notice": "a month",
        "month_convention": "30d",
    },
}
EXTRAS = {
    "egress_gb_per_month": 9,
    "egress_tiers": [["5", "1"], [None, "0.5"]],
    "storage_gb": 9,
    "storage_usd_per_gb_month": "0.1",
    "staff_hours_per_month": 1,
    "staff_hours_per_server_month": 1,
    "hardware_hours_per_server_month": 1,
    "staff_usd_per_hour": 9,
    "fixed_per_month": 9,
    "month_convention": "30d",
}


def whole(*, demand: str = "daily", policy: str = "perfect", billing: str = "per_second") -> Any:
    """A document in which every field of these kinds says something."""
    own = BILLINGS[billing]
    given = (
        {"billing": billing, "unit": "month", "currency": "USD", "amount": "1", **own}
        if billing == "purchase"
        else price("0.4", billing, **own)
    )
    document = startup(
        all_of("one", given, count=1),
        demand={"unit": "servers", "kind": demand, **DEMANDS[demand]},
        capacity={"units_per_server": "1", "target_utilisation": "0.9"},
        policy={
            "kind": policy,
            "min": 0,
            "max": 9,
            "quota": 9,
            "warmup_s": 60,
            "lag_s": 60,
            **POLICIES[policy],
        },
        extras=EXTRAS,
        hazard_per_month="0.1",
        contract={"minimum_months": 1, "notice_days": 30},
        **(
            {"price_per_unserved_unit_hour": "1"}
            if demand == "trace"
            else {"tolerated_unserved_share": "0.01"}
        ),
        uncertainty={
            "draws": 10,
            "seed": 1,
            **dict.fromkeys(("demand_growth_cv", "score_cv", "price_cv", "boot_cv"), "0.1"),
        },
    )
    document["horizon"] = {**document["horizon"], "days": 1}
    document["options"][0]["extras"] = EXTRAS
    document["options"][0]["parts"][0]["capacity"] = "1"
    return copy.deepcopy(document)


ALL = [
    *(whole(demand=kind) for kind in DEMANDS),
    *(whole(policy=kind) for kind in POLICIES),
    *(whole(billing=kind) for kind in BILLINGS),
]


def paths(value: Any, path: str = "") -> Iterator[str]:
    """Every path that a document uses, with * for places of lists."""
    field = FIELDS.get(path.removesuffix("/*"))
    if field is not None and field.model is None and field.element is None:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"{path}/{name}"
            yield from paths(inner, f"{path}/{name}")
    elif isinstance(value, list):
        for inner in value:
            yield from paths(inner, f"{path}/*")


def test_table_has_every_field_and_no_other() -> None:
    used = {path for document in ALL for path in paths(document)}
    expected = {path for path in FIELDS if FIELDS[path].name not in FROM_THE_CATALOG}
    # after stands beside renews false alone: test_contracts.py
    elsewhere = {"/horizon/months", "/demand/csv", "/options/*/parts/*/price/after"}
    assert used | elsewhere == expected


@pytest.mark.parametrize("document", ALL)
def test_reader_and_schema_take_every_field(document: Document) -> None:
    assert simulate(document)["options"]
    assert list(VALIDATOR.iter_errors(document)) == []


def changed(path: str, value: Any) -> Document | None:
    """A document in which the field says this; None where no document has it."""
    for document in ALL:
        if path in set(paths(document)):
            found = copy.deepcopy(document)
            at: Any = found
            *places, last = path.strip("/").split("/")
            for place in places:
                at = at[0] if place == "*" else at[place]
            if value is ...:
                del at[last]
            else:
                at[last] = value
            return found
    return None


def is_refused(document: Document) -> bool:
    try:
        scenario_from(document)
    except InvalidDocument:
        return True
    return False


def bounds(field: Described) -> list[float]:
    """What is just beyond the range of a number."""
    value = field.value
    if isinstance(value, Number):
        low = [float(value.low) - (0 if value.is_above else 1)]
        return [*low, *([] if value.high is None else [float(value.high) + 1])]
    return [value.low - 1, value.high + 1] if isinstance(value, WholeNumber) else []


NUMBERS = [
    path
    for path, field in FIELDS.items()
    if bounds(field) and field.name not in FROM_THE_CATALOG and path != "/horizon/months"
]


@pytest.mark.parametrize("path", NUMBERS)
def test_both_refuse_what_is_beyond_the_range(path: str) -> None:
    for value in bounds(FIELDS[path]):
        document = changed(path, int(value) if value == int(value) else value)
        assert document is not None
        assert is_refused(document), value
        assert not VALIDATOR.is_valid(document), value


@pytest.mark.parametrize("path", [p for p in FIELDS if FIELDS[p].default is not None])
def test_default_is_what_the_reader_takes(path: str) -> None:
    field = FIELDS[path]
    if field.name in FROM_THE_CATALOG:
        return
    results = []
    for document in (changed(path, field.default), changed(path, ...)):
        assert document is not None
        results.append(simulate(document))
        for word in ("input_sha256", "assumptions"):
            results[-1].pop(word)
    assert results[0] == results[1]


@pytest.mark.parametrize("path", [p for p in FIELDS if FIELDS[p].is_needed])
def test_reader_refuses_a_document_without_a_field_that_is_needed(path: str) -> None:
    document = changed(path, ...)
    assert document is not None
    assert is_refused(document)


def test_unmet_demand_is_tolerated_or_priced_and_not_both() -> None:
    document = {
        **whole(),
        "tolerated_unserved_share": "0.01",
        "price_per_unserved_unit_hour": "1",
    }
    with pytest.raises(InvalidDocument, match="either a share that is tolerated, or a price"):
        scenario_from(document)


def test_schema_refuses_unknown_fields_and_a_document_without_options() -> None:
    assert not VALIDATOR.is_valid({**whole(), "surprise": 1})
    document = whole()
    document["options"][0]["parts"][0]["price"]["surprise"] = 1
    assert not VALIDATOR.is_valid(document)
    assert not VALIDATOR.is_valid({k: v for k, v in whole().items() if k != "options"})


def test_schemas_are_sound_and_take_the_templates() -> None:
    Draft202012Validator.check_schema(json_schema(ScenarioDocument))
    for template in TEMPLATES.values():
        document = json.loads(json.dumps(dict(template.document)))
        assert list(VALIDATOR.iter_errors(document)) == [], template.key


def test_schema_takes_offers_and_scores_of_the_catalog() -> None:
    document = whole()
    document["capacity"] = {"metric": "cmips_score", "units_per_score": "0.01"}
    document["options"][0]["parts"][0]["price"] = {"offer": "aws-m5", "term": "spot"}
    assert list(VALIDATOR.iter_errors(document)) == []
    assert "only with hour_ceil_cap" in json.dumps(json_schema(ScenarioDocument))
