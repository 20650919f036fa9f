"""Reads and checks the archive of a run: checksums, and every raw output once more."""

import datetime as dt
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn
from uuid import UUID

from backend.benchmarks.models import TERMINAL_STATES
from backend.benchmarks.selectors.archive import RUN, SCHEMA
from backend.benchmarks.services.archive_members import ArchiveRefused, members
from backend.common import clock
from backend.domain.errors import ProbeError
from backend.domain.parsing import ParsedSample
from backend.domain.parsing.document import Node, read_document
from backend.domain.parsing.texts import why_not_kept
from backend.domain.repeats import reparse

# Another version may round a last digit otherwise; a figure that was changed is further off.
SAME = 1e-9
MAX_OBJECT = 100_000
# The most that an integer column of the database takes.
MAX_NUMBER = 2**31 - 1
OLDEST = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)

Key = tuple[str, str, int]


@dataclass(frozen=True)
class ArchivedEvidence:
    """A command of the archive: its document, its raw text, and what that says today."""

    document: Node
    raw: bytes
    series: Mapping[str, Any] | None
    samples: Sequence[ParsedSample]

    @property
    def n(self) -> int:
        return self.document.count("n", minimum=1)

    @property
    def repeat(self) -> int:
        return within_limit(self.document, "repeat")


@dataclass(frozen=True)
class Taken:
    """A whole archive, checked; nothing is stored yet."""

    root: Node
    run_id: UUID
    items: Sequence[ArchivedEvidence]
    samples: Mapping[Key, Node]


def read_archive(content: bytes) -> Taken:
    """Content of an archive, checked from end to end; raises ArchiveRefused naming what is wrong."""
    try:
        return _read_content(members(content))
    except ProbeError as error:
        raise ArchiveRefused(str(error)) from error


def _document(members: Mapping[str, bytes], name: str) -> Node:
    try:
        text = members[name].decode()
    except UnicodeDecodeError as error:
        raise ArchiveRefused(f"{name} is not UTF-8") from error
    root = read_document(name, text).root
    why = why_not_kept(dict(root.fields))
    if why is not None:
        root.fail(why)
    return root


def _read_content(members: Mapping[str, bytes]) -> Taken:
    root = _document(members, RUN)
    if root.count("schema") != SCHEMA:
        root.fail(f"schema {root.fields['schema']} is unknown to this version")
    run = root.node("run")
    if run.text("state") not in TERMINAL_STATES:
        run.fail(f"state {run.text('state')!r} is not a final one")
    samples: dict[Key, Node] = {}
    for sample in root.nodes("samples"):
        key = sample.text("metric"), sample.text("variant"), within_limit(sample, "repeat")
        if key in samples:
            sample.fail(f"{_result_name(key)} is there twice")
        samples[key] = sample
    names = sorted(name for name in members if name.startswith("evidence/"))
    stems = sorted({name.rpartition(".")[0] for name in names})
    with_samples = {sample.count("evidence", minimum=1) for sample in samples.values()}
    items = [_item(members, stem, with_samples) for stem in stems]
    # Samples name their evidence by number, so a number must lead to one text.
    if len({item.n for item in items}) != len(items):
        raise ArchiveRefused("two files of evidence have the same number")
    for name in members:
        if name.startswith("series/") and f"evidence/{name[7:]}" not in members:
            raise ArchiveRefused(f"{name} belongs to no evidence")
    _compare(items, samples)
    return Taken(root, identifier(run, "id"), items, samples)


def _item(members: Mapping[str, bytes], stem: str, with_samples: set[int]) -> ArchivedEvidence:
    for name in (f"{stem}.txt", f"{stem}.json"):
        if name not in members:
            raise ArchiveRefused(f"{name} is missing")
    document, raw = _document(members, f"{stem}.json"), members[f"{stem}.txt"]
    number = document.count("n", minimum=1)
    probe, variant, repeat = (
        document.text("probe"),
        document.text("variant"),
        within_limit(document, "repeat"),
    )
    if stem != f"evidence/{number:03d}-{probe}-{variant}-{repeat}":
        document.fail("it is not the one that its file is named for")
    if document.text("sha256") != hashlib.sha256(raw).hexdigest():
        document.fail("the raw output does not match its checksum")
    series = f"series/{stem.partition('/')[2]}.json"
    has_ended = document.fields.get("exit_code") == 0
    # A command that failed has nothing to be compared; its text is kept all the same.
    is_read = number in with_samples or (has_ended and not document.fields.get("error"))
    return ArchivedEvidence(
        document,
        raw,
        _document(members, series).fields if series in members else None,
        _parse_again(f"{stem}.txt", probe, variant, raw) if is_read else (),
    )


def _parse_again(name: str, probe: str, variant: str, raw: bytes) -> list[ParsedSample]:
    try:
        return reparse(probe, variant, raw.decode())
    except (ProbeError, UnicodeDecodeError) as error:
        raise ArchiveRefused(f"{name} cannot be read by this version: {error}") from error


def _compare(items: Sequence[ArchivedEvidence], samples: Mapping[Key, Node]) -> None:
    """The samples stated must be those that the raw outputs hold, no more and no fewer."""
    missing = dict(samples)
    seen: set[Key] = set()
    for item in items:
        for sample in item.samples:
            key = sample.metric, sample.variant, item.repeat
            if key in seen:
                continue
            seen.add(key)
            node = missing.pop(key, None)
            if node is None:
                raise ArchiveRefused(f"{_result_name(key)} is in the raw output and not in {RUN}")
            _compare_one(key, item, sample, node)
    if missing:
        raise ArchiveRefused(f"{_result_name(min(missing))} is in {RUN} and in no raw output")


def _compare_one(key: Key, item: ArchivedEvidence, sample: ParsedSample, node: Node) -> None:
    if node.count("evidence") != item.n:
        node.fail(f"{_result_name(key)} belongs to evidence {item.n}")
    value = node.number("value")
    if not math.isclose(value, sample.value, rel_tol=SAME) or node.text("unit") != sample.unit:
        node.fail(
            f"{_result_name(key)} is {value!r} {node.text('unit')}, "
            f"and the raw output says {sample.value!r} {sample.unit}"
        )


def _result_name(key: Key) -> str:
    metric, variant, repeat = key
    return f"{metric} {variant}, repeat {repeat},"


def within_limit(node: Node, key: str) -> int:
    value = node.count(key)
    if value > MAX_NUMBER:
        node.fail(f"{key} is too large")
    return value


def short(node: Node, key: str, most: int) -> str:
    value = node.fields.get(key)
    if not isinstance(value, str) or len(value) > most:
        node.fail(f"{key} is missing, no text, or longer than {most} characters")
    return value


def words(node: Node, key: str) -> list[str]:
    value = node.fields.get(key)
    if not isinstance(value, list) or not all(isinstance(w, str) and len(w) <= 20 for w in value):
        node.fail(f"{key} is missing, or no list of words")
    return value


def small_object(node: Node, key: str) -> dict[str, Any]:
    value = node.node(key).fields
    if len(json.dumps(value)) > MAX_OBJECT:
        node.fail(f"{key} is larger than {MAX_OBJECT} characters")
    return dict(value)


def identifier(node: Node, key: str) -> UUID:
    try:
        return UUID(node.text(key))
    except ValueError:
        _fail(node, f"{key} is not a UUID")


def moment_of(node: Node, key: str) -> dt.datetime:
    try:
        moment = dt.datetime.fromisoformat(node.text(key))
    except ValueError:
        _fail(node, f"{key} is not a time")
    # The clock of another site may run ahead of ours.
    latest = clock.now() + dt.timedelta(days=1)
    if moment.tzinfo is None or not OLDEST <= moment <= latest:
        node.fail(f"{key} has no zone, or is not between 2000 and now")
    return moment


def _fail(node: Node, detail: str) -> NoReturn:
    node.fail(detail)
