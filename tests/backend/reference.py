"""A ranking by its definition alone: slow, in fractions, from plain rows.

It shares with the real one the summaries of samples, which have tests of their own, and nothing else.
"""

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from statistics import median
from typing import Any

from backend.benchmarks.selectors.scores import Score, compute_scores
from backend.catalog.models import ExchangeRate, Offer, PriceObservation
from backend.measure.metrics import METRICS, Metric

Cells = dict[str, Any]
BOUGHT = {
    "on_demand": [("on_demand", ""), ("monthly", "")],
    "monthly": [("monthly", "")],
    "spot": [("spot", "")],
    "reserved_1y": [("reserved", "1y")],
    "savings_3y": [("savings", "3y")],
    "purchase": [("purchase", "")],
}
TERM_HOURS = {"1y": 8760, "3y": 26280}
# A quarter of the month each at 100, 80, 60 and 40 % of the list price.
SUSTAINED = {"n1": Fraction(70, 100)}
# Metrics that spent credits slow.
CPU = {"cmips_score"}
WORTH = {"cup", "value_per_cost", "value_per_cost_ci95_low", "value_per_cost_ci95_high"}
PLACE = {"rank", "rank_low", "rank_high", "tie_group", "pareto", "missing"}
WORDS = {"flags", "missing"}
# Figures are compared at 12 significant digits.
NEARLY = 1 - Fraction(1, 10**12)
IDENTITY = (
    "offer_id", "zone", "operating_system", "tenancy", "purchase_model", "term", "upfront",
    "currency", "basis", "plan",
)  # fmt: skip
ALIKE = ("purchase_model", "zone", "term", "upfront", "plan", "basis")


@dataclass(frozen=True)
class Asked:
    """A query in plain values; `filters` are (column, operator, values)."""

    metric: str = "cmips_score"
    term: str = "on_demand"
    period: str = "hour"
    hours: int = 730
    currency: str = "USD"
    basis: str = "machine"
    load: str = "sustained"
    tax_rate: Fraction | None = None
    as_of: dt.date | None = None
    words: str = ""
    filters: tuple[tuple[str, str, tuple[Any, ...]], ...] = ()


@dataclass(eq=False)
class Row:
    """An offer under a query, on its way."""

    cells: Cells
    name: str
    text: str
    score: Score | None
    per_hour: Fraction | None = None
    held: Fraction = Fraction(1)
    """The share of its score that it holds under load."""
    has_known_tax: bool | None = None
    """Of its price; None without one."""
    missing: list[str] = field(default_factory=list)


class Reference:
    """All rows of the database, read once."""

    def __init__(self, today: dt.date) -> None:
        self.today = today
        names = [f.attname for f in Offer._meta.fields]
        names += ["provider__slug", "provider__name", "region__code"]
        self.offers = list(Offer.objects.order_by("slug").values(*names))
        names = [f.attname for f in PriceObservation._meta.fields]
        self.prices = list(PriceObservation.objects.values(*names, "feed__checked_at"))
        self.rates = list(ExchangeRate.objects.values())
        self._scores: dict[dt.date | None, dict[tuple[Any, str], Score]] = {}

    def ranking(self, asked: Asked) -> tuple[list[Cells], list[Cells]]:
        """The rows in their own order, and those without a score by offer id."""
        metric = METRICS[asked.metric]
        rows = [self._row(offer, asked) for offer in self.offers]
        early = [f for f in asked.filters if f[0] not in PLACE]
        is_beside_net = any(row.score and row.has_known_tax for row in rows)
        for row in rows:
            is_comparable = row.has_known_tax is not False or not is_beside_net
            _worth(row, metric, is_comparable=is_comparable)
        rows = [
            row
            for row in rows
            if all(word in row.text for word in asked.words.lower().split())
            and all(meets(row.cells, f) for f in early)
        ]
        ordered = _ranked([row for row in rows if row.score], metric)
        late = [f for f in asked.filters if f[0] in PLACE]
        shown = [row.cells for row in ordered if all(meets(row.cells, f) for f in late)]
        bare = [row.cells for row in rows if not row.score]
        return shown, [one for one in bare if all(meets(one, f) for f in late)]

    def _scores_on(self, as_of: dt.date | None) -> dict[tuple[Any, str], Score]:
        """What was measured by the end of the day (UTC), by offer and metric."""
        if as_of not in self._scores:
            by = {"measured_at__date__lte": as_of} if as_of else {}
            self._scores[as_of] = {
                (of, score.metric.key): score for of, score in compute_scores(**by)
            }
        return self._scores[as_of]

    def _row(self, offer: Cells, asked: Asked) -> Row:
        score = self._scores_on(asked.as_of).get((offer["id"], asked.metric))
        vcpu, ram = offer["vcpu_count"], offer["memory_bytes"]
        kind = {"shared": ["shared_vcpu"], "burstable": ["burstable"]}
        row = Row(
            cells={
                "offer_id": offer["slug"],
                "provider": offer["provider__slug"],
                "kind": offer["kind"],
                "region": offer["region__code"],
                "arch": offer["arch"] or None,
                "vcpu": None if vcpu is None else Fraction(vcpu),
                "vcpu_kind": offer["vcpu_kind"] or None,
                "ram_gib": None if ram is None else Fraction(ram, 2**30),
                "score": score and _exact(score.summary.value),
                "source": score and score.source,
                "score_n_instances": score and score.summary.n_instances,
            },
            name=offer["name"],
            text=" ".join(
                (offer["slug"], offer["name"], offer["provider__slug"], offer["provider__name"],
                 offer["region__code"] or "", offer["cpu_model"])
            ).lower(),
            score=score,
        )  # fmt: skip
        flags = self._price(row, offer["id"], asked)
        self._load(row, offer, asked)
        told = [*(score.flags if score else ()), *kind.get(offer["vcpu_kind"], []), *flags]
        row.cells["flags"] = " ".join(told)
        row.missing += [] if score else ["score"]
        row.cells["missing"] = " ".join(row.missing)
        return row

    def _load(self, row: Row, offer: Cells, asked: Asked) -> None:
        """The credit mode of better value: what it holds at its price, or all for what that costs."""
        cells, baseline, score = row.cells, offer["cpu_baseline_ratio"], row.score
        cells.update(load=asked.load, credit_mode=None, burst_score=None, score_ci95_low=None)
        if score:
            cells["score_ci95_low"] = _exact(score.summary.ci95_low)
        if baseline is None:
            return
        cells["burst_score"] = cells["score"]
        if asked.load == "burst":
            return
        cells["credit_mode"] = "standard"
        held = (
            self._sustained_share(offer, score, asked)
            if score and asked.metric in CPU
            else Fraction(1)
        )
        charge, price, vcpu = (
            offer["cpu_credit_price_usd_per_vcpu_hour"], cells["price"], offer["vcpu_count"]
        )  # fmt: skip
        rate = self._rate("USD", asked.currency, asked.as_of)
        if None not in (charge, price, vcpu, rate) and cells["period"] != "once":
            surplus = (1 - Fraction(baseline)) * Fraction(vcpu) * Fraction(charge)
            surplus *= 1 + (asked.tax_rate or 0)
            hours = _running_hours(asked)
            if price / (price + surplus * rate * hours) > held:
                cells["credit_mode"], held = "unlimited", Fraction(1)
                cells["price"] += surplus * rate * hours
                cells["price_usd_hour"] += surplus
                row.per_hour = cells["price"] / hours
        row.held = held
        if score:
            cells["score"] *= held
            cells["score_ci95_low"] *= held

    def _sustained_share(self, offer: Cells, score: Score, asked: Asked) -> Fraction:
        """Of a measured score: at most baseline × vCPU × the score per vCPU of the provider's types of
        fixed performance on its model of CPU, else of its fastest burstable one there."""
        per_vcpu: dict[str, dict[str, Fraction]] = {"dedicated": {}, "burstable": {}}
        model = _model(offer, score)
        for other in self.offers:
            its = self._scores_on(asked.as_of).get((other["id"], asked.metric))
            if its is None or other["vcpu_count"] is None or not _model(other, its):
                continue
            is_alike = other["provider__slug"] == offer["provider__slug"]
            if is_alike and _model(other, its) == model and other["vcpu_kind"] in per_vcpu:
                figure = _exact(its.summary.value) / Fraction(other["vcpu_count"])
                # One region stands for all that sell the type.
                per_vcpu[other["vcpu_kind"]].setdefault(other["name"], figure)
        baseline = Fraction(offer["cpu_baseline_ratio"])
        speeds = [*per_vcpu["dedicated"].values()]
        speed = median(speeds) if speeds else max(per_vcpu["burstable"].values(), default=None)
        if speed is None or offer["vcpu_count"] is None:
            return baseline
        held = baseline * Fraction(offer["vcpu_count"]) * speed / _exact(score.summary.value)
        return min(Fraction(1), held)

    def _price(self, row: Row, offer: Any, asked: Asked) -> list[str]:
        cells = row.cells
        names = ("price", "price_term", "price_basis", "price_usd_hour", "price_observed_on")
        cells.update(dict.fromkeys((*names, "fx_rate", "price_zone")), period=asked.period)
        found = self._chosen(offer, asked)
        if found is None:
            row.missing.append("price")
            return []
        price, read_on, is_missing = found
        is_once = price["unit"] == "once" and price["term"] not in TERM_HOURS
        row.has_known_tax = not _is_gross(price)
        has_tax = asked.tax_rate is not None or not row.has_known_tax
        basis = _basis(price, asked) + ("+tax" if has_tax else "")
        term = "_".join(filter(None, (price["purchase_model"], price["term"])))
        cells.update(price_term=term, price_basis=basis, price_observed_on=read_on)
        cells["price_zone"] = price["zone"] or None
        if is_once:
            cells["period"] = "once"
        else:
            dollars = self._amount(price, asked, "USD", asked.period)
            cells["price_usd_hour"] = dollars and dollars / _running_hours(asked)
        day = asked.as_of or self.today
        flags = ["stale_price"] if is_missing or (day - read_on).days > 30 else []
        flags += ["price_waiting"] if price["is_doubted"] else []
        flags += [] if row.has_known_tax else ["tax_unknown"]
        flags += ["interruptible"] if price["purchase_model"] == "spot" else []
        rate = self._rate(price["currency"], asked.currency, asked.as_of)
        if rate is None:
            row.missing += ["price", "fx_rate"]
        elif price["currency"] != asked.currency:
            cells["fx_rate"] = rate
        cells["price"] = self._amount(price, asked, asked.currency, asked.period)
        if not is_once and cells["price"] is not None:
            row.per_hour = cells["price"] / _running_hours(asked)
        rated = self._rated_on(price["currency"], asked.currency, asked.as_of)
        return flags + (["stale_fx"] if rated and (day - rated).days > 30 else [])

    def _chosen(self, offer: Any, asked: Asked) -> tuple[Cells, dt.date, bool] | None:
        """The preferred price in force, the day on which it was read, whether it is gone."""
        rows = [self._judged(price, asked) for price in self._newest(offer, asked)]
        rows = [
            found
            for found in rows
            if not any(
                other["feed_id"] is None
                and other["observed_at"] > found[0]["observed_at"]
                and all(other[name] == found[0][name] for name in ALIKE)
                for other, _, _ in rows
            )
        ]
        models = [model for model, _ in BOUGHT[asked.term]]

        def precedence(found: tuple[Cells, dt.date, bool]) -> tuple[Any, ...]:
            price, read_on, is_missing = found
            return (
                models.index(price["purchase_model"]),
                is_missing,
                _is_discounted(asked) and _basis(price, asked) != "sustained_use",
                price["upfront"] not in ("", "none"),
                -read_on.toordinal(),
                price["currency"] != asked.currency,
                price["currency"],
                _over(price, "hour", 730, is_discounted=False),
                -price["observed_at"].timestamp(),
                *(price[name] for name in ("zone", "term", "upfront", "basis", "plan")),
            )

        if not rows:
            return None
        first, *others = sorted(rows, key=precedence)
        months = (found for found in others if self._is_cheaper_month(found, first[0], asked))
        return next(months, first)

    def _is_cheaper_month(
        self, found: tuple[Cells, dt.date, bool], hourly: Cells, asked: Asked
    ) -> bool:
        """Whether the month is asked for, sold as such without more, and cheaper than its hours."""
        price, _, is_missing = found
        by_hour, by_month = (
            _over(one, "month", asked.hours, is_discounted=_is_discounted(asked))
            for one in (hourly, price)
        )
        return (
            asked.period != "hour"
            and (hourly["purchase_model"], price["purchase_model"]) == ("on_demand", "monthly")
            and price["currency"] == hourly["currency"]
            and _is_gross(price) == _is_gross(hourly)
            and not is_missing
            and by_month < by_hour
        )

    def _newest(self, offer: Any, asked: Asked) -> Iterable[Cells]:
        bases = {"machine", "sustained_use"} if _is_discounted(asked) else {"machine"}
        known = [
            price
            for price in self.prices
            if price["offer_id"] == offer
            and price["is_published"]
            and (price["operating_system"], price["tenancy"]) == ("linux", "shared")
            and (price["purchase_model"], price["term"]) in BOUGHT[asked.term]
            and (not price["zone"] or price["purchase_model"] == "spot")
            and price["basis"] in bases
            and (asked.as_of is None or price["observed_at"].date() <= asked.as_of)
        ]
        for price in known:
            alike = [one for one in known if _identity(one) == _identity(price)]
            if price["observed_at"] == max(one["observed_at"] for one in alike):
                yield price

    def _judged(self, price: Cells, asked: Asked) -> tuple[Cells, dt.date, bool]:
        gone, until = price["missing_since"], price["valid_until"]
        day = asked.as_of or self.today
        is_missing = gone is not None and (asked.as_of is None or gone.date() <= day)
        is_missing |= until is not None and until < day
        is_doubted = any(
            not other["is_published"]
            and other["reviewed_at"] is None
            and other["missing_since"] is None
            and (_identity(other) == _identity(price) or _is_other_currency(other, price))
            and (asked.as_of is None or other["observed_at"].date() <= asked.as_of)
            for other in self.prices
        )
        read_on = price["observed_at"].date()
        checked = price["feed__checked_at"]
        if checked and not (is_missing or is_doubted):
            read_on = max(read_on, checked.date())
        marked = price | {"is_doubted": is_doubted}
        return marked, min(read_on, asked.as_of or read_on), is_missing

    def _amount(self, price: Cells, asked: Asked, currency: str, period: str) -> Fraction | None:
        rate = self._rate(price["currency"], currency, asked.as_of)
        if rate is None:
            return None
        amount = _over(price, period, asked.hours, is_discounted=_is_discounted(asked))
        return amount * rate * (1 if _is_gross(price) else 1 + (asked.tax_rate or 0))

    def _rated_on(self, source: str, target: str, as_of: dt.date | None) -> dt.date | None:
        """The older of the days of both rates; None where nothing is converted."""
        if source == target or self._rate(source, target, as_of) is None:
            return None
        known = [rate for rate in self.rates if as_of is None or rate["date"] <= as_of]
        return min(
            max(rate["date"] for rate in known if rate["currency"] == code)
            for code in {source, target} - {"EUR"}
        )

    def _rate(self, source: str, target: str, as_of: dt.date | None) -> Fraction | None:
        if source == target:
            return Fraction(1)
        known = {"EUR": Fraction(1)}
        for rate in sorted(self.rates, key=lambda one: one["date"]):
            if as_of is None or rate["date"] <= as_of:
                known[rate["currency"]] = Fraction(rate["units_per_eur"])
        both = known.get(source), known.get(target)
        return None if both[0] is None or both[1] is None else both[1] / both[0]


# --- prices -----------------------------------------------------------------------------------


def _model(offer: Cells, score: Score) -> str:
    models = score.cpu_models
    return max(models, key=lambda name: (models[name], name)) if models else offer["cpu_model"]


def _is_other_currency(other: Cells, price: Cells) -> bool:
    """Whether another price stands for one that its list has dropped."""
    alike = _identity({**other, "currency": price["currency"]}) == _identity(price)
    return alike and price["missing_since"] is not None


def _identity(price: Cells) -> tuple[Any, ...]:
    return tuple(price[name] for name in IDENTITY)


def _is_discounted(asked: Asked) -> bool:
    return asked.basis != "list" and asked.period != "hour"


def _is_gross(price: Cells) -> bool:
    """Whether it includes tax that cannot be taken off."""
    return price["tax_basis"] == "gross" and price["tax_rate"] is None


def _running_hours(asked: Asked) -> int:
    return {"hour": 1, "month": asked.hours, "year": 12 * asked.hours}[asked.period]


def _basis(price: Cells, asked: Asked) -> str:
    is_discounted = _is_discounted(asked) and price["sustained_use"]
    return "sustained_use" if is_discounted else str(price["basis"])


def _over(price: Cells, period: str, hours: int, *, is_discounted: bool) -> Fraction:
    """Net, in the currency quoted, for a period; a purchase is one amount."""
    term = TERM_HOURS.get(price["term"])
    # A commitment is owed for its whole year, whatever the reader's month.
    month = hours if term is None else 730
    hours_of = {"hour": 1, "month": month, "year": 12 * month}
    taxed = price["tax_rate"] if price["tax_basis"] == "gross" else None

    def net(name: str) -> Fraction:
        return Fraction(price[name]) / (1 + Fraction(taxed or 0))

    if price["unit"] == "once":
        return net("amount") if term is None else net("amount") * hours_of[period] / term
    amount = net("amount") * hours_of[period] / hours_of[price["unit"]]
    if price["setup_amount"] is not None and term is not None:
        amount += net("setup_amount") * hours_of[period] / term
    if period == "hour" or price["unit"] != "hour":
        return amount
    if is_discounted:
        amount *= SUSTAINED.get(price["sustained_use"], 1)
    if price["monthly_cap"] is not None:
        amount = min(amount, net("monthly_cap") * (12 if period == "year" else 1))
    return amount


def meets(cells: Cells, condition: tuple[str, str, tuple[Any, ...]]) -> bool:
    """Whether a row is kept; what is unknown meets no bound, and is none of the values."""
    column, operator, values = condition
    cell = cells[column]
    if column in WORDS:
        return any(word in cell.split() for word in values) is (operator != "!")
    if cell is None:
        return operator == "!"
    if operator.startswith("__"):
        return bool(cell >= values[0] if operator == "__gte" else cell <= values[0])
    return (cell in values) is (operator != "!")


# --- places -----------------------------------------------------------------------------------


def _exact(value: float) -> Fraction:
    return Fraction(Decimal(repr(value)))


def _worth(row: Row, metric: Metric, *, is_comparable: bool) -> None:
    cells, score = row.cells, row.score
    cells.update(dict.fromkeys((*WORTH, *(PLACE - {"missing"}))))
    price = cells["price"]
    if score is None or price is None or score.is_unfit or not is_comparable:
        return

    def worth(value: float) -> Fraction:
        exact = _exact(value) * row.held
        return exact / price if metric.better == "higher" else 1 / (exact * price)

    summary = score.summary
    cells["value_per_cost"] = worth(summary.value)
    if summary.ci95_low is not None and summary.ci95_high is not None:
        ends = sorted((worth(summary.ci95_low), worth(summary.ci95_high)))
        cells["value_per_cost_ci95_low"], cells["value_per_cost_ci95_high"] = ends
    if metric.key == "cmips_score" and row.per_hour is not None:
        cells["cup"] = row.per_hour / (_exact(summary.value) * row.held)


def _ranked(rows: list[Row], metric: Metric) -> list[Row]:
    """Best value first, then those without a price, then those that are unfit, by score."""
    valued = [row for row in rows if row.cells["value_per_cost"] is not None]
    for row in valued:
        mine = order_value(row)
        row.cells["rank"] = 1 + sum(order_value(other) * NEARLY > mine for other in valued)
    valued.sort(key=lambda row: (row.cells["rank"], row.cells["offer_id"]))
    if valued:
        _compared(valued)
    for row in valued:
        row.cells["pareto"] = not any(_is_better(other, row, metric) for other in valued)
    sign = -1 if metric.better == "higher" else 1
    others = [row for row in rows if row.cells["value_per_cost"] is None]
    others.sort(key=lambda r: (sign * r.cells["score"], r.cells["offer_id"]))
    others.sort(key=lambda row: bool(row.score and row.score.is_unfit))
    return [*valued, *others]


def order_value(row: Row) -> Fraction:
    """The value of a measured offer, the lower end of a derived one."""
    is_derived = "derived" in row.cells["flags"].split()
    value: Fraction = row.cells["value_per_cost_ci95_low" if is_derived else "value_per_cost"]
    return value


def _compared(valued: Sequence[Row]) -> None:
    """Bounds of the ranks and tie groups, pair by pair."""
    logs = [math.log(row.cells["value_per_cost"]) for row in valued]
    widths = [
        math.log(row.cells["value_per_cost_ci95_high"] / row.cells["value_per_cost_ci95_low"])
        for row in valued
    ]
    figures = [_source_figure(row) for row in valued]

    def surely(above: int, below: int) -> bool:
        lead = logs[above] - logs[below]
        if figures[above] is not None and figures[above] == figures[below]:
            return lead > 1e-12
        return lead > max(1.96 * math.hypot(widths[above] / 3.92, widths[below] / 3.92), 1e-12)

    everyone = range(len(valued))
    first, group = 0, 1
    for number, row in enumerate(valued):
        above = sum(surely(other, number) for other in everyone)
        below = sum(surely(number, other) for other in everyone)
        row.cells["rank_low"] = min(row.cells["rank"], 1 + above)
        row.cells["rank_high"] = max(row.cells["rank"], len(valued) - below)
        if surely(first, number):
            first, group = number, group + 1
        row.cells["tie_group"] = group


def _source_figure(row: Row) -> Any:
    """What rows that rest on one published figure have in common; None for their own figures."""
    score = row.score
    if score is None or score.source != "published":
        return None
    summary = score.summary
    figures = summary.value, summary.ci95_low, summary.ci95_high, score.measured_at
    if "derived" in score.flags:
        return (*figures, tuple(score.cpu_models.items())) if score.cpu_models else None
    return *figures, row.cells["provider"], row.name


def _is_better(other: Row, row: Row, metric: Metric) -> bool:
    sign = 1 if metric.better == "higher" else -1
    cheaper = row.cells["price"] - other.cells["price"]
    faster = sign * (other.cells["score"] - row.cells["score"])
    return bool(cheaper >= 0 and faster >= 0 and (cheaper > 0 or faster > 0))


def in_order(rows: Sequence[Mapping[str, Any]], sort: Sequence[tuple[str, bool]]) -> list[Any]:
    """Rows by several columns, the foremost first; unknown and disturbed ones last either way."""
    ordered = sorted(rows, key=lambda row: row["offer_id"])
    for column, is_descending in reversed(sort):
        known = [row for row in ordered if row[column] is not None]
        known.sort(key=lambda row: row[column], reverse=is_descending)
        ordered = known + [row for row in ordered if row[column] is None]
    return sorted(ordered, key=lambda row: "disturbed" in row["flags"].split())
