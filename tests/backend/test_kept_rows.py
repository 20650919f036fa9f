"""Rows that a ranking takes over from the state of the data before."""

import datetime as dt
from collections.abc import Callable

import pytest

from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.models import Offer
from backend.catalog.selectors import data_version
from backend.catalog.services.data_version import data_version_bump
from backend.common.shared_files import SharedFiles
from backend.rankings.selectors import basis_table
from backend.rankings.selectors import ranking as rankings
from backend.rankings.selectors.cache import StampedCache
from backend.rankings.selectors.known_tables import KnownTables
from backend.rankings.selectors.ranking import query_from, ranking
from backend.rankings.selectors.rows import RankingRow, ranking_row
from tests import factories

LATER = factories.AT + dt.timedelta(days=1)
pytestmark = pytest.mark.django_db(transaction=True)


def forget(patch: pytest.MonkeyPatch) -> None:
    """As in a process that has just begun."""
    patch.setattr(rankings, "_cache", StampedCache(10_000_000))
    patch.setattr(rankings, "_tables", KnownTables(10_000_000, SharedFiles(None)))


@pytest.fixture
def offers() -> list[Offer]:
    made = [factories.offer(name) for name in ("calm", "quick", "small", "unmeasured")]
    for one in made:
        factories.price(one, "0.1")
    for one in made[:3]:
        factories.sample(one, 100.0)
    data_version_bump()
    return made


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The offers of rows that were made, not taken over."""
    forget(monkeypatch)
    # What was changed since other transactions of the server began is read anew. Those of the tests
    # beside this one change nothing here.
    alone = data_version.STAMP.replace("pg_snapshot_xmin", "pg_snapshot_xmax")
    monkeypatch.setattr(data_version, "STAMP", alone)
    names: list[str] = []

    def noted(offer: Offer, *given: object) -> RankingRow:
        names.append(offer.slug)
        return ranking_row(offer, *given)

    monkeypatch.setattr(basis_table, "ranking_row", noted)
    return names


def rows(**asked: str) -> list[RankingRow]:
    query, _ = query_from({name: [value] for name, value in asked.items()})
    return list(ranking(query, stamp=current_stamp()).everyone)


def made_by(names: list[str], change: Callable[[], object]) -> list[str]:
    """Whose rows a change of the data makes anew."""
    rows()
    change()
    names.clear()
    rows()
    return sorted(names)


def test_only_the_row_of_another_score_is_made_anew(offers, made, monkeypatch):
    assert made_by(made, lambda: factories.sample(offers[0], 400.0)) == ["calm"]
    taken_over = rows()
    forget(monkeypatch)
    assert taken_over == rows()


def test_row_of_a_first_score_is_made_anew(offers, made):
    assert made_by(made, lambda: factories.sample(offers[3], 50.0)) == ["unmeasured"]


def test_row_taken_over_says_of_which_state_of_the_data_it_is(offers, made):
    before = {row.data_version for row in rows()}
    factories.sample(offers[0], 400.0)
    data_version_bump()
    assert {row.data_version for row in rows()} == {version + 1 for version in before}


@pytest.mark.parametrize("amount", ["0.2", "0.1"])  # the same is newer, and may be of a later list
def test_only_the_row_of_another_price_is_made_anew(offers, made, monkeypatch, amount):
    names = made_by(made, lambda: factories.price(offers[0], amount, observed_at=LATER))
    assert names == ["calm"]
    taken_over = rows()
    price = {row.offer_id: str(row.price_usd_hour) for row in taken_over}["calm"]
    assert price == amount
    forget(monkeypatch)
    assert taken_over == rows()


def test_rows_of_other_rates_are_all_made_anew(offers, made):
    factories.rate("USD", "1.25")
    before = {row.offer_id: row.price for row in rows(currency="EUR")}
    factories.rate("USD", "2.5", dt.date(2026, 10, 31))
    data_version_bump()
    assert rows(currency="EUR")[0].price == before["calm"] / 2


def test_questions_do_not_share_rows(offers, made):
    rows()
    made.clear()
    assert {row.period for row in rows(period="month")} == {"month"}
    assert len(made) == 4
