"""The slow way: one step after another, one server after another, in exact decimals.

It reads the same documents and knows nothing of arrays, scans or slots of a stack. What the
engine says is compared with what this says.
"""

import copy
import datetime as dt
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from backend.money.pricing.billing.lifetimes import Horizon, months
from backend.money.pricing.billing.sustained_use import N1
from backend.money.pricing.billing.terms import Terms
from tests.oracles.billing.commitments import uncovered_s
from tests.oracles.billing.lifetimes import Lifetime
from tests.oracles.billing.rules import RULES

Document = dict[str, Any]
SLACK = Fraction(1, 10**9)
COOLING = (("warmup_s", 0), ("cooldown_s", 300))


@dataclass
class OptionResult:
    """What one option comes to."""

    cost: Fraction
    base: int | None
    running: list[int]
    serving: list[int]
    unserved: list[Fraction]
    carried: list[Fraction]
    """Units that the servers in service carry."""
    lives: list[Lifetime] = field(default_factory=list)
    committed: Fraction = Fraction(0)
    interruptions: Fraction = Fraction(0)
    outages: Fraction = Fraction(0)
    """Units that interruptions leave unserved, step by step in all."""

    @property
    def utilisation(self) -> Fraction | None:
        """Served demand as a share of what the servers in service carry."""
        return self.served / sum(self.carried) if sum(self.carried) else None

    served: Fraction = Fraction(0)


class Oracle:
    """One document, run step by step."""

    def __init__(self, document: Document) -> None:
        self.document = document
        horizon, policy = document["horizon"], document.get("policy", {})
        self.start = int(dt.datetime.fromisoformat(horizon["start"]).timestamp())
        self.step = horizon["step_s"]
        self.count = int(self._length(horizon) / self.step)
        self.horizon = Horizon(self.start, self.start + self.count * self.step)
        self.policy = policy
        self.target = Fraction(document["capacity"].get("target_utilisation", "1"))
        self.demand = [self._demand(i) for i in range(self.count)]

    def _length(self, horizon: Document) -> Fraction:
        if "days" in horizon:
            return Fraction(str(horizon["days"])) * 86_400
        first = dt.datetime.fromisoformat(horizon["start"])
        last = first
        for _ in range(horizon["months"]):
            last = (last + dt.timedelta(days=32)).replace(day=1)
        return Fraction(int((last - first).total_seconds()))

    # --- demand ---------------------------------------------------------------------------------
    def _demand(self, step: int) -> Fraction:
        asked = self.document["demand"]
        at = self.start + step * self.step
        if asked["kind"] == "daily":
            return window_level(asked, at)
        value = Fraction(0)
        for time, level in asked["points"]:
            if int(dt.datetime.fromisoformat(time).timestamp()) <= at:
                value = Fraction(str(level))
        return value

    def need(self, demand: Fraction, units: Fraction, target: Fraction | None = None) -> int:
        """max(0, ceil(d / (c·u) − 1e-9))"""
        share = self.target if target is None else target
        return max(0, -((-(demand / (units * share) - SLACK)) // 1))

    @property
    def aim(self) -> Fraction:
        """Share of a server that the policy fills."""
        if self.policy.get("kind") in {"target_tracking", "step"}:
            return Fraction(str(self.policy.get("target", self.target)))
        return self.target

    def steps(self, seconds: Any) -> int:
        return int(-(-Fraction(str(seconds)) // self.step))

    # --- policy ---------------------------------------------------------------------------------
    def requested(self, units: Fraction, beside: int, base_units: Fraction) -> list[int]:
        policy = self.policy
        low = max(0, policy.get("min", 0) - beside)
        high = policy.get("max")
        high = 10**9 if high is None else max(0, high - beside)
        left = [max(Fraction(0), d - beside * base_units * self.aim) for d in self.demand]
        lag = self.steps(policy.get("lag_s", 0))
        kind = policy.get("kind", "perfect")
        if kind == "fixed":
            return [clip(policy["count"] - beside, max(low, 0), high)] * self.count
        if kind == "scheduled":
            levels = [window_level(policy, self.start + t * self.step) for t in range(self.count)]
            return [clip(max(0, -(-(level - beside) // 1)), low, high) for level in levels]
        seen = [clip(self.need(left[max(0, t - lag)], units), low, high) for t in range(self.count)]
        if kind == "perfect":
            return seen
        if kind in self.others:
            return self.others[kind](left, units, lag, (low, high))
        names = ("out_window_s", "in_window_s", 300)
        if kind == "cluster_autoscaler":
            names = ("out_delay_s", "in_delay_s", 600)
        out_width = max(1, self.steps(policy.get(names[0], 0)))
        in_width = max(1, self.steps(policy.get(names[1], names[2])))
        running, n = [], seen[0]
        for t in range(self.count):
            least = min(seen[max(0, i)] for i in range(t - out_width + 1, t + 1))
            most = max(seen[max(0, i)] for i in range(t - in_width + 1, t + 1))
            n = clip(n, least, most)
            running.append(n)
        return running

    @property
    def others(self) -> dict[str, Any]:
        return {
            "predictive": self._foreseen,
            "target_tracking": self._tracked,
            "step": self._stepped,
        }

    def _foreseen(
        self, left: list[Fraction], units: Fraction, lag: int, bounds: tuple[int, int]
    ) -> list[int]:
        """Everything that is needed up to the lead, and what was seen."""
        lead = self.steps(self.policy.get("lead_s", 0))
        need = [self.need(d, units) for d in left]
        return [
            clip(max(*need[t : t + lead + 1], need[max(0, t - lag)], 0), *bounds)
            for t in range(self.count)
        ]

    def _tracked(
        self, left: list[Fraction], units: Fraction, lag: int, bounds: tuple[int, int]
    ) -> list[int]:
        """The metric shows at most 100 % of the servers that were in service a step ago."""
        warmup, cooldown = (self.steps(self.policy.get(k, d)) for k, d in COOLING)
        need = [self.need(d, units, self.aim) for d in left]
        n, changed = clip(need[0], *bounds), -cooldown
        past = [n] * (warmup + 1)
        running = []
        for t in range(self.count):
            shown = max(1, -(-(min(past[-warmup - 1 :]) / self.aim) // 1))
            requested = clip(min(need[max(0, t - lag)], int(shown)), *bounds)
            if requested > n or (requested < n and t - changed >= cooldown):
                n, changed = requested, t
            past.append(n)
            running.append(n)
        return running

    def _stepped(
        self, left: list[Fraction], units: Fraction, lag: int, bounds: tuple[int, int]
    ) -> list[int]:
        """One more or one fewer, then a pause."""
        cooldown = self.steps(self.policy.get("cooldown_s", 300))
        below = Fraction(str(self.policy.get("in_below", "0.4")))
        n, changed, running = clip(self.need(left[0], units, self.aim), *bounds), -cooldown, []
        for t in range(self.count):
            load, room = left[max(0, t - lag)], n * units
            more, fewer = load > self.aim * room, load < below * room or not (load or room)
            requested = clip(n + more - fewer, *bounds)
            if t - changed >= cooldown and requested != n:
                n, changed = requested, t
            running.append(n)
        return running

    # --- options --------------------------------------------------------------------------------
    def option(self, option: Document) -> OptionResult:
        parts = {part["role"]: part for part in option["parts"]}
        result = self._result(parts)
        result.cost += self._extras(self._all_extras(option), *self._looked_after(parts, result))
        self._interrupt(parts, result)
        result.served = sum(self.demand) - sum(result.unserved) - result.outages
        return result

    def _interrupt(self, parts: dict[str, Document], result: OptionResult) -> None:
        """Rule 29a: each server of a spot price ends at a constant rate; the one that replaces it
        is seen to be needed after the lag and serves after the warm-up."""
        out_s = sum(Fraction(str(self.policy.get(k, 0))) for k in ("warmup_s", "lag_s"))
        for part in parts.values():
            rate = Fraction(str(part["price"].get("interruptions_per_month", 0))) / (730 * 3600)
            units = self._units(part)
            always = self._always_on(part, result)
            for t, asked in enumerate(self.demand):
                running, serving = result.running[t], result.serving[t]
                if always is not None:
                    running = serving = always
                result.interruptions += running * self.step * rate
                gone = min(running * rate * out_s, Fraction(serving)) * units
                served = asked - result.unserved[t]
                result.outages += served * gone / result.carried[t] if result.carried[t] else 0

    def _always_on(self, part: Document, result: OptionResult) -> int | None:
        """Servers of a part that do not follow the demand."""
        if part.get("count") is None:
            return None
        if part["role"] == "base":
            return result.base
        return self._peak(part) if part["count"] == "peak" else int(part["count"])

    # --- the end of the project -----------------------------------------------------------------
    def expected_cost(self, option: Document) -> Fraction:
        """Rule 29b: mean over all months in which the project may end of what is then paid."""
        hazard = Fraction(str(self.document["hazard_per_month"]))
        ends = [end for _, end in months(self.horizon)]
        if "days" in self.document["horizon"]:
            ends = [self.horizon.end_s]  # less than a month and a half
        result, alive, mean = self.option(option), Fraction(1), Fraction(0)
        for month, end in enumerate(ends, 1):
            chance = alive * hazard if month < len(ends) else alive
            alive -= chance
            mean += chance * self._spent(option, result, end)
        return mean

    def _spent(self, option: Document, result: OptionResult, end_s: int) -> Fraction:
        parts = {part["role"]: part for part in option["parts"]}
        cut = copy.copy(self)
        cut.horizon = Horizon(self.start, end_s)
        ran = stack(result.running[: (end_s - self.start) // self.step], self.start, self.step)
        spent = cut._extras(self._all_extras(option), *self._looked_after(parts, result))
        if "base" in parts and parts["base"]["price"]["billing"] == "reserved":
            base, burst, k = parts["base"], parts["burst"], result.base or 0
            return spent + cut._reservations(base, burst, ran, k) + cut._committed(base, [], k)
        for part in parts.values():
            count = self._always_on(part, result)
            if part["price"]["billing"] == "purchase":
                spent += (count or 0) * cut._sold(part["price"])
                continue
            lives = ran
            if count is not None:
                lives = [Lifetime(slot + 1, self.start, end_s) for slot in range(count)]
                spent += self._after(part, count, end_s)
            spent += cut._bill(part, lives, count or 0) + cut._committed(part, lives, count or 0)
        return spent

    def _after(self, part: Document, count: int, end_s: int) -> Fraction:
        """Fees between the end, or the term of the price, and the end of contract or notice."""
        price, contract = part["price"], self.document.get("contract", {})
        if price["billing"] not in {"monthly", "dedicated"}:
            return Fraction(0)
        terms = terms_of(price, count)
        notice_end_s = end_s + contract.get("notice_days", 0) * 86_400
        least = contract.get("minimum_months", 0)
        convention = terms.month_convention
        if price["billing"] == "monthly" and isinstance(convention, int):
            length_s = convention * 3600
            paid_s = end_s - self.start
            due_s = max(least * length_s, notice_end_s - self.start)
            return count * terms.price * Fraction(due_s - paid_s, length_s)
        paid = len(list(months(Horizon(self.start, end_s), convention)))
        due = max(least, len(list(months(Horizon(self.start, notice_end_s), convention))))
        if price["billing"] == "dedicated":
            paid = max(paid, terms.minimum_months)
        return count * terms.price * max(0, due - paid)

    def _all_extras(self, option: Document) -> Document:
        return self.document.get("extras", {}) | option.get("extras", {})

    def _looked_after(self, parts: dict[str, Document], result: OptionResult) -> tuple[int, int]:
        """Servers that staff looks after, elastic ones as one; and own ones among them."""
        counts = [(part, self._always_on(part, result) or 0) for part in parts.values()]
        # Reservations are no servers.
        is_money = "burst" in parts and parts["base"]["price"]["billing"] == "reserved"
        always = 0 if is_money else sum(n for _, n in counts)
        own = sum(n for part, n in counts if part["price"]["billing"] == "purchase")
        return always + (1 if any(result.running) else 0), own

    def _extras(self, given: Document, servers: int, own: int) -> Fraction:
        number = lambda name: Fraction(str(given.get(name, 0)))  # noqa: E731
        convention = given.get("month_convention", "calendar")
        if isinstance(convention, int):
            count = Fraction(self.horizon.seconds, convention * 3600)
        else:
            count = Fraction(len(list(months(self.horizon, convention))))
        volume, egress, lower = number("egress_gb_per_month"), Fraction(0), Fraction(0)
        for upper, amount in given.get("egress_tiers", []):
            top = volume if upper is None else Fraction(upper)
            egress += max(Fraction(0), min(volume, top) - lower) * Fraction(amount)
            lower = top
        storage = number("storage_gb") * number("storage_usd_per_gb_month")
        hours = number("staff_hours_per_month") + servers * number("staff_hours_per_server_month")
        hours += own * number("hardware_hours_per_server_month")
        staff = hours * number("staff_usd_per_hour")
        return count * (egress + storage + staff + number("fixed_per_month"))

    def _result(self, parts: dict[str, Document]) -> OptionResult:
        if "all" in parts:
            part = parts["all"]
            if part.get("count") is None:
                return self._run(part, part, 0, is_base=False)
            count = self._peak(part) if part["count"] == "peak" else part["count"]
            return self._always(part, count)
        base, burst = parts["base"], parts["burst"]
        count = base["count"]
        if count == "optimal":
            highest = max(self.requested(self._units(burst), 0, self._units(base)))
            if base["price"]["billing"] != "reserved":
                highest = max(highest, self._peak(base))
            is_reserved = base["price"]["billing"] == "reserved"
            runs = self._reserved if is_reserved else self._run
            bills = [runs(base, burst, k, is_free=True).cost for k in range(highest + 1)]
            count = bills.index(min(bills))
        elif count == "peak":
            count = self._peak(base)
        if base["price"]["billing"] == "reserved":
            return self._reserved(base, burst, count)
        return self._run(base, burst, count)

    def _units(self, part: Document) -> Fraction:
        return Fraction(part.get("capacity") or self.document["capacity"]["units_per_server"])

    def _peak(self, part: Document) -> int:
        need = self.need(max(self.demand), self._units(part))
        high = self.policy.get("max")
        return max(int(self.policy.get("min", 0)), need if high is None else min(need, high))

    def _always(self, part: Document, count: int) -> OptionResult:
        units = self._units(part)
        lives = [Lifetime(slot + 1, self.start, self.horizon.end_s) for slot in range(count)]
        unserved = [max(Fraction(0), d - count * units) for d in self.demand]
        nobody = [0] * self.count
        carried = [count * units] * self.count
        result = OptionResult(
            self._bill(part, lives, count), None, nobody, nobody, unserved, carried
        )
        result.committed = self._committed(part, lives, count)
        return result

    def _run(
        self,
        base: Document,
        burst: Document,
        count: int,
        *,
        is_base: bool = True,
        is_free: bool = False,
    ) -> OptionResult:
        """`is_free`: as if there were no quota."""
        running = self.requested(self._units(burst), count, self._units(base))
        if self.policy.get("quota") is not None and not is_free:
            running = [min(n, self.policy["quota"]) for n in running]
        lives = stack(running, self.start, self.step)
        serving = self._serving(running)
        always, units = count * self._units(base), self._units(burst)
        carried = [always + n * units for n in serving]
        unserved = [max(Fraction(0), d - c) for d, c in zip(self.demand, carried, strict=True)]
        cost, committed = self._bill(burst, lives, 0), self._committed(burst, lives, 0)
        if is_base:
            whole = [Lifetime(slot + 1, self.start, self.horizon.end_s) for slot in range(count)]
            cost += self._bill(base, whole, count)
            committed += self._committed(base, whole, count)
        k = count if is_base else None
        return OptionResult(cost, k, running, serving, unserved, carried, lives, committed)

    def _reserved(
        self, base: Document, burst: Document, count: int, *, is_free: bool = False
    ) -> OptionResult:
        result = self._run(burst, burst, 0, is_base=False, is_free=is_free)
        result.cost = self._reservations(base, burst, result.lives, count)
        result.base, result.committed = count, self._committed(base, [], count)
        return result

    # --- terms ----------------------------------------------------------------------------------
    def _term_end(self, price: Document) -> int:
        """Moment from which on `after` is paid."""
        if price.get("renews", True):
            return self.horizon.end_s
        return min(self.horizon.end_s, self.start + self._term_s(price))

    def _term_s(self, price: Document) -> int:
        own = price.get("hardware", {})
        length = own.get("lease", {}).get("term_months") or own.get("life_months")
        return int(length or price.get("term_months", 12)) * 730 * 3600

    def _terms_begun(self, price: Document) -> int:
        """Counted on the calendar where the time is whole months, else in months of 730 hours."""
        if not price.get("renews", True):
            return 1
        term = self._term_s(price) // (730 * 3600)
        ends = {time for pair in months(self.horizon) for time in pair}
        covers = {self.horizon.start_s, self.horizon.end_s} <= ends
        elapsed = Fraction(self.horizon.seconds, 730 * 3600)
        if covers and months_touch(self.horizon):
            elapsed = Fraction(len(list(months(self.horizon))))
        begun = 1
        while begun * term < elapsed:
            begun += 1
        return begun

    def _left_h(self, price: Document) -> Fraction:
        """Hours after the end that are paid or owed."""
        until_s = self.start + self._terms_begun(price) * self._term_s(price)
        return max(Fraction(0), Fraction(until_s - self.horizon.end_s, 3600))

    def _after_h(self, price: Document) -> Fraction:
        """Price of an hour after the only term."""
        return Fraction(str(price.get("after", 0))) / (730 if "hardware" in price else 1)

    def _reservations(
        self, base: Document, burst: Document, lives: list[Lifetime], count: int
    ) -> Fraction:
        """Fees, what the use beyond them costs, and after the term what they would have covered."""
        terms, end_s = terms_of(burst["price"], count), self._term_end(base["price"])
        cost = Fraction(0)
        for from_s, until_s, is_after in (
            (self.start, end_s, False), (end_s, self.horizon.end_s, True)
        ):  # fmt: skip
            if from_s == until_s:
                continue
            within = clipped(lives, terms.minimum_s, from_s, until_s, self.horizon.end_s)
            free = replace(terms, minimum_s=0)
            rest_s = uncovered_s(within, Horizon(from_s, until_s), free)
            cost += rest_s * terms.price / 3600
            if is_after:
                used_s = sum(life.seconds for life in within)
                cost += (used_s - rest_s) * self._after_h(base["price"]) / 3600
            else:
                fee = terms_of(base["price"], count)
                cost += RULES["reserved"]([], Horizon(from_s, until_s), fee)
        return cost

    # --- own hardware, of which everything that the tests leave out costs nothing -------------------
    def _own(self, price: Document, name: str) -> Fraction:
        return Fraction(str(price["hardware"].get(name, 0)))

    def _paid_for(self, price: Document) -> Fraction:
        """Cash that buys one server; nothing where it is leased."""
        own = price["hardware"]
        return Fraction(0) if "lease" in own else Fraction(str(own["items"][0]["unit_price"]))

    def _rate(self, price: Document) -> Fraction:
        return Fraction(str(price["hardware"].get("lease", {}).get("price_per_month", 0)))

    def _running(self, price: Document) -> Fraction:
        return self._own(price, "staff_hours_per_month") * self._own(price, "staff_price_per_hour")

    def _owned(self, price: Document) -> Fraction:
        """One server over the horizon: its price by the month, spread evenly over its life."""
        life = self._own(price, "life_months")
        paid = self._paid_for(price)
        month = (paid - paid * self._own(price, "residual_ratio")) / life
        month += self._own(price, "installation_price") / life
        month += self._rate(price) + self._running(price)
        held_s, all_s = self._term_end(price) - self.start, self.horizon.seconds
        return month * held_s / (730 * 3600) + (all_s - held_s) * self._after_h(price) / 3600

    def _sold(self, price: Document) -> Fraction:
        """One server that is sold at the end of the horizon."""
        paid, life = self._paid_for(price), self._own(price, "life_months")
        first = self._own(price, "resale_ratio_at_start")
        last = self._own(price, "residual_ratio")
        held = Fraction(self._term_end(price) - self.start, 730 * 3600)
        begun = self._terms_begun(price)
        if "lease" in price["hardware"]:
            term = self._term_s(price) // (730 * 3600)
            cost = max(held, Fraction(begun * term)) * self._rate(price)
            lives = begun
        else:
            age = min(life, held - (begun - 1) * life)
            cost = begun * paid - (begun - 1) * paid * last
            cost -= paid * (first + (last - first) * age / life)
            lives = begun
        cost += lives * self._own(price, "installation_price") + held * self._running(price)
        rest_s = self.horizon.end_s - self._term_end(price)
        return cost + rest_s * self._after_h(price) / 3600

    def _serving(self, running: list[int]) -> list[int]:
        width = self.steps(self.policy.get("warmup_s", 0))
        return [min(running[max(0, i)] for i in range(t - width, t + 1)) for t in range(self.count)]

    def _bill(self, part: Document, lives: list[Lifetime], count: int) -> Fraction:
        price = part["price"]
        terms = terms_of(price, count)
        if price["billing"] == "dedicated":
            covered = self._covered(lives, terms)
            return len(covered) * terms.setup + sum(now for now, _ in covered) * terms.price
        if price["billing"] == "purchase":
            return count * self._owned(price)
        end_s = self._term_end(price)
        if end_s < self.horizon.end_s:
            stop_s = self.horizon.end_s
            during = clipped(lives, terms.minimum_s, self.start, end_s, stop_s)
            after = clipped(lives, terms.minimum_s, end_s, stop_s, stop_s)
            free = replace(terms, minimum_s=0)
            paid = RULES[price["billing"]](during, Horizon(self.start, end_s), free)
            return paid + sum(life.seconds for life in after) * self._after_h(price) / 3600
        return RULES[price["billing"]](lives, self.horizon, terms)

    def _covered(self, lives: list[Lifetime], terms: Terms) -> list[tuple[int, int]]:
        """Of each slot: months paid in the horizon and after it."""
        found = []
        for slot in sorted({life.slot for life in lives}):
            start = min(life.start_s for life in lives if life.slot == slot)
            end = max(life.end_s for life in lives if life.slot == slot)
            convention = terms.month_convention
            used = len(list(months(Horizon(start, end), convention)))
            inside = len(list(months(Horizon(start, self.horizon.end_s), convention)))
            now = max(used, min(inside, terms.minimum_months))
            found.append((now, max(0, terms.minimum_months - now)))
        return found

    def _committed(self, part: Document, lives: list[Lifetime], count: int) -> Fraction:
        """What is owed beyond the horizon."""
        price = part["price"]
        terms = terms_of(price, count)
        if price["billing"] == "dedicated":
            return sum(later for _, later in self._covered(lives, terms)) * terms.price
        term_h = terms.term_months * 730
        left_h = self._left_h(price)
        if price["billing"] == "purchase":
            once = self._paid_for(price) + self._own(price, "installation_price")
            return count * left_h * (once * 3600 / self._term_s(price) + self._rate(price) / 730)
        if price["billing"] == "savings":
            return left_h * terms.commit_per_hour
        if price["billing"] != "reserved":
            return Fraction(0)
        return count * left_h * (terms.price + terms.upfront / term_h)


def months_touch(horizon: Horizon) -> bool:
    """True for a time from the first of a month to the first of another."""
    first, *_, last = [*months(horizon), *months(horizon)]
    return (first[0], last[1]) == (horizon.start_s, horizon.end_s)


def clipped(
    lives: list[Lifetime], minimum_s: int, from_s: int, until_s: int, stop_s: int
) -> list[Lifetime]:
    """The lives, at least so long, within a time; one that reaches the stop may go on beyond it."""
    longest = [
        (life.slot, life.start_s, max(life.end_s, life.start_s + minimum_s)) for life in lives
    ]
    last_s = 10**12 if until_s == stop_s else until_s
    return [
        Lifetime(slot, max(start, from_s), min(end, last_s))
        for slot, start, end in longest
        if start < last_s and end > from_s
    ]


def clip(value: int, low: int, high: int) -> int:
    return min(max(value, low), high)


def window_level(given: Document, at_s: int) -> Fraction:
    """Highest active window, else the base, on the wall clock."""
    local = dt.datetime.fromtimestamp(at_s, ZoneInfo(given.get("time_zone", "UTC")))
    clock, weekday = f"{local:%H:%M}", local.weekday()
    on = []
    for one in given.get("windows", []):
        days = one.get("weekdays", list(range(7)))
        start, end = one["from"], one["to"]
        if start < end:
            is_on = weekday in days and start <= clock < end
        else:
            is_on = (weekday in days and clock >= start) or (
                (weekday - 1) % 7 in days and clock < end
            )
        if is_on:
            on.append(Fraction(str(one["level"])))
    return max(on) if on else Fraction(str(given.get("base", 0)))


def stack(running: list[int], start_s: int, step_s: int) -> list[Lifetime]:
    """Lives of servers of which the newest ends first."""
    launched: list[int] = []
    lives = []
    for t, n in enumerate([*running, 0]):
        at = start_s + t * step_s
        while len(launched) > n:
            lives.append(Lifetime(len(launched), launched.pop(), at))
        while len(launched) < n:
            launched.append(at)
    return lives


def terms_of(price: Document, count: int) -> Terms:
    """Terms of a price as its document states them."""
    number = lambda name, default="0": Fraction(str(price.get(name, default)))  # noqa: E731
    tiers = [(Fraction(str(a)), Fraction(str(b))) for a, b in price.get("tiers", [])]
    return Terms(
        price=Fraction(Decimal(price.get("amount", "1"))),
        minimum_s=price.get("minimum_s", 60),
        minimum_minutes=price.get("minimum_minutes", 10),
        cap=Fraction(str(price["cap"])) if "cap" in price else None,
        month_convention=price.get("month_convention", "calendar"),
        tiers=tiers or N1,
        reservations=count,
        upfront=number("upfront"),
        term_months=price.get("term_months", 12),
        commit_per_hour=number("commit_per_hour"),
        discount=number("discount"),
        setup=number("setup"),
        minimum_months=price.get("minimum_months", 1),
        interruptions_per_month=number("interruptions_per_month"),
    )
