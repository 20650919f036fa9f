"""Is it well: what the engine, the rented machines, the price lists and the queues are doing."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from backend.accounts.models import Scope, Workspace
from backend.accounts.services.acting import workspace_of
from backend.benchmarks.selectors.engine import EngineFigures, engine_figures
from backend.benchmarks.selectors.runs import STAGES
from backend.benchmarks.services.workers import workers_alive
from backend.catalog.selectors.feeds import feed_figures
from backend.core.queue import queue_lengths
from backend.notifications.selectors.notices import notice_figures
from backend.rentals.selectors.cloud_accounts import accounts_visible
from backend.rentals.selectors.leaks import RentalFigures, rental_figures
from backend.rentals.selectors.spending import AccountFigures, account_figures
from backend.site import words
from backend.site.access import demand, readable
from backend.site.figures import duration, figure, percent, plain, quantity
from backend.site.language import _

# As in monitoring/alerts.yml, so that a page and an alarm never disagree.
TICK_MAX_AGE_S = 60
STEP_LATE_S = 120
LOOK_MAX_AGE_S = 600
NOTICE_LATE_S = 900
LIST_MAX_AGE_S = 172_800
LIST_FAILURES = 3
BUDGET_RATIO = 0.9
QUEUE_LONG = 1000


@dataclass(frozen=True)
class OperationFigure:
    """A figure of the operation: its present value, and the remedy where that is not well."""

    label: str
    value: str
    fault: str = ""


@readable
@require_safe
@never_cache
def operations_page(request: HttpRequest) -> HttpResponse:
    """The figures of this moment, each with what to do where it is not well; for operators."""
    demand(request, Scope.RUN)
    parts = [
        (_("Engine"), list(_engine(engine_figures()))),
        (_("Rented machines"), list(_rentals(rental_figures()))),
        (_("Budgets of this month"), list(_budgets(workspace_of(request)))),
        (_("Price lists"), list(_lists())),
        (_("Notices and queues"), list(_queues())),
    ]
    context = {
        "parts": parts,
        "fault_count": sum(bool(figure.fault) for _label, figures in parts for figure in figures),
    }
    return render(request, "operations/page.html", context)


def _engine(engine: EngineFigures) -> Iterator[OperationFigure]:
    is_late = engine.tick_age_s is not None and engine.tick_age_s > TICK_MAX_AGE_S
    yield OperationFigure(
        _("Last tick"),
        _("never") if engine.tick_age_s is None else _ago(engine.tick_age_s),
        _("Nothing is measured or ended: check beat and the workers.") if is_late else "",
    )
    workers = workers_alive().count()
    yield OperationFigure(
        _("Machines with workers"),
        quantity(workers),
        "" if workers else _("No worker was seen lately: start one."),
    )
    yield OperationFigure(
        _("Oldest pending step"),
        _("none") if not engine.due_count else duration(engine.oldest_due_s),
        _("Too few workers, or none: start more.") if engine.oldest_due_s > STEP_LATE_S else "",
    )
    yield OperationFigure(
        _("Expired leases"),
        quantity(engine.expired_lease_count),
        _("A worker is gone; another one takes its steps over.")
        if engine.expired_lease_count
        else "",
    )
    for state, count in sorted(engine.run_counts.items()):
        yield OperationFigure(_("Runs: {stage}", stage=_(STAGES[state])), quantity(count))


def _rentals(rentals: RentalFigures) -> Iterator[OperationFigure]:
    yield OperationFigure(
        _("Rented machines"),
        _(
            "{machines} for {runs} runs",
            machines=quantity(rentals.machine_count),
            runs=quantity(rentals.run_count),
        ),
        _("More machines than runs: the reaper ends them; look again in a few minutes.")
        if rentals.machine_count > rentals.run_count
        else "",
    )
    age_s = rentals.look_age_s
    yield OperationFigure(
        _("Longest time since an account was checked"),
        _("no account rents machines") if age_s is None else _ago(age_s),
        _("The reaper cannot reach it: check the account, and that a reaper runs.")
        if age_s is not None and age_s > LOOK_MAX_AGE_S
        else "",
    )


def _budgets(workspace: Workspace) -> Iterator[OperationFigure]:
    names = {str(account.pk): account.name for account in accounts_visible(workspace)}
    for account_figure in account_figures():
        # Those of other workspaces are not these people's business.
        if account_figure.account in names:
            yield _budget(names[account_figure.account], account_figure)


def _budget(name: str, figures: AccountFigures) -> OperationFigure:
    spent = figure(figures.spent) if figures.spent else "0"
    if figures.budget is None:
        return OperationFigure(
            name, _("{spent} {currency}, no limit", spent=spent, currency=figures.currency)
        )
    # Of a budget of nothing all is spent from the start.
    ratio = float(figures.spent / figures.budget) if figures.budget else 1.0
    value = _(
        "{spent} of {budget} {currency} ({ratio})",
        spent=spent,
        budget=plain(figures.budget),
        currency=figures.currency,
        ratio=percent(ratio),
    )
    fault = _("Nearly spent: runs wait for the next month, or for a higher limit.")
    return OperationFigure(name, value, fault if ratio > BUDGET_RATIO else "")


def _lists() -> Iterator[OperationFigure]:
    for feed_figure in feed_figures():
        label = " ".join(
            filter(
                None, (words.provider(feed_figure.provider), feed_figure.kind, feed_figure.region)
            )
        )
        fault = ""
        if feed_figure.failures >= LIST_FAILURES:
            fault = _("It failed {n} times in a row: its page says why.", n=feed_figure.failures)
        elif feed_figure.age_s is not None and feed_figure.age_s > LIST_MAX_AGE_S:
            fault = _("It is old: check that a worker reads the queue price.")
        yield OperationFigure(
            label, _("never") if feed_figure.age_s is None else _ago(feed_figure.age_s), fault
        )


def _queues() -> Iterator[OperationFigure]:
    notices = notice_figures()
    yield OperationFigure(
        _("Notices that wait"),
        quantity(notices.waiting_count),
        _("The oldest is late: check the mail server or the webhook.")
        if notices.oldest_due_s > NOTICE_LATE_S
        else "",
    )
    lengths = queue_lengths()
    if lengths is None:
        yield OperationFigure(_("Queues"), _("not known"), _("The broker does not answer."))
        return
    for queue, count in lengths.items():
        yield OperationFigure(
            _("Queue {name}", name=queue),
            quantity(count),
            _("It grows: too few workers read it.") if count > QUEUE_LONG else "",
        )


def _ago(seconds: float) -> str:
    return _("{duration} ago", duration=duration(seconds))
