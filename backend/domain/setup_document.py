"""What people keep in one YAML file: hosts, campaigns, schedules and subscriptions by their names."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any

import yaml

from backend.domain.decimals import read_decimal
from backend.domain.documents.model import Document
from backend.domain.documents.values import (
    PLAIN,
    JsonSchema,
    Many,
    Object,
    Text,
    Value,
    Version,
    WholeNumber,
    Word,
    Zone,
    fault,
)
from backend.domain.errors import InvalidDocument

MAX_FILE_BYTES = 1_000_000
# A file of a few lines may nest so deep that reading it never ends.
MAX_LEVELS = 20
MAX_PORT = 65_535
KINDS = ("cloud", "vps", "dedicated", "onprem")


@dataclass(frozen=True)
class YesNo(Value):
    """true or false."""

    def read(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise fault("true or false is needed")
        return value

    def schema(self) -> JsonSchema:
        return {"type": "boolean"}


@dataclass(frozen=True)
class Values(Value):
    """Values by their names, which are checked where they are used."""

    def read(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
            raise fault("names with a value each are needed")
        return value

    def schema(self) -> JsonSchema:
        return {"type": "object"}


@dataclass(frozen=True)
class BudgetAmount(Value):
    """A decimal above zero."""

    def read(self, value: Any) -> Decimal:
        amount = read_decimal(value)
        if amount is None or amount <= 0:
            raise fault("an amount above zero, such as 12.50, is needed")
        return amount

    def schema(self) -> JsonSchema:
        return PLAIN


class HostEntry(Document):
    """A host to log in to by Rackrate's own key or the one that it was given; no secret stands here."""

    name: Annotated[str, Text("What it is called", most=100)]
    address: Annotated[str, Text("Name or IP address", most=255)]
    port: Annotated[int, WholeNumber("Of its SSH server", low=1, high=MAX_PORT)] = 22
    username: Annotated[str, Text("Who logs in", most=64)]
    bastion: Annotated[str | None, Text("Name of the host that it is reached through")] = None
    tags: Annotated[list[Annotated[str, Text(most=40)]], Many("Words to find it by")] = []
    is_in_production: Annotated[bool, YesNo("Whether others need it")] = False
    kind: Annotated[str, Word("Of its own offer, when it is made", choices=KINDS)] = "dedicated"


class BudgetEntry(Document):
    """The most that a round may cost."""

    amount: Annotated[Decimal, BudgetAmount("In the currency below")]
    currency: Annotated[str, Text("Such as EUR", most=3)]


class CampaignEntry(Document):
    """Hosts × a profile × a budget."""

    name: Annotated[str, Text("What it is called", most=100)]
    hosts: Annotated[list[Annotated[str, Text()]], Many("Names of hosts", high=500)] = []
    offers: Annotated[list[Annotated[str, Text()]], Many("Slugs of machines to rent")] = []
    profile: Annotated[str, Text("quick, standard or full", most=10)]
    probes: Annotated[list[Annotated[str, Text()]] | None, Many("All of the profile when left out")] = None  # fmt: skip
    parameters: Annotated[dict[str, Any], Values("Of the runs")] = {}
    repeats: Annotated[int, WholeNumber("Runs of each machine", low=1)] = 1
    concurrency: Annotated[int, WholeNumber("Runs at a time", low=1)] = 4
    budget: Annotated[BudgetEntry | None, Object("Needed for machines to rent", is_nullable=True)] = None  # fmt: skip
    install_tools: Annotated[bool | None, YesNo("Whether missing tools are installed")] = None
    network_pairs: Annotated[str, Text("none, ring or all", most=5)] = "none"


class WindowEntry(Document):
    """The maintenance window in the time zone."""

    start: Annotated[str, Text("HH:MM", most=8)]
    end: Annotated[str, Text("HH:MM", most=8)]


class ScheduleEntry(Document):
    """When a campaign starts by itself."""

    campaign: Annotated[str, Text("Name of the campaign")]
    cron: Annotated[str | None, Text("A cron line", most=100)] = None
    every_s: Annotated[int | None, WholeNumber("Seconds between starts", low=1)] = None
    time_zone: Annotated[str, Zone("Such as Europe/Berlin")] = "UTC"
    window: Annotated[WindowEntry | None, Object("At any time when left out", is_nullable=True)] = None  # fmt: skip
    is_enabled: Annotated[bool, YesNo()] = True


class SubscriptionEntry(Document):
    """A recipient of notices."""

    channel: Annotated[str, Text("email or webhook", most=20)]
    address: Annotated[str, Text("Where notices go", most=500)]
    kinds: Annotated[list[Annotated[str, Text()]], Many("Kinds of notices", low=1)]
    campaign: Annotated[str | None, Text("Of one campaign, or of all")] = None
    is_enabled: Annotated[bool, YesNo()] = True
    secret_env: Annotated[str | None, Text("Variable with the secret that signs", most=100)] = None


class SetupDocument(Document):
    """All of it; a part that is left out is not compared, and nothing of it is deleted."""

    schema_version: Annotated[int, Version("Of this document")] = 1
    hosts: Annotated[list[HostEntry] | None, Many("Hosts", high=5000)] = None
    campaigns: Annotated[list[CampaignEntry] | None, Many("Campaigns")] = None
    schedules: Annotated[list[ScheduleEntry] | None, Many("Schedules")] = None
    subscriptions: Annotated[list[SubscriptionEntry] | None, Many("Subscriptions")] = None


@dataclass(frozen=True)
class SetupFile:
    """A document, and the line of each of its fields by JSON pointer."""

    document: SetupDocument
    lines: dict[str, int]

    def line_of(self, pointer: str) -> int:
        """Of the field, or of the nearest thing around it that is written."""
        while pointer and pointer not in self.lines:
            pointer = pointer.rpartition("/")[0]
        return self.lines.get(pointer, 1)


def read_setup(text: str) -> SetupFile:
    """The file; InvalidDocument has every fault under `line N`."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        lines = _lines(root, "", 0) if root is not None else {}
        content = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise InvalidDocument(
            [(f"line {mark.line + 1 if mark else 1}", str(error.problem))]
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidDocument([("line 1", f"not YAML: {error}")]) from error
    try:
        document = SetupDocument.read({} if content is None else content)
    except InvalidDocument as error:
        raise lined(error.errors, lines) from error
    return SetupFile(document, lines)


def lined(errors: list[tuple[str, str]], lines: dict[str, int]) -> InvalidDocument:
    """The same faults with their lines, in the order of the file; as they are where no lines are known."""
    if not lines:
        return InvalidDocument(errors)
    by_line = sorted(
        (SetupFile(SetupDocument(), lines).line_of(pointer), pointer, detail)
        for pointer, detail in errors
    )
    return InvalidDocument(
        [(f"line {line}", f"{pointer or '/'}: {detail}") for line, pointer, detail in by_line]
    )


def _lines(node: yaml.Node, pointer: str, level: int) -> dict[str, int]:
    if level > MAX_LEVELS:
        raise ValueError(f"more than {MAX_LEVELS} levels")
    lines = {pointer: node.start_mark.line + 1}
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            lines |= _lines(item, f"{pointer}/{index}", level + 1)
    elif isinstance(node, yaml.MappingNode):
        seen = set()
        for key, value in node.value:
            # The last one would silently win.
            if key.value in seen:
                raise yaml.MarkedYAMLError(
                    problem=f"{key.value!r} stands twice", problem_mark=key.start_mark
                )
            seen.add(key.value)
            lines |= _lines(value, f"{pointer}/{key.value}", level + 1)
            lines[f"{pointer}/{key.value}"] = key.start_mark.line + 1
    return lines
