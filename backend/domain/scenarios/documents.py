"""The scenario document (schema 1), read strictly into a Scenario.

Prices by `offer` or `price_observation` are no matter of the domain: whoever knows the catalog
puts a price and a capacity in their place first.
"""

import calendar
import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from backend.domain.errors import InvalidValue
from backend.domain.pricing.billing.lifetimes import DAY_S
from backend.domain.scenarios.demand import demand_from, windows_from
from backend.domain.scenarios.model import (
    OPTIMAL,
    PEAK,
    Assumption,
    Extras,
    Option,
    Part,
    Scenario,
    Uncertainty,
    unlimited,
)
from backend.domain.scenarios.policies import KINDS as POLICIES
from backend.domain.scenarios.policies import Policy
from backend.domain.scenarios.prices import MOST_MONEY, convention, price_from
from backend.domain.scenarios.reading import Node, exact
from backend.domain.scenarios.steps import Steps

FIELDS = (
    "schema",
    "name",
    "horizon",
    "demand",
    "capacity",
    "policy",
    "options",
    "extras",
    "hazard_per_month",
    "contract",
    "uncertainty",
)
MOST_OPTIONS = 300
MOST_SERVERS = 1_000_000
LIMITS = ("kind", "min", "max", "quota", "warmup_s", "lag_s")
POLICY_FIELDS: Mapping[str, tuple[str, ...]] = {
    "perfect": (),
    "fixed": ("count",),
    "scheduled": ("time_zone", "base", "windows"),
    "hpa": ("out_window_s", "in_window_s"),
    "cluster_autoscaler": ("out_delay_s", "in_delay_s"),
    "target_tracking": ("target", "cooldown_s"),
    "step": ("target", "in_below", "cooldown_s"),
    "predictive": ("lead_s",),
}
EXTRAS = (
    "egress_gb_per_month",
    "egress_tiers",
    "storage_gb",
    "storage_usd_per_gb_month",
    "staff_hours_per_month",
    "staff_usd_per_hour",
    "fixed_per_month",
    "month_convention",
)


def scenario_from(document: object, check: Callable[[], None] = unlimited) -> Scenario:
    """The scenario that a document describes; InvalidDocument names every field that is wrong."""
    node = Node(document)
    node.knows(*FIELDS)
    if node.values.get("schema") != 1:
        node.fault("schema", "1 is needed")
    steps, months = _horizon(node.node("horizon"))
    demand = demand_from(node.node("demand"), steps)
    capacity = node.node("capacity")
    units, target = _capacity(capacity)
    policy = _policy(node.node("policy"), target)
    options = tuple(_options(node, units))
    contract = node.node("contract")
    contract.knows("minimum_months", "notice_days")
    scenario = Scenario(
        name=node.text("name", "Scenario"),
        steps=steps,
        months=months,
        demand=demand,
        target_utilisation=target,
        policy=policy,
        options=options,
        hazard_per_month=node.number("hazard_per_month", "0", high="1"),
        contract_months=contract.whole("minimum_months", 0, 0, 120),
        notice_days=contract.whole("notice_days", 0, 0, 366),
        uncertainty=_uncertainty(node) if node.has("uncertainty") else None,
        assumptions=(*_assumptions(node), *demand.notes),
        document=node.values,
        check=check,
    )
    _check_currency(node, options)
    node.end()
    _check_sizes(node, scenario)
    node.end()
    return scenario


def _horizon(node: Node) -> tuple[Steps, int | None]:
    node.knows("start", "days", "months", "step_s")
    start_s = node.time_s("start")
    step_s = node.whole("step_s", 60, 1, 30 * DAY_S)
    if node.has("days") == node.has("months"):
        node.fault("days", "exactly one of days and months is needed")
        return Steps(start_s, 3600, 1), None
    months = node.maybe_whole("months", 1, 120)
    if months is None:
        seconds = node.number("days", above="0", high="36600") * DAY_S
    else:
        first = dt.datetime.fromtimestamp(start_s, dt.UTC)
        if (first.day, first.hour, first.minute, first.second) != (1, 0, 0, 0):
            node.fault("start", "with months it is the first of a month at 00:00 UTC")
        seconds = Fraction(_months_later(first, months) - start_s)
    count = seconds / step_s
    if count.denominator != 1:
        node.fault("step_s", f"the horizon is not a whole number of steps of {step_s} s")
    try:
        return Steps(start_s, step_s, int(count)), months
    except InvalidValue as error:
        node.fault("step_s", error.detail)
        return Steps(start_s, 3600, 1), None


def _months_later(first: dt.datetime, months: int) -> int:
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return calendar.timegm((year, month + 1, 1, 0, 0, 0))


def _capacity(node: Node) -> tuple[Fraction | None, Fraction]:
    """Units that a server carries, where they are said for all; and the target utilisation."""
    node.knows("units_per_server", "target_utilisation")
    target = node.number("target_utilisation", "1", above="0", high="1")
    if not node.has("units_per_server"):
        return None, target
    return node.number("units_per_server", above="0"), target


def _policy(node: Node, target: Fraction) -> Policy:
    kind = node.text("kind", "perfect", POLICIES)
    node.knows(*LIMITS, *POLICY_FIELDS[kind])
    is_autoscaler = kind == "cluster_autoscaler"
    out_name, in_name = (
        ("out_delay_s", "in_delay_s") if is_autoscaler else ("out_window_s", "in_window_s")
    )
    policy = Policy(
        kind=kind,
        min_servers=node.whole("min", 0, 0, MOST_SERVERS),
        max_servers=node.maybe_whole("max", 0, MOST_SERVERS),
        quota=node.maybe_whole("quota", 0, MOST_SERVERS),
        warmup_s=_seconds(node, "warmup_s", "0"),
        lag_s=_seconds(node, "lag_s", "0"),
        count=node.whole("count", None, 0, MOST_SERVERS) if kind == "fixed" else 0,
        out_window_s=_seconds(node, out_name, "0"),
        in_window_s=_seconds(node, in_name, "600" if is_autoscaler else "300"),
        target=node.number("target", str(target), above="0", high="1"),
        cooldown_s=_seconds(node, "cooldown_s", "300"),
        in_below=node.number("in_below", "0.4", high="1"),
        lead_s=_seconds(node, "lead_s", "0"),
    )
    if policy.max_servers is not None and policy.min_servers > policy.max_servers:
        node.fault("min", f"{policy.min_servers} is above max, {policy.max_servers}")
    if kind == "step" and policy.in_below > policy.target:
        node.fault("in_below", f"{float(policy.in_below)} is above target")
    if kind != "scheduled":
        return policy
    base = node.number("base", "0", high=str(MOST_SERVERS))
    return replace(
        policy, base=base, time_zone=node.time_zone(), windows=windows_from(node, str(MOST_SERVERS))
    )


def _seconds(node: Node, name: str, default: str) -> float:
    return float(node.number(name, default, high=str(31 * DAY_S)))


# --- options ------------------------------------------------------------------------------------


def _options(node: Node, units: Fraction | None) -> list[Option]:
    common = node.values.get("extras")
    shared: Mapping[str, Any] = common if isinstance(common, Mapping) else {}
    _extras(node.node("extras"))
    found = []
    names: set[str] = set()
    for one in node.nodes("options", 1, MOST_OPTIONS):
        one.knows("name", "parts", "extras")
        name = one.text("name")
        if name in names:
            one.fault("name", f"{name!r} is the name of another option, too")
        names.add(name)
        parts = _parts(one, units)
        own = one.values.get("extras")
        merged = {**shared, **own} if isinstance(own, Mapping) else shared
        _extras(one.node("extras"))  # held to its ranges under its own name
        extras = _extras(Node(merged))
        found.append(Option(name, parts, extras))
        if extras.egress_gb and not extras.egress_tiers:
            place = one if isinstance(own, Mapping) else node
            place.fault("extras/egress_tiers", "egress needs tiers")
    if not found:
        node.fault("options", "at least one option is needed")
    return found


def _parts(node: Node, units: Fraction | None) -> tuple[Part, ...]:
    nodes = list(node.nodes("parts", 1, 2))
    parts = tuple(_part(part, units) for part in nodes)
    _check_roles(node, parts)
    if {part.role for part in parts} != {"base", "burst"}:
        return parts
    base, burst = sorted(parts, key=lambda part: part.role)
    said = nodes[parts.index(base)].node("price")
    if base.price.billing != "reserved" or said.has("minimum_s"):
        return parts
    # Reservations count lives as the price beside them does, if they do not say otherwise.
    terms = replace(base.price.terms, minimum_s=burst.price.terms.minimum_s)
    return replace(base, price=replace(base.price, terms=terms)), burst


def _part(node: Node, units: Fraction | None) -> Part:
    node.knows("role", "count", "price", "capacity")
    if not node.has("price"):
        node.fault("price", "a value is needed")
    own = node.number("capacity", above="0") if node.has("capacity") else units
    if own is None:
        node.fault("capacity", "units_per_server is said neither here nor for all")
    return Part(
        role=node.text("role", "all", ("all", "base", "burst")),
        count=_count(node),
        price=price_from(node.node("price")),
        units_per_server=own or Fraction(1),
    )


def _count(node: Node) -> int | str | None:
    value = node.values.get("count")
    if value is None or value in (PEAK, OPTIMAL):
        return value
    return node.whole("count", None, 0, MOST_SERVERS)


def _check_roles(node: Node, parts: tuple[Part, ...]) -> None:
    roles = [part.role for part in parts]
    if roles not in (["all"], ["base", "burst"], ["burst", "base"]):
        node.fault("parts", "either one part all, or one base and one burst")
        return
    for place, part in enumerate(parts):
        billing = part.price.billing
        if part.role == "base" and part.count is None:
            node.fault(f"parts/{place}/count", "a base needs optimal, peak or a number")
        if part.role == "burst" and part.count is not None:
            node.fault(f"parts/{place}/count", "a burst takes no count")
        if part.role == "all" and part.count == OPTIMAL:
            node.fault(f"parts/{place}/count", "optimal is for a base beside a burst")
        if billing == "reserved" and part.count is None:
            node.fault(f"parts/{place}/price/billing", "reserved servers need a count")
        if part.role == "burst" and roles != ["all"]:
            base = next(one for one in parts if one.role == "base")
            if base.price.billing == "reserved" and billing != "per_second":
                node.fault(
                    f"parts/{place}/price/billing", "beside reservations per_second is needed"
                )


def _check_sizes(node: Node, scenario: Scenario) -> None:
    """Servers too small for the highest demand."""
    highest = Fraction(float(scenario.demand.values.max()))
    target = min(scenario.target_utilisation, scenario.policy.target)
    for place, option in enumerate(scenario.options):
        for n, part in enumerate(option.parts):
            servers = highest / (part.units_per_server * target)
            if servers > MOST_SERVERS:
                is_own = "capacity" in node.values["options"][place]["parts"][n]
                own = f"options/{place}/parts/{n}/capacity"
                detail = f"the highest demand needs {float(servers):.0f} servers"
                node.fault(
                    own if is_own else "capacity/units_per_server",
                    f"{detail}; at most {MOST_SERVERS} are possible",
                )


def _check_currency(node: Node, options: tuple[Option, ...]) -> None:
    first = options[0].parts[0].price.currency if options and options[0].parts else ""
    for place, option in enumerate(options):
        for n, part in enumerate(option.parts):
            if part.price.currency != first:
                detail = f"{part.price.currency} beside {first}: a document has one currency"
                node.fault(f"options/{place}/parts/{n}/price/currency", detail)


# --- extras, uncertainty, assumptions -----------------------------------------------------------


def _extras(node: Node) -> Extras:
    node.knows(*EXTRAS)
    return Extras(
        egress_gb=node.number("egress_gb_per_month", "0", high=MOST_MONEY),
        egress_tiers=_egress_tiers(node),
        storage_gb=node.number("storage_gb", "0", high=MOST_MONEY),
        storage_price=node.number("storage_usd_per_gb_month", "0", high=MOST_MONEY),
        staff_hours=node.number("staff_hours_per_month", "0", high=MOST_MONEY),
        staff_price=node.number("staff_usd_per_hour", "0", high=MOST_MONEY),
        fixed=node.number("fixed_per_month", "0", high=MOST_MONEY),
        month_convention=convention(node, "month_convention"),
    )


def _egress_tiers(node: Node) -> tuple[tuple[Fraction | None, Fraction], ...]:
    found: list[tuple[Fraction | None, Fraction]] = []
    values = node.list("egress_tiers", 0, 50)
    for place, pair in enumerate(values):
        both = list(pair) if isinstance(pair, list | tuple) and len(pair) == 2 else [None, None]
        upper = None if both[0] is None else exact(both[0])
        price = exact(both[1])
        lower = found[-1][0] if found else Fraction(0)
        is_last = place == len(values) - 1
        is_upper_right = (both[0] is None) == is_last and (
            is_last or (upper is not None and lower is not None and upper > lower)
        )
        if price is None or price < 0 or not is_upper_right:
            detail = "[up_to_gb, price] with growing bounds is needed, the last bound null"
            node.fault(f"egress_tiers/{place}", detail)
            return ()
        found.append((upper, price))
    return tuple(found)


def _uncertainty(node: Node) -> Uncertainty:
    node = node.node("uncertainty")
    names = ("demand_growth_cv", "score_cv", "price_cv", "boot_cv")
    node.knows("draws", "seed", *names)
    spreads = {name: float(node.number(name, "0", high="5")) for name in names}
    draws = node.whole("draws", 1000, 1, 100_000)
    return Uncertainty(draws=draws, seed=node.whole("seed", 0, 0, 2**32 - 1), **spreads)


def _assumptions(node: Node) -> list[Assumption]:
    """What was not said and so was assumed."""
    policy = node.values.get("policy")
    said: Mapping[str, Any] = policy if isinstance(policy, Mapping) else {}
    horizon = node.values.get("horizon")
    step = horizon.get("step_s", 60) if isinstance(horizon, Mapping) else 60
    found = [
        Assumption("step", str(step), "s", "demand between two step starts is not seen"),
    ]
    for name in ("warmup_s", "lag_s"):
        if name not in said:
            source = "not stated: servers start and are seen at once"
            found.append(Assumption(name, "0", "s", source))
    contract = node.values.get("contract")
    if isinstance(contract, Mapping) and contract.get("notice_days"):
        source = "stated and not calculated with: a contract is taken to end with its minimum term"
        found.append(Assumption("notice_days", str(contract["notice_days"]), "days", source))
    return found
