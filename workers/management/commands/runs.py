"""List runs, show or cancel one, or compare two and fail on a regression."""

import json
import re
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import CharField
from django.db.models.functions import Cast

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.benchmarks.calc.run_changes import MetricChange, RunChange
from backend.benchmarks.models import Run, RunState
from backend.benchmarks.selectors.run_changes import (
    LEAST_LOSS_RATIO,
    RunComparison,
    run_comparison,
)
from backend.benchmarks.selectors.runs import run_view, runs_visible
from backend.benchmarks.services.runs import run_cancel
from backend.foundation import figures
from backend.measure.metrics import METRICS
from workers.engine import report

ACTOR = "command"
LISTED_RUNS = 20
# A gate reads 1 as a regression, so whatever keeps it from comparing is "unclear".
UNCLEAR_CODE = RunChange.UNCLEAR.value
MIN_ID_CHARS = 4


class Command(BaseCommand):
    help = (
        "List runs, show or cancel one, or compare two: with --fail-on-regression compare ends with "
        "0 where all is fine, 1 where a metric got worse, 2 where that is unclear."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        listing = actions.add_parser("list", help="the newest runs")
        listing.add_argument("--host", help="only those of this host")
        listing.add_argument("--state", choices=RunState.values)
        listing.add_argument("--limit", type=int, default=LISTED_RUNS)
        show = actions.add_parser("show", help="a run's results, and what they are worth")
        show.add_argument("run", help="identifier of the run, or its first characters")
        cancel = actions.add_parser("cancel", help="end a run; its host is cleaned up")
        cancel.add_argument("run", help="identifier of the run, or its first characters")
        compare = actions.add_parser("compare", help="what a run changed against an earlier one")
        compare.add_argument("before", help="identifier of the earlier run")
        compare.add_argument("after", help="identifier of the later run")
        compare.add_argument(
            "--fail-on-regression",
            type=_ratio,
            metavar="5%",
            help="end with 1 where a metric lost at least this much, with 2 where that is unclear",
        )
        compare.add_argument(
            "--metric", action="append", default=[], choices=sorted(METRICS), metavar="METRIC",
            help="compare only this (may be given several times)",
        )  # fmt: skip
        for action in (listing, show, cancel, compare):
            action.add_argument("--json", action="store_true", help="print one JSON document")
            workspace_argument(action)

    def handle(self, *args: Any, **options: Any) -> None:
        actions = {
            "list": self._list,
            "show": self._show,
            "cancel": self._cancel,
            "compare": self._compare,
        }
        self.workspace = workspace_option(options)
        actions[options["action"]](options)

    def _list(self, options: dict[str, Any]) -> None:
        runs = runs_visible(self.workspace)
        if options["host"]:
            runs = runs.filter(host__name=options["host"])
        if options["state"]:
            runs = runs.filter(state=options["state"])
        # Django raises an error for a negative end of a slice.
        rows = [_row(run) for run in runs[: max(0, options["limit"])]]
        if options["json"]:
            self.stdout.write(json.dumps(rows))
            return
        for row in rows:
            self.stdout.write("  ".join(str(value or "") for value in row.values()).rstrip())

    def _show(self, options: dict[str, Any]) -> None:
        document = report.document(run_view(self._named(options["run"])))
        if options["json"]:
            self.stdout.write(json.dumps(document, default=str))
            return
        self.stdout.write(f"{document['run']}: {document['state']}")
        self.stdout.write("\n".join(report.lines(document)))
        if (failure := document["failure"]) is not None:
            self.stdout.write(f"  {failure['reason']}: {failure['detail']}")

    def _cancel(self, options: dict[str, Any]) -> None:
        named = self._named(options["run"])
        if named.is_finished:
            raise CommandError(f"the run {named.pk} is {named.state} already")
        run = run_cancel(run=named, actor=ACTOR)
        run.refresh_from_db()
        text = "cancelled" if run.is_finished else "ends as soon as its host is cleaned up"
        self.stdout.write(json.dumps(_row(run)) if options["json"] else f"{run.pk}: {text}")

    def _compare(self, options: dict[str, Any]) -> None:
        before, after = (self._named(options[name], UNCLEAR_CODE) for name in ("before", "after"))
        asked = options["fail_on_regression"]
        compared = run_comparison(
            before,
            after,
            least_loss_ratio=LEAST_LOSS_RATIO if asked is None else asked,
            metrics=set(options["metric"]),
        )
        if options["json"]:
            self.stdout.write(json.dumps(compared.document()))
        else:
            self.stdout.write("\n".join(_lines(compared)))
        outcome, why = compared.gate
        if asked is not None and outcome != RunChange.FINE:
            raise CommandError(f"{outcome.name.lower()}: {why}", returncode=outcome.value)

    def _named(self, name: str, returncode: int = 1) -> Run:
        """The run whose identifier begins so."""
        runs = runs_visible(self.workspace).annotate(text=Cast("pk", CharField()))
        # Two are enough to see that the beginning names more than one run.
        matching = list(runs.filter(text__startswith=name.lower())[:2]) if _is_enough(name) else []
        if len(matching) != 1:
            reason = "several runs begin" if matching else "no run has an identifier that begins"
            raise CommandError(f"{reason} with {name!r}", returncode=returncode)
        return matching[0]


def _is_enough(name: str) -> bool:
    return re.fullmatch(rf"[0-9a-fA-F-]{{{MIN_ID_CHARS},36}}", name) is not None


def _ratio(text: str) -> float:
    """5% and 0.05 alike."""
    number, is_percent = text.removesuffix("%"), text.endswith("%")
    try:
        ratio = float(number) / (100 if is_percent else 1)
    except ValueError:
        ratio = 0.0
    if not 0 < ratio < 1:
        raise ArgumentTypeError(f"{text!r} is no share above 0 % and below 100 %, such as 5%")
    return ratio


def _row(run: Run) -> dict[str, Any]:
    return {
        "id": str(run.pk),
        "created_at": run.created_at.isoformat(timespec="seconds"),
        "state": run.state,
        "profile": run.profile,
        "host": run.host.name,
        "failure": run.failure_reason or None,
    }


def _lines(compared: RunComparison) -> list[str]:
    lines = [f"differs: {text}" for text in compared.differences]
    lines += [_line(metric) for metric in compared.metrics]
    lines += [f"{key}: disturbed or not measured in both" for key in compared.left_out]
    return [*lines, f"outcome: {compared.outcome.name.lower()}"]


def _line(metric_change: MetricChange) -> str:
    change = (
        ""
        if metric_change.change_ratio is None
        else figures.percent_change(metric_change.change_ratio)
    )
    before, after = (
        figures.measure(value, metric_change.unit)
        for value in (metric_change.before, metric_change.after)
    )
    return f"{metric_change.metric:30} {before:>20} → {after:>20} {change:>8}  {metric_change.outcome.name.lower()}"
