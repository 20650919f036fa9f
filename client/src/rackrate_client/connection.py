"""A Rackrate server, and what people ask it for most."""

import datetime as dt
import inspect
import io
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from uuid import UUID

import httpx

from rackrate_client.generated import AuthenticatedClient, Client
from rackrate_client.generated.api.answer import answer_get
from rackrate_client.generated.api.columns import columns_list
from rackrate_client.generated.api.hosts import hosts_list
from rackrate_client.generated.api.rankings import rankings_list
from rackrate_client.generated.api.runs import (
    runs_cancel_create,
    runs_compare,
    runs_create,
    runs_get,
    runs_list,
)
from rackrate_client.generated.api.scenarios import scenarios_simulate
from rackrate_client.generated.api.tables import tables_import
from rackrate_client.generated.models import (
    AnswerGetResponse200,
    HostsRow,
    RankingsRow,
    RunComparison,
    RunDetail,
    RunDocument,
    RunsCompareMetricItem,
    RunsListProfile,
    RunsListState,
    RunsRow,
    RunState,
    ScenarioDocument,
    ScenarioResult,
    TableDocument,
    TableDone,
    TablesImportFilesBody,
    TablesImportFilesBodyKind,
)
from rackrate_client.generated.types import UNSET, File, Response
from rackrate_client.sending import Careful, Refused
from rackrate_client.tables import Rows

MOST_PER_PAGE = 250
# So often a list is begun anew whose data change between two pages.
READ_AGAIN = 3
LOOK_S = 2.0
FINAL = frozenset({"done", "failed", "cancelled", "lost"})
Document = TypeVar("Document")


class Rackrate:
    """A connection, by RACKRATE_URL and RACKRATE_TOKEN unless others are given.

    Without a token it reads what the server shows to strangers. `client` calls every other operation
    of `rackrate_client.generated.api`.
    """

    def __init__(
        self,
        url: str = "",
        token: str = "",
        *,
        timeout_s: float = 120.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        url = url or os.environ.get("RACKRATE_URL", "")
        if not url:
            raise ValueError("the address of the server is needed: RACKRATE_URL=https://…")
        token = token or os.environ.get("RACKRATE_TOKEN", "")
        given: dict[str, Any] = {
            "base_url": url.rstrip("/"),
            "timeout": httpx.Timeout(timeout_s),
            "httpx_args": {"transport": Careful(transport or httpx.HTTPTransport())},
        }
        # What is generated asks for a token by type; servers that let strangers read need none.
        self.client = (
            AuthenticatedClient(token=token, **given)
            if token
            else cast("AuthenticatedClient", Client(**given))
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connections."""
        self.client.get_httpx_client().close()

    # --- rankings -----------------------------------------------------------------------------------

    def rankings(self, **filters: str) -> Rows[RankingsRow]:
        """The ranked list; filters are the parameters of the API (`metric`, `vcpu_gte`, …)."""
        call = _with_filters(rankings_list.sync_detailed, filters)
        rows: Rows[RankingsRow] = self._rows(call)
        kinds = {str(row.column): str(row.kind) for row in self._rows(columns_list.sync_detailed)}
        return Rows(rows.rows, rows.warnings, rows.basis, rows.data_version, kinds)

    def answer(self, **need: str) -> AnswerGetResponse200:
        """Answer to a need: `vcpu`, `ram`, `budget` and the filters of a ranking."""
        call = _with_filters(answer_get.sync_detailed, need)
        return cast("AnswerGetResponse200", _value(call(client=self.client)))

    def simulate(self, scenario: Mapping[str, Any]) -> ScenarioResult:
        """Result of a scenario; it is not stored."""
        body = ScenarioDocument.from_dict(scenario)
        found = scenarios_simulate.sync_detailed(client=self.client, body=body)
        return cast("ScenarioResult", _value(found))

    # --- runs ---------------------------------------------------------------------------------------

    def hosts(self) -> Rows[HostsRow]:
        """The hosts of the workspace."""
        return self._rows(hosts_list.sync_detailed)

    def runs(self, **filters: Any) -> Rows[RunsRow]:
        """Runs, newest first; filters are `host`, `offer`, `campaign`, `state`, `profile`, `since`."""
        return self._rows(_with_filters(runs_list.sync_detailed, _typed_filters(filters)))

    def newest_runs(self, count: int, **filters: Any) -> list[RunsRow]:
        """The newest ones alone."""
        rows: list[RunsRow] = []
        for page in self._pages(
            _with_filters(runs_list.sync_detailed, _typed_filters(filters)), max(1, count)
        ):
            rows += page.results
            if len(rows) >= count:
                break
        return rows[:count]

    def run(self, run_id: UUID) -> RunDetail:
        """A run with everything that it has measured so far."""
        found = runs_get.sync_detailed(run_id, client=self.client)
        return cast("RunDetail", _value(found))

    def run_start(self, **document: Any) -> RunState:
        """Begin a run: `host` or `offer` with `budget`; `profile`, `probes`, `parameters`, `labels`."""
        body = RunDocument.from_dict(document)
        return cast("RunState", _value(runs_create.sync_detailed(client=self.client, body=body)))

    def run_cancel(self, run_id: UUID) -> RunState:
        """End a run; what it measured is kept."""
        found = runs_cancel_create.sync_detailed(run_id, client=self.client)
        return cast("RunState", _value(found))

    def run_wait(
        self, run_id: UUID, *, seen: Callable[[RunDetail], None] = lambda _: None
    ) -> RunDetail:
        """The run at its end; `seen` gets it at each look before."""
        while (run := self.run(run_id)).state not in FINAL:
            seen(run)
            time.sleep(LOOK_S)
        return run

    def run_compare(
        self,
        before: UUID,
        after: UUID,
        *,
        least_loss_ratio: float | None = None,
        metrics: Sequence[str] = (),
    ) -> RunComparison:
        """Changes of a run against an earlier one; `exit_code` is that of a gate."""
        found = runs_compare.sync_detailed(
            after,
            client=self.client,
            before=before,
            least_loss_ratio=UNSET if least_loss_ratio is None else least_loss_ratio,
            metric=[RunsCompareMetricItem(name) for name in metrics] or UNSET,
        )
        return cast("RunComparison", _value(found))

    # --- imports ------------------------------------------------------------------------------------

    def table_import(
        self, kind: str, table: Path | bytes, *, dry_run: bool = False, **stated: str
    ) -> TableDone:
        """A file of `quotes` or `offers` (CSV, XLSX); what the file leaves out is `stated`."""
        content = table.read_bytes() if isinstance(table, Path) else table
        name = table.name if isinstance(table, Path) else "table"
        flags = {"dry_run": True} if dry_run else {}
        try:
            text = content.decode("utf-8-sig")
        except UnicodeDecodeError:
            # A workbook, or the code page of a spreadsheet: the server knows how to read it.
            form = TablesImportFilesBody(
                kind=TablesImportFilesBodyKind(kind),
                file=File(payload=io.BytesIO(content), file_name=name),
            )
            form.additional_properties = {**stated, **dict.fromkeys(flags, "true")}
            found = tables_import.sync_detailed(client=self.client, body=form)
        else:
            body = TableDocument.from_dict({"kind": kind, "text": text, **stated, **flags})
            found = tables_import.sync_detailed(client=self.client, body=body)
        return cast("TableDone", _value(found))

    # --- lists --------------------------------------------------------------------------------------

    def _pages(self, call: Callable[..., Any], per_page: int) -> Iterator[Any]:
        number = 1
        while True:
            size = min(per_page, MOST_PER_PAGE)
            page = _value(call(client=self.client, page=number, per_page=size))
            yield page
            if page.next_ is None:
                return
            number += 1

    def _rows(self, call: Callable[..., Any]) -> Rows[Any]:
        for _ in range(READ_AGAIN):
            pages = list(self._pages(call, MOST_PER_PAGE))
            versions = {page.data_version for page in pages}
            rows = [row for page in pages for row in page.results]
            # Rows that move to another page meanwhile would be there twice, or not at all.
            if len(versions) == 1 and len(rows) == pages[0].count:
                break
        else:
            raise Refused(409, {"detail": "the data changed while they were read; read them again"})
        first = pages[0]
        return Rows(
            rows=rows,
            warnings=first.warnings,
            basis={} if first.basis is UNSET else first.basis.to_dict(),
            data_version=None if first.data_version is UNSET else first.data_version,
        )


def _typed_filters(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Filters of runs, with words in place of the generated types."""
    kinds: dict[str, Callable[[str], Any]] = {
        "state": RunsListState,
        "profile": RunsListProfile,
        "host": UUID,
        "campaign": UUID,
        "since": dt.datetime.fromisoformat,
    }
    return {
        name: kinds[name](value) if name in kinds and isinstance(value, str) else value
        for name, value in filters.items()
    }


def _with_filters(call: Callable[..., Any], filters: Mapping[str, Any]) -> Callable[..., Any]:
    """An operation with filters; ValueError where it does not know one.

    The generator writes the API's `x__gte` as `x_gte`, and `from` as `from_`.
    """
    known = inspect.signature(call).parameters
    named = {}
    for name, value in filters.items():
        plain_name = name.replace("__", "_")
        written = plain_name if plain_name in known else f"{plain_name}_"
        if written not in known or plain_name == "client":
            raise ValueError(f"{name} is no filter here")
        named[written] = value

    def filtered(**given: Any) -> Any:
        return call(**given, **named)

    return filtered


def _value(answer: Response[Any]) -> Any:
    """The document of an answer; Refused where it is none."""
    if not 200 <= answer.status_code < 300:
        raise Refused.of(int(answer.status_code), answer.content)
    return answer.parsed
