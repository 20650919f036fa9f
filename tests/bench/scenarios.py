"""What scenarios cost: `./rackrate bench scenarios`. Prints one JSON document.

A year of minutes with days, weeks, lasting noise and 60 flash crowds, carried by 3 to 30 servers.
Times are CPU seconds of one thread, the least of some runs; `limit` is what each is held to.

- `offer_year`: one offer, from its demand to servers, service and bill by the second, of three
  policies; and how many times as long a plain loop over the steps takes for the same servers;
- `offers_200`: all of 200 offers, each of another size, in window form (HPA, out at once, in after 5
  minutes) and by the general clamp scan (out after 3 minutes, in after 15), with servers, bill and
  what each leaves unserved;
- `cheapest_50`: the cheapest 50 of 1,000 offers, of 1,000 sizes and of 50 (types in many regions),
  whose prices of a unit lie up to six times apart;
- `shortlist`: ten offers with every life of every server under six billing rules;
- `draws_10000`: 10,000 draws of demand, capacity and price for one option;
- `mixed_200`: the cheapest mix of 200 types for each level of the year;
- `linear`: time for twice as much over the time for as much, of steps and of offers;
- `peak_mb`: the most memory that the process held.
"""

import functools
import json
import math
import resource
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from backend.scenarios.calc.document import Uncertainty
from backend.scenarios.calc.documents import scenario_from
from backend.scenarios.calc.model import Demand, Option, ScenarioInput
from backend.scenarios.calc.results import outcome
from backend.scenarios.calc.screening import screen
from backend.scenarios.calc.steps import Steps
from backend.scenarios.calc.trajectories import trajectory
from backend.scenarios.calc.uncertainty import factors, spread, uncertainty_members
from tests.oracles.scenarios.mixed import Candidate, mixed
from tests.pure.scenarios.documents import Document, all_of, price, startup

RUNS = 5
YEAR_MINUTES = 365 * 24 * 60
OFFERS = 200
MANY = 1000
SHOWN = 50
UNITS = Fraction(100)
POLICIES: dict[str, Document] = {
    "window": {"kind": "hpa", "out_window_s": 0, "in_window_s": 300},
    "scan": {"kind": "hpa", "out_window_s": 180, "in_window_s": 900},
    "autoscaler": {"kind": "cluster_autoscaler", "out_delay_s": 60, "in_delay_s": 600},
}
LIMITS = {
    "offer_year": 0.005,
    "offers_200_window": 0.6,
    "offers_200_scan": 1.0,
    "shortlist": 0.15,
    "draws_10000": 0.2,
    "peak_mb": 300,
}
RULES = (
    price("0.4"),
    price("0.4", "per_minute"),
    price("0.4", "hour_ceil"),
    price("0.4", "hour_ceil_cap", cap="200"),
    price("0.4", "sustained_use"),
    price("0.4", "savings", commit_per_hour="2", discount="0.3"),
)


def load(minutes: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Requests per second in each minute, between 300 and 2,100."""
    random = np.random.default_rng(2013)
    at = np.arange(minutes) / 1440
    day = 1 + 0.6 * np.sin(2 * math.pi * (at - 0.3))
    week = np.where(at.astype(int) % 7 < 5, 1.0, 0.7)
    noise = np.empty(minutes)
    level = 0.0
    for n, drawn in enumerate(random.normal(0, 0.01, minutes)):
        noise[n] = level = 0.98 * level + drawn
    found = 750 * day * week * np.exp(noise)
    for start in random.integers(0, max(1, minutes - 60), 60):
        found[start : start + 60] *= 1.8
    return np.clip(found, 150.0, 2100.0)


def scenario(policy: str, minutes: int = YEAR_MINUTES, *options: Document) -> ScenarioInput:
    given = POLICIES[policy] | {"min": 3, "max": 30, "warmup_s": 180}
    document = startup(
        *(options or (all_of("o", price("0.4")),)),
        capacity={"units_per_server": str(UNITS), "target_utilisation": "0.7"},
        policy=given,
    )
    read = scenario_from(document)
    steps = Steps(read.steps.start_s, 60, minutes)
    return replace(read, steps=steps, demand=Demand("requests/s", load(minutes)))


def least_s(do: Callable[[], object], runs: int = RUNS) -> float:
    found = []
    for _ in range(runs):
        began = time.process_time()
        do()
        found.append(time.process_time() - began)
    return min(found)


def looped(given: ScenarioInput) -> list[int]:
    """The same servers step by step, on plain lists."""
    policy, each = given.policy, float(UNITS * given.target_utilisation)
    low, high = policy.min_servers, policy.max_servers or 10**9
    lengths = (policy.out_window_s, policy.in_window_s)
    if policy.kind == "cluster_autoscaler":
        lengths = (policy.out_delay_s, policy.in_delay_s)
    widths = [max(1, given.steps.of(length)) for length in lengths]
    least: deque[tuple[int, int]] = deque()
    most: deque[tuple[int, int]] = deque()
    found, n = [], -1
    for t, asked in enumerate(given.demand.values.tolist()):
        need = min(max(math.ceil(asked / each - 1e-9), low), high)
        while least and least[-1][1] >= need:
            least.pop()
        while most and most[-1][1] <= need:
            most.pop()
        least.append((t, need))
        most.append((t, need))
        if least[0][0] <= t - widths[0]:
            least.popleft()
        if most[0][0] <= t - widths[1]:
            most.popleft()
        # Before the first step all was like it.
        floor = min(least[0][1], found[0] if found and t < widths[0] - 1 else need)
        ceiling = max(most[0][1], found[0] if found and t < widths[1] - 1 else need)
        n = need if n < 0 else min(max(n, floor), ceiling)
        found.append(n)
    return found


def whole(given: ScenarioInput) -> object:
    """The first option, from nothing."""
    given.kept.clear()
    return outcome(given, given.options[0])


def offer_year() -> dict[str, Any]:
    found: dict[str, Any] = {"limit": LIMITS["offer_year"]}
    for name in POLICIES:
        given = scenario(name)

        seconds = least_s(functools.partial(whole, given))
        loop_s = least_s(functools.partial(looped, given), 1)
        (part,) = given.options[0].parts
        servers = trajectory(given, part, 0, part).tolist()
        if servers != looped(given):
            raise SystemExit(f"{name}: the loop finds other servers")
        scan_s = least_s(functools.partial(trajectory, given, part, 0, part))
        one = outcome(given, given.options[0])
        found[name] = {
            "seconds": round(seconds, 5),
            "servers_only_s": round(scan_s, 5),
            "loop_s": round(loop_s, 3),
            "loop_over_servers": round(loop_s / scan_s, 1),
            "server_minutes": sum(servers),
            "lives": one.fleet.lives.count,
        }
    return found


def offers(count: int = OFFERS) -> list[Candidate]:
    """Each with servers of another size."""
    return [
        Candidate(f"o{n}", UNITS * (100 + n) / 100, Fraction(40 + n * 37 % 50, 100))
        for n in range(count)
    ]


def options(year: ScenarioInput, made: list[Candidate]) -> list[Option]:
    """The offers as options of a scenario."""
    (part,) = year.options[0].parts
    terms = part.price.terms
    return [
        Option(
            one.name,
            (
                replace(
                    part,
                    units_per_server=one.units_per_server,
                    price=replace(part.price, terms=replace(terms, price=one.price_per_hour)),
                ),
            ),
            year.options[0].extras,
        )
        for one in made
    ]


def screening_s(year: ScenarioInput, made: list[Candidate], limit: int) -> float:
    of_offers = options(year, made)

    def whole_screening() -> None:
        year.kept.clear()
        screen(year, of_offers, limit=limit)

    return least_s(whole_screening, 3)


def market(sizes: int) -> list[Candidate]:
    """Many offers of so many sizes, from half of the usual one to four times it."""
    random = np.random.default_rng(7)
    made = []
    for n in range(MANY):
        units = UNITS / 2 + UNITS * Fraction(7 * (n % sizes), 2 * sizes)
        # A unit of the cheapest costs a sixth of what one of the dearest does.
        price = units / UNITS * Fraction(round(1000 * 0.2 * 6 ** random.uniform(0, 1)), 1000)
        made.append(Candidate(f"o{n}", units, price))
    return made


def shortlist() -> float:
    options = []
    for n in range(10):
        for rule in RULES:
            part = all_of(f"{n} {rule['billing']}", rule)
            part["parts"][0]["capacity"] = str(float(UNITS) * (1 + n / 10))
            options.append(part)
    given = scenario("window", YEAR_MINUTES, *options)

    def all_of_them() -> None:
        given.kept.clear()
        for option in given.options:
            outcome(given, option)

    return least_s(all_of_them, 3)


def draws() -> float:
    spreads = Uncertainty.read(
        {
            "draws": 10_000,
            "seed": 1,
            "demand_growth_cv": "0.1",
            "score_cv": "0.05",
            "price_cv": "0.1",
        }
    )
    given = replace(scenario("window"), uncertainty=spreads)
    one = outcome(given, given.options[0])

    def drawn() -> None:
        found = spread(given, one, factors(given, spreads))
        uncertainty_members(given, spreads, [found], [one.service.share])

    return least_s(drawn, 3)


def linear(year: ScenarioInput) -> dict[str, float]:
    half = scenario("window", YEAR_MINUTES // 2)
    few = offers(50)
    few_s = screening_s(year, few, 50)
    return {
        "steps": few_s / screening_s(half, few, 50),
        "offers": screening_s(year, offers(100), 100) / few_s,
    }


def main() -> None:
    year = scenario("window")
    many: dict[str, Any] = {}
    for name in ("window", "scan"):
        many[name] = round(screening_s(scenario(name), offers(), OFFERS), 3)
    found = {
        "offer_year": offer_year(),
        "offers_200": many | {"limits": [LIMITS["offers_200_window"], LIMITS["offers_200_scan"]]},
        "cheapest_50": {
            f"{sizes}_sizes": round(screening_s(year, market(sizes), SHOWN), 3)
            for sizes in (MANY, 50)
        },
        "shortlist": {"seconds": round(shortlist(), 3), "limit": LIMITS["shortlist"]},
        "draws_10000": {"seconds": round(draws(), 3), "limit": LIMITS["draws_10000"]},
        "mixed_200": round(least_s(lambda: mixed(year, offers()), 2), 3),
        "linear": {name: round(ratio, 2) for name, ratio in linear(year).items()},
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6),
    }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
