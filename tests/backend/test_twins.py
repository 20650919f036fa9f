"""Offers of one machine type in several regions: one published figure stands for all of them."""

from typing import Any

import pytest
from django.test import Client

from backend.benchmarks.models import Sample, Source, StoredSummary
from backend.benchmarks.selectors.scores import compute_scores, score_origin
from backend.benchmarks.services.summaries import summaries_refresh
from backend.benchmarks.services.twins import twins_refresh
from backend.catalog.models import Offer
from backend.measure.metrics import METRICS
from tests import factories

pytestmark = pytest.mark.django_db
METRIC = METRICS["cmips_score"]


def sold(region: str, *, is_demo: bool = False, **given: Any) -> Offer:
    return factories.offer(
        f"m5-{region}", name="m5.large", region=factories.region(region), is_demo=is_demo, **given
    )


def published(offer: Offer, value: float) -> Sample:
    return factories.sample(offer, value, source=Source.PUBLISHED, source_note="a table")


@pytest.fixture
def lead() -> Offer:
    """The offer of the tables, with a published figure."""
    offer = sold("us-east-1", is_demo=True)
    published(offer, 100.0)
    return offer


@pytest.fixture
def twin(lead: Offer) -> Offer:
    """The same type in a region of a price list that was read later."""
    offer = sold("eu-west-3")
    twins_refresh()
    return offer


def values() -> dict[str, tuple[float, str]]:
    """Offer → stored value and its source; the same as computed from the samples."""
    summaries_refresh()
    stored = {
        row.offer.slug: (row.value, str(row.source))
        for row in StoredSummary.objects.select_related("offer")
    }
    made = {Offer.objects.get(pk=pk).slug: score.summary.value for pk, score in compute_scores()}
    assert {slug: value for slug, (value, _) in stored.items()} == made
    return stored


def test_twin_has_the_figure_of_its_lead_and_no_copy_of_it(lead: Offer, twin: Offer) -> None:
    assert values() == {lead.slug: (100.0, "published"), twin.slug: (100.0, "published")}
    assert Sample.objects.count() == 1
    assert score_origin(twin.pk, METRIC).pooled == score_origin(lead.pk, METRIC).pooled != set()
    page = Client().get(f"/offers/{twin.slug}/").content.decode()
    assert "a table" in page


def test_own_figure_of_a_twin_goes_before_that_of_its_lead(lead: Offer, twin: Offer) -> None:
    own = factories.sample(twin, 90.0, run=factories.run(factories.host(twin)))
    assert values() == {lead.slug: (100.0, "published"), twin.slug: (90.0, "measured")}
    twins_refresh()
    assert values()[twin.slug] == (90.0, "measured")
    own.delete()
    assert values()[twin.slug] == (100.0, "published")


def test_twin_of_a_measured_lead_keeps_the_published_figure(lead: Offer, twin: Offer) -> None:
    factories.sample(lead, 80.0, run=factories.run(factories.host(lead)))
    assert values() == {lead.slug: (80.0, "measured"), twin.slug: (100.0, "published")}
    later = sold("eu-west-1")
    twins_refresh()
    assert values()[later.slug] == (100.0, "published")


def test_corrected_figure_of_a_lead_reaches_its_twins(lead: Offer, twin: Offer) -> None:
    Sample.objects.update(value=110.0)
    assert values() == {lead.slug: (110.0, "published"), twin.slug: (110.0, "published")}
    lead.delete()
    assert values() == {}


def test_other_kinds_and_owned_machines_are_no_twins(lead: Offer) -> None:
    sold("eu-west-1", vcpu_kind="burstable")
    sold("eu-west-2", workspace=factories.workspace())
    sold("eu-west-3", provider=factories.provider("other"))
    twins_refresh()
    assert not Offer.objects.exclude(figures_of=None).exists()
    assert [*values()] == [lead.slug]
