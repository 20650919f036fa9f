"""Every visible offer as arrays: strings and sizes as numbers into short lists of what there is."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.utils.functional import cached_property
from numpy.typing import NDArray

from backend.catalog.models import Offer, Provider, Region
from backend.catalog.selectors.cpu_credits import CREDIT_FIELDS
from backend.catalog.selectors.offers import offers_visible
from backend.core.reading import CHUNK
from backend.money.amounts import Flags, Ints, codes_of
from backend.rankings.selectors.coded import Coded, CodedBuilder
from backend.rankings.selectors.rows import DECIDED_BY, offer_cells
from backend.rankings.selectors.texts import Texts

OWN = (
    "name", "kind", "arch", "cpu_model", "vcpu_count", "vcpu_kind", "thread_count", "memory_bytes",
    "disk_bytes", "disk_kind", "discontinued_on", "no_orders_on", *CREDIT_FIELDS,
)  # fmt: skip
PROVIDER = ("provider_id", "provider__slug", "provider__name")
REGION = ("region_id", "region__code", "region__country")
KEY_BYTES = 16


@dataclass(frozen=True, eq=False)
class OfferTable:
    """The offers in the order of their slugs; a row of any column is the offer's number in it."""

    slugs: Texts
    keys: NDArray[np.bytes_]
    fields: dict[str, Coded]
    """By name of the model's field; `provider` and `region` hold rows of theirs."""

    @classmethod
    def read(cls, workspace_slug: str) -> "OfferTable":
        """Offers that the workspace may see (one query)."""
        names = ("slug", "pk", *OWN, *PROVIDER, *REGION)
        rows = offers_visible(workspace_slug).order_by().values_list(*names)
        return cls.of(rows.iterator(chunk_size=CHUNK))

    @classmethod
    def of(cls, rows: Iterable[tuple[Any, ...]]) -> "OfferTable":
        """Rows of the slug, the key, and the fields OWN, PROVIDER and REGION."""
        slugs: list[str] = []
        keys = bytearray()
        columns = {name: CodedBuilder() for name in (*OWN, "provider", "region")}
        end = len(OWN) + 2
        for row in rows:
            slugs.append(row[0])
            keys += row[1].bytes
            for name, value in zip(OWN, row[2:end], strict=True):
                columns[name].append(value)
            columns["provider"].append(row[end : end + len(PROVIDER)])
            columns["region"].append(row[end + len(PROVIDER) :])
        # By Python, as rankings compare slugs: the database sorts by its own rules.
        order = sorted(range(len(slugs)), key=slugs.__getitem__)
        return cls(
            Texts.of([slugs[row] for row in order]),
            keys_of(keys)[order],
            {name: column.coded().at(np.array(order, np.int64)) for name, column in columns.items()},
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.slugs)

    @property
    def nbytes(self) -> int:
        fields = sum(column.nbytes for column in self.fields.values())
        return self.slugs.nbytes + self.keys.nbytes + fields

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self.keys.tobytes() + self.slugs.utf8.tobytes()).hexdigest()

    @property
    def as_known(self) -> dict[str, Any]:
        """Key shared by tables that number their rows alike: equal numbers are of equal offers by
        it."""
        # Not kept: the table would hold itself until the collector comes.
        return {f"offers {self._digest}": self}

    def offer(self, row: int) -> Offer:
        """The offer of a row, as far as a ranking knows it."""
        of = {name: self.fields[name].value(row) for name in OWN}
        # By their fields: for `pk` Django would first draw a random key of its own.
        return Offer(
            id=key_of(self.keys[row]),
            slug=self.slugs[row],
            provider=self._providers[self.fields["provider"].codes[row]],
            region=self._regions[self.fields["region"].codes[row]],
            **of,
        )

    @cached_property
    def _providers(self) -> Sequence[Provider]:
        of = self.fields["provider"].values
        return [Provider(id=key, slug=slug, name=name) for key, slug, name in of]

    @cached_property
    def _regions(self) -> Sequence[Region | None]:
        of = self.fields["region"].values
        return [
            None if key is None else Region(id=key, code=code, country=country)
            for key, code, country in of
        ]

    def numbers(self, keys: bytes | bytearray) -> Ints:
        """The rows of offers by their keys, one behind the other; −1 where the table has none."""
        asked, order = keys_of(keys), self._by_key
        if not (order.size and asked.size):
            return np.full(asked.size, -1, np.int32)
        at = np.searchsorted(self.keys, asked, sorter=order)
        rows = order[np.minimum(at, order.size - 1)]
        return np.where(self.keys[rows] == asked, rows, -1)

    @cached_property
    def _by_key(self) -> Ints:
        return np.argsort(self.keys).astype(np.int32)

    def number(self, slug: str) -> int | None:
        """The row of an offer by its slug; None where the table has none."""
        return self.slugs.index_of_sorted(slug)

    def slug_by_key(self) -> dict[UUID, str]:
        return dict(zip(map(key_of, self.keys), self.slugs, strict=True))

    @cached_property
    def cells(self) -> dict[str, Coded]:
        """The columns that offers alone decide, by name; `offer_id` is left out."""
        made = {}
        for name, fields in DECIDED_BY.items():
            codes, first = codes_of(*(self.fields[field].codes for field in fields))
            rows = map(self.offer, first.tolist())
            made[name] = Coded(codes, [offer_cells(row)[name] for row in rows])
        return made

    def with_words(self, searched: str) -> Flags:
        """Offers whose identifier, name, provider, region or processor holds each word, in any
        order and case."""
        kept = np.ones(len(self), bool)
        # Each word anywhere: who types "m5 frankfurt" names two columns.
        for word in searched.lower().split():
            kept &= self._with_word(word)
        return kept

    def _with_word(self, word: str) -> Flags:
        met = self.slugs.containing(word)
        parts: tuple[tuple[str, Callable[[Any], str]], ...] = (
            ("name", str),
            ("cpu_model", str),
            ("provider", lambda of: f"{of[1]} {of[2]}"),
            ("region", lambda of: of[1] or ""),
        )
        for name, text in parts:
            column = self.fields[name]
            met |= column.map_codes([word in text(value).lower() for value in column.values])
        return met


def keys_of(joined: bytes | bytearray) -> NDArray[np.bytes_]:
    """Keys whose bytes lie one behind the other, as many objects would take four times as much."""
    return np.frombuffer(joined, f"S{KEY_BYTES}")


def key_of(stored: bytes) -> UUID:
    """The key that an array holds, which drops zeros at its end."""
    return UUID(bytes=bytes(stored).ljust(KEY_BYTES, b"\0"))
