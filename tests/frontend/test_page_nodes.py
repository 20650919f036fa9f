"""How many elements a page has when it is first painted: every one costs a slow machine time."""

import pytest

from backend.catalog.models import Offer
from tests.frontend.nodes import MOST, elements
from tests.frontend.spacing import shown

pytestmark = pytest.mark.django_db

ROWS = 50
METRIC = "metric=stress_ng_div16"
PAGES = {
    "answer": "/?vcpu=8&ram=32",
    "offers": f"/offers/?{METRIC}&per_page={ROWS}",
    "offers of the whole market": f"/offers/?{METRIC}&per_page={ROWS}&currency=EUR&period=month",
    "offers filtered": f"/offers/?{METRIC}&per_page={ROWS}&vcpu__gte=2&kind=cloud&basis=machine",
    "offers of processors": f"/offers/?metric=specrate2017_int_base&per_page={ROWS}",
    "frontier": f"/frontier/?{METRIC}",
    "requirements": f"/requirements/?{METRIC}",
}


def drawn(client, path):
    answer = client.get(path, follow=True)
    assert answer.status_code == 200, path
    text = shown(answer)
    return text, elements(text)


def test_kept_content_is_no_element_of_the_page():
    html = (
        "<p><b>1</b><template><i>2</i><template></template></template>"
        "<noscript><i>3</i></noscript><i>4</i>"
    )
    assert +elements(html) == {"p": 1, "b": 1, "template": 1, "noscript": 1, "i": 1}


@pytest.mark.parametrize("name", PAGES)
def test_page_has_at_most_1500_elements(client, market, name):
    text, found = drawn(client, PAGES[name])
    if name.startswith("offers"):
        assert text.count('<td class="pick">') == ROWS
    assert found.total() <= MOST, found.most_common()


def test_comparison_of_six_offers_has_at_most_1500_elements(client, market):
    slugs = Offer.objects.filter(samples__metric="stress_ng_div16").distinct()
    picked = ",".join(slugs.order_by("slug").values_list("slug", flat=True)[:6])
    text, found = drawn(client, f"/compare/?o={picked}&{METRIC}")
    assert picked.count(",") == 5
    assert all(slug in text for slug in picked.split(","))
    assert found.total() <= MOST, found.most_common()
