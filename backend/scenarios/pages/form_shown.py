"""The editor's form in three steps: the shape of the load, what carries it, and the rest."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from django import forms

from backend.catalog.calc.hardware_document import HardwareDocument
from backend.foundation.documents.model import Described, every_field
from backend.scenarios.calc.document import PartDocument
from backend.scenarios.calc.shapes import LoadShape
from backend.scenarios.pages.fields import bounds, default_text
from backend.scenarios.pages.forms import PARTS, ScenarioForm
from backend.scenarios.pages.part_prices import PartPrice
from backend.site.language import lazy

Fields = Sequence[forms.BoundField]

# Title, hint, and how the names of the fields begin.
SECTIONS = (
    (lazy("Time"), "", ("horizon.",)),
    (lazy("Capacity of a server"), "", ("capacity.",)),
    (lazy("How servers follow the demand"), "", ("policy.",)),
    (
        lazy("Other costs"),
        lazy("For every option, unless it has its own value."),
        ("extras.",),
    ),
    (
        lazy("Risk"),
        "",
        (
            "hazard_per_month",
            "contract.",
            "tolerated_unserved_share",
            "price_per_unserved_unit_hour",
        ),
    ),
    (
        lazy("Uncertainty"),
        lazy("Coefficients of variation: 0.1 means that two of three simulations lie within 10%."),
        ("uncertainty.",),
    ),
)
# Fields that stand outside of their section: what is asked first.
NAMED = frozenset({"demand.unit", "capacity.units_per_server"})
# What is asked first of a part: the offer, with which the catalog fills in the rest of the price.
KEY = (
    "price.offer",
    "count",
    "price.term",
    "price.amount",
    "price.billing",
    "price.hardware.servers",
    "price.hardware.items",
)


class ShownPart(NamedTuple):
    """A part of an option; the second exists `when` the role of the first is a base only."""

    fields: Fields
    expert: Fields
    when: str
    price: PartPrice


class ShownOption(NamedTuple):
    """An option; one that is not open is empty, to be filled in."""

    # Of the form, from 0 on.
    line: int
    name: forms.BoundField
    role: forms.BoundField
    parts: Sequence[ShownPart]
    extras: Fields
    is_open: bool

    @property
    def has_errors(self) -> bool:
        """True if a field that is folded away is wrong."""
        folded = [*self.extras, *(field for part in self.parts for field in part.expert)]
        return any(field.errors for field in folded)


class ShownForm:
    """The fields of a form where the editor has them."""

    def __init__(
        self, form: ScenarioForm, shape: LoadShape | None, prices: Mapping[str, PartPrice]
    ) -> None:
        """`prices` are those of the parts, by the name of the part in the form."""
        self.form, self.shape, self._prices = form, shape, prices
        of_shape = shape.fields if shape else ()
        self._first = {*(f"demand.{name}" for name in of_shape), *NAMED}

    def _bound(self, names: Iterable[str]) -> Fields:
        return [self.form[name] for name in names]

    def _under(self, *beginnings: str) -> list[str]:
        return [name for name in self.form.entries if name.startswith(beginnings)]

    def _outside_lines(self, *beginnings: str) -> list[str]:
        return [name for name in self._under(*beginnings) if ".windows." not in name]

    @property
    def load(self) -> Fields:
        """The numbers that matter in the shape, with its unit and what a server carries of it."""
        names = self._outside_lines("demand.", "capacity.")
        return self._bound(name for name in names if name in self._first)

    @property
    def expert_load(self) -> Fields:
        """The other fields of the demand."""
        names = self._outside_lines("demand.")
        return self._bound(name for name in names if name not in self._first)

    @property
    def sections(self) -> Iterator[tuple[str, str, Fields]]:
        """(title, hint, fields) of what is the same for all options, and most leave as it is."""
        for title, hint, beginnings in SECTIONS:
            names = self._outside_lines(*beginnings)
            fields = self._bound(name for name in names if name not in NAMED)
            yield title, hint, fields

    @property
    def glossary(self) -> list[tuple[Described, str, str]]:
        """(field, default, range) of every option's fields, for the table that explains them."""
        fields = (*every_field(PartDocument), *every_field(HardwareDocument))
        return [
            (field, default_text(field), bounds(field.value))
            for _path, field in fields
            if field.value.label
        ]

    @property
    def windows(self) -> dict[str, list[Fields]]:
        """Lines of the windows of the demand and of the policy."""
        return {
            of: [
                self._bound(self._under(f"{of}.windows.{n}."))
                for n in range(self.form.counts[f"{of}.windows"])
            ]
            for of in ("demand", "policy")
        }

    @property
    def options(self) -> list[ShownOption]:
        """The options, the last one empty."""
        last = self.form.counts["options"] - 1
        return [
            ShownOption(
                line=index,
                name=self.form[f"options.{index}.name"],
                role=self.form[f"options.{index}.parts.0.role"],
                parts=[self._part(index, n) for n in range(PARTS)],
                extras=self._bound(self._under(f"options.{index}.extras.")),
                # The last line is the free one that the form keeps below those that are filled.
                is_open=index < last,
            )
            for index in range(last + 1)
        ]

    def _part(self, index: int, n: int) -> ShownPart:
        at = f"options.{index}.parts.{n}"
        names = self._under(f"{at}.")
        key = [name for each in KEY if (name := f"{at}.{each}") in names]
        # What own hardware is stands before the terms of its bill.
        rest = (name for name in names if name not in key)
        expert = sorted(rest, key=lambda name: ".hardware." not in name)
        return ShownPart(
            fields=self._bound(key),
            expert=self._bound(expert),
            when=f"options.{index}.parts.0.role" if n else "",
            price=self._prices.get(at, PartPrice(index, n)),
        )
