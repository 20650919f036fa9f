"""Rows whose names have all the words of a search, whatever their kind."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.db.models import Case, IntegerField, QuerySet, TextField, Value, When
from django.db.models.functions import Cast, Concat, Lower
from django.urls import reverse

from backend.accounts.models import Workspace
from backend.benchmarks.selectors.hosts import hosts_standing
from backend.benchmarks.selectors.runs import STAGES, runs_visible
from backend.catalog.models import Offer
from backend.catalog.selectors.offers import offers_visible
from backend.measure.metrics import METRICS
from backend.rankings.selectors.filters import has_words
from backend.rankings.selectors.views import views_visible
from backend.rankings.services.reports import reports_visible
from backend.scenarios.selectors.scenarios import scenarios_visible

# Each word is one more condition on every row.
MOST_CHARS = 100
# More would be a list without its filters; each kind has a page with them.
MOST_OF_A_KIND = 20


class Match(NamedTuple):
    """A row that was searched for: its kind, its name, and the address of its page."""

    kind: str
    title: str
    url: str


def search(text: str, *, workspace: Workspace, reader: str) -> list[Match]:
    """Offers, hosts, scenarios, reports, views, metrics and runs, at most 20 of each.

    Every word has to be in a name, a slug, a region or a CPU model, in any order and case; an offer
    of exactly this name is first. `reader` is as in `views_visible`.
    """
    # PostgreSQL's texts hold no NUL, and it refuses to compare with one.
    words = text.replace("\0", " ")[:MOST_CHARS].split()
    return list(_matches(words, workspace, reader)) if words else []


def _matches(words: list[str], workspace: Workspace, reader: str) -> Iterator[Match]:
    for offer in _offers(words, workspace):
        region = f" · {offer.region}" if offer.region else ""
        title = f"{offer.name} · {offer.provider.name}{region}"
        yield Match("offer", title, reverse("offer", args=[offer.slug]))
    # A rented machine is a host of one run, whose page shows it.
    for host in _having(hosts_standing(workspace), words, "name"):
        yield Match("host", host.name, reverse("host", args=[host.pk]))
    for scenario in _having(scenarios_visible(workspace), words, "name", "slug"):
        yield Match("scenario", scenario.name, reverse("scenario", args=[scenario.slug]))
    for report in _having(reports_visible(workspace), words, "title", "slug"):
        yield Match("report", report.title, reverse("report", args=[report.slug]))
    for view in _having(views_visible(workspace.slug, reader), words, "name", "slug"):
        yield Match("view", view.name, reverse("view", args=[view.slug]))
    for metric in METRICS.values():
        # Metrics are in the code and not in the database.
        if has_words(f"{metric.key} {metric.label}".lower(), " ".join(words)):
            yield Match("metric", metric.label, reverse("metric", args=[metric.key]))
    for run in _having(
        runs_visible(workspace), words, "pk", "offer__name", "offer__slug", "host__name"
    ):
        title = f"{run.created_at:%Y-%m-%d %H:%M} UTC · {run.offer.name} · {STAGES[run.state]}"
        yield Match("run", title, reverse("run", args=[run.pk]))


def _having(rows: QuerySet[Any], words: list[str], *fields: str) -> QuerySet[Any]:
    """The first rows that have each word in one of the fields."""
    # Joined: the case of one text is folded, not that of each field for each word.
    rows = rows.annotate(joined=Lower(Concat(*_separate(fields), output_field=TextField())))
    for word in words:
        rows = rows.filter(joined__contains=word.lower())
    return rows[:MOST_OF_A_KIND]


def _separate(fields: tuple[str, ...]) -> Iterator[Any]:
    yield Value("")
    for field in fields:
        yield from (Value("\n"), Cast(field, TextField()))


def _offers(words: list[str], workspace: Workspace) -> QuerySet[Offer]:
    name = " ".join(words)
    closeness: Any = Case(
        When(name__iexact=name, then=Value(0)),
        When(name__istartswith=name, then=Value(1)),
        default=Value(2),
        output_field=IntegerField(),
    )
    rows = offers_visible(workspace.slug).order_by(closeness, "name", "slug")
    fields = ("slug", "name", "provider__name", "region__code", "region__name", "cpu_model")
    return _having(rows, words, *fields)
