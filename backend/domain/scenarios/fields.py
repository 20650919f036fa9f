"""Every field of the scenario document: its unit, default, range, and who stands for the default.

What the reader accepts is decided by the reader; a test holds the two against each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from backend.domain.scenarios.demand import KINDS as DEMANDS
from backend.domain.scenarios.demand import MOST_UNITS
from backend.domain.scenarios.documents import MOST_SERVERS
from backend.domain.scenarios.policies import KINDS as POLICIES
from backend.domain.scenarios.prices import BILLINGS, MOST_MONEY
from backend.domain.scenarios.traces import MOST_POINTS

OWN = "our assumption"
MONTH_S = str(31 * 86_400)
SERVERS = str(MOST_SERVERS)


@dataclass(frozen=True)
class Field:
    """One field; numbers are decimal strings. `*` in a path is any place of a list.

    `kind`: number, whole, text, choice, time, clock, zone, count, convention, object, hardware,
    objects, texts, wholes, numbers, tiers, shares or points.
    """

    path: str
    kind: str
    meaning: str
    unit: str = ""
    default: str | None = None
    low: str | None = None
    high: str | None = None
    is_above: bool = False
    """Whether `low` itself is too little."""
    choices: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    """Kinds of demand, of policy or of billing that know it; empty = all."""
    source: str = ""
    is_needed: bool = False

    @property
    def name(self) -> str:
        """The last word of the path."""
        return self.path.rsplit("/", 1)[-1]


def _ratio(path: str, meaning: str, default: str | None = None, **given: object) -> Field:
    return Field(path, "number", meaning, "ratio", default, "0", "1", **given)  # type: ignore[arg-type]


def _money(path: str, meaning: str, unit: str, default: str | None = "0", **given: object) -> Field:
    return Field(path, "number", meaning, unit, default, "0", MOST_MONEY, **given)  # type: ignore[arg-type]


def _seconds(path: str, meaning: str, default: str = "0", **given: object) -> Field:
    return Field(path, "number", meaning, "s", default, "0", MONTH_S, **given)  # type: ignore[arg-type]


def _windows(path: str, unit: str, most: str, when: str) -> tuple[Field, ...]:
    kinds = (when,)
    at = f"{path}/windows"
    return (
        Field(at, "objects", "Hours of the day at another level; the highest wins", when=kinds),
        Field(f"{at}/*/from", "clock", "Begin, local time", "HH:MM", when=kinds, is_needed=True),
        Field(
            f"{at}/*/to", "clock", "End; not after from: on the next day", "HH:MM",
            when=kinds, is_needed=True,
        ),
        Field(
            f"{at}/*/level", "number", "In place of the base, also when lower", unit,
            low="0", high=most, when=kinds, is_needed=True,
        ),
        Field(
            f"{at}/*/weekdays", "wholes", "On which it begins, 0 = Monday; by default all",
            low="0", high="6", when=kinds,
        ),
    )  # fmt: skip


_HORIZON = (
    Field("/schema", "choice", "Version of the document", choices=("1",), is_needed=True),
    Field("/name", "text", "Name for people", default="Scenario"),
    Field("/horizon", "object", "The time that is looked at", is_needed=True),
    Field(
        "/horizon/start", "time", "Start; with months the first of one at 00:00 UTC",
        "ISO 8601 with zone", is_needed=True,
    ),
    Field("/horizon/days", "number", "Length; either this or months", "days", None, "0", "36600",
          is_above=True),
    Field("/horizon/months", "whole", "Length; either this or days", "calendar months", None,
          "1", "120"),
    Field(
        "/horizon/step_s", "whole", "Length of a step; demand between two starts is not seen", "s",
        "60", "1", str(30 * 86_400),
        source=f"{OWN}: faster bursts than a minute are rarely recorded",
    ),
)  # fmt: skip
_DEMAND = (
    Field("/demand", "object", "What is asked for over time", is_needed=True),
    Field("/demand/unit", "text", "What it is counted in; a label", default="units"),
    Field("/demand/kind", "choice", "How it is stated", choices=DEMANDS, is_needed=True),
    Field(
        "/demand/time_zone", "zone", "Wall clock of windows and cycles, with its summer time",
        default="UTC", when=("daily", "composed"),
    ),
    Field("/demand/base", "number", "Outside the windows", "unit of the demand", "0", "0",
          MOST_UNITS, when=("daily",)),
    *_windows("/demand", "unit of the demand", MOST_UNITS, "daily"),
    Field("/demand/points", "points", f"[time, value] pairs, at most {MOST_POINTS:,}; each holds "
          "until the next", when=("trace",)),
    Field("/demand/csv", "text", "timestamp,value lines instead of points", when=("trace",)),
    Field("/demand/level", "number", "Mean before growth and noise", "unit of the demand", None,
          "0", MOST_UNITS, when=("composed",), is_needed=True),
    Field("/demand/daily", "numbers", "24 factors, one an hour of the day", "ratio",
          when=("composed",), low="24", high="24"),
    Field("/demand/weekly", "numbers", "7 factors from Monday on", "ratio",
          when=("composed",), low="7", high="7"),
    Field("/demand/growth_per_month", "number", "Growth in 730 hours", "ratio", "0", "-1", "10",
          when=("composed",)),
    Field("/demand/noise_cv", "number", "Spread of a log-normal factor in each step",
          "coefficient of variation", "0", "0", "10", when=("composed",)),
    Field("/demand/events", "objects", "What comes on top for a time", when=("composed",)),
    Field("/demand/events/*/at", "time", "Begin", "ISO 8601 with zone", when=("composed",),
          is_needed=True),
    Field("/demand/events/*/duration_s", "whole", "Length", "s", None, "1", str(366 * 86_400),
          when=("composed",), is_needed=True),
    Field("/demand/events/*/level", "number", "Added", "unit of the demand", None, "0", MOST_UNITS,
          when=("composed",), is_needed=True),
    Field("/demand/seed", "whole", "Of the noise: the same gives the same", "", "0", "0",
          str(2**32 - 1), when=("composed",)),
)  # fmt: skip
_CAPACITY = (
    Field("/capacity", "object", "What a server carries"),
    Field("/capacity/units_per_server", "number", "Of the demand, by one server at its limit",
          "unit of the demand", None, "0", is_above=True),
    Field("/capacity/metric", "text", "Metric whose score is the capacity of options that name an "
          "offer"),
    Field("/capacity/units_per_score", "number", "Of the demand, by one point of the metric",
          "unit of the demand", None, "0", is_above=True),
    _ratio("/capacity/target_utilisation", "Share of a server that is planned to be used", "1",
           is_above=True, source=f"{OWN}: no reserve; 0.7 is a common target"),
)  # fmt: skip
_POLICY = (
    Field("/policy", "object", "How servers follow the demand"),
    Field("/policy/kind", "choice", "Which rule starts and ends servers", default="perfect",
          choices=POLICIES),
    Field("/policy/min", "whole", "Least of the whole fleet", "servers", "0", "0", SERVERS),
    Field("/policy/max", "whole", "Most of the whole fleet; by default none", "servers", None, "0",
          SERVERS),
    Field("/policy/quota", "whole", "Most elastic ones that the provider gives; by default none",
          "servers", None, "0", SERVERS),
    _seconds("/policy/warmup_s", "From launch to service; billed",
             source=f"{OWN}: at once. Measured starts: see the metric boot_time_s"),
    _seconds("/policy/lag_s", "How old the demand is that the rule sees",
             source=f"{OWN}: none. Metrics of providers come every 60 s"),
    Field("/policy/count", "whole", "Servers", "servers", None, "0", SERVERS, when=("fixed",),
          is_needed=True),
    Field("/policy/time_zone", "zone", "Wall clock of the windows", default="UTC",
          when=("scheduled",)),
    Field("/policy/base", "number", "Outside the windows", "servers", "0", "0", SERVERS,
          when=("scheduled",)),
    *_windows("/policy", "servers", SERVERS, "scheduled"),
    _seconds("/policy/out_window_s", "The need must have been there so long before servers start",
             when=("hpa",), source="Kubernetes: no stabilisation when scaling up"),
    _seconds("/policy/in_window_s", "… and away so long before they end", "300", when=("hpa",),
             source="Kubernetes: stabilisation of 300 s when scaling down"),
    _seconds("/policy/out_delay_s", "The need must have been there so long before servers start",
             when=("cluster_autoscaler",), source="Cluster Autoscaler: at once"),
    _seconds("/policy/in_delay_s", "… and away so long before they end", "600",
             when=("cluster_autoscaler",), source="Cluster Autoscaler: unneeded for 10 minutes"),
    _ratio("/policy/target", "Use that is aimed at; by default the target utilisation",
           when=("target_tracking", "step"), is_above=True),
    _seconds("/policy/cooldown_s", "Pause after a change", "300", when=("target_tracking", "step"),
             source="EC2 Auto Scaling: default cooldown of 300 s"),
    _ratio("/policy/in_below", "One server fewer below this use", "0.4", when=("step",),
           source=OWN),
    _seconds("/policy/lead_s", "How far ahead the need is known", when=("predictive",)),
)  # fmt: skip
_PRICE_AT = "/options/*/parts/*/price"
_OPTIONS = (
    Field("/options", "objects", "What is compared, 1 to 300", is_needed=True),
    Field("/options/*/name", "text", "Name, once in the document", is_needed=True),
    Field("/options/*/extras", "object", "Own costs; each wins over that of all options"),
    Field("/options/*/parts", "objects", "One part all, or one base and one burst", is_needed=True),
    Field("/options/*/parts/*/role", "choice", "Which part of the load", default="all",
          choices=("all", "base", "burst")),
    Field("/options/*/parts/*/count", "count", "Servers that are always on: a number, peak, or for "
          "a base optimal; by default elastic", "servers", None, "0", SERVERS),
    Field("/options/*/parts/*/capacity", "number", "units_per_server of this part",
          "unit of the demand", None, "0", is_above=True),
    Field(_PRICE_AT, "object", "What such a server costs", is_needed=True),
    Field(f"{_PRICE_AT}/offer", "text", "Slug of an offer: its price and score are taken"),
    Field(f"{_PRICE_AT}/price_observation", "text", "Id of one price instead of an offer"),
    Field(f"{_PRICE_AT}/term", "text", "Of the offer: on_demand, monthly, spot, reserved_1y, …",
          default="on_demand"),
    Field(f"{_PRICE_AT}/amount", "number", "Price of the unit", "currency", None, "0", MOST_MONEY,
          is_above=True),
    Field(f"{_PRICE_AT}/currency", "text", "One for all prices", "three-letter code"),
    Field(f"{_PRICE_AT}/unit", "choice", "What the amount is for; month with monthly, dedicated "
          "and purchase", choices=("hour", "month")),
    Field(f"{_PRICE_AT}/billing", "choice", "Rule of the bill", choices=tuple(BILLINGS)),
    Field(f"{_PRICE_AT}/minimum_s", "whole", "Least time that is billed of a launch", "s", "60",
          "0", "86400", when=("per_second", "reserved", "savings", "spot"),
          source="EC2 and Compute Engine: by the second, at least a minute"),
    Field(f"{_PRICE_AT}/minimum_minutes", "whole", "Least minutes of a launch", "min", "10", "0",
          "1440", when=("per_minute",), source="Compute Engine before 2017: ten minutes"),
    Field(f"{_PRICE_AT}/cap", "number", "Most that a server costs in a month", "currency", None,
          "0", MOST_MONEY, is_above=True, when=("hour_ceil_cap",), is_needed=True),
    Field(f"{_PRICE_AT}/month_convention", "convention", "What a month is: calendar (UTC), 30d, or "
          "a number of hours", "", "calendar", "1", "8784",
          when=("hour_ceil_cap", "monthly", "sustained_use", "dedicated")),
    _money(f"{_PRICE_AT}/upfront", "Paid at the start of the term", "currency",
           when=("reserved",)),
    Field(f"{_PRICE_AT}/term_months", "whole", "Length of the commitment", "months of 730 h", "12",
          "1", "120", when=("reserved",)),
    _money(f"{_PRICE_AT}/commit_per_hour", "Paid every hour, used or not", "currency/h", None,
           when=("savings",), is_needed=True),
    _ratio(f"{_PRICE_AT}/discount", "Of the plan on the amount; below 1", when=("savings",),
           is_needed=True),
    Field(f"{_PRICE_AT}/tiers", "shares", "[cumulative share of the month, factor]; the last share "
          "is 1", "", when=("sustained_use",), source="Compute Engine, N1: 1, 0.8, 0.6, 0.4 by "
          "quarters of the month, by default"),
    Field(f"{_PRICE_AT}/interruptions_per_month", "number", "Expected of one server",
          "per 730 h", "0", "0", when=("spot",),
          source=f"{OWN}: none; providers state less than 5 % a month for many types"),
    _money(f"{_PRICE_AT}/setup", "Paid once a server", "currency", when=("dedicated",)),
    Field(f"{_PRICE_AT}/minimum_months", "whole", "Least length of the contract", "months", "1",
          "1", "120", when=("dedicated",)),
    Field(f"{_PRICE_AT}/notice", "text", "How the contract ends", when=("dedicated",)),
    Field(f"{_PRICE_AT}/hardware", "hardware", "Document of own hardware", when=("purchase",),
          is_needed=True),
)  # fmt: skip


def _extras(at: str) -> tuple[Field, ...]:
    return (
        _money(f"{at}/egress_gb_per_month", "Traffic to the internet", "GB/month"),
        Field(f"{at}/egress_tiers", "tiers", "[up to GB a month, price a GB]; the last bound is "
              "null", "currency/GB"),
        _money(f"{at}/storage_gb", "Storage", "GB"),
        _money(f"{at}/storage_usd_per_gb_month", "Price of storage", "currency/GB and month"),
        _money(f"{at}/staff_hours_per_month", "Work", "h/month"),
        _money(f"{at}/staff_usd_per_hour", "Price of work", "currency/h"),
        _money(f"{at}/fixed_per_month", "Everything else", "currency/month"),
        Field(f"{at}/month_convention", "convention", "What a month of these is", "", "calendar",
              "1", "8784"),
    )  # fmt: skip


_CV = "coefficient of variation"
_RISK = (
    Field("/extras", "object", "Costs beside the servers, for all options"),
    *_extras("/extras"),
    *_extras("/options/*/extras"),
    _ratio("/hazard_per_month", "Probability that the project ends in a month", "0"),
    Field("/contract", "object", "What binds beyond the need"),
    Field("/contract/minimum_months", "whole", "Of every server that is always on", "months", "0",
          "0", "120"),
    Field("/contract/notice_days", "whole", "Days from notice to end", "days", "0", "0", "366"),
    Field("/uncertainty", "object", "Spreads of the inputs; without them no intervals"),
    Field("/uncertainty/draws", "whole", "Monte-Carlo draws", "", "1000", "1", "100000"),
    Field("/uncertainty/seed", "whole", "The same gives the same", "", "0", "0", str(2**32 - 1)),
    Field("/uncertainty/demand_growth_cv", "number", "Of the demand", _CV, "0", "0", "5"),
    Field("/uncertainty/score_cv", "number", "Of what a server carries; of a measured score its "
          "interval", _CV, "0", "0", "5"),
    Field("/uncertainty/price_cv", "number", "Of the prices", _CV, "0", "0", "5"),
    Field("/uncertainty/boot_cv", "number", "Of the warm-up; of a measured one its interval", _CV,
          "0", "0", "5"),
)  # fmt: skip
_ALL = (*_HORIZON, *_DEMAND, *_CAPACITY, *_POLICY, *_OPTIONS, *_RISK)
FIELDS: Mapping[str, Field] = MappingProxyType({field.path: field for field in _ALL})
"""By path, in the order of the document."""
