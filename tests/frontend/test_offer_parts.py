"""The offer page's parts: its whole cost, and offers like it; which offers lack a metric."""

import datetime as dt
import re

import pytest

from backend.benchmarks.services.current_data import current_stamp
from backend.catalog.models import ExtraKind, Offer
from backend.rankings.selectors.breakdown import price_breakdown
from backend.rankings.selectors.ranking import query_from, ranking
from backend.rankings.selectors.similar import similar_offers
from tests import factories
from tests.frontend.rows import published
from tests.frontend.spacing import brief

pytestmark = pytest.mark.django_db


def html(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    return brief(answer.content.decode())


def breakdown(offer, **params):
    return price_breakdown(offer, query_from({k: [v] for k, v in params.items()})[0])


def large_figures(text):
    """The figures at the head of the page by their first words."""
    head = text.split('<dl class="big"')[1].split("</dl>")[0]
    pairs = re.findall(r"<dt>(Score|Price|Value per cost|Rank).*?</dt><dd[^>]*>([^<]*)</dd>", head)
    return dict(pairs)


@pytest.fixture
def priced() -> Offer:
    """0.10 USD/h; disk 0.05 USD/GB-month of which 40 GB are included; address 0.005 USD/h."""
    offer = factories.offer("priced", disk_bytes=40 * 10**9, vcpu_count=4)
    factories.price(offer, "0.10")
    factories.extra(ExtraKind.DISK, "0.05")
    factories.extra(ExtraKind.IPV4, "0.005")
    return offer


def test_breakdown_adds_each_extra_to_the_machine(priced):
    factories.extra(ExtraKind.EGRESS, "0.09")
    found = breakdown(priced, period="month")
    # 73 + 60 GB × 0.05 + 730 h × 0.005 + 1000 GB × 0.09 = 73 + 3 + 3.65 + 90
    assert [(part.name, float(part.amount)) for part in found.parts] == [
        ("machine", pytest.approx(73)),
        ("disk", pytest.approx(3)),
        ("ip", pytest.approx(3.65)),
        ("egress", pytest.approx(90)),
    ]
    assert float(found.total) == pytest.approx(169.65)
    assert [part.is_in_basis for part in found.parts] == [True, False, False, False]


def test_breakdown_total_is_the_price_of_the_ranking_in_full_basis(priced):
    factories.extra(ExtraKind.EGRESS, "0.09")
    factories.sample(priced, 100.0)
    params = {"basis": ["disk,ip,egress"], "tax_rate": ["0.19"], "period": ["month"]}
    current_stamp()
    row = ranking(query_from(params)[0]).rows[0]
    found = price_breakdown(priced, query_from(params)[0])
    assert found.total == row.price
    assert found.parts[-1].name == "tax"
    assert float(found.parts[-1].amount) == pytest.approx(169.65 * 0.19)
    assert all(part.is_in_basis for part in found.parts)


def test_breakdown_without_a_known_extra_has_no_total(client, priced):
    found = breakdown(priced)
    assert found.total is None
    assert found.parts[-1].amount is None
    text = html(client, "/offers/priced/")
    assert "Traffic out 1,000 GB/month" in text
    assert "no price known" in text
    assert re.search(r"Total</th><td[^>]*>unknown", text)


def test_breakdown_of_an_offer_without_a_price_is_none(client):
    offer = factories.offer("free")
    assert breakdown(offer) is None
    assert "All-in cost" not in html(client, "/offers/free/")


def sized(slug, vcpu, gib, **given):
    return factories.offer(
        slug, vcpu_count=vcpu, memory_bytes=gib * 2**30, **{"name": slug, **given}
    )


def similar(slug):
    query, _ = query_from({})
    current_stamp()
    found = ranking(query)
    rows = [*found.rows, *found.unscored]
    return [r.offer_id for r in similar_offers(next(r for r in rows if r.offer_id == slug), rows)]


def test_similar_offers_are_the_nearest_of_other_types():
    sized("four", 4, 16)
    sized("four-elsewhere", 4, 16, name="four")
    sized("near", 4, 15)
    sized("double", 8, 32)
    sized("huge", 64, 256)
    sized("arm", 4, 16, arch="aarch64")
    Offer.objects.filter(slug="four").update(arch="x86_64")
    assert similar("four") == ["near", "double", "huge"]


def test_similar_offers_of_one_without_any_size_are_none(client):
    factories.offer("bare")
    sized("other", 4, 16)
    assert similar("bare") == []
    assert "Similar offers" not in html(client, "/offers/bare/")


def test_offer_page_leads_to_the_comparison_with_similar_ones(client):
    sized("four", 4, 16)
    sized("near", 4, 15)
    text = html(client, "/offers/four/?period=month")
    assert 'href="/compare/?period=month&amp;o=four,near"' in text


def test_incidents_of_a_provider_stand_on_its_offers(client):
    factories.offer("broken-into", provider_slug="linode")
    factories.offer("elsewhere", provider_slug="aws")
    text = html(client, "/offers/broken-into/")
    assert "Incidents at the provider" in text
    assert re.search(
        r"ColdFusion.*>break-in</td>\s*<td class=\"nowrap\">2013-04-12</td>", text, re.DOTALL
    )
    assert "Incidents at the provider" not in html(client, "/offers/elsewhere/")


def test_bound_is_written_as_one_in_the_ranking(client):
    offer = factories.offer("at-least")
    factories.price(offer)
    factories.sample(offer, 16_000, flags=["lower_bound"])
    text = html(client, "/?metric=cmips_score")
    assert "&gt; 16,000" in text
    assert "a bound" in text
    assert "not ranked" in text


def test_published_score_without_a_count_of_machines_says_nothing(client):
    published("old", 100.0, "1")
    assert ">None<" not in html(client, "/offers/old/")


def test_metrics_page_folds_away_those_without_a_figure(client, measured):
    text = html(client, "/metrics/")
    at_once, folded = text.split("<details>\n  <summary>")
    assert 'href="/metrics/cmips_score/"' in at_once
    assert 'href="/metrics/cmips_score/"' not in folded
    assert "not measured" not in at_once
    assert 'href="/offers/">1</a>' in text
    assert 'href="/metrics/fsync_p99_ns/"' in text
    assert "not measured" in text
    assert "never ranks" in text


def test_metric_page_names_the_offers_that_lack_it(client, measured):
    factories.offer("lacking")
    text = html(client, "/metrics/cmips_score/")
    assert "1 offer has a figure, 1 has none." in text
    part = text.split('id="lacking"')[1]
    assert 'href="/offers/lacking/"' in part
    assert "own-rack" not in part


def test_metrics_pages_keep_to_their_queries(client, measured, django_assert_max_num_queries):
    for path in ("/metrics/", "/metrics/cmips_score/"):
        with django_assert_max_num_queries(12):
            html(client, path)


def test_metric_page_says_when_its_spread_is_assumed(client, measured):
    text = html(client, "/metrics/cmips_score/")
    assert "the 5% between machines is an assumption" in text


def test_metric_page_compares_its_spread_with_published_ones(client):
    of = factories.offer("typed", vcpu_kind="dedicated")
    factories.sample(
        of,
        1000.0,
        metric="coremark_score",
        variant="standard",
        source="published",
        published_sd_ratio=0.05,
    )
    part = html(client, "/metrics/coremark_score/").split('id="calibration"')[1]
    assert ">95%<" in part
    assert ">83.4%<" in part


def _disk(offer, run, variant, value, at=factories.AT, **given):
    return factories.sample(
        offer,
        value,
        metric="disk_read_bytes_per_s",
        variant=variant,
        unit="bytes/s",
        **{"run": run, "measured_at": at, **given},
    )


def test_offer_shows_depth_8_and_local_disks_beside_its_read(client):
    """3.7: one stream of dd understates NVMe; 3.5: the rented volume is not the machine's disk."""
    host = factories.host()
    offer, earlier, newest = host.offer, factories.run(host), factories.run(host)
    gp3 = {"volume": {"type": "gp3", "size_gib": 20, "iops": 3000, "mib_per_s": 125}}
    local = {"volume": {"type": "Amazon EC2 NVMe Instance Storage", "size_gib": 873}}
    _disk(offer, newest, "dd_direct", 125e6, parameters=gp3)
    _disk(offer, earlier, "fio_1m_qd8", 9e9, factories.AT - dt.timedelta(days=9))
    for repeat, value in enumerate((2.0e9, 3.0e9, 2.5e9)):
        _disk(offer, newest, "fio_1m_qd8", value, repeat=repeat, parameters=gp3)
    _disk(offer, newest, "local_1m_qd8", 7e9, parameters=local)
    _disk(offer, newest, "matrix_1m_qd8_jobs1", 1e9)
    current_stamp()
    said = html(client, f"/offers/{offer.slug}/").partition("<h2>Every repeat</h2>")[0]
    assert "dd_direct<small>gp3 20 GiB 3000 IOPS 125 MiB/s</small></td>" in said
    beside = re.findall(r'<tr class="beside">(.*?)</tr>', said, re.DOTALL)
    assert [re.findall(r">([^<>]*[^<> ][^<>]*)</t[dh]>", row)[1:3] for row in beside] == [
        ["fio_1m_qd8, gp3 20 GiB 3000 IOPS 125 MiB/s", "2.500"],
        ["local_1m_qd8, Amazon EC2 NVMe Instance Storage 873 GiB", "7.000"],
    ]


def test_offer_page_ranks_by_a_metric_that_the_offer_has(client, measured):
    """The market's metric is CMIPS here, and says nothing about an offer with CoreMark alone."""
    coremark = {"metric": "coremark_score", "variant": "standard", "source": "published"}
    for slug, score, price in (("scored", 30_000.0, "0.10"), ("alike", 20_000.0, "0.20")):
        offer = factories.offer(slug, name=slug, vcpu_count=4)
        factories.price(offer, price)
        factories.sample(offer, score, **coremark)
    text = html(client, "/offers/scored/?period=month")
    value = text.split('id="value"')[1].split("</section>")[0]
    # 30,000 for 0.10 × 730 USD a month
    assert large_figures(text)["Value per cost"] == "411.0"
    assert large_figures(text)["Rank"] == "1 of 2"
    similar_part = text.split('id="similar"')[1]
    assert "alike" in similar_part
    assert "20,000" in similar_part
    # By the hour, where the form or the address asks for that.
    assert '<select name="period" id="period">' in value
    hourly = html(client, "/offers/scored/?period=hour")
    assert large_figures(hourly)["Value per cost"] == "300,000"


def test_offer_page_keeps_to_the_metric_of_its_address(client, measured):
    offer = factories.offer("scored")
    factories.sample(offer, 1.0, metric="coremark_score", variant="standard", source="published")
    asked = html(client, "/offers/scored/?metric=cmips_score")
    assert large_figures(asked)["Score"] == "not measured"


def test_offer_page_has_prices_of_its_type_by_region_and_term(client):
    """The offer first, then the cheapest; a year is the lowest of what providers call it."""
    regions = {
        name: factories.offer(f"m5-{name}", name="m5", region=factories.region(name))
        for name in ("here", "far", "near")
    }
    for name, amount in (("here", "0.3"), ("far", "0.2"), ("near", "0.1")):
        factories.price(regions[name], amount)
    factories.price(regions["here"], "0.05", purchase_model="spot", zone="a")
    for model, amount in (("reserved", "0.25"), ("savings", "0.24")):
        factories.price(regions["near"], amount, purchase_model=model, term="1y")
    factories.price(factories.offer("other", name="m6"), "0.01")
    current_stamp()
    text = html(client, "/offers/m5-here/?period=hour")
    table = text.split('aria-label="Prices by region"')[1].split("</table>")[0]
    assert re.findall(r'<th scope="col"[^>]*>([^<]+)', table) == [
        "Region",
        "On demand",
        "Spot",
        "1 year",
    ]
    row = re.compile(r'<th scope="row">(?:<a[^>]*>)?([^<]+).*?</th>(.*?)</tr>', re.DOTALL)
    rows = row.findall(table)
    assert [(name, re.findall(r"<td[^>]*>([^<]*)</td>", cells)) for name, cells in rows] == [
        ("here", ["0.3000", "0.0500", "–"]),
        ("near", ["0.1000", "–", "0.2400"]),
        ("far", ["0.2000", "–", "–"]),
    ]


@pytest.mark.parametrize(
    ("provider_slug", "kind", "step"),
    [
        ("aws", "cloud", "/accounts/clouds/"),
        ("hetzner", "vps", "/accounts/clouds/"),
        ("hetzner", "dedicated", "/hosts/new/"),
        ("elsewhere", "dedicated", "/hosts/new/"),
    ],
)
def test_unmeasured_offer_says_how_to_get_a_figure(client, provider_slug, kind, step):
    factories.offer("unknown", provider_slug=provider_slug, kind=kind)
    ways = html(client, "/offers/unknown/").split('id="measure"')[1].split("</ul>")[0]
    assert f'href="{step}"' in ways
    assert 'href="/import/?offer=unknown"' in ways
