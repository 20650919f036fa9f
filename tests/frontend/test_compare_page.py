"""Offers side by side: figures, differences, and links that change one thing."""

import json
import re

import pytest

from backend.catalog.services.data_version import data_version_bump
from tests import factories
from tests.frontend.rows import published
from tests.frontend.spacing import brief

pytestmark = pytest.mark.django_db


@pytest.fixture
def pair():
    """`a` at 0.10 USD/h with 1000 ± 39 CMIPS; `b` at 0.05 with 900 ± 35; `c` at 0.2 with 1010 ± 40."""
    for slug, score, price, vcpu in (
        ("a", 1000.0, "0.10", 4),
        ("b", 900.0, "0.05", 2),
        ("c", 1010.0, "0.20", 4),
    ):
        offer = factories.offer(slug, vcpu_count=vcpu, vcpu_kind="dedicated", arch="x86_64")
        factories.sample(
            offer, score, source="published", published_sd_ratio=0.02, published_count=10
        )
        factories.price(offer, price)


def html(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return brief(answer.content.decode())


def row_of(text, label):
    """The cells of a line, without marks and in one line of text each."""
    part = re.search(rf'<th scope="row">(?:<a[^>]*>)?{re.escape(label)}.*?</tr>', text, re.DOTALL)
    assert part is not None, label
    cells = re.findall(r"<td[^>]*>(.*?)</td>", part[0], re.DOTALL)
    return [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in cells]


def link(text, label):
    found = re.search(rf'href="([^"]*)" aria-label="{re.escape(label)}"', text)
    assert found is not None, label
    return found[1].replace("&amp;", "&")


def test_page_shows_figures_and_differences_from_the_baseline(client, pair):
    text = html(client, "/compare/?o=a,b")
    assert row_of(text, "Price") == ["0.1000", "0.0500 −50% better"]
    assert row_of(text, "vCPU") == ["4", "2 −50%"]
    first, second = row_of(text, "CPU, all threads")
    assert first.startswith("1,000 ")
    assert "−10% worse" in second
    first, second = row_of(text, "Value per cost")
    assert second.startswith("18,000 ")
    assert "+80% better" in second


def test_figures_too_close_to_call_are_not_distinguishable(client, pair):
    _, second = row_of(html(client, "/compare/?o=a,c"), "CPU, all threads")
    assert "+1% too close to call" in second


def test_figures_with_the_stated_spread_are_compared_like_others(client, pair):
    """W17, W2: a single figure has an interval, and the ranking's rule tells it from others."""
    published("d", 2000.0, "0.1")
    _, second = row_of(html(client, "/compare/?o=a,d"), "CPU, all threads")
    assert "+100% better" in second
    published("e", 1120.0, "0.1")
    _, second = row_of(html(client, "/compare/?o=a,e"), "CPU, all threads")
    assert "+12% too close to call" in second


def test_baseline_is_chosen_by_the_address(client, pair):
    text = html(client, "/compare/?o=a,b&base=b")
    assert row_of(text, "Price") == ["0.1000 +100% worse", "0.0500"]
    assert link(text, "make baseline: a") == "/compare/?o=a,b&base=a"


def test_columns_are_moved_and_removed_by_links(client, pair):
    text = html(client, "/compare/?o=a,b,c&base=b&period=month")
    assert link(text, "Move b to the left") == "/compare/?period=month&o=b,a,c&base=b"
    assert link(text, "Move b to the right") == "/compare/?period=month&o=a,c,b&base=b"
    assert link(text, "Remove c") == "/compare/?period=month&o=a,b&base=b"
    assert link(text, "Remove b") == "/compare/?period=month&o=a,c"
    assert 'aria-label="Move a to the left"' not in text
    assert 'aria-label="Move c to the right"' not in text
    heads = re.findall(r'<a class="plain" href="/offers/(\w)/"', html(client, "/compare/?o=c,a,b"))
    assert heads == ["c", "a", "b"]


def test_differences_only_hides_equal_and_tied_rows(client, pair):
    text = html(client, "/compare/?o=a,c&differences=1")
    assert '<th scope="row">Price' in text
    for alike in ("Kind", "vCPU", "Architecture"):
        assert f'<th scope="row">{alike}' not in text
    assert "CPU, all threads (CMIPS-compatible)</a>" not in text.split('id="comparison"')[1]
    assert "lines without a difference hidden" in text
    assert "/api/v1/compare.csv?o=a,c&amp;differences=1" in text
    whole = html(client, "/compare/?o=a,c")
    assert '<th scope="row">Kind' in whole
    assert "differences=1" in whole


def test_offers_come_from_repeated_parameters_too(client, pair):
    text = html(client, "/compare/?o=a&o=b&o=a")
    assert re.findall(r'<a class="plain" href="/offers/(\w)/"', text) == ["a", "b"]


def test_what_cannot_be_compared_is_said_and_the_rest_shown(client, pair):
    for n in range(5):
        factories.offer(f"more-{n}")
    text = html(client, "/compare/?o=nope,a,b,c,more-0,more-1,more-2,more-3&base=more-3")
    assert "There is no offer &#x27;nope&#x27;." in text
    assert "ignored: more-3." in text
    assert "The baseline &#x27;more-3&#x27; is not among the offers compared." in text
    assert "Six offers is the maximum." in text
    assert text.count('class="plain"') == 6


def test_addresses_that_no_database_holds_are_answered(client, pair):
    text = html(client, "/compare/?o=a%00,b&base=%00&add=%00&differences=%00")
    assert "There is no offer &#x27;a\\x00&#x27;." in text


def test_empty_page_says_how_to_begin(client, db):
    text = html(client, "/compare/")
    assert "Nothing is compared yet." in text
    assert "<table" not in text


def test_words_find_offers_to_add(client, pair):
    factories.offer("alpha-one", name="alpha one")
    factories.offer("alpha-two", name="alpha two")
    text = html(client, "/compare/?o=a&period=month&add=alpha")
    assert link(text, "Add alpha one") == "/compare/?period=month&o=a,alpha-one"
    assert link(text, "Add alpha two") == "/compare/?period=month&o=a,alpha-two"
    answer = client.get("/compare/?o=a&add=alpha+two")
    assert (answer.status_code, brief(answer["Location"])) == (302, "/compare/?o=a,alpha-two")
    assert "No results for “zzz”." in html(client, "/compare/?o=a&add=zzz")


def test_exact_slug_is_added_though_others_hold_it_too(client, pair):
    factories.offer("a-large")
    factories.offer("xa-large")
    answer = client.get("/compare/?o=b&add=a-large")
    assert brief(answer["Location"]) == "/compare/?o=b,a-large"


def test_small_charts_hold_the_figures_of_the_table(client, pair):
    text = html(client, "/compare/?o=a,b")
    data = json.loads(
        text.partition('<script id="small-charts" type="application/json">')[2].partition("</")[0]
    )
    (score,) = [one for one in data["charts"] if one["id"] == "small-cmips_score"]
    assert [(bar["label"], bar["value"]) for bar in score["bars"]] == [("a", 1000.0), ("b", 900.0)]
    assert score["median"] == 1000.0
    assert score["bars"][0]["low"] < 1000 < score["bars"][0]["high"]
    assert '<canvas id="small-cmips_score" role="img" aria-label="Bars of CPU' in text


def test_metric_that_one_offer_lacks_is_not_measured(client, pair):
    factories.sample(
        factories.offer("e"), 5.0, metric="coremark_score", variant="standard", source="published"
    )
    assert row_of(html(client, "/compare/?o=a,e"), "CoreMark")[0] == "not measured"


def test_warnings_and_errors_of_the_basis_are_shown(client, pair):
    text = html(client, "/compare/?o=a,b&period=eon&foo=1")
    assert 'id="period_error"' in text
    assert "unknown parameter foo was ignored" in text


def test_mix_without_the_baseline_is_answered_with_a_word(client, pair):
    factories.offer("bare")
    text = html(client, "/compare/?o=a,bare&base=bare&weights=cmips_score:1")
    assert "changes nothing" in text
    assert row_of(text, "Value per cost")[0].startswith("10")


def test_compare_page_of_six_keeps_to_its_queries(client, pair, django_assert_max_num_queries):
    for n in range(3):
        published(f"more-{n}", 100.0 + n, "1")
    data_version_bump()
    html(client, "/compare/?o=a&period=year")  # what changed is worked off by the first who reads
    with django_assert_max_num_queries(12):
        text = html(client, "/compare/?o=a,b,c,more-0,more-1,more-2")
    assert text.count('class="plain"') == 6
