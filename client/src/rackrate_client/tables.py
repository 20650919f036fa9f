"""Lists of the API as tables, and as data frames where pandas is installed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Generic, TypeVar

import attrs

from rackrate_client.generated.types import Unset

Row = TypeVar("Row")
EXACT_KIND = "decimal"
TIME_KINDS = frozenset({"date", "time"})


@dataclass(frozen=True)
class Rows(Generic[Row]):
    """All rows of a list, as they were in one version of the data.

    `kinds` names the kind of each column where it is known; unknown values are None.
    """

    rows: Sequence[Row]
    warnings: Sequence[str] = ()
    basis: Mapping[str, Any] = field(default_factory=dict)
    data_version: int | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def records(self) -> list[dict[str, Any]]:
        """Each row as column → value; amounts are Decimal."""
        return [
            {name: self._value(name, value) for name, value in plain(row).items()}
            for row in self.rows
        ]

    def to_frame(self, *, exact: bool = False) -> Any:
        """A pandas.DataFrame; amounts are floats, or Decimal where `exact` asks for it."""
        try:
            import pandas as pd  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise ImportError(
                "data frames need pandas: pip install 'rackrate-client[pandas]'"
            ) from None
        columns = None if self.rows else list(self.kinds)
        frame = pd.DataFrame(self.records(), columns=columns)
        for name in frame.columns:
            kind = self.kinds.get(name)
            if kind == EXACT_KIND and not exact:
                frame[name] = frame[name].astype("float64")
            elif kind in TIME_KINDS:
                frame[name] = pd.to_datetime(frame[name], utc=kind == "time")
        return frame

    def _value(self, name: str, value: Any) -> Any:
        is_amount = self.kinds.get(name) == EXACT_KIND and isinstance(value, str)
        return Decimal(value) if is_amount else value


def plain(row: Any) -> dict[str, Any]:
    """A generated document as column → value, in the order of the API."""
    values = ((field.name, getattr(row, field.name)) for field in attrs.fields(type(row)))
    # A word of the language (`from`) has a line behind it in generated code.
    return {
        name.removesuffix("_"): None if isinstance(value, Unset) else value
        for name, value in values
    }
