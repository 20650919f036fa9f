"""The document of own hardware as a form; the domain judges every value."""

from collections.abc import Mapping
from typing import Any

from django import forms

from backend.catalog.calc.hardware_assumptions import ASSUMPTIONS, OF_A_SERVER, HardwareAssumption
from backend.catalog.calc.hardware_document import ITEM_FIELDS, WHOLE, HardwareDocument
from backend.foundation.documents.model import fields_of
from backend.foundation.errors import InvalidDocument, InvalidValue
from backend.site import figures
from backend.site.forms import WriteForm, text
from backend.site.language import _, lazy
from backend.site.number_fields import RATIO, WATTS, Units, document_number, number_text

FIELDS = fields_of(HardwareDocument)
DESCRIBED = ("cpu", "cores", "threads", "memory_gib")
# Without scripts no line can be added, and each calculation gives as many again.
EMPTY_ROWS = 3
TEXTS = frozenset({"name", "currency"})
UNITS: Mapping[str, Units] = {
    "watts": WATTS,
    **{
        name: RATIO
        for name, assumption in ASSUMPTIONS.items()
        if assumption.unit.startswith("ratio")
    },
}


def describe_range(assumption: HardwareAssumption) -> str:
    """Unit and range of an assumption, in words."""
    return f"{assumption.unit}; {figures.bounds(assumption.low, assumption.high)}"


class ItemForm(forms.Form):
    """A line of the bill of materials; an empty one is left out."""

    name = text(lazy("Item"), required=False, maxlength=100)
    count = text(lazy("Quantity"), required=False, inputmode="numeric")
    unit_price = text(lazy("Unit price"), required=False, inputmode="decimal")
    watts = text(lazy("Average watts each"), required=False, inputmode="decimal")


class HardwareForm(WriteForm):
    """Name, servers and assumptions; the bill of materials is `items`, a set of forms beside it."""

    name = text(
        lazy("Name"), maxlength=100, help_text=lazy("Using an existing name creates a new version.")
    )
    currency = text(lazy("Currency"), maxlength=3, help_text=lazy("As bought: EUR, USD, …"))
    servers = text(
        lazy("Servers"), inputmode="numeric", help_text=lazy("Number of servers in the set.")
    )

    cpu = text(FIELDS["cpu"].value.label, required=False, maxlength=150)
    cores = text(FIELDS["cores"].value.label, required=False, inputmode="numeric")
    threads = text(FIELDS["threads"].value.label, required=False, inputmode="numeric")
    memory_gib = text(FIELDS["memory_gib"].value.label, required=False, inputmode="decimal")

    def __init__(self, data: Any = None, *, document: Mapping[str, Any] | None = None) -> None:
        """With what was typed, or with a document to begin from."""
        initial = dict(document or {})
        items = [_write_values(item) for item in initial.pop("items", ())]
        initial = _write_values(initial)
        super().__init__(data, initial=initial)
        for name, assumption in ASSUMPTIONS.items():
            self.fields[name] = text(
                assumption.label,
                required=False,
                help_text=describe_range(assumption),
                inputmode="decimal",
                placeholder=(
                    _("{n} a server", n=figures.plain(assumption.default))
                    if name in OF_A_SERVER
                    else figures.plain(assumption.default)
                ),
            )
        made = forms.formset_factory(ItemForm, extra=EMPTY_ROWS)
        # auto_id without "id_": labels, scripts and tests name fields by their own names.
        self.items = made(data, initial=list(items) or None, prefix="items", auto_id="%s")

    @property
    def assumptions(self) -> list[forms.BoundField]:
        """The fields that have a default."""
        return [self[name] for name in ASSUMPTIONS]

    def document(self) -> dict[str, Any]:
        """The form as a document; lines and assumptions left empty are left out."""
        self.full_clean()
        # Position in the form of each item of the document, for `report`.
        self._rows: list[int] = []
        items = []
        for index, form in enumerate(self.items.forms):
            form.full_clean()
            # None where the request has not even the number of the lines.
            typed = _typed_values(getattr(form, "cleaned_data", {}), ITEM_FIELDS)
            if typed:
                self._rows.append(index)
                items.append(typed)
        names = ("name", "currency", "servers", *DESCRIBED, *ASSUMPTIONS)
        return {**_typed_values(self.cleaned_data, names), "items": items}

    def report(self, error: InvalidDocument | InvalidValue) -> None:
        """Puts each refusal beside the field that it names."""
        for pointer, detail in error.errors:
            parts = pointer.removeprefix("/").split("/")
            # The document has no empty lines, so its positions are not those of the form.
            if len(parts) == 3 and parts[0] == "items":
                self.items.forms[self._rows[int(parts[1])]].add_error(parts[2], detail)
                self.add_error(
                    None,
                    _(
                        "Item {number}, {field}: {detail}",
                        number=int(parts[1]) + 1,
                        field=parts[2],
                        detail=detail,
                    ),
                )
            elif pointer.removeprefix("/") not in self.errors:
                self.refuse(InvalidValue(pointer, detail))


def _typed_values(values: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The values that were typed; whole numbers as such where the document wants them."""
    entries = {
        name: text if name in TEXTS else document_number(text, UNITS.get(name, {}))
        for name in names
        if (text := str(values.get(name) or "").strip())
    }
    return {
        name: int(value) if name in WHOLE and value.isdecimal() and len(value) < 10 else value
        for name, value in entries.items()
    }


def _write_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a document as the page's language writes them."""
    return {name: value if name in TEXTS else number_text(value) for name, value in values.items()}
