"""A campaign, and a run, as people state it: the one description for API, files, forms and stored rows."""

from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from backend.benchmarks.calc.money_document import Limit
from backend.foundation.documents.model import Document, Faults
from backend.foundation.documents.stored_values import Identifier, Values
from backend.foundation.documents.values import (
    Flag,
    Many,
    Text,
    WholeNumber,
    Word,
)
from backend.measure.profiles import PROFILES
from backend.providers.rentals import Budget

MAX_REPEATS = 50
MAX_CONCURRENCY = 10_000
MAX_MACHINES = 10_000
MAX_SLUG_LENGTH = 120
MAX_PROBE_LENGTH = 20
INSTALL_MEANING = "Missing tools are installed; left out: on machines to rent, and on no hosts"
PAIRS_MEANING = (
    "ring: each to the next; all: each to every other, hosts among themselves and offers among "
    "themselves; twins: each offer with a second machine of it"
)


class NetworkPairs(StrEnum):
    """Machines whose network is measured with each other."""

    NONE = "none"
    RING = "ring"
    ALL = "all"
    # Machines to rent can be had twice.
    TWINS = "twins"


class MeasureFields(Document):
    """Fields of a run and of a campaign."""

    profile: Annotated[str, Word("How thoroughly it is measured", choices=tuple(PROFILES))]
    probes: Annotated[
        list[Annotated[str, Text(most=MAX_PROBE_LENGTH)]] | None,
        Many("All of the profile when left out"),
    ] = None
    parameters: Annotated[dict[str, Any], Values("Of the runs")] = {}
    budget: Annotated[Budget | None, Limit("The most that a run, or a round, may cost")] = None


class RunDocument(MeasureFields):
    """A run of one profile, on exactly one of a host and an offer; a machine of the offer is rented
    for it, within the budget."""

    host: Annotated[UUID | None, Identifier("Identifier of the host")] = None
    offer: Annotated[str | None, Text("Slug of a machine to rent", most=MAX_SLUG_LENGTH)] = None
    labels: Annotated[dict[str, Any], Values("Words that it is called by")] = {}

    def faults(self) -> Faults:
        if (self.host is None) == (self.offer is None):
            yield "host", "exactly one of host and offer is needed"
        elif self.offer is not None and self.budget is None:
            yield "budget", "an offer to rent needs a budget"


class CampaignFields(MeasureFields):
    """Everything but the hosts, which files name and others identify. Machines to rent need a
    budget; the parameters purchase_model and lifetime_s are theirs."""

    offers: Annotated[
        list[Annotated[str, Text(most=MAX_SLUG_LENGTH)]],
        Many("Slugs of machines to rent", high=MAX_MACHINES),
    ] = []
    repeats: Annotated[int, WholeNumber("Runs of each machine", low=1, high=MAX_REPEATS)] = 1
    concurrency: Annotated[int, WholeNumber("Runs at a time", low=1, high=MAX_CONCURRENCY)] = 4
    install_tools: Annotated[bool | None, Flag(INSTALL_MEANING)] = None
    network_pairs: Annotated[str, Word(PAIRS_MEANING, choices=tuple(NetworkPairs))] = "none"


# Fields that a row of a campaign has under the same names.
STORED = tuple(name for name in CampaignFields.model_fields if name != "offers")


class CampaignPlan(CampaignFields):
    """The machines of a campaign and how they are measured."""

    hosts: Annotated[
        list[Annotated[UUID, Identifier()]], Many("Identifiers of hosts", high=MAX_MACHINES)
    ] = []

    def differs_in(self, other: "CampaignPlan") -> list[str]:
        """Fields of a plan in which two are not alike; the order of a list means nothing."""
        return [
            name
            for name in CampaignPlan.model_fields
            if _ignore_order(getattr(self, name)) != _ignore_order(getattr(other, name))
        ]


def _ignore_order(value: object) -> object:
    return {repr(each) for each in value} if isinstance(value, list) else value


class CampaignDocument(CampaignPlan):
    """Hosts and offers to rent × a profile × a budget; `network_pairs` also measures between the
    hosts, and between machines of the offers, of which two more are rented for each pair."""

    name: Annotated[str, Text("What it is called", most=100)]


class CampaignEntry(CampaignFields):
    """Hosts × a profile × a budget, in a file."""

    name: Annotated[str, Text("What it is called", most=100)]
    hosts: Annotated[list[Annotated[str, Text()]], Many("Names of hosts", high=500)] = []
