"""The pages as served: content, links, and what must hold on every one of them."""

import csv
import io
import json
import math
import re
from html.parser import HTMLParser
from uuid import uuid4

import pytest

from backend.benchmarks.models import Run, RunState
from tests import factories
from tests.frontend.rows import Measured, evidence, published
from tests.frontend.spacing import brief, shown

pytestmark = pytest.mark.django_db

INLINE_SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*type=\"application/json\")")
INLINE_STYLE = re.compile(r"<style|\sstyle\s*=", re.IGNORECASE)
HANDLER = re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE)


class Tags(HTMLParser):
    """Start tags with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def named(self, name):
        return [attributes for tag, attributes in self.found if tag == name]


def paths(measured: Measured) -> dict[str, str]:
    run = measured.run.pk
    return {
        "answer": "/",
        "filtered": "/?provider=own&vcpu__gte=1&foo=1",
        "nothing": "/?metric=fsync_p99_ns",
        "offers": "/offers/?sort=offer",
        "offer": f"/offers/{measured.offer.slug}/",
        "run": f"/runs/{run}/",
        "evidence": f"/runs/{run}/evidence/0/",
        "metric": "/metrics/cmips_score/",
        "hosts": "/hosts/",
        "host": f"/hosts/{measured.run.host_id}/",
        "runs": "/runs/",
        "campaigns": "/campaigns/",
        "schedules": "/schedules/",
        "import": "/import/",
        "login": "/accounts/login/",
        "missing": "/offers/no-such-offer/",
    }


PAGES = (
    "answer",
    "filtered",
    "nothing",
    "offers",
    "offer",
    "run",
    "evidence",
    "metric",
    "hosts",
    "host",
    "runs",
    "campaigns",
    "schedules",
    "import",
    "login",
    "missing",
)


def html(client, path, status=200, **headers):
    answer = client.get(path, headers=headers)
    assert answer.status_code == status
    return shown(answer)


@pytest.mark.parametrize("page", PAGES)
def test_page_is_sound_and_strict(client, measured, page, django_assert_max_num_queries):
    # The page of an offer asks for the prices to come, too.
    # One of them for its prices under every term.
    with django_assert_max_num_queries(14 if page == "offer" else 12):
        answer = client.get(paths(measured)[page])
    assert answer.status_code == (404 if page == "missing" else 200)
    text = answer.content.decode()
    assert not INLINE_SCRIPT.search(text)
    assert not INLINE_STYLE.search(text)
    assert not HANDLER.search(text)
    tags = Tags(text)
    assert len(tags.named("h1")) == 1
    assert tags.named("html")[0]["lang"] == "en"
    assert {"class": "skip", "href": "#main"} in tags.named("a")
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "style-src 'self'" in policy
    assert "unsafe" not in policy
    identities = [a["id"] for _, a in tags.found if a.get("id")]
    assert len(identities) == len(set(identities))
    assert all("scope" in head for head in tags.named("th"))


def test_ranking_shows_order_interval_price_and_source(client, measured):
    published("cheap", 500.0, "0.01", name="cheap one")
    text = html(client, "/offers/")
    rows = re.findall(r'<th scope="row"><a href="([^"]+)">([^<]+)</a>', text)
    # 1000 / 0.1 USD/h = 10,000 against 500 / 0.01 = 50,000 CMIPS per USD/hour
    assert rows == [("/offers/cheap/", "cheap one"), ("/offers/own-rack/", "rack")]
    assert (
        '<div id="conclusion"><div class="conclusion clear"> <p>AWS cheap one is most likely the best '
        "value (chance over 99%). It gives 5× the performance for the money of rack" in text
    )
    assert "50,000" in text
    assert "10,000" in text
    assert f'href="/runs/{measured.run.pk}/#evidence"' in text
    assert "n = 1 × 3" in text
    assert "no interval" not in text
    assert "prices as of 2026-11-01" in text
    assert "730 h/month" in text


def test_ranking_marks_the_one_sorted_column_and_turns_it_round(client, measured):
    heads = Tags(html(client, "/?sort=price,-score")).named("th")
    assert [head["aria-sort"] for head in heads if "aria-sort" in head] == ["ascending"]
    assert 'href="/?sort=-price"' in html(client, "/?sort=price,-score")


def test_ranking_pages_by_fifty_and_keeps_the_state(client):
    provider = factories.provider("aws")
    for n in range(51):
        published(f"offer-{n:02}", 100.0 + n, "1", provider=provider)
    text = html(client, "/?kind=cloud")
    assert text.count('<th scope="row">') == 50
    assert "51 offers" in text
    assert 'href="/?kind=cloud&amp;page=2"' in text
    assert html(client, "/?kind=cloud&page=2").count('<th scope="row">') == 1


def test_ranking_filters_by_form_and_shows_removable_chips(client, measured):
    published("other", 500.0, "0.01")
    text = html(client, "/?provider=own&provider=aws&q=rack")
    assert "1 offer" in text
    assert 'aria-label="Remove filter Search rack"' in text
    chips = [a["href"] for a in Tags(text).named("a") if a.get("class") == "chip"]
    assert chips[1:] == ["/?q=rack", "/?provider=own,aws"]
    boxes = [i for i in Tags(text).named("input") if i.get("name") == "provider"]
    assert {i["value"] for i in boxes if "checked" in i} == {"own", "aws"}


def test_ranking_says_what_is_wrong_beside_the_field_and_filters_nothing(client, measured):
    text = html(client, "/?hours_per_month=abc&vcpu__gte=x&foo=1")
    field = next(i for i in Tags(text).named("input") if i.get("name") == "hours_per_month")
    assert field["value"] == "abc"
    assert field["aria-invalid"] == "true"
    assert 'id="hours_per_month_error"' in text
    assert "not a number" in text
    bound = next(i for i in Tags(text).named("input") if i.get("name") == "vcpu__gte")
    assert (bound["value"], bound["aria-describedby"]) == ("x", "vcpu_low")
    assert "Ignored: x is not a number." in text
    assert "unknown parameter foo was ignored" in text
    assert "730 h/month" in text
    assert "1 offer" in text


def test_partial_request_gets_the_results_alone_and_a_clean_address(client, measured):
    answer = client.get("/?metric=cmips_score&q=&provider=own", headers={"HX-Request": "true"})
    text = answer.content.decode()
    assert brief(answer.headers["HX-Push-Url"]) == "/?provider=own"
    assert "<html" not in text
    assert 'id="results"' in text
    assert '<p id="status" hx-swap-oob="innerHTML">' in text


def test_partial_request_with_an_error_asks_for_the_whole_page(client, measured):
    answer = client.get("/?term=never", headers={"HX-Request": "true"})
    assert brief(answer.headers["HX-Redirect"]) == "/?term=never"


def test_ranking_without_any_price_offers_the_purchase_terms(client):
    offer = factories.offer("cpu", provider_slug="own", kind="onprem")
    given = {"metric": "passmark_score", "variant": "standard", "unit": "points"}
    factories.sample(offer, 4827.0, source="published", **given)
    factories.price(offer, "124", unit="once", purchase_model="purchase", currency="USD")
    text = html(client, "/?metric=passmark_score")
    assert "no price" in text
    assert 'href="/?metric=passmark_score&amp;term=purchase"' in text
    bought = html(client, "/?metric=passmark_score&term=purchase")
    assert "points per USD<" in bought  # no period
    assert ">124<" in bought


def test_ranking_whose_extras_lack_prices_says_so_and_leaves_them_out(client, measured):
    text = html(client, "/?basis=ip")
    assert "No price is known here for an address, so nothing is ranked by cost." in text
    assert re.search(r'href="/"[^>]*>Remove the extras', text)
    assert "1 offer, 1 whose extras have no known price" in text
    assert "cost to buy" not in text


def test_ranking_of_mixed_prices_says_so_and_adds_the_extras(client, measured):
    with_disk = factories.offer("disk", disk_bytes=10**12)
    factories.price(with_disk)
    factories.sample(with_disk, 900.0)
    text = html(client, "/offers/")
    assert "Some prices include a disk or traffic, others do not." in text
    assert 'href="/offers/?basis=disk,ip,egress"' in text
    assert "sold by the month only" in text
    assert "sold by the month only" not in html(client, "/?period=month")
    assert "Some prices include a disk" not in html(client, "/?q=rack")
    assert "Some prices include a disk" not in html(client, "/?basis=disk")


def test_search_lists_offers_without_a_figure_at_the_end(client, measured):
    factories.price(factories.offer("rack-unmeasured"), "0.5")
    for address, count in (("/?q=rack", 2), ("/?q=unmeasured", 1)):
        text = html(client, address)
        rows = re.findall(r"<tr.*?</tr>", text.partition("<tbody>")[2], re.DOTALL)
        assert len(rows) == count
        assert "0.5000" in rows[-1]
        assert 'href="/offers/rack-unmeasured/#measure">measure or import' in rows[-1]
    assert "rack-unmeasured" not in html(client, "/offers/")


def test_ranking_without_figures_is_a_sentence(client, measured):
    assert "has not been measured on any offer yet" in html(client, "/?metric=fsync_p99_ns")
    assert "No offer matches these filters" in html(client, "/?q=nothing-like-it")


def embedded(text, name):
    """The JSON that a page carries for its script."""
    opening = f'<script id="{name}" type="application/json">'
    assert text.count(opening) == 1
    return json.loads(text.partition(opening)[2].partition("</script>")[0])


def chart(text):
    return embedded(text, "chart-json")


def test_chart_holds_the_same_figures_as_the_table_best_first(client, measured):
    published("cheap", 500.0, "0.01")
    data = chart(html(client, "/offers/"))
    bars = data["modes"]["value"]["bars"]
    assert [(bar["offer"], bar["value"]) for bar in bars] == [
        ("cheap", 50000.0),
        ("own-rack", pytest.approx(10000.0)),
    ]
    assert bars[0]["low"] == pytest.approx(50000 / math.exp(0.5384775), rel=1e-5)
    assert bars[1]["low"] < 10000 < bars[1]["high"]
    assert [bar["offer"] for bar in data["modes"]["score"]["bars"]] == ["own-rack", "cheap"]


def test_chart_leaves_out_disturbed_offers_and_falls_back_to_scores(client):
    offer = published("quiet", 500.0, None)
    busy = factories.offer("busy")
    factories.sample(busy, 900.0, host=factories.host(busy), flags=["disturbed"])
    data = chart(html(client, "/offers/"))
    assert data["default"] == "score"
    assert [bar["offer"] for bar in data["modes"]["score"]["bars"]] == [offer.slug]


def test_export_links_hold_exactly_the_state_of_the_page(client, measured):
    text = html(client, "/?provider=own&currency=USD&page=1&period=month")
    link = next(a["href"] for a in Tags(text).named("a") if "rankings.csv" in (a.get("href") or ""))
    assert link == "/api/v1/rankings.csv?period=month&provider=own"
    answer = client.get(link)
    assert answer.status_code == 200
    content = b"".join(answer) if answer.streaming else answer.content
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert [row["offer_id"] for row in rows] == ["own-rack"]
    assert "73.00" in text
    assert float(rows[0]["price"]) == pytest.approx(73)


def test_offer_page_lists_facts_prices_scores_runs_and_samples(client, measured):
    text = html(client, "/offers/own-rack/")
    assert "73.00 USD" in text
    assert "1,000" in text
    assert "repeats, widened" in text
    assert f'href="/runs/{measured.run.pk}/evidence/1/"' in text
    strip = embedded(text, "strips-json")[0]
    assert [point["x"] for point in strip["points"]] == [990.0, 1000.0, 1010.0]


def test_offer_page_links_a_published_figure_to_its_source(client):
    offer = factories.offer("old")
    note = "table of 2013, https://example.org/table"
    factories.sample(offer, 1200.0, source="published", source_note=note)
    assert 'href="https://example.org/table"' in html(client, "/offers/old/")


def test_run_page_asks_for_its_fragment_only_while_it_goes_on(client, measured):
    going = factories.run(
        factories.host(), state=RunState.RUNNING, probe="cmips", progress_ratio=0.4, live={}
    )
    evidence(going, 0)
    address = f"/runs/{going.pk}/progress/"
    for path in (f"/runs/{going.pk}/", address):
        assert f'hx-get="{address}" hx-trigger="every 2s"' in html(client, path)
    bar = Tags(html(client, address)).named("progress")[0]
    assert float(bar["value"]) == pytest.approx(0.4)
    Run.objects.filter(pk=going.pk).update(state=RunState.DONE)
    assert "hx-trigger" not in html(client, address)


def test_run_page_explains_a_failure_and_what_is_kept(client, measured):
    Run.objects.filter(pk=measured.run.pk).update(
        state=RunState.FAILED, failure_reason="disk_full", failure_detail="0.4 GB are free"
    )
    text = html(client, f"/runs/{measured.run.pk}/")
    assert "There was not enough free space on the host." in text
    assert "0.4 GB are free" in text
    assert "3 figures measured before that are kept" in text


def test_run_cancel_needs_the_role_and_a_token_of_the_form(client, measured, queued):
    going = factories.run(factories.host(), state=RunState.RUNNING)
    path = f"/runs/{going.pk}/cancel/"
    assert client.post(path).status_code == 403
    client.force_login(factories.user(role="write"))
    assert client.post(path).status_code == 403
    client.force_login(factories.user(role="run"))
    assert "Cancel run" in html(client, f"/runs/{going.pk}/")
    assert client.get(path).status_code == 405
    assert client.post(path).status_code == 302
    going.refresh_from_db()
    assert going.is_cancel_requested


def test_evidence_page_numbers_its_lines_and_escapes_them(client, measured):
    text = html(client, f"/runs/{measured.run.pk}/evidence/0/")
    assert '<li id="L1"><a href="#L1"' in text
    assert "second line &lt;b&gt;" in text
    assert measured.evidence.sha256 in text
    assert f"/api/v1/runs/{measured.run.pk}/evidence/0" in text
    assert "1.2%" in text


def test_evidence_page_refuses_a_text_that_is_not_the_measured_one(client, measured):
    type(measured.evidence).objects.filter(pk=measured.evidence.pk).update(sha256="0" * 64)
    text = html(client, f"/runs/{measured.run.pk}/evidence/0/")
    assert "Damaged." in text
    assert "second line" not in text


def test_unknown_addresses_are_not_found(client, measured):
    for path in (f"/runs/{uuid4()}/", f"/runs/{measured.run.pk}/evidence/99/", "/metrics/none/"):
        assert "Not found" in html(client, path, status=404)


def test_pages_ask_to_sign_in_when_reading_is_not_public(client, measured, settings):
    settings.PUBLIC_READ = False
    for page in PAGES:
        if page in {"login", "missing", "filtered", "nothing"}:
            continue
        answer = client.get(paths(measured)[page])
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith("/accounts/login/?next=/")
    client.force_login(factories.user())
    assert client.get("/").status_code == 200


def test_chart_names_the_year_behind_when_a_price_is_years_old(client, measured):
    old = published("old", 500.0, None, name="old one")
    factories.price(old, "0.01", observed_at=factories.AT.replace(year=2013))
    labels = [bar["label"] for bar in chart(html(client, "/offers/"))["modes"]["value"]["bars"]]
    assert "old one, 2013" in labels
    assert not any(label.endswith(", 2026") for label in labels)
