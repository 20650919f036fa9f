"""The ranking as a person sees it, against the acceptance list: its state and its numbers.

Held elsewhere, check → test:

    1  test_address_alone_restores_rows_order_and_columns
    2  test_address_alone_restores_rows_order_and_columns
    7  test_view_equals_its_long_address_and_says_when_it_was_changed
    9  test_figures_follow_from_the_printed_columns_in_every_basis
   10  test_many_sort_keys_order_like_python_with_unknown_last
   13  test_like_with_like_is_one_click_away_and_back
   14  test_csv_has_the_columns_of_version_one_in_their_order
   15  test_text_is_text_in_every_format_whatever_it_is
   15  test_negative_number_is_no_formula
   16  test_xlsx_cells_have_their_types
   16  test_libreoffice_opens_the_workbook_and_reads_the_same
   17  test_excel_eu_reads_under_de_de_as_the_plain_one_reads
   18  test_unchanged_data_answer_304_and_changed_data_do_not
   19  test_feed_gives_the_rows_of_its_view_without_headers_or_cookies
   19  test_feed_cannot_be_asked_for_more_than_its_view
   19  test_feed_is_401_without_a_valid_key_or_without_its_view
   19  test_feed_key_is_in_no_log_line_when_a_feed_is_refused_or_fails
   20  test_too_many_requests_are_429_with_whole_seconds
   21  test_value_is_at_most_64_bytes_for_every_numeric_column
   22  test_more_than_fifty_thousand_rows_are_refused_with_their_count
"""

import csv
import io
import re
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from backend.foundation.figures import significant
from backend.site.figures import money
from tests import factories
from tests.backend.test_spreadsheets import opened as workbook
from tests.backend.test_spreadsheets import printed_cells
from tests.e2e.browser import opened
from tests.frontend.rows import Measured, measured_offer, published
from tests.frontend.spacing import brief

pytestmark = [
    pytest.mark.browser,
    # The browser's driver leaves an event loop running in the process.
    pytest.mark.django_db(transaction=True),
]
API = "/api/v1/rankings"
FIGURE = r"([0-9.,]+)"


@pytest.fixture
def rows(site) -> Measured:
    """One measured offer and thirty published ones, of which the first two overlap."""
    factories.rate("USD", "1.17")
    for n in range(30):
        provider = ("aws", "gcp", "linode")[n % 3]
        spread: dict[str, Any] = {"published_sd_ratio": 0.02, "published_count": 9}
        given = {"vcpu_count": 2 + n % 4, "provider_slug": provider}
        offer = factories.offer(f"{provider}-{n:02}", **given)
        score = 1000.0 + n if n < 2 else 3000.0 * 1.5**n
        factories.sample(offer, score, source="published", **spread)
        factories.price(offer, "0.37")
    published("unpriced", 50.0, None)
    return measured_offer()


def ready(page: Page, path: str) -> None:
    page.goto(path)
    page.locator("#chart-data table").wait_for(state="attached")


def asked(page: Page, query: str) -> dict[str, Any]:
    """What the API says to the query of the page."""
    answer = page.request.get(f"{API}?{query}")
    assert answer.ok
    found: dict[str, Any] = answer.json()
    return found


def count(page: Page) -> int:
    """How many offers the status line announces."""
    text = page.get_by_role("status").first.inner_text()
    found = re.match(r"([0-9,]+) offers?", text)
    assert found is not None, text
    return int(found[1].replace(",", ""))


def column(page: Page, head: str) -> tuple[str, list[str]]:
    """The head that begins so, and the figures below it without what stands under them."""
    heads = page.locator(".paged thead th").all_inner_texts()
    place = next(n for n, text in enumerate(heads) if text.strip().startswith(head))
    first = f"rows => rows.map((row) => row.children[{place}].firstChild.textContent.trim())"
    return heads[place], page.locator(".paged tbody tr").evaluate_all(first)


def export_url(page: Page, name: str) -> str:
    found = page.locator("#menu-share a", has_text=name).first.get_attribute("href")
    assert found is not None
    return found


def test_check_03_unknown_parameter_is_named_and_the_rest_applies(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/?provider=aws&colour=red")
        expect(page.get_by_role("alert")).to_contain_text("colour")
        assert count(page) == asked(page, "provider=aws")["count"] == 11
        ready(page, "/offers/?provider=aws")
        expect(page.get_by_role("alert")).to_have_count(0)


def test_check_04_chips_are_the_parameters_and_go_one_by_one(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/?provider=aws,gcp&vcpu__gte=3&q=aws&score__lte=90000&sort=price")
        chips = page.locator(".chip:not(.all, [aria-label*='No longer sold'])")
        for left in (3, 2, 1, 0):
            names = set(parse_qs(urlsplit(brief(page.url)).query)) - {"sort"}
            expect(chips).to_have_count(left + 1)
            assert len(names) == left + 1
            told = " ".join(chips.all_inner_texts())
            for name in names:
                word = {"provider": "AWS", "vcpu__gte": "vCPU", "q": "aws", "score__lte": "90000"}
                assert word[name] in told
            assert count(page) == asked(page, urlsplit(page.url).query)["count"]
            address = page.url
            chips.first.click()
            page.wait_for_url(lambda url, before=address: url != before)
            expect(chips).to_have_count(left)
        assert count(page) == asked(page, "")["count"] == 32


def test_check_05_period_and_currency_change_all_prices_head_and_exports(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/?sort=offer")
        head, hourly = column(page, "Price")
        assert "USD/hour" in head
        page.get_by_label("Currency").select_option("EUR")
        page.wait_for_url(re.compile("currency=EUR"))
        page.get_by_label("Cost per").select_option("month")
        page.wait_for_url(re.compile("period=month"))
        expect(page.locator(".paged thead")).to_contain_text("EUR/month")
        head, monthly = column(page, "Price")
        query = urlsplit(page.url).query
        wanted = [row["price"] for row in asked(page, f"{query}&per_page=50")["results"]]
        assert len(monthly) == len(wanted) == 32
        for text, before, price in zip(monthly, hourly, wanted, strict=True):
            if price is None:
                assert text == before == "no price"
                continue
            assert text == money(Decimal(price), "month")
            assert text != before
        link = export_url(page, "CSV")
        assert {"currency": ["EUR"], "period": ["month"]}.items() <= parse_qs(
            urlsplit(link).query
        ).items()
        exported = list(csv.DictReader(io.StringIO(page.request.get(link).text())))
        assert [row["price"] or None for row in exported] == wanted
        assert {row["currency"] for row in exported} == {"EUR"}


def test_check_06_sort_filter_page_and_export_work_without_scripts(browser, site, rows):
    with opened(browser, site, is_scripted=False) as page:
        page.goto("/offers/?per_page=25")
        page.locator("thead").get_by_role("link", name="Score").click()
        scores = [float(row["score"]) for row in asked(page, "sort=-score")["results"]]
        assert scores == sorted(scores, reverse=True)
        shown = page.locator(".paged tbody th").all_inner_texts()
        page.get_by_role("navigation", name="Pages").get_by_role("link", name="2").click()
        shown += page.locator(".paged tbody th").all_inner_texts()
        ordered = asked(page, "sort=-score&per_page=50")["results"]
        assert shown == [row["offer"] for row in ordered]
        page.get_by_label("Search", exact=True).fill("gcp")
        page.get_by_role("button", name="Apply").click()
        assert count(page) == 10
        page.locator("#menu-share summary").click()
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV").first.click()
        lines = download.value.path().read_text().splitlines()
        assert len(lines) == 11


def roundings(exact: Decimal) -> set[Decimal]:
    """The figure as a cell may round it: to four digits, prices of an hour to four decimals."""
    return {significant(exact), round(exact, 4)}


def test_check_08_json_csv_and_xlsx_hold_the_digits_that_pages_round(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/?currency=EUR&score__gte=900&per_page=50")
        query = urlsplit(page.url).query
        listed = asked(page, query)["results"]
        explained = page.locator("#results > [popover]")
        explained.first.wait_for(state="attached")
        told = explained.all_inner_texts()
        hidden = explained.all_text_contents()
        texts = [b or a for a, b in zip(told, hidden, strict=True)]
        table = list(csv.DictReader(io.StringIO(page.request.get(export_url(page, "CSV")).text())))
        content = page.request.get(export_url(page, "Excel")).body()
    names = list(table[0])
    sheet, exact = workbook(content)["rankings"], printed_cells(content)
    assert len(texts) == len(listed) == len(table) == sheet.max_row - 1 == 31
    for number, (text, row, line) in enumerate(zip(texts, listed, table, strict=True), start=2):
        printed = {
            name: exact.get(cell.coordinate)
            for name, cell in zip(names, sheet[number], strict=True)
        }
        for name, said in (
            ("price", rf"Price {FIGURE} EUR/hour"),
            ("score", rf"Score {FIGURE} CMIPS"),
            ("score_ci95_low", rf"95%: {FIGURE} CMIPS – "),
            ("score_ci95_high", rf"95%: [0-9.,]+ CMIPS – {FIGURE}"),
            ("value_per_cost", rf"Score per price {FIGURE}"),
        ):
            found = re.search(said, text)
            if row[name] is None:
                assert (found, line[name], printed[name]) == (None, "", None)
                continue
            assert found is not None, (name, text)
            shown = Decimal(found[1].replace(",", ""))
            assert shown in roundings(Decimal(str(row[name]))), name
            assert line[name] == str(row[name]), name
            assert Decimal(printed[name] or "") == Decimal(line[name]), name


def test_check_11_offers_whose_intervals_overlap_are_marked_as_tied(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/?currency=USD&per_page=50")
        listed = {row["offer"]: row for row in asked(page, "currency=USD&per_page=50")["results"]}
        marks = page.locator(".paged tbody tr").evaluate_all(
            "rows => rows.map((row) => [row.querySelector('th').innerText.trim(), row.innerText])"
        )
    tied = {offer for offer, text in marks if "tied" in text}
    assert tied == {"aws-00", "gcp-01"}
    first, second = (listed[offer] for offer in sorted(tied))
    assert first["tie_group"] == second["tie_group"]
    assert first["score_ci95_high"] > second["score_ci95_low"]


def test_check_12_measured_figure_leads_to_its_line_of_the_raw_output(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/?provider=own")
        line = page.locator(".paged tbody tr")
        expect(line).to_have_count(1)
        for said in ("n = 1 × 3", "906 – 1,104", "2026-11-01"):
            expect(line).to_contain_text(said)
        line.locator(f'td > a[href="/runs/{rows.run.pk}/#evidence"]').click()
        expect(page.locator("#evidence")).to_be_in_viewport()
        page.locator("#evidence").get_by_role("link", name="cmips").first.click()
        page.get_by_role("link", name="Line 2", exact=True).click()
        assert page.url.endswith("#L2")
        expect(page.locator(":target")).to_contain_text("second line <b>")


def test_panels_that_were_left_open_are_all_drawn_after_a_reload(browser, site, rows):
    with opened(browser, site) as page:
        ready(page, "/offers/")
        page.evaluate(
            "for (const one of document.querySelectorAll('details.panel')) one.open = true"
        )
        page.wait_for_load_state("networkidle")
        ready(page, "/offers/")
        page.locator("#panel-figures > summary").click()
        for panel in ("#panel-mix", "#panel-figures"):
            expect(page.locator(f"{panel} input").first).to_be_visible()
