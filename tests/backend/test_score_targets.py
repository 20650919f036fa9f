"""Figures of two volumes, or to two machines, never share a score; the offer's own volume ranks."""

import pytest

from backend.benchmarks.calc.targets import target
from backend.benchmarks.models import Source
from backend.benchmarks.selectors.scores import score_groups
from backend.benchmarks.services.results import peer_name
from backend.benchmarks.services.summaries import summaries_refresh
from backend.measure.metrics import METRICS
from backend.rankings.selectors.scores import scores
from tests import factories
from tests.backend.conftest import API

pytestmark = pytest.mark.django_db

READ = "disk_read_bytes_per_s"


def read_at(run, stored_on, *values, **given):
    """Samples of dd on a device of a machine that runs from vda1; None says nothing of devices."""
    parameters = {"bytes": 2**30, "copies": 1}
    if stored_on:
        parameters |= {"stored_on": stored_on, "stored_as": "ext4", "root_on": "vda1"}
    row = {
        "run": run,
        "host": run.host,
        "metric": READ,
        "variant": "dd_direct",
        "unit": "bytes/s",
        "parameters": parameters,
        "target": target("dd", parameters),
        **given,
    }
    for n, value in enumerate(values):
        factories.sample(run.offer, value, repeat=n, **row)


def ranked():
    summaries_refresh()
    return {offer: score.summary.value for offer, score in scores(METRICS[READ])}


def test_figures_of_two_disks_are_two_scores_and_that_of_the_root_ranks(caller):
    """1,038 and 3,974 MB/s were pooled to 2,165 with an interval of 0 to 13 million."""
    first = factories.run()
    read_at(first, "vda1", 1.038e9, 1.04e9, 1.036e9)
    second = factories.run(first.host, state="done")
    read_at(second, "vdb", 3.974e9, 3.97e9, 3.98e9)
    assert ranked() == {first.offer_id: 1.038e9}
    own, beside = score_groups(first.offer_id)[READ]
    assert (own.summary.value, beside.summary.value) == (1.038e9, 3.974e9)
    assert own.variant_on_target == "dd_direct vda1 ext4, copies from 1 GiB"
    assert beside.variant_on_target == "dd_direct vdb ext4, copies from 1 GiB"
    document = caller("read").get(f"{API}/offers/{first.offer.slug}").json()
    assert [(s["variant"], s["value"]) for s in document["summaries"]] == [
        ("dd_direct vda1 ext4, copies from 1 GiB", 1.038e9)
    ]


def test_published_figure_ranks_where_only_another_volume_was_measured():
    run = factories.run()
    read_at(run, "server/12345", 4e8)
    assert ranked() == {}
    factories.sample(
        run.offer, 2e9, metric=READ, variant="dd_direct", unit="bytes/s", source=Source.PUBLISHED
    )
    assert ranked() == {run.offer_id: 2e9}


def test_figures_of_another_file_size_are_another_score():
    run = factories.run()
    read_at(run, None, 1e9)
    small = {"bytes": 2**28, "copies": 1}
    read_at(
        factories.run(run.host, state="done"),
        None,
        3e9,
        parameters=small,
        target=target("dd", small),
    )
    assert {s.summary.value for s in score_groups(run.offer_id)[READ]} == {1e9, 3e9}


def test_peer_is_named_by_its_offer_and_by_itself_where_it_stays():
    own, rented = factories.host(), factories.host(is_rented=True)
    run = factories.run()
    assert peer_name(run) == ""
    run.peer = own
    assert peer_name(run) == f"{own.offer.slug} {str(own.pk)[:8]}"
    run.peer = rented
    assert peer_name(run) == rented.offer.slug
