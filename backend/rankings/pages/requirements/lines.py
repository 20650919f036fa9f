"""Fleets and failures of a requirement as the page lists them."""

from collections.abc import Sequence
from dataclasses import dataclass

from backend.measure.metrics import METRICS
from backend.rankings.calc.conclusions import SPARE_SHOWN, Conclusion, FleetChoice, cheapest_fleet
from backend.rankings.calc.fleet_search import TRAFFIC, Fault, InfeasibleOffer
from backend.rankings.calc.fleets import FleetTarget, Rule
from backend.rankings.selectors.requirements import FleetLine, RequirementAnswer
from backend.rankings.selectors.rows import RankingRow
from backend.site import figures, words
from backend.site.charts import row_label
from backend.site.language import _, count_words, lazy

# Of a drawn fleet: more small squares are not counted by eye; the number stands beside.
MOST_BLOCKS = 24
MOST_FAILURES = 100
SIZES = {
    "vcpu": (lazy("vCPUs"), ""),
    "ram_gib": (lazy("Memory"), "GiB"),
    "disk_gb": (lazy("Disk"), "GB"),
    TRAFFIC: (lazy("Traffic"), "GB"),
}


@dataclass(frozen=True)
class FleetPart:
    """Servers of one type: how many blocks are drawn for them, and how many are not."""

    row: RankingRow
    count: int
    blocks: range
    more: int


@dataclass(frozen=True)
class FleetCell:
    """A fleet's figure for one demand, and its surplus over it."""

    shown: str
    plain: str
    headroom: str


@dataclass(frozen=True)
class ShownFleet:
    """A fleet in words; `holds` is (words, tone, meaning) of the ends of the intervals."""

    line: FleetLine
    parts: Sequence[FleetPart]
    per_month: str
    per_hour: str
    traffic: str
    disk: str
    cells: Sequence[FleetCell]
    holds: tuple[str, str, str]


@dataclass(frozen=True)
class FailureGroup:
    """Offers that fail for one reason; the first of them with what each lacks."""

    title: str
    count: int
    failures: Sequence[tuple[str, str]]


def headings(answer: RequirementAnswer) -> list[tuple[str, str]]:
    """Words and unit of each demand that a fleet meets, in the order of its cells."""
    return [
        (label(demand.name), _scale(demand, answer).unit) for demand in answer.requirement.targets
    ]


def label(demand: str) -> str:
    return SIZES[demand][0] if demand in SIZES else words.metric(demand)


def conclusion(answer: RequirementAnswer) -> Conclusion:
    """Which fleet costs least, and how surely it is enough."""
    fleets = [_choice(line) for line in answer.fleets]
    return cheapest_fleet(fleets, answer.query.currency, is_proven=answer.floor is None)


def _choice(line: FleetLine) -> FleetChoice:
    # The demand that is met most narrowly decides whether the fleet is enough.
    limit, ratio = min(line.headroom.items(), key=lambda pair: pair[1])
    name = " and ".join(f"{count} × {row_label(row)}" for row, count in line.servers)
    holds = line.fleet.holds_at_worst
    return FleetChoice(name, line.cost_per_month, holds, label(limit), float(ratio - 1))


def fleet_lines(answer: RequirementAnswer) -> list[ShownFleet]:
    """The fleets, in their order."""
    return [_show_fleet(line, answer) for line in answer.fleets]


def _show_fleet(line: FleetLine, answer: RequirementAnswer) -> ShownFleet:
    fleet = line.fleet
    return ShownFleet(
        line=line,
        parts=_parts(line),
        per_month=figures.money(line.cost_per_month, "month"),
        per_hour=figures.money(line.cost_per_hour, "hour"),
        traffic=figures.money(fleet.traffic_cost, "month") if fleet.traffic_cost else "",
        disk=figures.money(fleet.fill_cost, "month") if fleet.fill_cost else "",
        cells=[_cell(line, demand, answer) for demand in answer.requirement.targets],
        holds=_holds(fleet.holds_at_worst, fleet.count_at_worst),
    )


def _parts(line: FleetLine) -> list[FleetPart]:
    blocks_left = MOST_BLOCKS
    parts = []
    for row, count in line.servers:
        # At least one of each type, or a small part of a mix would not be seen at all.
        drawn = min(count, max(1, blocks_left))
        parts.append(FleetPart(row, count, range(drawn), count - drawn))
        blocks_left -= drawn
    return parts


def _cell(line: FleetLine, demand: FleetTarget, answer: RequirementAnswer) -> FleetCell:
    given, ratio = line.fleet.given[demand.name], float(line.headroom[demand.name])
    shown = figures.figure(_scale(demand, answer).shown(given))
    spare = ratio - 1
    headroom = (
        _("{spare} to spare", spare=figures.percent(spare))
        if spare >= SPARE_SHOWN
        else _("just enough")
    )
    return FleetCell(shown, figures.plain(given), headroom)


def _scale(demand: FleetTarget, answer: RequirementAnswer) -> figures.UnitScale:
    if demand.name in SIZES:
        return figures.UnitScale(1, SIZES[demand.name][1])
    return figures.scale(METRICS[demand.name].unit, [demand.amount])


def _holds(holds: bool | None, count: int | None) -> tuple[str, str, str]:
    if holds:
        return "holds", "good", _("It is enough even at the worse end of every 95% interval.")
    if holds is None:
        return _("not known"), "", _("The interval of a score is not known.")
    meaning = _("In the worst case (the worse ends of the 95% intervals) it is not enough.")
    return (_("{count} needed", count=count) if count else _("not enough")), "warn", meaning


def failure_groups(answer: RequirementAnswer) -> list[FailureGroup]:
    by_reason: dict[str, list[InfeasibleOffer]] = {}
    for failure in answer.failures:
        by_reason.setdefault(_title(failure, answer), []).append(failure)
    ordered = sorted(by_reason.items(), key=lambda group: (-len(group[1]), group[0]))
    return [
        FailureGroup(title, len(group), [(f.offer_id, _detail(f)) for f in group[:MOST_FAILURES]])
        for title, group in ordered
    ]


def _title(failure: InfeasibleOffer, answer: RequirementAnswer) -> str:
    name = label(failure.demand)
    if failure.fault is Fault.REFUSED:
        reason = str(failure.reason)
        return reason[0].upper() + reason[1:].replace("_", " ")
    if failure.fault is Fault.SERVERS:
        most = answer.requirement.max_servers or 0
        return count_words(
            "More than {n} server would be needed", "More than {n} servers would be needed", most
        )
    if failure.fault is Fault.TRAFFIC:
        return _("The price of traffic is not known there")
    if failure.fault is Fault.NOTHING:
        return _("{name}: it has none", name=name)
    if failure.fault is Fault.UNKNOWN:
        return _("{name}: not known", name=name)
    rules = {demand.name: demand.rule for demand in answer.requirement.targets}
    is_above = rules[failure.demand] is Rule.AT_MOST
    return _("{name}: too high", name=name) if is_above else _("{name}: too low", name=name)


def _detail(failure: InfeasibleOffer) -> str:
    """Details of the single offer that a group's title does not say."""
    # The others are said by the title of their group already.
    is_own = failure.fault in {Fault.SERVERS, Fault.BOUND}
    return str(failure.reason).replace(failure.demand, label(failure.demand)) if is_own else ""
