"""The time that a scenario looks at, and its demand, as the document states them."""

import calendar
import datetime as dt
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field

from backend.foundation.documents.model import Document, Faults
from backend.foundation.documents.values import (
    DAY_S,
    Clock,
    Float,
    Many,
    Moment,
    Number,
    Text,
    WholeNumber,
    Word,
    Zone,
)
from backend.foundation.errors import InvalidValue
from backend.foundation.texts import number
from backend.foundation.texts import text as _
from backend.scenarios.calc.document_values import (
    CV,
    MOST_SEED,
    MOST_UNITS,
    UNIT,
    ZERO,
    Csv,
    FactorList,
    Points,
    Remarks,
    UnitNumber,
    Weekdays,
)
from backend.scenarios.calc.steps import Steps
from backend.scenarios.calc.trace_csv import csv_trace
from backend.scenarios.calc.traces import MOST_POINTS, DemandTrace, trace_from_points
from backend.scenarios.calc.windows import EVERY_DAY, LevelWindow

DAILY, TRACE, COMPOSED = "daily", "trace", "composed"
DEMANDS = {
    DAILY: _("Levels by time of day"),
    TRACE: _("Recorded demand"),
    COMPOSED: _("Day, week, growth and events"),
}


class HorizonDocument(Document):
    """The time that is looked at."""

    start_s: Annotated[
        int,
        Moment(
            _("Start; with months the first of one at 00:00 UTC"),
            _("ISO 8601 with zone"),
            label=_("Start"),
        ),
    ] = Field(alias="start")
    days: Annotated[
        Fraction | None,
        Number(
            _("Length; either this or months"),
            _("days"),
            label=_("Days"),
            high="36600",
            is_above=True,
        ),
    ] = None
    months: Annotated[
        int | None,
        WholeNumber(
            _("Length; either this or days"),
            _("calendar months"),
            label=_("or calendar months"),
            low=1,
            high=120,
        ),
    ] = None
    step_s: Annotated[
        int,
        WholeNumber(
            _("Length of a step; demand between two starts is not seen"),
            "s",
            label=_("Step"),
            source=_("our assumption: faster bursts than a minute are rarely recorded"),
            low=1,
            high=30 * DAY_S,
        ),
    ] = 60

    @cached_property
    def steps(self) -> Steps:
        """The steps; InvalidValue where there are too many or none."""
        return Steps(self.start_s, self.step_s, int(self._seconds / self.step_s))

    @property
    def _seconds(self) -> Fraction:
        if self.months is None:
            return (self.days or ZERO) * DAY_S
        first = dt.datetime.fromtimestamp(self.start_s, dt.UTC)
        year, month = divmod(first.year * 12 + first.month - 1 + self.months, 12)
        return Fraction(calendar.timegm((year, month + 1, 1, 0, 0, 0)) - self.start_s)

    def faults(self) -> Faults:
        if (self.days is None) == (self.months is None):
            yield "days", "exactly one of days and months is needed"
            return
        first = dt.datetime.fromtimestamp(self.start_s, dt.UTC)
        is_first = (first.day, first.hour, first.minute, first.second) == (1, 0, 0, 0)
        if self.months is not None and not is_first:
            yield "start", "with months it is the first of a month at 00:00 UTC"
        if (self._seconds / self.step_s).denominator != 1:
            yield "step_s", f"the horizon is not a whole number of steps of {self.step_s} s"
            return
        try:
            self.steps  # noqa: B018
        except InvalidValue as error:
            yield "step_s", error.detail


class DemandWindow(Document):
    """Hours of the day at another level."""

    from_s: Annotated[
        int, Clock(_("Begin, local time"), "HH:MM", label=_("From"), high_s=DAY_S - 1)
    ] = Field(alias="from")
    to_s: Annotated[
        int, Clock(_("End; not after from: on the next day"), "HH:MM", label=_("To"))
    ] = Field(alias="to")
    level: Annotated[
        Decimal,
        UnitNumber(
            _("In place of the base, also when lower"), UNIT, label=_("Level"), high=MOST_UNITS
        ),
    ]
    weekdays: Annotated[
        frozenset[int],
        Weekdays(_("On which it begins, 0 = Monday; by default all"), label=_("Weekdays")),
    ] = EVERY_DAY

    @property
    def window(self) -> LevelWindow:
        return LevelWindow(self.from_s, self.to_s, self.level, self.weekdays)


class EventDocument(Document):
    """Extra demand for a time."""

    at_s: Annotated[int, Moment(_("Begin"), _("ISO 8601 with zone"))] = Field(alias="at")
    duration_s: Annotated[int, WholeNumber(_("Length"), "s", low=1, high=366 * DAY_S)]
    level: Annotated[float, Float(_("Added"), UNIT, high=MOST_UNITS)]


class DemandDocument(Document):
    """Demand over time."""

    switch: ClassVar[str] = "kind"

    kind: Annotated[str, Word(_("How it is stated"), label=_("Demand"), choices=DEMANDS)]
    unit: Annotated[str, Text(_("What it is counted in; a label"), label=_("Unit"))] = "units"
    time_zone: Annotated[
        str,
        Zone(
            _("Wall clock of windows and cycles, with its summer time"),
            label=_("Time zone"),
            when=(DAILY, COMPOSED),
        ),
    ] = "UTC"
    base: Annotated[
        Decimal,
        UnitNumber(
            _("Outside the windows"),
            UNIT,
            label=_("Level outside the time windows"),
            when=(DAILY,),
            high=MOST_UNITS,
        ),
    ] = Decimal(0)
    windows: Annotated[
        tuple[DemandWindow, ...],
        Many(_("Hours of the day at another level; the highest wins"), when=(DAILY,), high=200),
    ] = ()
    points: Annotated[
        Any,
        Points(
            _(
                "[time, value] pairs, at most {most_points}; each holds until the next",
                most_points=number(f"{MOST_POINTS:,}"),
            ),
            when=(TRACE,),
        ),
    ] = None
    level: Annotated[
        float,
        Float(
            _("Mean before growth and noise"),
            UNIT,
            label=_("Level"),
            when=(COMPOSED,),
            is_needed=True,
            high=MOST_UNITS,
        ),
    ] = 0.0
    growth_per_month: Annotated[
        float,
        Float(
            _("Growth in 730 hours"),
            _("ratio"),
            label=_("Growth a month"),
            when=(COMPOSED,),
            low="-1",
            high="10",
        ),
    ] = 0.0
    noise_cv: Annotated[
        float,
        Float(
            _("Spread of a log-normal factor in each step"),
            CV,
            label=_("Noise"),
            when=(COMPOSED,),
            high="10",
        ),
    ] = 0.0
    seed: Annotated[
        int,
        WholeNumber(
            _("The same seed gives the same noise"),
            label=_("Seed of the noise"),
            when=(COMPOSED,),
            high=MOST_SEED,
        ),
    ] = 0
    daily: Annotated[
        tuple[float, ...],
        FactorList(
            _("24 factors, one an hour of the day"),
            _("ratio"),
            label=_("Factors of the 24 hours"),
            when=(COMPOSED,),
            count=24,
        ),
    ] = (1.0,) * 24
    weekly: Annotated[
        tuple[float, ...],
        FactorList(
            _("7 factors from Monday on"),
            _("ratio"),
            label=_("Factors from Monday on"),
            when=(COMPOSED,),
            count=7,
        ),
    ] = (1.0,) * 7
    events: Annotated[
        tuple[EventDocument, ...],
        Many(_("What comes on top for a time"), label=_("Events"), when=(COMPOSED,)),
    ] = ()
    csv: Annotated[
        str | None,
        Csv(
            _("timestamp,value lines instead of points"), label=_("Times and values"), when=(TRACE,)
        ),
    ] = None

    remarks: Annotated[
        tuple[str, ...] | None,
        Remarks(
            _("What the source says of its own completeness, and its gaps; null looks for gaps"),
            label=_("Remarks on the recording"),
            when=(TRACE,),
        ),
    ] = None

    @cached_property
    def trace(self) -> DemandTrace:
        """The recorded demand; InvalidValue names the point."""
        if self.points is not None:
            return trace_from_points(self.points)
        return csv_trace((self.csv or "").splitlines())

    def faults(self) -> Faults:
        if self.kind != TRACE:
            return
        if (self.points is None) == (self.csv is None):
            yield "points", "exactly one of points and csv is needed"
        elif self.points is not None and not 1 <= len(self.points) <= MOST_POINTS:
            yield "points", f"a list of 1 to {MOST_POINTS} is needed"
        else:
            try:
                self.trace  # noqa: B018
            except InvalidValue as error:
                yield error.field, error.detail
