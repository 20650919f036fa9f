"""The ranking page as a whole: filters, order, columns, provenance, picks, views and exports."""

import gzip
import re
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.contrib.auth.models import AnonymousUser

from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.services.current_prices import prices_refresh
from backend.rankings.pages.ranking.views import ranking_request
from backend.rankings.selectors.columns import COLUMNS_V1
from backend.rankings.selectors.ranking import ranking
from backend.site.state import API_DEFAULTS
from tests import factories
from tests.frontend.rows import published
from tests.frontend.spacing import brief
from tests.frontend.test_pages import Tags, html

pytestmark = pytest.mark.django_db


@pytest.fixture
def few(db):
    """Four offers: 4 vCPU at 1 USD/h, 8 at 2, 16 at 2, and 32 without a price."""
    for slug, vcpu, score, price in (
        ("four", 4, 400.0, "1"),
        ("eight", 8, 900.0, "2"),
        ("sixteen", 16, 1400.0, "2"),
        ("unpriced", 32, 3000.0, None),
    ):
        published(slug, score, price, vcpu_count=vcpu, provider_slug="aws", vcpu_kind="dedicated")


def offers(text: str) -> list[str]:
    return re.findall(r'<th scope="row"><a href="/offers/([^"/]+)/">', text)


def heads(text: str) -> list[str]:
    head = text[text.index("<caption") : text.index("</thead>")]
    return re.findall(r'hx-swap="outerHTML">([^<]+?)(?: <small>|</a>)', head)


def fields(text: str, name: str) -> list[dict[str, str | None]]:
    return [tag for tag in Tags(text).named("input") if tag.get("name") == name]


def link(text: str, name: str) -> str:
    """Where the link of this text leads."""
    page = text.partition("<main")[2]
    found = re.search(rf'<a [^>]*href="([^"]*)"[^>]*>{re.escape(name)}', page)
    assert found, name
    return found[1].replace("&amp;", "&")


# --- filters ----------------------------------------------------------------------------------


def test_conditions_lead_to_the_address_that_states_them_as_parameters(client, few):
    answer = client.get("/?where=vcpu>=8 price<3&q=&sort=price")
    assert answer.status_code == 302
    assert brief(answer.headers["Location"]) == "/?sort=price&vcpu__gte=8&price__lt=3"
    text = html(client, answer.headers["Location"])
    assert offers(text) == ["eight", "sixteen"]
    assert fields(text, "vcpu__gte")[0]["value"] == "8"
    assert not fields(text, "where")[0]["value"]
    chips = [a["aria-label"] for a in Tags(text).named("a") if a.get("class") == "chip"]
    assert chips[1:] == ["Remove filter vCPU ≥ 8", "Remove filter Price < 3"]


def test_conditions_in_error_stay_beside_their_box_and_filter_nothing(client, few):
    text = html(client, "/?where=vcpu>=8 cost<3&vcpu__lte=16&sort=price")
    assert offers(text) == ["four", "eight", "sixteen"]
    box = fields(text, "where")[0]
    assert (box["value"], box["aria-invalid"]) == ("vcpu>=8 cost<3", "true")
    assert "where_error" in (box["aria-describedby"] or "")
    error = re.search(r'id="where_error">([^<]+)<', text)
    assert error
    assert error[1].startswith("Filters nothing: &#x27;cost&#x27; is not a column")
    assert re.search(r'<details class="panel" id="panel-more" open>', text)


def test_conditions_of_a_partial_request_return_the_whole_page(client, few):
    good = client.get("/?where=vcpu>=8", headers={"HX-Request": "true"})
    assert brief(good.headers["HX-Redirect"]) == "/?vcpu__gte=8"
    bad = client.get("/?where=vcpu", headers={"HX-Request": "true"})
    assert brief(bad.headers["HX-Redirect"]) == "/?where=vcpu"


def test_bounds_may_leave_out_the_bound_itself(client, few):
    assert offers(html(client, "/?vcpu__gt=4&vcpu__lt=16")) == ["eight"]
    assert offers(html(client, "/?vcpu__gte=4&vcpu__lte=4")) == ["four"]


def test_every_figure_has_a_field_for_both_bounds(client, few):
    text = html(client, "/?open=figures")
    names = {tag["name"] for tag in Tags(text).named("input") if "name" in tag}
    for column in ("vcpu", "price", "score_ci95_low", "cup", "tie_group", "measured_at"):
        assert {f"{column}__gte", f"{column}__lte"} <= names
    assert "cup__gte" not in {
        tag.get("name") for tag in Tags(html(client, "/offers/")).named("input")
    }
    assert 'name="cup__gte" value="1"' in html(client, "/?cup__gte=1")


def test_menu_leaves_out_what_is_ticked_where_all_but_these_is_asked(client, few):
    published("other", 100.0, "1", provider_slug="gcp")
    answer = client.get("/?provider=aws&not=provider")
    assert brief(answer.headers["Location"]) == "/?provider!=aws"
    text = html(client, answer.headers["Location"])
    assert offers(text) == ["other"]
    ticked = [tag["value"] for tag in fields(text, "provider") if "checked" in tag]
    assert ticked == ["aws"]
    assert [tag["value"] for tag in fields(text, "not") if "checked" in tag] == ["provider"]
    assert re.search(r'id="provider-menu"[^>]*>not AWS<', text)


def test_menus_count_offers_under_the_other_filters(client, few):
    published("other", 100.0, "1", provider_slug="gcp", vcpu_count=4)
    text = html(client, "/?vcpu__lte=8&provider=gcp")
    counts = re.findall(
        r'name="provider" value="(\w+)"[^>]*> [^<]* <span class="count">(\d+)', text
    )
    assert counts == [("aws", "2"), ("gcp", "1")]


def test_like_with_like_is_one_click_away_and_back(client, few):
    published("shared", 9000.0, "1", vcpu_kind="shared")
    text = html(client, "/offers/")
    assert "shared" in offers(text)
    alike = link(text, "Hide shared and burstable vCPUs")
    assert alike == "/offers/?vcpu_kind!=shared,burstable"
    only = html(client, alike)
    assert "shared" not in offers(only)
    assert len(offers(only)) == 4
    assert link(only, "Hide shared and burstable vCPUs") == "/offers/"


def test_measured_here_is_yes_no_or_any(client, measured):
    published("other", 500.0, "0.01")
    assert offers(html(client, "/?measured=1")) == ["own-rack"]
    assert offers(html(client, "/?measured=0")) == ["other"]
    assert len(offers(html(client, "/?measured=any"))) == 2


# --- order ------------------------------------------------------------------------------------


def test_order_of_two_keys_is_in_words_and_in_one_aria_sort(client, few):
    text = html(client, "/?sort=-price,vcpu")
    assert offers(text) == ["eight", "sixteen", "four", "unpriced"]
    assert "by Price, highest first then vCPU, lowest first" in text
    sorted_heads = [tag for tag in Tags(text).named("th") if "aria-sort" in tag]
    assert [tag["aria-sort"] for tag in sorted_heads] == ["descending"]
    assert "<small>(2)</small>" in text
    assert offers(html(client, "/?sort=price,-vcpu")) == ["four", "sixteen", "eight", "unpriced"]


def test_page_of_three_thousand_sort_keys_is_as_long_as_any(client, few):
    plain = html(client, "/?sort=price,-vcpu")
    many = html(client, "/?sort=" + ",".join(["price", "-vcpu"] * 1500))
    # Prints state the address, of a long one its beginning.
    assert len(many) < len(plain) + 300


def test_more_sort_keys_than_ten_are_refused_beside_the_menu(client, few):
    text = html(client, "/?sort=" + ",".join(COLUMNS_V1[:11]))
    assert 'id="sort_error">Order ignored: 11 columns are more than 10' in text
    assert "by Value per cost, highest first</span>" in text
    assert "Order ignored" not in html(client, "/?sort=" + ",".join(COLUMNS_V1[:10]))


def test_heads_have_a_button_that_adds_their_column_to_the_order(client, few):
    text = html(client, "/?sort=price")
    buttons = {b["value"]: b for b in Tags(text).named("button") if b.get("name") == "also"}
    assert buttons["-score"]["form"] == "ranking-form"
    assert buttons["-score"]["aria-label"] == "Add Score to the order"
    assert buttons["-price"]["aria-label"] == "Reverse Price among the keys"
    answer = client.get("/?sort=price&also=-score&provider=")
    assert brief(answer.headers["Location"]) == "/?sort=price,-score"


# --- columns ----------------------------------------------------------------------------------


def test_columns_are_those_of_the_address_in_its_order(client, few):
    text = html(client, "/?cols=price,vcpu,offer,pareto")
    assert heads(text) == ["Price", "vCPU", "Offer", "Pareto front"]
    assert "Shown now: of this address" in html(client, "/?cols=price,vcpu&open=columns")
    assert link(text, "Price").endswith("&sort=price")
    assert "cols=price,vcpu,offer,pareto" in link(text, "Price")
    assert heads(html(client, "/?cols=price")) == ["Offer", "Price"]


def test_every_column_can_be_shown_for_every_row(client, measured, few):
    published("bare", 10.0, None)
    text = html(client, f"/?cols={','.join(COLUMNS_V1)}&term=spot&currency=EUR")
    assert text.count('<th scope="row">') == 6
    assert text.count('<th scope="col"') == len(COLUMNS_V1) + 1
    assert ">None<" not in text


def test_columns_chosen_last_come_back_and_links_carry_them(client, few):
    answer = client.get("/offers/?provider=aws&cols=offer&cols=price&remember=1")
    assert brief(answer.headers["Location"]) == "/offers/?provider=aws&cols=offer,price"
    cookie = answer.cookies["columns"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    again = html(client, "/offers/")
    assert heads(again) == ["Offer", "Price"]
    chooser = html(client, "/offers/?open=columns", **{"HX-Request": "true"})
    assert "as you chose them last" in chooser
    assert "<html" not in chooser
    ticked = [tag["value"] for tag in fields(chooser, "cols") if "checked" in tag]
    assert ticked == ["price"]  # the offer's name is always shown
    assert {tag["value"] for tag in fields(chooser, "cols")} == set(COLUMNS_V1)
    assert link(again, "Price") == "/offers/?cols=offer,price&sort=price"
    assert "/api/v1/rankings.xlsx?cols=offer,price" in again
    assert heads(html(client, "/offers/?cols=vcpu")) == ["Offer", "vCPU"]  # an address wins
    gone = client.get(link(f"<main>{chooser}", "Standard columns"))
    assert brief(gone.headers["Location"]) == "/offers/"
    assert "Provider" in heads(html(client, "/offers/"))


def test_columns_of_a_spoilt_cookie_are_the_standard_ones(client, few):
    client.cookies["columns"] = "nonsense.<b>"
    assert "Provider" in heads(html(client, "/offers/"))


# --- what a figure rests on -------------------------------------------------------------------


def test_figures_open_what_they_rest_on(client, measured):
    text = html(client, "/offers/")
    (told,) = re.findall(r'<div popover id="w0">(.*?)</div>', text)
    assert text.count('popovertarget="w0"') == 2
    for said in (
        "Price 0.1000 USD/hour",
        "Monthly, 730 h/month, includes the machine alone",
        "Observed 2026-11-01",
        "2026-11-01 test",  # the source of the observation
        "Score 1,000 CMIPS",
        "n = 1 × 3",
        "(repeats, widened)",
        "Score per price 10,000",
    ):
        assert said in told, said


def test_figures_lead_to_their_evidence_with_and_without_a_column_for_it(client, measured):
    link = f'href="/runs/{measured.run.pk}/#evidence"'
    for columns, count in (("offer,score,measured_at", 0), ("offer,score", 1)):
        text = html(client, f"/offers/?cols={columns}")
        (told,) = re.findall(r'<div popover id="w0">(.*?)</div>', text)
        assert told.count(link) == count
        assert text.count(link) == 1


def test_a_price_says_what_it_holds_and_at_which_rate_it_was_converted(client, measured):
    factories.rate("USD", "1.25")
    told = html(client, "/?currency=EUR&tax_rate=0.2")
    assert "includes the machine, tax" in told
    assert "Converted at 0.8 of 2026-10-30" in told
    assert "Tax: 20%" in told


# --- picks ------------------------------------------------------------------------------------


def test_picks_survive_paging_and_lead_to_the_comparison(client, few):
    text = html(client, "/?per_page=2&sort=vcpu&o=four,sixteen&currency=USD&period=month")
    boxes = {tag["value"]: "checked" in tag for tag in fields(text, "o") if tag["type"] != "hidden"}
    assert boxes == {"four": True, "eight": False}
    assert [tag["value"] for tag in fields(text, "o") if tag["type"] == "hidden"][-1] == "sixteen"
    assert "Picked: four, sixteen" in text
    tray = next(tag for tag in Tags(text).named("form") if tag.get("id") == "compare")
    assert tray["action"] == "/compare/"
    assert "o=four,sixteen" in link(text, "2")
    assert "o=four" not in link(text, "JSON")
    form = text[text.index('id="compare"') :]
    assert '<input type="hidden" name="period" value="month">' in form


def test_picks_are_kept_without_scripts(client, few):
    text = html(client, "/?per_page=2&sort=vcpu&o=sixteen")
    keep = next(b for b in Tags(text).named("button") if b.get("name") == "at")
    answer = client.get(keep["formaction"], {"o": ["four", "sixteen"], "at": keep["value"]})
    asked_for = dict(parse_qsl(urlsplit(brief(answer.headers["Location"])).query))
    assert asked_for == {"per_page": "2", "sort": "vcpu", "o": "four,sixteen"}


# --- the whole page ---------------------------------------------------------------------------


def test_rows_of_a_page_are_chosen_below_the_table(client):
    provider = factories.provider("aws")
    for n in range(27):
        published(f"offer-{n:02}", 100.0 + n, "1", provider=provider)
    text = html(client, "/?q=offer")
    assert link(text, "25") == "/?q=offer&per_page=25"
    assert len(offers(html(client, "/?q=offer&per_page=25"))) == 25


def test_page_of_fifty_rows_stays_light(client, django_assert_max_num_queries):
    for n in range(60):
        provider = ("aws", "gcp", "azure", "hetzner")[n % 4]
        given = {
            "name": f"General purpose {n} with a rather long name",
            "region": factories.region(f"region-{n % 12}", provider_slug=provider),
            "vcpu_kind": "shared",
            "vcpu_count": 4 + n,
            "memory_bytes": n * 2**30 + 2**29,
        }
        published(f"{provider}-general-{n}-region-{n % 12}", 100.1234567 + n, "0.123", **given)
    prices_refresh()
    summaries_refresh()
    with django_assert_max_num_queries(12):
        text = html(client, "/offers/")
    assert len(offers(text)) == 50
    assert len(text.encode()) <= 120_000
    assert len(gzip.compress(text.encode(), 9)) <= 20_000


def test_weights_are_edited_in_a_panel_that_is_drawn_on_demand(client, few):
    assert "w.cmips_score" not in html(client, "/offers/")
    panel = client.get("/?open=mix&vcpu__gte=8", headers={"HX-Request": "true"})
    assert 'name="w.cmips_score"' in panel.content.decode()
    assert "<html" not in panel.content.decode()
    assert 'name="w.cmips_score"' in html(client, "/?open=mix")
    answer = client.get("/?w.cmips_score=2&w.coremark_score=&base=four")
    assert brief(answer.headers["Location"]) == "/?base=four&weights=cmips_score:2"
    mixed = html(client, answer.headers["Location"])
    assert "Mix of several metrics" in mixed
    assert fields(mixed, "w.cmips_score")[0]["value"] == "2"
    assert fields(mixed, "base")[0]["value"] == "four"
    bad = html(client, "/?weights=cmips_score:-1")
    assert 'id="panel-mix" open' in bad
    assert "Ignored: " in bad


def test_basis_is_edited_beside_its_amounts(client, few):
    answer = client.get("/?basis=&basis=disk&basis=egress&basis_disk_gb=500&basis_ipv4=1")
    assert brief(answer.headers["Location"]) == "/?basis=disk,egress&basis_disk_gb=500"
    text = html(client, answer.headers["Location"])
    assert {tag["value"] for tag in fields(text, "basis") if "checked" in tag} == {"disk", "egress"}
    assert fields(text, "basis_disk_gb")[0]["value"] == "500"
    bad = html(client, "/?basis=ip&basis_ipv4=many")
    assert 'id="basis_ipv4_error"' in bad


def test_ranking_request_gives_what_the_page_ranks(rf, few):
    request = rf.get("/?where=vcpu>=8&sort=vcpu&page=")
    request.user = AnonymousUser()
    requested = ranking_request(request)
    assert [row.offer_id for row in ranking(requested.query).rows] == [
        "eight",
        "sixteen",
        "unpriced",
    ]
    asked = {"sort": ["vcpu"], "vcpu__gte": ["8"]}
    assert (requested.params, requested.errors) == ({**API_DEFAULTS, **asked}, [])
