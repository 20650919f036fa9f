"""Ready scenarios: each opens with worked figures that everybody may change."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from backend.foundation.errors import InvalidDocument
from backend.foundation.facts import DNS, EBS, Fact
from backend.foundation.texts import text as _
from backend.scenarios.calc.demand_document import TRACE
from backend.scenarios.calc.document import PartDocument, ScenarioDocument
from backend.scenarios.calc.traces import DemandTrace

Document = dict[str, Any]
START = "2026-01-01T00:00:00+00:00"
MONDAY = "2026-01-05T00:00:00+00:00"
AWS_TIERS = [["10240", "0.09"], ["51200", "0.085"], ["153600", "0.07"], [None, "0.05"]]
SPREADS = {
    "draws": 2000,
    "seed": 1,
    "demand_growth_cv": "0.2",
    "score_cv": "0.05",
    "price_cv": "0.1",
    "boot_cv": "0.3",
}


@dataclass(frozen=True)
class Template:
    """A document to start from, and what it shows."""

    key: str
    title: str
    question: str
    """In a few words what it answers."""
    sentence: str
    """Sentence about its result, with figures."""
    document: Mapping[str, Any]
    facts: tuple[Fact, ...] = ()
    """Limits that somebody met, which the document does not have; to be put in where they apply."""


def _price(amount: str, billing: str = "per_second", **given: Any) -> Document:
    unit = "month" if billing in {"monthly", "dedicated"} else "hour"
    stated = {"amount": amount, "currency": "USD", "unit": unit, "billing": billing, **given}
    return {**stated, "example": amount}


def _purchase_document(hardware: Document) -> Document:
    example = hardware["items"][0]["unit_price"]
    return {"billing": "purchase", "hardware": hardware, "example": example}


def _all(name: str, price: Document, **given: Any) -> Document:
    extras = given.pop("extras", None)
    option = {"name": name, "parts": [{"role": "all", **given, "price": price}]}
    return option if extras is None else {**option, "extras": extras}


def _hybrid(name: str, base: Document, burst: Document) -> Document:
    parts = [
        {"role": "base", "count": "optimal", "price": base},
        {"role": "burst", "price": burst},
    ]
    return {"name": name, "parts": parts}


def _days(days: int, step_s: int = 60) -> Document:
    return {"start": START, "days": days, "step_s": step_s}


def _daily(base: float, *windows: Document, unit: str = "servers") -> Document:
    demand = {"unit": unit, "kind": "daily", "time_zone": "UTC", "base": base}
    return {**demand, "windows": list(windows)}


def _window(start: str, end: str, level: float, weekdays: list[int] | None = None) -> Document:
    days = list(range(7)) if weekdays is None else weekdays
    return {"from": start, "to": end, "level": level, "weekdays": days}


def _template(  # noqa: PLR0917
    key: str,
    title: str,
    question: str,
    sentence: str,
    options: list[Document],
    facts: tuple[Fact, ...] = (),
    **given: Any,
) -> Template:
    document = {
        "schema": 1,
        "name": title,
        "horizon": _days(30),
        "demand": _daily(1),
        "capacity": {"units_per_server": "1", "target_utilisation": "1"},
        "policy": {"kind": "perfect", "min": 0, "max": None, "quota": None},
        **given,
        "options": options,
        "uncertainty": SPREADS,
    }
    return Template(key, title, question, sentence, document, facts)


def _lessons(weeks: int, classes: int) -> list[list[Any]]:
    """Weekdays from eight to eight, for so many weeks from the first Monday on."""
    monday = dt.datetime.fromisoformat(MONDAY)
    days = [
        monday + dt.timedelta(weeks=week, days=day) for week in range(weeks) for day in range(5)
    ]
    return [
        [(day + dt.timedelta(hours=hour)).isoformat(), level]
        for day in days
        for hour, level in ((8, classes), (20, 0))
    ]


_SERVERS_AND_NAS = {
    "name": "16 servers and a NAS",
    "currency": "EUR",
    "servers": 1,
    "rack_units": "18",
    "staff_hours_per_month": "2",
    "items": [
        {"name": "NAS", "count": 1, "unit_price": "30000", "watts": "400"},
        {"name": "server", "count": 16, "unit_price": "1875", "watts": "250"},
    ],
}
_SERVERS_WITH_DISKS = {
    "name": "16 servers with disks",
    "currency": "EUR",
    "servers": 16,
    "rack_units": "18",
    "staff_hours_per_month": "2",
    "items": [{"name": "server", "count": 16, "unit_price": "3750", "watts": "275"}],
}
OWN_SERVERS = {
    "name": "Own server",
    "currency": "USD",
    "servers": 20,
    "rack_units": "20",
    "items": [{"name": "server", "count": 20, "unit_price": "3000", "watts": "250"}],
}
_BUSY = _window("10:00", "15:00", 20)

_ALL_TEMPLATES = (
    _template(
        "project_may_fail",
        _("A project that may fail"),
        _("Is a yearly contract worth it for a project that may end early?"),
        _(
            "One server for a project that ends in any month with probability 0.1: over 24 months it "
            "runs 9.2 of them, so a contract of 12 months costs 1.52 times its months, and the cloud "
            "is cheaper up to 152 USD a month."
        ),
        [
            _all("cloud, no contract", _price("0.1644")),
            _all(
                "dedicated, 12 months", _price("100", "dedicated", minimum_months=12), count="peak"
            ),
            _all("dedicated, by the month", _price("100", "dedicated"), count="peak"),
        ],
        horizon={"start": START, "months": 24, "step_s": 3600},
        hazard_per_month="0.1",
    ),
    _template(
        "startup",
        _("Startup with five busy hours"),
        _("Few servers all day, many for five hours: cloud, dedicated, or both?"),
        _(
            "Three servers all day and 20 from ten to three, 20.8% of the day: 157 of 480 "
            "server-hours. Three dedicated servers with the rest by the second beat both "
            "pure options (1,320 against 1,884 and 2,000 USD)."
        ),
        [
            _all("all cloud", _price("0.4")),
            _all("all dedicated", _price("100", "monthly"), count="peak"),
            _hybrid("hybrid", _price("100", "monthly"), _price("0.4")),
        ],
        demand=_daily(3, _BUSY),
    ),
    _template(
        "e_learning",
        _("E-learning in term time"),
        _("What do servers cost that run only during lessons?"),
        _(
            "Classes on weekdays from eight to eight, 39 weeks a year: 2,340 hours, 27% of "
            "a year. Servers that end with the lessons cost a fraction of those that stay "
            "on."
        ),
        [
            _all("cloud, only in lessons", _price("0.4")),
            _all("cloud, always on", _price("0.4"), count="peak"),
            _all("dedicated, always on", _price("100", "monthly"), count="peak"),
        ],
        horizon={"start": START, "months": 12, "step_s": 3600},
        demand={"unit": "classes", "kind": "trace", "points": _lessons(39, 10)},
    ),
    _template(
        "events",
        _("Event that everybody sees at once"),
        _("What does it cost to be ready for the moment when everybody comes?"),
        _(
            "Demand goes from 2 servers to 20 in one minute. Servers that take three minutes to start "
            "and are noticed a minute late leave 72 server-minutes unmet; 20 that wait for it leave "
            "none and cost more."
        ),
        [
            _all("cloud, as it comes", _price("1.64")),
            _all("cloud, 20 wait for it", _price("1.64"), count=20),
            _all("dedicated, 20 for the month", _price("100", "monthly"), count=20),
        ],
        facts=DNS,
        horizon=_days(1),
        demand={
            "unit": "servers",
            "kind": "trace",
            "points": [
                ["2026-01-01T00:00:00+00:00", 2],
                ["2026-01-01T18:00:00+00:00", 20],
                ["2026-01-01T21:00:00+00:00", 2],
            ],
        },
        policy={"kind": "perfect", "min": 2, "warmup_s": 180, "lag_s": 60},
    ),
    _template(
        "proximity",
        _("Close to users on three continents"),
        _("What does it cost to be close to users on three continents?"),
        _(
            "Three regions with the load of 1.2 servers each need two servers apiece, six in all; one "
            "pool for all of them needs four. The difference is the price of being near."
        ),
        [
            _all("one region", _price("0.4"), count="peak"),
            _all("three regions", _price("0.4"), count=6),
            _all("three regions, dedicated", _price("100", "monthly"), count=6),
        ],
        demand=_daily(3.6),
        horizon=_days(30, 3600),
    ),
    _template(
        "game_night",
        _("Game night"),
        _("What does a server for a few hours at night cost?"),
        _(
            "Friends play from 22:00 to 01:00: 90 of 720 hours, 147.60 USD at 1.64 an hour. A server "
            "that is stopped but not deleted goes on being billed where a cap holds."
        ),
        [
            _all("cloud, only at night", _price("1.64")),
            _all("cloud, hours begun", _price("1.64", "hour_ceil")),
            _all(
                "small server, never deleted", _price("0.006", "hour_ceil_cap", cap="3.79"), count=1
            ),
            _all("dedicated", _price("100", "monthly"), count=1),
        ],
        demand=_daily(0, _window("22:00", "01:00", 1)),
    ),
    _template(
        "content",
        _("Content to many readers"),
        _("What does a lot of outgoing traffic cost?"),
        _(
            "150 Mbit/s for 30 days are 48,600 GB: 5,832 USD at 0.12 a GB, 4,182.20 by tiers, nothing "
            "on a flat port. From 667 GB a month on, 100 USD flat are cheaper than 20 and 0.12 a GB."
        ),
        [
            _all(
                "20 USD, 0.12 a GB",
                _price("20", "monthly"),
                extras={"egress_tiers": [[None, "0.12"]]},
            ),
            _all("20 USD, tiers", _price("20", "monthly"), extras={"egress_tiers": AWS_TIERS}),
            _all(
                "100 USD, flat port",
                _price("100", "monthly"),
                extras={"egress_tiers": [[None, "0"]]},
            ),
        ],
        horizon=_days(30, 3600),
        extras={"egress_gb_per_month": "48600"},
    ),
    _template(
        "enterprise",
        _("Managed service or own staff"),
        _("Pay for a managed service, or for staff?"),
        _(
            "The managed service costs 600 USD a month more for the same servers and saves 20 hours of "
            "work: at 60 USD an hour it pays from 10 hours saved on."
        ),
        [
            _all(
                "managed service",
                _price("0.4"),
                extras={"fixed_per_month": "600", "staff_hours_per_month": "4"},
            ),
            _all("own staff", _price("0.4"), extras={"staff_hours_per_month": "24"}),
            _all(
                "own staff, dedicated",
                _price("100", "monthly"),
                count="peak",
                extras={"staff_hours_per_month": "30"},
            ),
        ],
        horizon={"start": START, "months": 12, "step_s": 3600},
        demand=_daily(2, _window("08:00", "18:00", 6, [0, 1, 2, 3, 4])),
        extras={"staff_usd_per_hour": "60"},
    ),
    _template(
        "own_rack",
        _("Own rack"),
        _("Does buying servers beat renting them?"),
        _(
            "Buy twenty servers or rent them: power, space, support and work included. Each server "
            "that is always on takes two hours of work a month, whoever owns it."
        ),
        [
            _all(
                "own rack",
                _purchase_document(OWN_SERVERS | {"staff_hours_per_month": "5"}),
                count="peak",
            ),
            _all("dedicated", _price("100", "dedicated"), count="peak"),
            _all("cloud", _price("0.4")),
        ],
        horizon={"start": START, "months": 36, "step_s": 3600},
        demand=_daily(12, _window("08:00", "20:00", 20)),
        # Rented servers need updates and watching as much as own ones do.
        extras={"staff_hours_per_server_month": "2", "staff_usd_per_hour": "60"},
    ),
    _template(
        "shared_or_local_disks",
        _("One NAS or a disk in each server"),
        _("One shared storage for all servers, or disks in each?"),
        _(
            "80 machines on 16 servers, ten of which read all they can from 18:00 to 22:00. 30,000 EUR for "
            "the servers and 30,000 for a NAS deliver 100 MB/s to all of them together over a gigabit "
            "link; the same 60,000 for servers with disks of their own deliver 50 MB/s in each. The NAS "
            "leaves three quarters of the demand unmet."
        ),
        [
            _all(
                "a NAS on one gigabit link",
                _purchase_document(_SERVERS_AND_NAS),
                count=1,
                capacity="100",
            ),
            _all(
                "a disk in each server",
                _purchase_document(_SERVERS_WITH_DISKS),
                count=16,
                capacity="50",
            ),
        ],
        facts=EBS,
        horizon={"start": START, "months": 60, "step_s": 3600},
        demand=_daily(7, _window("18:00", "22:00", 507), unit="MB/s"),
    ),
    _template(
        "hybrid",
        _("Base and burst"),
        _("Which part of a changing load is worth reserving?"),
        _(
            "A week with busy days, quiet nights and five percent of growth a month: the servers that "
            "run most of the time are rented by the month or reserved, the rest comes by the second."
        ),
        [
            _all("all cloud", _price("0.4")),
            _all("all dedicated", _price("100", "monthly"), count="peak"),
            _hybrid("dedicated and cloud", _price("100", "monthly"), _price("0.4")),
            _hybrid("reserved and cloud", _price("0.25", "reserved"), _price("0.4")),
        ],
        horizon={"start": START, "months": 2, "step_s": 300},
        demand={
            "unit": "servers",
            "kind": "composed",
            "time_zone": "Europe/Dublin",
            "level": 10,
            "daily": [*["0.3"] * 7, *["0.8"] * 2, *["1.6"] * 8, *["1.2"] * 4, *["0.5"] * 3],
            "weekly": [1, 1, 1, 1, 1, "0.6", "0.5"],
            "growth_per_month": "0.05",
            "noise_cv": "0.1",
            "seed": 1,
        },
        capacity={"units_per_server": "1", "target_utilisation": "0.7"},
        policy={"kind": "hpa", "min": 2, "in_window_s": 300, "warmup_s": 120, "lag_s": 60},
    ),
)
# By key, in the order in which they are shown.
TEMPLATES: Mapping[str, Template] = MappingProxyType(
    {template.key: template for template in _ALL_TEMPLATES}
)


def is_as_template(template: Template, document: Mapping[str, Any]) -> bool:
    """True while a document asks what the template asks; its name does not count."""
    try:
        return _comparable_document(document) == _comparable_document(template.document)
    except InvalidDocument:
        return False


def _comparable_document(
    document: Mapping[str, Any],
) -> tuple[ScenarioDocument, DemandTrace | None]:
    """A document without its names and what can be stated in two ways, and its recorded demand."""
    read = ScenarioDocument.read({**document, "name": "same"})
    # A recording is points or lines; the editor makes lines of points.
    trace = read.demand.trace if read.demand.kind == TRACE else None
    demand = read.demand.model_copy(update={"points": None, "csv": None})
    options = tuple(
        option.model_copy(update={"parts": tuple(map(_with_plain_price, option.parts))})
        for option in read.options
    )
    return read.model_copy(update={"demand": demand, "options": options}), trace


def _with_plain_price(part: PartDocument) -> PartDocument:
    """A part without the unit, which follows from the billing, and the name of own hardware."""
    hardware = part.price.hardware and part.price.hardware.model_copy(update={"name": "same"})
    price = part.price.model_copy(update={"unit": "", "hardware": hardware})
    return part.model_copy(update={"price": price})
