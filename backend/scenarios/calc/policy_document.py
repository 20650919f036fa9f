"""The rule by which servers follow the demand, as the document of a scenario states it."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar

from pydantic import Field

from backend.foundation.documents.model import Document, Faults
from backend.foundation.documents.values import Many, Number, WholeNumber, Word, Zone
from backend.foundation.texts import text as _
from backend.scenarios.calc.demand_document import DemandWindow
from backend.scenarios.calc.document_values import (
    MOST_SERVERS,
    OWN,
    ZERO,
    Ratio,
    Seconds,
    UnitNumber,
)

POLICIES = {
    "perfect": _("Perfect: what is needed, at once"),
    "fixed": _("A fixed number"),
    "scheduled": _("By the clock"),
    "hpa": _("Windows, as Kubernetes scales"),
    "cluster_autoscaler": _("Cluster autoscaler"),
    "target_tracking": _("Target tracking"),
    "step": _("One step up or down"),
    "predictive": _("Ahead of the demand"),
}


class PolicyWindow(DemandWindow):
    """Hours of the day with another number of servers."""

    level: Annotated[
        Decimal,
        UnitNumber(
            _("In place of the base, also when lower"),
            _("servers"),
            label=_("Level"),
            high=str(MOST_SERVERS),
        ),
    ]


class Policy(Document):
    """How servers follow the demand. Which fields count depends on the kind."""

    switch: ClassVar[str] = "kind"

    kind: Annotated[
        str, Word(_("Which rule starts and ends servers"), label=_("Policy"), choices=POLICIES)
    ] = "perfect"
    min_servers: Annotated[
        int,
        WholeNumber(
            _("Minimum of the whole fleet"),
            _("servers"),
            label=_("Fewest servers"),
            high=MOST_SERVERS,
        ),
    ] = Field(0, alias="min")
    max_servers: Annotated[
        int | None,
        WholeNumber(
            _("Maximum of the whole fleet; none by default"),
            _("servers"),
            label=_("Most servers"),
            high=MOST_SERVERS,
        ),
    ] = Field(None, alias="max")
    quota: Annotated[
        int | None,
        WholeNumber(
            _("Maximum of elastic servers that the provider gives; none by default"),
            _("servers"),
            label=_("Quota of elastic servers"),
            high=MOST_SERVERS,
        ),
    ] = None
    warmup_s: Annotated[
        float,
        Seconds(
            _("From launch to service; billed"),
            label=_("Start of a server"),
            source=_("our assumption: at once. Measured starts: see the metric boot_time_s"),
        ),
    ] = 0.0
    lag_s: Annotated[
        float,
        Seconds(
            _("How old the demand is that the rule sees"),
            label=_("Lag of the measurement"),
            source=_("our assumption: none. Metrics of providers come every 60 s"),
        ),
    ] = 0.0
    count: Annotated[
        int,
        WholeNumber(
            _("Servers"),
            _("servers"),
            label=_("Servers"),
            when=("fixed",),
            is_needed=True,
            high=MOST_SERVERS,
        ),
    ] = 0
    time_zone: Annotated[
        str, Zone(_("Wall clock of the windows"), label=_("Time zone"), when=("scheduled",))
    ] = "UTC"
    base: Annotated[
        Fraction,
        Number(
            _("Outside the windows"),
            _("servers"),
            label=_("Servers outside the windows"),
            when=("scheduled",),
            high=str(MOST_SERVERS),
        ),
    ] = ZERO
    windows: Annotated[
        tuple[PolicyWindow, ...],
        Many(
            _("Hours of the day at another level; the highest wins"), when=("scheduled",), high=200
        ),
    ] = ()
    out_window_s: Annotated[
        float,
        Seconds(
            _("The need must have been there so long before servers start"),
            label=_("Window before servers start"),
            when=("hpa",),
            source="Kubernetes: no stabilisation when scaling up",
        ),
    ] = 0.0
    in_window_s: Annotated[
        float,
        Seconds(
            _("… and away so long before they end"),
            label=_("Window before servers end"),
            when=("hpa",),
            source="Kubernetes: stabilisation of 300 s when scaling down",
        ),
    ] = 300.0
    out_delay_s: Annotated[
        float,
        Seconds(
            _("The need must have been there so long before servers start"),
            label=_("Wait before servers start"),
            when=("cluster_autoscaler",),
            source="Cluster Autoscaler: at once",
        ),
    ] = 0.0
    in_delay_s: Annotated[
        float,
        Seconds(
            _("… and away so long before they end"),
            label=_("Wait before servers end"),
            when=("cluster_autoscaler",),
            source="Cluster Autoscaler: unneeded for 10 minutes",
        ),
    ] = 600.0
    target: Annotated[
        Fraction,
        Ratio(
            _("Use that is aimed at; by default the target utilisation"),
            is_derived=True,
            label=_("Target of the policy"),
            when=("target_tracking", "step"),
            is_above=True,
        ),
    ] = Fraction(1)
    cooldown_s: Annotated[
        float,
        Seconds(
            _("Pause after a change"),
            label=_("Cool-down"),
            when=("target_tracking", "step"),
            source="EC2 Auto Scaling: default cooldown of 300 s",
        ),
    ] = 300.0
    in_below: Annotated[
        Fraction,
        Ratio(
            _("One server fewer below this use"),
            label=_("One server fewer below"),
            when=("step",),
            source=OWN,
        ),
    ] = Fraction(2, 5)
    lead_s: Annotated[
        float,
        Seconds(_("How far ahead the need is known"), label=_("Known ahead"), when=("predictive",)),
    ] = 0.0

    def faults(self) -> Faults:
        if self.max_servers is not None and self.min_servers > self.max_servers:
            yield "min", f"{self.min_servers} is above max, {self.max_servers}"
