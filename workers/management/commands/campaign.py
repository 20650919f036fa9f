"""Start a campaign, follow it, end it, or show where it stands."""

import json
import logging
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import Q

from backend.accounts.management.workspaces import workspace_argument, workspace_option
from backend.accounts.models import Workspace
from backend.benchmarks.models import TERMINAL_STATES, Campaign, RunState
from backend.benchmarks.selectors.campaigns import CampaignView, campaign_view
from backend.benchmarks.selectors.costs import Cost, shown
from backend.benchmarks.selectors.rounds import RoundFigures, RoundTargets, round_figures
from backend.benchmarks.services.campaigns import campaign_cancel, campaign_start
from backend.foundation.errors import DomainError
from workers.engine.in_process import StandIn, follow

ACTOR = "command"
# Looking more often would be foreign work beside what is measured on this very machine.
LOOK_S = 1.0
BAR_CHARS = 30


class Command(BaseCommand):
    help = "Start a campaign and follow it to its end (run), end it (cancel), or show it (status)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=["run", "cancel", "status"])
        parser.add_argument("campaign", help="identifier or name of the campaign")
        parser.add_argument("--json", action="store_true", help="print one JSON document")
        workspace_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        campaign = _campaign_of(options["campaign"], workspace_option(options))
        if self._is_terminal():  # the bar says what the engine's log would
            logging.getLogger("workers").setLevel(logging.WARNING)
        if options["action"] == "run":
            try:
                campaign = campaign_start(campaign=campaign, actor=ACTOR)
            except DomainError as error:
                raise CommandError(str(error)) from error
            seen = self._follow(campaign)
        else:
            if options["action"] == "cancel":
                campaign = campaign_cancel(campaign=campaign, actor=ACTOR)
            seen = _view(campaign)
        if options["json"]:
            self.stdout.write(json.dumps(_document(seen), default=str))
        else:
            self.stdout.write("\n".join(_lines(seen)))
        if options["action"] == "run" and (
            bad := seen.figures.run_count - seen.figures.count([RunState.DONE])
        ):
            raise CommandError(f"{bad} of {seen.figures.run_count} runs did not end as done")

    def _is_terminal(self) -> bool:
        return bool(self.stderr.isatty())

    def _warn(self, text: str) -> None:
        """Below the bar, which has no end of line."""
        self.stderr.write("\n" * self._is_terminal() + text, style_func=str)

    def _follow(self, campaign: Campaign) -> CampaignView:
        """Show the round until all its runs ended; without a live worker they are done here."""
        text = ""

        def end(stand_in: StandIn) -> CampaignView | None:
            nonlocal text
            campaign.refresh_from_db()
            figures = round_figures(campaign)
            is_over = figures.end_count == figures.run_count
            text = self._show(figures, text, is_over=is_over)
            if is_over:
                campaign.refresh_from_db()  # it may have ended between the two reads
                return _view(campaign)
            stand_in.look()
            return None

        return follow(
            end,
            cancel=lambda: campaign_cancel(campaign=campaign, actor=ACTOR),
            warn=self._warn,
            every_s=LOOK_S,
        )

    def _show(self, seen: RoundFigures, before: str, *, is_over: bool) -> str:
        """Draw the bar on a terminal, else a line for every change; returns what is shown."""
        text = _counts(seen)
        if self._is_terminal():
            line = f"\r{_bar(seen)}  {text:50.50} {_left(seen):20.20}"
            self.stderr.write(line, style_func=str, ending="\n" if is_over else "")
            self.stderr.flush()
        elif text != before:
            self.stderr.write(f"{seen.progress_ratio:4.0%}  {text}", style_func=str)
        return text


def _view(campaign: Campaign) -> CampaignView:
    """Whole: a terminal and a file have no pages."""
    return campaign_view(campaign, RoundTargets(campaign)[:])


def _campaign_of(name: str, workspace: Workspace) -> Campaign:
    campaigns = Campaign.objects.filter(workspace=workspace)
    is_named = Q(name=name)
    try:
        # A name that is no UUID cannot be compared with a key: Django raises.
        campaign = campaigns.filter(is_named | Q(pk=name)).first()
    except (ValueError, ValidationError):
        campaign = campaigns.filter(is_named).first()
    if campaign is None:
        raise CommandError(f"no campaign has the name or identifier {name!r}")
    return campaign


def _bar(seen: RoundFigures) -> str:
    filled = int(seen.progress_ratio * BAR_CHARS)
    return f"[{'#' * filled}{'.' * (BAR_CHARS - filled)}] {seen.progress_ratio:4.0%}"


def _left(seen: RoundFigures) -> str:
    if seen.remaining_s is None:
        return ""
    minutes, seconds = divmod(round(seen.remaining_s), 60)
    return f"about {minutes} min left" if minutes else f"about {seconds} s left"


def _counts(seen: RoundFigures) -> str:
    """`12 runs: 3 done, 1 failed, 2 active, 6 waiting`."""
    waiting = seen.count([RunState.QUEUED])
    counts = {
        **{str(state): seen.count([state]) for state in TERMINAL_STATES},
        "active": seen.run_count - waiting - seen.end_count,
        "waiting": waiting,
    }
    parts = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    return f"{seen.run_count} runs: {parts}" if parts else "no runs yet"


def _url(campaign: Campaign) -> str:
    return f"{settings.PUBLIC_URL}/campaigns/{campaign.pk}/"


def _amount(cost: Cost) -> str:
    if cost.amount is None:
        return f"unknown ({cost.note})"
    return f"{shown(cost.amount)} {cost.currency}"


def _lines(seen: CampaignView) -> list[str]:
    campaign, figures = seen.campaign, seen.figures
    lines = [
        f"{campaign.name}, profile {campaign.profile}: {campaign.state}, round {campaign.round}",
        f"  {_bar(figures)}  {_counts(figures)}  {_left(figures)}".rstrip(),
        f"  expected cost of a round: {_amount(seen.cost_estimate)}",
        f"  cost so far: {_amount(seen.cost_so_far)}",
    ]
    if seen.matrix:
        lines += ["", *_table(seen), ""]
    lines += [
        f"  {run.host.name}: {run.state}, {run.failure_reason}: {run.failure_detail}"
        for run in seen.runs
        if run.failure_reason
    ]
    return [*lines, f"  page: {_url(campaign)}"]


def _table(seen: CampaignView) -> list[str]:
    """The matrix, a line a target."""
    states = {(cell.target, cell.probe): cell.state for cell in seen.matrix}
    targets = list(dict.fromkeys(cell.target for cell in seen.matrix))
    first = max(len(target) for target in targets)
    widths = {
        probe: max(len(probe), *(len(states.get((target, probe), "")) for target in targets))
        for probe in seen.probes
    }
    rows = [("", {probe: probe for probe in seen.probes})]
    rows += [
        (target, {probe: states.get((target, probe), "") for probe in seen.probes})
        for target in targets
    ]
    return [
        f"  {name:{first}}  {'  '.join(f'{cells[p]:{widths[p]}}' for p in seen.probes)}".rstrip()
        for name, cells in rows
    ]


def _document(seen: CampaignView) -> dict[str, Any]:
    campaign = seen.campaign
    return {
        "id": str(campaign.pk),
        "name": campaign.name,
        "state": campaign.state,
        "round": campaign.round,
        "progress": seen.figures.progress_ratio,
        "remaining_s": seen.figures.remaining_s,
        "cost_estimate": _money(seen.cost_estimate),
        "cost_so_far": _money(seen.cost_so_far),
        "url": _url(campaign),
        "runs": [
            {
                "id": str(run.pk),
                "host": run.host.name,
                "peer": run.peer.name if run.peer else None,
                "state": run.state,
                "failure": {"reason": run.failure_reason, "detail": run.failure_detail}
                if run.failure_reason
                else None,
            }
            for run in seen.runs
        ],
        "matrix": [
            {"target": cell.target, "probe": cell.probe, "state": cell.state}
            for cell in seen.matrix
        ],
    }


def _money(cost: Cost) -> dict[str, Any]:
    amount = None if cost.amount is None else shown(cost.amount)
    return {"amount": amount, "currency": cost.currency, "note": cost.note}
