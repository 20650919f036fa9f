"""Every field of a document changes what comes of it, or is refused: none is taken in silence."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from backend.calculators.calc.links import ContentionDocument
from backend.catalog.calc.hardware import cost_document, monthly_cost
from backend.catalog.calc.hardware_document import HardwareDocument, hardware_from
from backend.foundation.documents.model import Document as Model
from backend.foundation.documents.model import every_field
from backend.foundation.errors import InvalidDocument
from backend.scenarios.calc.document import ScenarioDocument
from backend.scenarios.calc.series import series
from backend.scenarios.calc.simulate import simulate
from tests.pure.scenarios.documents import Document, all_of, hybrid, price, startup
from tests.pure.storage_documents import contention

HARDWARE: Document = {
    "name": "own",
    "currency": "USD",
    "servers": 4,
    "items": [{"name": "server", "count": 4, "unit_price": "3000", "watts": "100"}],
}
WINDOW = {"from": "08:00", "to": "18:00", "level": 7, "weekdays": [0, 1, 2, 3, 4]}
DEMANDS: dict[str, Document] = {
    "daily": {"base": 2, "time_zone": "UTC", "windows": [WINDOW]},
    "trace": {"points": [["2026-03-27T00:00:00Z", 2], ["2026-03-28T00:00:00Z", 6]]},
    "composed": {
        "level": 3,
        "time_zone": "UTC",
        "noise_cv": "0.3",
        "daily": [1, 2] * 12,
        "events": [{"at": "2026-03-28T00:00:00Z", "duration_s": 7200, "level": 9}],
    },
}
POLICIES: dict[str, Document] = {
    "fixed": {"count": 3},
    "scheduled": {"base": 2, "time_zone": "UTC", "windows": [WINDOW]},
    "step": {"target": "0.9"},
}
BILLINGS: dict[str, Document] = {
    "hour_ceil_cap": {"cap": "9"},
    "reserved": {"upfront": "100"},
    "savings": {"commit_per_hour": "1", "discount": "0.3"},
    "spot": {"interruptions_per_month": "1"},
    "dedicated": {"minimum_months": 1},
}
EXTRAS: Document = {
    "egress_gb_per_month": 9,
    "egress_tiers": [["5", "1"], [None, "0.5"]],
    "storage_gb": 9,
    "storage_usd_per_gb_month": "0.1",
    "staff_hours_per_month": 1,
    "staff_usd_per_hour": 9,
    "fixed_per_month": 9,
}


def document(
    demand: str = "daily", policy: str = "perfect", billing: str = "per_second", **given: Any
) -> Document:
    """A week in which the number of servers changes; `count` is that of the first option."""
    cost = price("0.4", billing, **BILLINGS.get(billing, {}), **given.pop("priced", {}))
    count = given.pop("count", None)
    if billing == "purchase":
        cost, count = {"billing": billing, "hardware": HARDWARE}, 2
    first = all_of("first", cost, count=count)
    rules = {"kind": policy, **POLICIES.get(policy, {}), **given.pop("rules", {})}
    return startup(
        first,
        hybrid("second", price("9", "monthly"), price("0.4"), 2),
        **{
            "horizon": {"start": "2026-03-27T00:00:00+00:00", "days": 7, "step_s": 3600},
            "demand": {"unit": "servers", "kind": demand, **DEMANDS[demand]},
            "policy": rules,
            "extras": EXTRAS,
            **given,
        },
    )


SPREADS = {"uncertainty": {"draws": 20, "demand_growth_cv": "0.3"}, "rules": {"warmup_s": 3600}}
LATE: Document = {"rules": {"warmup_s": 3600, "lag_s": 3600}}
ENDS: Document = {"hazard_per_month": "0.5", "billing": "dedicated", "count": 2}
PRICE = "/options/*/parts/*/price"
ONE_TERM: Document = {
    "billing": "savings",
    "priced": {"renews": False, "after": "0.5", "term_months": 1},
    "horizon": {"start": "2026-03-01T00:00:00+00:00", "months": 2, "step_s": 21_600},
}
OTHER_HARDWARE = HARDWARE | {"servers": 2}
CASES: Mapping[str, tuple[Document, Any]] = {
    "/horizon/start": ({}, "2026-04-27T00:00:00+00:00"),
    "/horizon/days": ({}, 8),
    "/horizon/months": (
        {"horizon": {"start": "2026-03-01T00:00:00+00:00", "months": 1, "step_s": 21_600}},
        2,
    ),
    "/horizon/step_s": ({}, 1800),
    "/demand/unit": ({}, "requests"),
    "/demand/time_zone": ({}, "Asia/Tokyo"),
    "/demand/base": ({}, 3),
    "/demand/windows/*/from": ({}, "09:00"),
    "/demand/windows/*/to": ({}, "19:00"),
    "/demand/windows/*/level": ({}, 8),
    "/demand/windows/*/weekdays": ({}, [5]),
    "/demand/points": ({"demand": "trace"}, [["2026-03-27T00:00:00Z", 4]]),
    "/demand/remarks": ({"demand": "trace"}, ["a page is missing"]),
    "/demand/level": ({"demand": "composed"}, 4),
    "/demand/growth_per_month": ({"demand": "composed"}, "0.9"),
    "/demand/noise_cv": ({"demand": "composed"}, "0.6"),
    "/demand/seed": ({"demand": "composed"}, 9),
    "/demand/daily": ({"demand": "composed"}, [3, 1] * 12),
    "/demand/weekly": ({"demand": "composed"}, [2, 1, 1, 1, 1, 1, 1]),
    "/demand/events/*/at": ({"demand": "composed"}, "2026-03-29T00:00:00Z"),
    "/demand/events/*/duration_s": ({"demand": "composed"}, 9000),
    "/demand/events/*/level": ({"demand": "composed"}, 5),
    "/capacity/units_per_server": ({}, "1.5"),
    "/capacity/target_utilisation": ({}, "0.6"),
    "/policy/min": ({}, 4),
    "/policy/max": ({}, 4),
    "/policy/quota": ({}, 2),
    "/policy/warmup_s": ({}, 3600),
    "/policy/lag_s": ({}, 3600),
    "/policy/count": ({"policy": "fixed"}, 5),
    "/policy/time_zone": ({"policy": "scheduled"}, "Asia/Tokyo"),
    "/policy/base": ({"policy": "scheduled"}, 5),
    "/policy/windows/*/from": ({"policy": "scheduled"}, "09:00"),
    "/policy/windows/*/to": ({"policy": "scheduled"}, "19:00"),
    "/policy/windows/*/level": ({"policy": "scheduled"}, 8),
    "/policy/windows/*/weekdays": ({"policy": "scheduled"}, [5]),
    "/policy/out_window_s": ({"policy": "hpa"}, 7200),
    "/policy/in_window_s": ({"policy": "hpa"}, 7200),
    "/policy/out_delay_s": ({"policy": "cluster_autoscaler"}, 7200),
    "/policy/in_delay_s": ({"policy": "cluster_autoscaler"}, 7200),
    "/policy/target": ({"policy": "step"}, "0.5"),
    "/policy/cooldown_s": ({"policy": "step"}, 7200),
    "/policy/in_below": ({"policy": "step"}, "0.8"),
    "/policy/lead_s": ({"policy": "predictive"}, 7200),
    "/options/*/name": ({}, "other"),
    "/options/*/parts/*/count": ({}, 3),
    "/options/*/parts/*/capacity": ({}, "2"),
    f"{PRICE}/amount": ({}, "0.5"),
    f"{PRICE}/billing": ({}, "hour_ceil"),
    f"{PRICE}/minimum_s": ({}, 50_000),
    f"{PRICE}/minimum_minutes": ({"billing": "per_minute"}, 1440),
    f"{PRICE}/cap": ({"billing": "hour_ceil_cap"}, "2"),
    f"{PRICE}/month_convention": ({"billing": "monthly"}, 100),
    f"{PRICE}/upfront": ({"billing": "reserved", "count": 2}, "200"),
    f"{PRICE}/term_months": ({"billing": "savings"}, 24),
    f"{PRICE}/commit_per_hour": ({"billing": "savings"}, "2"),
    f"{PRICE}/discount": ({"billing": "savings"}, "0.5"),
    f"{PRICE}/tiers": ({"billing": "sustained_use"}, [["0.1", "1"], ["1", "0.5"]]),
    f"{PRICE}/interruptions_per_month": ({"billing": "spot"}, "5"),
    f"{PRICE}/setup": ({"billing": "dedicated"}, "50"),
    f"{PRICE}/minimum_months": ({"billing": "dedicated"}, 5),
    # The savings plan ends within the two months.
    f"{PRICE}/after": (ONE_TERM, "0.9"),
    f"{PRICE}/example": ({}, "0.4"),
    f"{PRICE}/notice": ({"billing": "dedicated"}, "a month"),
    f"{PRICE}/hardware": ({"billing": "purchase"}, OTHER_HARDWARE),
    "/hazard_per_month": ({}, "0.5"),
    "/contract/minimum_months": (ENDS, 6),
    "/contract/notice_days": (ENDS, 60),
    "/tolerated_unserved_share": (LATE, "0.5"),
    "/price_per_unserved_unit_hour": (LATE, "3"),
    "/uncertainty/draws": (SPREADS, 30),
    "/uncertainty/seed": (SPREADS, 9),
    "/uncertainty/demand_growth_cv": (SPREADS, "0.1"),
    "/uncertainty/score_cv": (SPREADS, "0.5"),
    "/uncertainty/price_cv": (SPREADS, "0.5"),
    "/uncertainty/boot_cv": (SPREADS, "0.9"),
    **{
        f"{owner}/{name}": ({}, value)
        for owner in ("/extras", "/options/*/extras")
        for name, value in {
            "egress_gb_per_month": 20,
            "egress_tiers": [[None, "3"]],
            "storage_gb": 90,
            "storage_usd_per_gb_month": "3",
            "staff_hours_per_month": 9,
            "staff_hours_per_server_month": 9,
            "staff_usd_per_hour": 99,
            "fixed_per_month": 99,
            "month_convention": 100,
        }.items()
    },
}
# Of own servers alone.
for owner in ("/extras", "/options/*/extras"):
    CASES = {**CASES, f"{owner}/hardware_hours_per_server_month": ({"billing": "purchase"}, 9)}
REFUSED: Mapping[str, Any] = {
    f"{PRICE}/renews": False,
    "/schema": 2,
    "/options/*/parts/*/role": "burst",
    f"{PRICE}/unit": "month",
    f"{PRICE}/currency": "EUR",  # beside the dollars of the second option
    "/demand/kind": "trace",
    "/policy/kind": "fixed",
    "/demand/csv": "2026-01-01T00:00:00Z,1",
    # The catalog replaces these before the domain reads the document.
    "/capacity/metric": "cmips_score",
    "/capacity/units_per_score": "1",
    f"{PRICE}/offer": "aws-m5",
    f"{PRICE}/term": "spot",
    f"{PRICE}/price_observation": "x",
}
# Shown above the result, and not in it.
HEADINGS = {"/name"}


def leaves(model: type[Model]) -> set[str]:
    return {p for p, field in every_field(model) if field.model is None and field.element is None}


def changed(stated: Document, path: str, value: Any) -> Document:
    """The document with another value; objects on the path that it has not are made."""
    result = copy.deepcopy(stated)
    at: Any = result
    *above, last = path.strip("/").split("/")
    for name in above:
        at = at[0] if name == "*" else at.setdefault(name, {})
    at[last] = value
    return result


def shown(stated: Document) -> Document:
    """Everything that people see of it."""
    result = simulate(stated)
    del result["input_sha256"]
    return {**result, "series": series(stated, most_points=200)}


def test_every_field_of_a_scenario_is_looked_at() -> None:
    assert leaves(ScenarioDocument) == {*CASES, *REFUSED, *HEADINGS}


@pytest.mark.parametrize("path", CASES)
def test_field_changes_result_or_assumptions(path: str) -> None:
    given, value = CASES[path]
    stated = document(**given)
    assert shown(changed(stated, path, value)) != shown(stated)


@pytest.mark.parametrize("path", REFUSED)
def test_field_is_refused_where_it_cannot_act(path: str) -> None:
    with pytest.raises(InvalidDocument) as error:
        simulate(changed(document(), path, REFUSED[path]))
    assert error.value.errors


# --- own hardware, shared links -----------------------------------------------------------------

HARDWARE_CASES: Mapping[str, Any] = {
    "/transit_mbit_per_s": "5",
    "/transit_price_per_mbit_month": "3",
    "/remote_hands_hours_per_year": "9",
    "/remote_hands_price_per_hour": "99",
    "/installation_price": "900",
    "/migration_price": "900",
    "/energy_inflation_per_year": "0.1",
    "/wage_inflation_per_year": "0.1",
    "/disks/*/count": 90,
    "/disks/*/kind": "hdd",
    "/disks/*/unit_price": "900",
    "/disks/*/annual_failure_rate": "0.5",
    "/lease/price_per_month": "900",
    "/currency": "EUR",
    "/servers": 5,
    "/items/*/count": 5,
    "/items/*/unit_price": "3500",
    "/items/*/watts": "200",
    "/life_months": 36,
    "/residual_ratio": "0.2",
    "/discount_rate_per_year": "0.1",
    "/pue": "1.2",
    "/energy_price_per_kwh": "0.5",
    "/rack_units": "9",
    "/rack_price_per_unit_month": "50",
    "/support_ratio_per_year": "0.2",
    "/staff_hours_per_month": "50",
    "/staff_price_per_hour": "90",
    "/network_price_per_month": "90",
    "/annual_failure_rate": "0.9",
    "/repair_days": "300",
}


def test_every_field_of_hardware_is_looked_at() -> None:
    # Described for comparisons, or of effect in scenarios alone.
    shown_only = {"/cpu", "/cores", "/threads", "/memory_gib", "/disks/*/gb"}
    scenarios = {"/resale_ratio_at_start", "/lease/term_months"}
    named = {"/name", "/items/*/name"}
    assert leaves(HardwareDocument) == {*HARDWARE_CASES, *shown_only, *scenarios, *named}


@pytest.mark.parametrize("path", HARDWARE_CASES)
def test_field_changes_the_cost_of_hardware(path: str) -> None:
    stated = HARDWARE | {
        "transit_mbit_per_s": "9",
        "transit_price_per_mbit_month": "1",
        "remote_hands_hours_per_year": "1",
        "remote_hands_price_per_hour": "50",
        "disks": [{"count": 8, "gb": "960", "unit_price": "200"}],
    }
    if path.startswith("/lease"):
        stated |= {"lease": {"price_per_month": "100", "term_months": 36}}
    costs = [
        cost_document(monthly_cost(hardware_from(each)))
        for each in (stated, changed(stated, path, HARDWARE_CASES[path]))
    ]
    assert costs[0] != costs[1]


LINKS: Document = {
    "schema": 1,
    "links": [
        {"name": "a", "capacity_bytes_per_s": 100},
        {"name": "b", "capacity_bytes_per_s": 50},
    ],
    "flows": [{"name": "x", "count": 2, "path": ["a"]}],
}
LINK_CASES: Mapping[str, Any] = {
    "/links/*/capacity_bytes_per_s": 80,
    "/flows/*/name": "y",
    "/flows/*/count": 3,
    "/flows/*/demand_bytes_per_s": 10,
    "/flows/*/path": ["b"],
    "/transfer_bytes": 1000,
}


def test_every_field_of_shared_links_is_looked_at() -> None:
    assert leaves(ContentionDocument) == {*LINK_CASES, "/schema", "/links/*/name"}


@pytest.mark.parametrize("path", LINK_CASES)
def test_field_changes_rates_or_times(path: str) -> None:
    assert contention(changed(LINKS, path, LINK_CASES[path])) != contention(LINKS)


@pytest.mark.parametrize(("path", "value"), [("/schema", 2), ("/links/*/name", "other")])
def test_field_of_shared_links_is_refused(path: str, value: Any) -> None:
    with pytest.raises(InvalidDocument):
        contention(changed(LINKS, path, value))
