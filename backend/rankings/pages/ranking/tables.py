"""The ranking as a table: its columns in the order asked for, and a line for each of its rows."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString

from backend.rankings.pages.ranking.cells import NOTED, STRONG, Cells, Marked, is_own
from backend.rankings.pages.ranking.remembered import remember
from backend.rankings.selectors.columns import COLUMN
from backend.rankings.selectors.listing import has_any
from backend.rankings.selectors.ranking import Ranking
from backend.rankings.selectors.rows import RankingRow
from backend.site import columns, figures, state

# More than are seen of a table that scrolls.
PART_ROWS = 20
# Of the standard columns these are left out when they say nothing of any offer in the whole list.
MAY_HIDE = ("region", "flags")


class RankingTable:
    """Rows of a `Ranking`, already sorted and cut to one page, for `ranking/table.html`."""

    def __init__(
        self,
        rows: Sequence[RankingRow],
        *,
        ranking: Ranking,
        address: state.Address,
        scale: figures.UnitScale,
        sources: dict[str, str],
    ) -> None:
        params = address.params
        self.names = visible_columns(ranking, params)
        self.cells = Cells(ranking, params, scale, rows, sources)
        self.units = self.cells.units
        self._frames: dict[tuple[str, str], str] = {}
        self.picked = set(state.values(params, "o"))
        self.rows = rows
        self.columns = [COLUMN[name] for name in self.names]
        self.numbers = {name for name in self.names if COLUMN[name].kind.is_numeric}
        self.headings = {
            name: address.heading(name) for name in self.names if COLUMN[name].is_sortable
        }

    @property
    def parts(self) -> list[list[SafeString]]:
        """The lines in parts: those after the first lie below what is seen at first."""
        lines = list(self.body())
        return [lines[n : n + PART_ROWS] for n in range(0, len(lines), PART_ROWS)]

    def body(self) -> Iterator[SafeString]:
        """A line for each row. Cells are made here and not by the template: there are hundreds."""
        # What a column's cells share is made once; only the values are filled in for each row.
        made = [(name, self.cells.of(name)) for name in self.names]
        for row in self.rows:
            drawn = "".join(self._cell(name, render(row)) for name, render in made)
            yield format_html(
                "<tr{}>{}{}</tr>\n",
                SafeString(' class="own"') if is_own(row) else "",
                self._pick(row),
                SafeString(drawn),
            )

    def _cell(self, name: str, content: Any) -> SafeString:
        classes = content.classes if isinstance(content, Marked) else ""
        if (name, classes) not in self._frames:
            self._frames[name, classes] = self._frame(name, classes)
        return format_html(self._frames[name, classes], content)

    def _frame(self, name: str, classes: str) -> str:
        # The head of the row, which screen readers say before each cell.
        if name == columns.ALWAYS:
            return '<th scope="row">{}</th>'
        is_noted = name in NOTED and classes != "unknown"
        all_classes = {
            "number": name in self.numbers,
            escape(classes): bool(classes),
            "noted": is_noted,
            "top": is_noted and name in STRONG,
            "rank": name == "rank",
            "nowrap": name not in self.numbers and COLUMN[name].is_unbroken,
        }
        said = " ".join(name for name, holds in all_classes.items() if holds)
        label = ""
        if name in self.numbers:
            # On a phone rows are cards, without the heads. Words need none.
            unit = self.units.get(name)
            text = escape(f"{COLUMN[name].label}, {unit}" if unit else COLUMN[name].label)
            label = f' data-label="{text}"'
        return f'<td class="{said}"{label}>{{}}</td>' if said else f"<td{label}>{{}}</td>"

    def _pick(self, row: RankingRow) -> SafeString:
        """The box that takes a row into the comparison."""
        return format_html(
            '<td class="pick"><input type="checkbox" form="compare" name="o" value="{}"'
            ' aria-label="Compare {}"{}></td>',
            row.offer_id,
            row.offer,
            SafeString(" checked") if row.offer_id in self.picked else "",
        )

    def explanations(self) -> Iterator[SafeString]:
        """Basis of each row's figures, to be opened from its cells."""
        return (self.cells.explanation(row, self.names) for row in self.rows)


def visible_columns(ranking: Ranking, params: state.Params) -> tuple[str, ...]:
    """The columns asked for, else the standard ones that say something here."""
    if "cols" in params:
        return columns.shown(state.values(params, "cols"))
    hidden = remember(ranking, "says nothing", lambda: _says_nothing(ranking))
    return tuple(name for name in columns.STANDARD if name not in hidden)


def _says_nothing(ranking: Ranking) -> set[str]:
    return {name for name in MAY_HIDE if not has_any(ranking.rows, name)}
