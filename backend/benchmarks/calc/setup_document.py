"""The content of a set-up file: hosts, campaigns, schedules and subscriptions by their names."""

from dataclasses import dataclass
from typing import Annotated

import yaml

from backend.benchmarks.calc.campaign_document import CampaignEntry
from backend.benchmarks.calc.host_document import HostEntry
from backend.benchmarks.calc.schedules import ScheduleEntry
from backend.foundation.documents.model import Document
from backend.foundation.documents.values import (
    Flag,
    Many,
    Text,
    Version,
)
from backend.foundation.errors import InvalidDocument

MAX_FILE_BYTES = 1_000_000
# A file of a few lines may nest so deep that reading it never ends.
MAX_LEVELS = 20


class SubscriptionEntry(Document):
    """A recipient of notices."""

    channel: Annotated[str, Text("email or webhook", most=20)]
    address: Annotated[str, Text("Where notices go", most=500)]
    kinds: Annotated[list[Annotated[str, Text()]], Many("Kinds of notices", low=1)]
    campaign: Annotated[str | None, Text("Of one campaign, or of all")] = None
    is_enabled: Annotated[bool, Flag()] = True
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
        """Line of the field, or of the nearest thing around it that is written."""
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
        raise with_lines(error.errors, lines) from error
    return SetupFile(document, lines)


def with_lines(errors: list[tuple[str, str]], lines: dict[str, int]) -> InvalidDocument:
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
