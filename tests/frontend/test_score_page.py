"""What one score is made of, with the numbers put into its formula."""

import datetime as dt
import math

import pytest

from backend.benchmarks.services.summaries import summaries_refresh
from backend.measure.stats import machines_interval
from backend.rankings.pages.offers import score_page
from backend.rankings.pages.offers.score_page import SYMBOLS, machine_lines, term_lines
from backend.rankings.selectors import score_detail
from backend.site import figures
from tests import factories
from tests.frontend.rows import published

LONG_AGO = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


def html(client, path):
    response = client.get(path)
    assert response.status_code == 200
    return response.content.decode()


def machine(of, values, **given):
    host = factories.host(of)
    run = factories.run(host)
    return [
        factories.sample(of, value, host=host, run=run, repeat=repeat, **given)
        for repeat, value in enumerate(values)
    ]


def test_terms_of_three_machines_are_those_of_the_t_interval():
    logs = [-1.0, 0.0, 1.0]
    interval = machines_interval({str(x): {"r": [math.exp(x)]} for x in logs}, 0.05)
    lines = dict(term_lines(interval))
    # t of 2 degrees is 4.302653; h = t · 1 / √3
    assert lines[SYMBOLS["n"]] == "3"
    assert lines[SYMBOLS["s"]] == "1"
    assert lines[SYMBOLS["t"]] == "4.303"
    assert lines[SYMBOLS["h"]] == "2.484"
    assert lines[SYMBOLS["mean"]] == "1"


def test_terms_of_six_machines_are_the_order_statistics():
    interval = machines_interval({str(n): {"r": [float(n)]} for n in range(1, 7)}, 0.05)
    lines = dict(term_lines(interval))
    assert (lines[SYMBOLS["n"]], lines[SYMBOLS["d"]]) == ("6", "1")
    share = float(lines[SYMBOLS["w"]])
    assert interval.low == pytest.approx(1 + share, abs=5e-5)  # four digits of it are shown


def test_machines_are_listed_by_their_medians():
    machines = {"b": {"r1": [10.0, 30.0], "r2": [20.0]}, "a": {"r3": [50.0]}}
    first, second = machine_lines(machines, figures.scale("s", [1.0]))
    assert (first.name, first.n_runs, first.n_repeats, first.plain) == ("Machine 1", 1, 1, 50.0)
    assert (second.n_runs, second.n_repeats, second.plain) == (2, 3, 20.0)


@pytest.mark.django_db
def test_score_page_shows_what_is_pooled_and_what_is_left_out(client):
    of = factories.offer("of")
    machine(of, [100.0, 110.0, 120.0])
    machine(of, [1.0], flags=["disturbed"])
    machine(of, [2.0], excluded_reason="a fan had stopped")
    machine(of, [3.0], variant="other")
    machine(of, [4.0], source="imported")
    text = html(client, "/offers/of/scores/cmips_score/")
    assert "Samples used: 3" in text
    pooled, left_out = text.split('id="left-out"')
    assert left_out.startswith(">Samples excluded: 4<")
    for value in ("100", "110", "120"):
        assert f'title="{value} CMIPS"' in pooled
    for reason in ("marked, where others are not", "excluded by a person", "another variant"):
        assert left_out.count(reason) == 1
    assert "a fan had stopped" in left_out
    assert "measured goes before imported" in left_out


@pytest.mark.django_db
def test_score_page_names_the_older_method(client):
    of = factories.offer("of")
    machine(of, [100.0, 101.0], method_version="cmips 1 aaaa", measured_at=LONG_AGO)
    machine(of, [200.0, 202.0], method_version="cmips 2 bbbb")
    text = html(client, "/offers/of/scores/cmips_score/")
    pooled, left_out = text.split('id="left-out"')
    assert "201 CMIPS" in pooled
    assert left_out.count("an older method or figure, other hardware, or another disk or peer") == 2


@pytest.mark.django_db
def test_score_page_of_a_published_figure_works_its_spread_through(client):
    published("old", 100.0, "1")
    text = html(client, "/offers/old/scores/cmips_score/")
    assert "the figure as published by its source: 100 CMIPS" in text
    assert "value × exp(± h)" in text
    assert "<h2>Machines</h2>" not in text


@pytest.mark.django_db
def test_offer_page_links_each_score_to_its_own_page(client):
    published("old", 100.0, "1")
    assert 'href="/offers/old/scores/cmips_score/"' in html(client, "/offers/old/")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "path", ["none/scores/cmips_score", "of/scores/none", "of/scores/cmips_score"]
)
def test_score_page_is_not_there_without_a_score(client, path):
    factories.offer("of")
    assert client.get(f"/offers/{path}/").status_code == 404


@pytest.mark.django_db
def test_newest_samples_of_many_are_listed_and_all_are_counted(
    client, monkeypatch, django_assert_max_num_queries
):
    monkeypatch.setattr(score_page, "MOST_SHOWN", 3)
    monkeypatch.setattr(score_detail, "MOST_SHOWN", 3)
    of = factories.offer("own-box", provider_slug="own", kind="dedicated")
    machine(of, [100.0 + n for n in range(5)])
    machine(of, [50.0] * 4, excluded_reason="of another day")
    summaries_refresh()
    with django_assert_max_num_queries(40):
        text = html(client, "/offers/own-box/scores/cmips_score/")
    assert "Samples used: 5" in text
    assert "Samples excluded: 4" in text
    assert text.count("of another day") == 3
    assert text.count("The newest 3 are listed.") == 2
    assert 'href="/api/v1/samples?offer=own-box&amp;metric=cmips_score"' in text
