"""The requirements page: the form keeps what was typed, fleets and failures are told in words."""

import re
from html import unescape

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from tests import factories
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db
PAGE = "/requirements/"
AMAZON = f"{PAGE}?target=cmips_score:10000&provider=aws"


def page(client: Client, url: str = PAGE) -> str:
    response = client.get(url)
    assert response.status_code == 200
    return unescape(shown(response))


def table(html: str, name: str) -> list[list[str]]:
    """The cells of each row as plain text."""
    found = re.search(rf'aria-label="{name}".*?<tbody>(.*?)</tbody>', html, re.DOTALL)
    assert found, f"there is no table {name}"
    rows = re.findall(r"<tr>(.*?)</tr>", found[1], re.DOTALL)
    return [
        [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in
         re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)]
        for row in rows
    ]  # fmt: skip


def test_page_without_a_requirement_offers_examples_that_work(client: Client, demo: None) -> None:
    html = page(client)
    assert html.count("<h1>") == 1
    assert "Enter at least one amount" in html
    examples = re.findall(rf'href="({re.escape(PAGE)}\?[^"]+)"', html)
    assert len(examples) == 2
    for url in examples:
        assert table(page(client, url), "Fleets by cost")


def test_four_c1_stand_before_one_cc2(client: Client, demo: None) -> None:
    html = page(client, AMAZON)
    first, second = table(html, "Fleets by cost")[:2]
    assert first[0] == "1"
    assert first[1].startswith("4 × Amazon C1 High CPU Extra Large")
    assert first[2:4] == ["1,694", "2.320"]
    assert first[4] == "12,400 24% to spare"
    assert second[1].startswith("1 × Amazon CC2 Cluster Compute")
    assert second[2:4] == ["1,752", "2.400"]
    assert "10 options meet this, from 1,694 USD per month" in html
    fleets = html.split("Fleets by cost", 1)[1]
    row = fleets.split("Amazon C1 High CPU Extra Large", 1)[1].split("</tr>", 1)[0]
    assert row.count('class="swatch provider-aws"') == 4


def test_failures_are_grouped_by_their_reason(client: Client, market: None) -> None:
    html = page(client, f"{AMAZON}&max_servers=20&kinds=cloud")
    groups = {row[0]: row[1:] for row in table(html, "Excluded offers, and why")}
    assert groups["More than 20 servers would be needed"][0] == "2"
    assert (
        "aws-t1-micro-2013 : 205 servers are needed, 20 are allowed"
        in (groups["More than 20 servers would be needed"][1])
    )
    # 196 of steady speed, and the 21 of T3, T3a and T4g, whose baseline is known
    assert groups["CPU, all threads (CMIPS-compatible): not known"][0] == "217"
    assert (
        "/api/v1/requirements/solve" in groups["CPU, all threads (CMIPS-compatible): not known"][1]
    )


def test_one_type_is_not_known_by_reason_of_its_kind_or_price(client: Client, db: None) -> None:
    for slug in ("priced", "unpriced"):
        offer = factories.offer(slug, provider_slug="own", kind="dedicated", memory_bytes=2**30)
        factories.sample(offer, 5)
    factories.price(offer := factories.offer("slow"))
    factories.sample(offer, 900, metric="memory_latency_ns", variant="single", unit="ns")
    factories.sample(offer, 5)
    html = page(client, f"{PAGE}?target=memory_latency_ns:80&kinds=cloud&disk_gb=1")
    assert "Nothing meets this" in html
    reasons = {row[0]: row[2] for row in table(html, "Excluded offers, and why")}
    assert reasons.keys() == {"Its kind is dedicated", "Memory latency: too high"}
    assert (
        "slow : Memory latency is 900, at most 80 is asked for"
        in (reasons["Memory latency: too high"])
    )
    disk = page(client, f"{PAGE}?disk_gb=1&kinds=cloud")
    assert table(disk, "Excluded offers, and why")[1][0] == "Disk: not known"


def test_form_keeps_what_was_typed_with_the_error_beside_it(client: Client, demo: None) -> None:
    html = page(
        client,
        f"{PAGE}?target=cmips_score&amount=a+lot&target=&amount=&target=coremark_score&amount=7"
        "&ram_gib=64&disk_gb=-1&currency=xxx&kinds=ship&mixed=1&hours_per_month=900"
        "&provider=aws&max_servers=20",
    )
    assert "Nothing was calculated" in html
    assert "Fleets by cost" not in html
    for field, error in {
        "amount_1": "A lot is not a number.",
        "disk_gb": "-1 is not from 0 to 10^15",
        "kinds": "'ship' is not one of cloud, vps, dedicated, onprem",
    }.items():
        assert f'id="{field}_error">{error}' in html
    for kept in ('value="a lot"', 'value="7"', 'value="64"', 'value="-1"', 'value="XXX"',
                 'value="900"', '<option value="coremark_score" selected>'):  # fmt: skip
        assert kept in html, kept
    assert '<input type="hidden" name="provider" value="aws">' in html
    assert "checked" in re.findall(r'<input[^>]*name="mixed"[^>]*>', html)[0]
    later = page(client, f"{PAGE}?ram_gib=64&currency=xxx&hours_per_month=900")
    assert "no exchange rate is known for 'XXX'" in later
    assert "is not above 0 and up to 744" in later
    nameless = page(client, f"{PAGE}?target=&amount=5")
    assert "The metric of an amount is needed" in nameless


def test_filter_in_error_filters_nothing(client: Client, demo: None) -> None:
    html = page(client, f"{AMAZON}&vcpu__gte=many&q=amazon")
    assert "filters nothing: many is not a number" in html
    assert table(html, "Fleets by cost")[0][0] == "1"
    assert "vCPU: ≥ many" not in html
    assert "Search: amazon" in html
    without = re.search(r'href="([^"]+)" aria-label="Remove filter Search amazon"', html)
    assert without
    assert without[1].endswith("?provider=aws&target=cmips_score:10000")


def test_unknown_parameter_is_a_warning(client: Client, demo: None) -> None:
    assert "Unknown parameter wings was ignored" in page(client, f"{AMAZON}&wings=2")


def test_mixed_fleet_lists_its_parts_and_its_exports_say_the_same(
    client: Client, demo: None
) -> None:
    html = page(client, f"{AMAZON}&mixed=on&limit=2")
    first = table(html, "Fleets by cost")[0][1]
    assert [f"{n} × {name}" in first for n, name in
            ((3, "Amazon C1 High CPU"), (3, "Amazon M1 Small"), (2, "Amazon T1 Micro"))] == [
        True, True, True,
    ]  # fmt: skip
    [url] = re.findall(r'href="(/api/v1/requirements\.csv[^"]*)"', html)
    answer = client.get(url)
    assert answer.status_code == 200
    assert (
        answer.content.decode()
        .splitlines()[1]
        .startswith(
            '1,"3 x aws-c1-xlarge-2013, 3 x aws-m1-small-2013, 2 x aws-t1-micro-2013",8,1.96,'
        )
    )
    [more] = re.findall(r'href="([^"]+)">Show more of the 11<', html)
    assert len(table(page(client, more), "Fleets by cost")) == 11
    [compare] = re.findall(r'href="([^"]+)">Compare the first offers<', html)
    whole = client.get(f"{AMAZON}&mixed=on&limit=2").content.decode()
    assert re.search(r"/compare/[^ ]*metric=cmips_score", whole)
    assert client.get(compare).status_code == 200


def test_interval_ends_and_traffic_are_shown(client: Client, db: None) -> None:
    steady = factories.offer("steady")
    factories.price(steady, included={"traffic_bytes": 10**12, "traffic_price_per_tb": "2"})
    spread = factories.offer("spread", provider_slug="gcp")
    factories.price(spread, included={"is_traffic_unlimited": True})
    for value in (100, 100.1, 99.9, 100, 100):
        factories.sample(steady, value, host=factories.host(steady))
    for value in (60, 140, 100, 130, 70):
        factories.sample(spread, value, host=factories.host(spread))
    html = page(client, f"{PAGE}?target=cmips_score:95&egress_gb_per_month=2000")
    listed = {row[1].split()[2]: row for row in table(html, "Fleets by cost")}
    assert listed["steady"][5] == "holds"
    assert re.fullmatch(r"[2-9] needed", listed["spread"][5])
    # 1 TB beyond what is included
    assert listed["steady"][2] == "75.00 2.00 of it traffic"
    assert listed["spread"][2] == "73.00"


def test_page_asks_the_database_little(
    client: Client, demo: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    url = f"{AMAZON},coremark_score:5&egress_gb_per_month=1&mixed=1"
    with django_assert_max_num_queries(15):
        page(client, url.replace("10000&provider=aws,", "10000,"))
