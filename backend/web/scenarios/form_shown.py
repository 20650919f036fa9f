"""The editor's form in three steps: the shape of the load, what carries it, and the rest."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from django import forms

from backend.domain.scenarios.shapes import LoadShape
from backend.web.scenarios import form_layout as layout
from backend.web.scenarios.form_help import glossary
from backend.web.scenarios.form_layout import Entry
from backend.web.scenarios.forms import LINES, PARTS, ScenarioForm, field_name
from backend.web.scenarios.part_prices import PartPrice
from backend.web.shared.language import lazy

SECTIONS: Mapping[str, tuple[Entry, ...]] = {
    lazy("Time"): layout.HORIZON,
    lazy("Capacity of a server"): layout.CAPACITY,
    lazy("How servers follow the demand"): layout.POLICY,
    lazy("Other costs"): layout.EXTRAS,
    lazy("Risk"): layout.RISKS,
    lazy("Uncertainty"): layout.UNCERTAINTY,
}
SECTION_HINTS = {
    "Other costs": lazy("Of every option, where it does not say otherwise."),
    "Uncertainty": lazy(
        "Coefficients of variation: 0.1 means that two of three draws lie within 10 %."
    ),
}
# Fields that stand outside of their section: what is asked first.
NAMED = frozenset({"name", "demand/unit", "capacity/units_per_server"})


class ShownField(NamedTuple):
    """A field with the name of the choice that it depends on, and the values for which it counts."""

    field: forms.BoundField
    when: str
    values: str
    is_wide: bool
    is_long: bool


class ShownPart(NamedTuple):
    """A part of an option: `role` is None in the second, which exists beside a base only."""

    role: forms.BoundField | None
    fields: Sequence[ShownField]
    expert: Sequence[ShownField]
    when: str
    price: PartPrice


class ShownOption(NamedTuple):
    """An option; an empty one is there to be filled in."""

    # Of the form, from 0 on.
    line: int
    name: forms.BoundField
    parts: Sequence[ShownPart]
    extras: Sequence[ShownField]
    is_empty: bool

    @property
    def is_open(self) -> bool:
        return not self.is_empty

    @property
    def has_errors(self) -> bool:
        """True if a field that is folded away is wrong."""
        folded = [*self.extras, *(field for part in self.parts for field in part.expert)]
        return any(shown.field.errors for shown in folded)


class ShownSection(NamedTuple):
    """A part of the document that most leave as it is."""

    title: str
    hint: str
    fields: Sequence[ShownField]


class ShownForm:
    """The fields of a form where the editor has them."""

    def __init__(
        self, form: ScenarioForm, shape: LoadShape | None, prices: Mapping[str, PartPrice]
    ) -> None:
        """`prices` are those of the parts, by the name of the part in the form."""
        self.form, self.shape, self._prices = form, shape, prices
        of_shape = shape.fields if shape else ()
        self._first = {*(f"demand/{name}" for name in of_shape), *NAMED}

    def _show(self, entries: Iterable[Entry], *indexes: int) -> list[ShownField]:
        return [
            ShownField(
                field=self.form[field_name(entry.path, indexes)],
                when=field_name(entry.when, indexes),
                values=" ".join(sorted(entry.values)),
                is_wide=entry.kind in LINES,
                is_long=entry.name == "offer",
            )
            for entry in entries
            # Fields of own hardware are only there where it is bought.
            if field_name(entry.path, indexes) in self.form.fields
        ]

    @property
    def load(self) -> list[ShownField]:
        """The numbers that matter in the shape, with its unit and what a server carries of it."""
        return self._show(
            entry for entry in (*layout.DEMAND, *layout.CAPACITY) if entry.path in self._first
        )

    @property
    def expert_load(self) -> list[ShownField]:
        """The other fields of the demand."""
        return self._show(entry for entry in layout.DEMAND if entry.path not in self._first)

    @property
    def sections(self) -> list[ShownSection]:
        """Sections that are the same for all options."""
        return [
            ShownSection(
                title,
                SECTION_HINTS.get(title, ""),
                self._show(entry for entry in entries if entry.path not in NAMED),
            )
            for title, entries in SECTIONS.items()
        ]

    @property
    def glossary(self) -> list[tuple[Entry, str]]:
        """Meanings of every option's fields."""
        return glossary(layout.PART_ENTRIES)

    @property
    def demand_windows(self) -> list[list[ShownField]]:
        return self._lines("demand.windows", layout.DEMAND_WINDOWS)

    @property
    def policy_windows(self) -> list[list[ShownField]]:
        return self._lines("policy.windows", layout.POLICY_WINDOWS)

    def _lines(self, of: str, entries: Sequence[Entry]) -> list[list[ShownField]]:
        return [self._show(entries, index) for index in range(self.form.counts[of])]

    @property
    def options(self) -> list[ShownOption]:
        """The options, the last one empty."""
        return [self._option(index) for index in range(self.form.counts["options"])]

    def _option(self, index: int) -> ShownOption:
        role = f"options.{index}.parts.0.role"
        return ShownOption(
            line=index,
            name=self.form[f"options.{index}.name"],
            parts=[
                ShownPart(
                    role=None if n else self.form[role],
                    fields=self._show((*layout.KEY_ENTRIES, *layout.KEY_HARDWARE), index, n),
                    expert=self._show((*layout.EXPERT_HARDWARE, *layout.EXPERT_ENTRIES), index, n),
                    when=role if n else "",
                    price=self._prices.get(f"options.{index}.parts.{n}", PartPrice(index, n)),
                )
                for n in range(PARTS)
            ],
            extras=self._show(layout.OWN_EXTRAS, index),
            # The last line is the free one that the form keeps below those that are filled.
            is_empty=index == self.form.counts["options"] - 1,
        )
