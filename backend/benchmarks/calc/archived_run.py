"""A finished run as one JSON document: its facts, samples and events, and every raw output."""

import base64
import datetime as dt
import hashlib
import json
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
)

from backend.foundation.documents.model import pointer
from backend.foundation.errors import DomainError
from backend.foundation.reading.texts import why_not_kept

SCHEMA = 2
MAX_OBJECT_CHARACTERS = 100_000
# The most that an integer column of the database takes.
MAX_NUMBER = 2**31 - 1
OLDEST = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)


class ArchiveRefused(DomainError):
    """The file is no archive of a run, is damaged, or was changed; nothing of it is kept."""


def _check_numbers(value: dict[str, Any]) -> dict[str, Any]:
    json.dumps(value, allow_nan=False)
    return value


def _check_size(value: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(value)) > MAX_OBJECT_CHARACTERS:
        raise ValueError(f"it is larger than {MAX_OBJECT_CHARACTERS} characters")
    return value


def _check_time(moment: dt.datetime, info: ValidationInfo) -> dt.datetime:
    if moment < OLDEST or (info.context and moment > info.context["latest"]):
        raise ValueError("it is not between 2000 and now")
    return moment


Text20 = Annotated[str, Field(max_length=20)]
LongText = Annotated[str, Field(max_length=10_000)]
Count = Annotated[int, Field(ge=0, le=MAX_NUMBER)]
# Databases keep no NaN, which readers of JSON take.
Object = Annotated[dict[str, Any], AfterValidator(_check_numbers)]
Values = Annotated[Object, AfterValidator(_check_size)]
Moment = Annotated[AwareDatetime, AfterValidator(_check_time)]


class _ArchivedPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class RunFacts(_ArchivedPart):
    """The request of a run, its times, and how it ended."""

    id: UUID
    profile: Annotated[str, Field(max_length=10)]
    probes: list[Text20] | None
    parameters: Values
    state: Literal["done", "failed", "cancelled", "lost"]
    created_at: Moment
    started_at: Moment | None
    finished_at: Moment | None
    runner_s: Annotated[float, Field(ge=0)] | None
    failure_reason: Text20
    failure_detail: LongText


class ArchivedHost(_ArchivedPart):
    """The machine; its id keeps repeats of one machine together, and no address goes out."""

    id: UUID
    name: Annotated[str, Field(max_length=100)]
    facts: Object


class PriceFacts(_ArchivedPart):
    """The price in force, as it was quoted."""

    amount: Text20
    currency: Text20
    unit: Text20
    purchase_model: Text20
    setup: str | None
    tax_basis: Text20
    source: LongText
    observed_at: Moment


class SampleEntry(_ArchivedPart):
    """A figure, and the number of the output that it was read from."""

    metric: str
    variant: str
    repeat: Count
    value: float
    unit: str
    parameters: Values
    flags: list[Text20]
    evidence: Annotated[int, Field(ge=1)]
    measured_at: Moment
    method_version: Annotated[str, Field(max_length=80)]
    excluded_reason: Annotated[str, Field(max_length=300)]

    @property
    def key(self) -> tuple[str, str, int]:
        return self.metric, self.variant, self.repeat


class EventEntry(_ArchivedPart):
    """A step of the run."""

    at: Moment
    kind: Annotated[str, Field(max_length=30)]
    detail: LongText


class EvidenceEntry(_ArchivedPart):
    """A command with its complete output: as text, or in base64 where it is no UTF-8."""

    n: Annotated[int, Field(ge=1, le=MAX_NUMBER)]
    probe: Text20
    variant: Annotated[str, Field(max_length=40)]
    repeat: Count
    command: LongText
    tool_version: Annotated[str, Field(max_length=100)]
    conditions: Values
    series: Object | None
    exit_code: Count | None
    error: LongText
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    text: str | None = None
    base64: str | None = None

    @property
    def raw(self) -> bytes:
        """The output. Raises ArchiveRefused where it is not the one of its checksum."""
        try:
            raw = base64.b64decode(self.base64 or "") if self.text is None else self.text.encode()
        except ValueError:
            raw = b""
        if hashlib.sha256(raw).hexdigest() != self.sha256:
            raise ArchiveRefused(f"the output of evidence {self.n} does not match its checksum")
        return raw


class ArchivedRun(_ArchivedPart):
    """Everything of a run."""

    schema_version: Literal[2] = Field(alias="schema")
    run: RunFacts
    host: ArchivedHost
    offer: Object
    price: PriceFacts | None
    samples: Annotated[list[SampleEntry], Field(max_length=100_000)]
    events: Annotated[list[EventEntry], Field(max_length=10_000)]
    evidence: Annotated[list[EvidenceEntry], Field(max_length=10_000)]


def read_run(content: bytes, *, latest: dt.datetime) -> ArchivedRun:
    """The document of a run, whose times are not after `latest`. Raises ArchiveRefused naming the
    first field that is wrong."""
    try:
        document = ArchivedRun.model_validate_json(content, context={"latest": latest})
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise ArchiveRefused(f"{pointer(first['loc'])}: {first['msg']}".lstrip(": ")) from None
    texts = {"evidence": {"__all__": {"text", "base64"}}}
    if why := why_not_kept(document.model_dump(mode="json", exclude=texts)):
        raise ArchiveRefused(why)
    return document


def write_output(raw: bytes) -> dict[str, str]:
    """An output as an entry has it."""
    try:
        return {"text": raw.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(raw).decode()}
