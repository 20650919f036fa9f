"""Numbers as the country of a file writes them: what is a decimal mark and what groups thousands.

One cell such as 1,249 may be two numbers; the other cells of its file show which one it is.
"""

from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from backend.bills.calc.formats import AMOUNTS


def plain_numbers(columns: Mapping[str, pa.Array], separator: str) -> dict[str, pa.Array]:
    """The columns with a point before the decimals of amounts, and without groups.

    What is no number, or may be two, stays as it is.
    """
    read = dict(columns)
    amounts = {name: read[name] for name in AMOUNTS & read.keys()}
    if not any(pc.any(pc.match_substring(column, ",")).as_py() for column in amounts.values()):
        return read
    marks = [mark for mark in ".," if _is_shown(amounts.values(), mark)]
    for name, column in amounts.items():
        given = column
        for mark in marks if len(marks) == 1 else ():
            group = ".,".replace(mark, "")
            is_grouped = pc.match_substring_regex(given, _group_pattern(mark))
            given = pc.if_else(is_grouped, pc.replace_substring(given, group, ""), given)
        # Where semicolons separate, commas are those of decimals unless the cells show otherwise.
        if marks == [","] or (separator == ";" and marks != ["."]):
            decimals = r"^([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)$"
            given = pc.replace_substring_regex(given, decimals, r"\1.\2")
        read[name] = given
    return read


def _group_pattern(mark: str) -> str:
    group = ".,".replace(mark, "")
    return rf"^[+-]?[1-9]\d{{0,2}}(?:\{group}\d{{3}})+(?:\{mark}\d+)?$"


def _is_shown(columns: Iterable[pa.Array], mark: str) -> bool:
    """True if a cell has decimals behind this mark and cannot mean groups by it."""
    group = ".,".replace(mark, "")
    both = rf"^[+-]?[1-9]\d{{0,2}}(?:\{group}\d{{3}})+\{mark}\d+$"
    single, as_group = rf"^[+-]?\d*\{mark}\d+$", rf"^[+-]?[1-9]\d{{0,2}}\{mark}\d{{3}}$"
    return any(
        pc.any(
            pc.or_(
                pc.match_substring_regex(column, both),
                pc.and_not(
                    pc.match_substring_regex(column, single),
                    pc.match_substring_regex(column, as_group),
                ),
            )
        ).as_py()
        for column in columns
    )
