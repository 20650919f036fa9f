"""`rackrate`: the command line against a server (RACKRATE_URL, RACKRATE_TOKEN)."""

import argparse
import contextlib
import json
import re
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import UUID

import httpx

from rackrate_client.connection import Rackrate
from rackrate_client.generated.models import (
    RunComparison,
    RunDetail,
    TableDone,
    TablesImportFilesBodyKind,
)
from rackrate_client.sending import Refused

LISTED_RUNS = 20
MIN_ID_CHARS = 4
FAILED, UNCLEAR = 1, 2
INTERRUPTED = 130
DONE = "done"
PROFILES = ("quick", "standard", "full", "general")


class Ended(Exception):
    """A sentence for people, and the status to end with where it is not the command's own."""

    def __init__(self, detail: str, status: int | None = None) -> None:
        super().__init__(detail)
        self.status = status


def parser() -> argparse.ArgumentParser:
    """Every command with its arguments."""
    top = argparse.ArgumentParser(prog="rackrate", description=__doc__)
    top.add_argument("--url", default="", help="of the server (default: RACKRATE_URL)")
    sub = top.add_subparsers(required=True, metavar="command")
    _add_runs(sub.add_parser("runs", help="list runs, show or cancel one, compare two"))
    bench = sub.add_parser("benchmark", help="benchmark a host that the server knows, and wait")
    bench.add_argument("host", help="name of the host, or its identifier")
    bench.add_argument("--profile", choices=PROFILES, default="quick")
    bench.add_argument("--probe", action="append", help="measure only this (several times)")
    bench.add_argument(
        "--set", action="append", default=[], type=_assignment, metavar="NAME=VALUE",
        help="a parameter of the run (several times; a value in JSON, or text)",
    )  # fmt: skip
    bench.add_argument(
        "--label", action="append", default=[], type=_pair, metavar="NAME=TEXT",
        help="what the run is called by, such as kernel=6.18 (several times)",
    )  # fmt: skip
    bench.add_argument("--quiet", action="store_true", help="no progress, only the result")
    bench.set_defaults(do=_benchmark)
    tables = sub.add_parser("import", help="store a table of quotes or offers")
    tables.add_argument("kind", choices=[kind.value for kind in TablesImportFilesBodyKind])
    tables.add_argument("file", type=Path, help="CSV or XLSX")
    tables.add_argument("--dry-run", action="store_true", help="only say what would be stored")
    for name in ("locale", "currency", "provider", "quoted-on"):
        tables.add_argument(f"--{name}", default="", help="where the table states none")
    tables.set_defaults(do=_import)
    for name, words, do in (
        ("rankings", "the ranked list; filters as in the API", _rankings),
        ("answer", "what to buy for a need, such as vcpu=8 budget=100", _answer),
    ):
        asked = sub.add_parser(name, help=words)
        asked.add_argument("filters", nargs="*", type=_pair, metavar="NAME=VALUE")
        asked.set_defaults(do=do)
    simulate = sub.add_parser("simulate", help="what a scenario comes to; it is not stored")
    simulate.add_argument("file", type=Path, help="JSON document of the scenario")
    simulate.set_defaults(do=_simulate)
    for command in (bench, tables, simulate, *(sub.choices[n] for n in ("rankings", "answer"))):
        command.add_argument("--json", action="store_true", help="print one JSON document")
    return top


def _add_runs(runs: argparse.ArgumentParser) -> None:
    actions = runs.add_subparsers(required=True, metavar="action")
    listing = actions.add_parser("list", help="the newest runs")
    listing.add_argument("--host", help="only those of this host, by name or identifier")
    listing.add_argument("--state")
    listing.add_argument("--limit", type=int, default=LISTED_RUNS)
    listing.set_defaults(do=_list)
    show = actions.add_parser("show", help="a run's results")
    show.set_defaults(do=_show)
    cancel = actions.add_parser("cancel", help="end a run; its host is cleaned up")
    cancel.set_defaults(do=_cancel)
    for action in (show, cancel):
        action.add_argument("run", help="identifier of the run, or its first characters")
    compare = actions.add_parser("compare", help="what a run changed against an earlier one")
    compare.add_argument("before", help="identifier of the earlier run")
    compare.add_argument("after", help="identifier of the later run")
    compare.add_argument(
        "--fail-on-regression", type=_ratio, metavar="5%",
        help="end with 1 where a metric lost at least this much, with 2 where that is unclear",
    )  # fmt: skip
    compare.add_argument(
        "--metric", action="append", default=[], help="compare only this (several times)"
    )
    compare.set_defaults(do=_compare, failure=UNCLEAR)
    for action in (listing, show, cancel, compare):
        action.add_argument("--json", action="store_true", help="print one JSON document")


# --- runs -------------------------------------------------------------------------------------------


def _list(server: Rackrate, options: argparse.Namespace) -> int:
    names = _host_names(server)
    filters = {"state": options.state} if options.state else {}
    if options.host:
        filters["host"] = _host(server, options.host)
    rows = [
        {
            "id": run.id,
            "created_at": run.created_at.isoformat(timespec="seconds") if run.created_at else None,
            "state": run.state,
            "profile": run.profile,
            "host": names.get(str(run.host), str(run.host)),
            "failure": run.failure_reason or None,
        }
        for run in server.newest_runs(max(0, options.limit), **filters)
    ]
    text = "\n".join("  ".join(str(value or "") for value in row.values()).rstrip() for row in rows)
    return _print(options, rows, text)


def _show(server: Rackrate, options: argparse.Namespace) -> int:
    return _show_run(options, server.run(_run_id(server, options.run)))


def _cancel(server: Rackrate, options: argparse.Namespace) -> int:
    run_id = _run_id(server, options.run)
    before = server.run(run_id)
    if before.finished_at is not None:
        raise Ended(f"the run {run_id} is {before.state} already")
    run = server.run_cancel(run_id)
    text = "cancelled" if run.state == "cancelled" else "ends as soon as its host is cleaned up"
    return _print(options, run.to_dict(), f"{run.id}: {text}")


def _compare(server: Rackrate, options: argparse.Namespace) -> int:
    before, after = (_run_id(server, name) for name in (options.before, options.after))
    asked = options.fail_on_regression
    compared = server.run_compare(before, after, least_loss_ratio=asked, metrics=options.metric)
    _print(options, compared.to_dict(), "\n".join(_comparison_lines(compared)))
    if asked is None or compared.exit_code == 0:
        return 0
    word = "worse" if compared.exit_code == FAILED else "unclear"
    raise Ended(f"{word}: {compared.why}", compared.exit_code)


def _comparison_lines(compared: RunComparison) -> list[str]:
    lines = [f"differs: {text}" for text in compared.differences]
    for metric in compared.metrics:
        change = "" if metric.change_ratio is None else _percent_change(metric.change_ratio)
        before, after = (
            f"{_four_digits(value)} {metric.unit}" for value in (metric.before, metric.after)
        )
        lines.append(f"{metric.metric:30} {before:>20} → {after:>20} {change:>8}  {metric.outcome}")
    lines += [f"{key}: disturbed or not measured in both" for key in compared.left_out]
    return [*lines, f"outcome: {compared.outcome}"]


def _four_digits(value: float) -> str:
    return f"{float(f'{value:.4g}'):,.15g}"


def _percent_change(ratio: float) -> str:
    size = f"{abs(ratio) * 100:.1f}".removesuffix(".0")
    return "±0%" if size == "0" else f"{'−' if ratio < 0 else '+'}{size}%"


def _benchmark(server: Rackrate, options: argparse.Namespace) -> int:
    started = server.run_start(
        host=_host(server, options.host),
        profile=options.profile,
        probes=options.probe,
        parameters=dict(options.set),
        labels=dict(options.label),
    )

    def seen(run: RunDetail) -> None:
        if not options.quiet:
            print(f"{run.progress:4.0%}  {run.stage}", file=sys.stderr)

    try:
        run = server.run_wait(started.id, seen=seen)
    except KeyboardInterrupt:
        server.run_cancel(started.id)
        raise
    _show_run(options, run)
    return 0 if run.state == DONE else FAILED


def _show_run(options: argparse.Namespace, run: RunDetail) -> int:
    document = {"run": str(run.id), **run.to_dict()}
    lines = [f"{run.id}: {run.state}"]
    lines += [
        f"  {result.metric:30} {result.median:>18,.2f} {result.unit}   ({result.variant}, {result.repeats} repeats"
        + (f", {result.disturbed} disturbed)" if result.disturbed else ")")
        for result in run.results
    ]
    if run.failure is not None:
        lines.append(f"  {run.failure.reason}: {run.failure.detail}")
    return _print(options, document, "\n".join(lines))


# --- all others -------------------------------------------------------------------------------------


def _import(server: Rackrate, options: argparse.Namespace) -> int:
    names = ("locale", "currency", "provider", "quoted_on")
    stated = {name: getattr(options, name) for name in names if getattr(options, name)}
    try:
        done = server.table_import(options.kind, options.file, dry_run=options.dry_run, **stated)
    except OSError as error:
        raise Ended(f"{options.file}: {error.strerror}") from None
    _print(options, done.to_dict(), "\n".join(_table_lines(done)))
    return FAILED if done.refused else 0


def _table_lines(done: TableDone) -> list[str]:
    words = ("new", "unchanged", "replaced", "waiting")
    counts = ", ".join(f"{getattr(done, f'prices_{word}')} {word}" for word in words)
    head = "would store" if done.is_dry else "stored"
    lines = [f"{head} of {done.rows} lines: {done.offers_new} new offers; prices: {counts}"]
    for word, remarks in (("refused", done.refused), ("warning", done.warnings)):
        lines += [
            f"{word}: line {remark.line}: {remark.column} {remark.detail}" for remark in remarks
        ]
    return lines


def _rankings(server: Rackrate, options: argparse.Namespace) -> int:
    table = server.rankings(**dict(options.filters))
    _warn(table.warnings)
    rows = [row.to_dict() for row in table]
    names = ("rank", "offer_id", "score", "price", "currency", "value_per_cost")
    lines = ["  ".join(str(row.get(name) or "") for name in names).rstrip() for row in rows]
    return _print(options, rows, "\n".join(["  ".join(names), *lines]))


def _answer(server: Rackrate, options: argparse.Namespace) -> int:
    found = server.answer(**dict(options.filters)).to_dict()
    _warn(found.get("warnings", []))
    return _print(options, found, found.get("sentence", ""))


def _simulate(server: Rackrate, options: argparse.Namespace) -> int:
    try:
        document = json.loads(options.file.read_text())
    except (OSError, ValueError) as error:
        raise Ended(f"{options.file}: {error}") from None
    result = server.simulate(document).to_dict()
    currency = document.get("currency", "")
    lines = [
        f"{option['name']}: {option['cost_total']} {currency}".rstrip()
        for option in result["options"]
    ]
    return _print(options, result, "\n".join(lines))


def _print(options: argparse.Namespace, document: Any, text: str) -> int:
    print(json.dumps(document, default=str) if options.json else text)
    return 0


def _warn(warnings: Sequence[str]) -> None:
    for text in warnings:
        print(f"warning: {text}", file=sys.stderr)


# --- arguments --------------------------------------------------------------------------------------


def _host_names(server: Rackrate) -> dict[str, str]:
    return {str(host.id): str(host.name) for host in server.hosts()}


def _host(server: Rackrate, name: str) -> str:
    """The identifier of the host with this name."""
    names = _host_names(server)
    matching = [key for key, known in names.items() if name in (known, key)]
    if len(matching) != 1:
        raise Ended(f"{'several hosts are' if matching else 'no host is'} named {name!r}")
    return matching[0]


def _run_id(server: Rackrate, name: str) -> UUID:
    """The run whose identifier begins so."""
    with contextlib.suppress(ValueError):
        return UUID(name)
    is_enough = re.fullmatch(rf"[0-9a-fA-F-]{{{MIN_ID_CHARS},36}}", name)
    runs = server.runs() if is_enough else ()
    matching = [str(run.id) for run in runs if str(run.id).startswith(name.lower())]
    if len(matching) != 1:
        reason = "several runs begin" if matching else "no run has an identifier that begins"
        raise Ended(f"{reason} with {name!r}")
    return UUID(matching[0])


def _pair(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    return name, value


def _assignment(text: str) -> tuple[str, Any]:
    name, value = _pair(text)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _ratio(text: str) -> float:
    """5% and 0.05 alike."""
    try:
        ratio = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        ratio = 0.0
    if not 0 < ratio < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no share above 0 % and below 100 %, such as 5%"
        )
    return ratio


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def run(options: argparse.Namespace, connect: Callable[[str], Rackrate] = Rackrate) -> int:
    """Do one command; its exit status."""
    failure = getattr(options, "failure", FAILED)
    try:
        with connect(options.url) as server:
            return int(options.do(server, options))
    except Ended as error:
        print(f"rackrate: {error}", file=sys.stderr)
        return failure if error.status is None else error.status
    except (Refused, httpx.HTTPError, ValueError) as error:
        print(f"rackrate: {error or type(error).__name__}", file=sys.stderr)
        return failure


def main() -> int:
    """The program."""
    options = parser().parse_args()
    # A job of CI that is cancelled gets this signal; its run is to end, too.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return run(options)
    except KeyboardInterrupt:
        return INTERRUPTED
