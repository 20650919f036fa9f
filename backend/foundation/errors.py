"""Errors of the domain.

DomainError
├── InvalidValue(field, detail)          an input outside its range, or an unknown key
├── InvalidDocument(errors)              all such inputs of one document
├── InsufficientSamples(needed, found)   too few values for the statistic asked for
├── UnknownRate(currency)                no exchange rate stored for a currency
└── ProbeError(tool, detail, line)       a tool's output that cannot be read as a result

DriverError(reason, detail, retryable)   a provider or a machine did not do what it was asked
"""

from collections.abc import Sequence
from enum import StrEnum

from backend.foundation.printable import printable_line


class Reason(StrEnum):
    """Why a step failed; the closed list that a run, the API and the logs share."""

    QUOTA = "quota"
    CAPACITY = "capacity"
    AUTH = "auth"
    UNSUPPORTED = "unsupported"
    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    UNREACHABLE = "unreachable"
    DISK_FULL = "disk_full"
    REBOOTED = "rebooted"
    BUG = "bug"


class DomainError(Exception):
    """The root of every error that the domain raises on purpose."""


class InvalidValue(DomainError):
    """An input that has no meaning; `field` names it as the caller does."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail
        # As those of a document.
        self.errors = [(field, detail)]


class InvalidDocument(DomainError):
    """Every input of a document that has no meaning: pairs of JSON pointer and what is wrong."""

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{field}: {detail}" for field, detail in errors))
        self.errors = list(errors)


class InsufficientSamples(DomainError):
    """A statistic was asked of fewer values than it needs."""

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(f"{needed} or more samples are needed, {available} found")
        self.needed = needed
        self.available = available


class UnknownRate(DomainError):
    """A conversion needs an exchange rate that is not stored."""

    def __init__(self, currency: str) -> None:
        super().__init__(f"no exchange rate is known for {currency}")
        self.currency = currency


class ProbeError(DomainError):
    """The output of `tool` is truncated, unknown or impossible; `line` counts from 1."""

    def __init__(self, tool: str, detail: str, line: int | None = None) -> None:
        detail = printable_line(detail)
        position = "" if line is None else f" (line {line})"
        super().__init__(f"{tool}: {detail}{position}")
        self.tool = tool
        self.detail = detail
        self.line = line


class DriverError(Exception):
    """A provider or a machine did not do what it was asked; `detail` holds no secret.

    Details quote what machines say, so control characters leave them here, once for all.
    """

    def __init__(
        self, reason: Reason, detail: str, *, retryable: bool, proves_none: bool = False
    ) -> None:
        detail = printable_line(detail)
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail
        self.retryable = retryable
        self.proves_none = proves_none
        """True if the provider showed that no earlier call of the launch left a machine either."""
