"""The codes of problems, as a list."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework.request import Request

from backend.core.rest.problem import PROBLEM_CODES
from backend.core.rest.table import Column, ColumnType
from backend.core.rest.views import ListAnswer, ListView


class ProblemsView(ListView):
    """Meanings of a problem's `code`; codes stay when the words of a problem change."""

    name = "problems"
    orders = {"code": "code"}
    columns: ClassVar[tuple[Column, ...]] = (
        Column("code", ColumnType.TEXT, "Member `code` of a problem"),
        Column("status", ColumnType.INTEGER, "Status that it usually comes with"),
        Column("meaning", ColumnType.TEXT, "What it says"),
    )

    def listing(self, request: Request) -> ListAnswer:
        _, shown = self.parameters(request)
        rows = list(PROBLEM_CODES.items())
        return ListAnswer(self.columns, rows, len(rows), cells=_cells, **shown)


def _cells(row: tuple[str, tuple[int, str]]) -> Mapping[str, Any]:
    code, (status, meaning) = row
    return {"code": code, "status": status, "meaning": meaning}
