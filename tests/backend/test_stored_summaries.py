"""What is stored of the samples is what a calculation from all of them says, whoever writes."""

import datetime as dt
import hashlib
import math
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection, transaction
from django.test import Client
from hypothesis import given as whatever
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from backend.benchmarks.models import Host, Sample, StoredSummary
from backend.benchmarks.selectors.scores import Score, compute_scores, score_groups
from backend.benchmarks.services import summaries
from backend.benchmarks.services.current_data import current_stamp
from backend.benchmarks.services.summaries import summaries_refresh, summary_scores
from backend.catalog.models import Offer, StoredMark, StoredState
from backend.catalog.selectors.data_version import data_stamp
from backend.rankings.selectors.query import RankingQuery
from backend.rankings.selectors.ranking import ranking
from tests import factories
from tests.examples import FEW

METRICS = ("cmips_score", "coremark_score", "disk_seeks_per_s", "no_such_metric")
VARIANTS = {"cmips_score": "all", "coremark_score": "standard", "disk_seeks_per_s": "standard"}
COPIED = "offer_id, host_id, metric, variant, repeat, value, unit, parameters, flags, source"
COPIED += ", source_note, method_version, measured_at, excluded_reason, licence"


def everything() -> dict[Any, Any]:
    """The brute force: every score of every offer, from all samples."""
    return {(offer, score.metric.key): score for offer, score in compute_scores()}


def kept() -> dict[Any, Any]:
    return {(offer, score.metric.key): score for offer, score in summary_scores()}


def in_step() -> bool:
    summaries_refresh()
    return kept() == everything()


# --- any change, by any writer ----------------------------------------------------------------


class World:
    """A few offers with a few machines each, and samples on some of them."""

    def __init__(self) -> None:
        self.number = 0
        self.offers = [factories.offer(f"sampled-{n}", source="") for n in range(3)]
        self.hosts = [factories.host(offer) for offer in self.offers for _ in range(4)]

    def sample(self, pick: int, **given: Any) -> Sample:
        self.number += 1
        metric, host = METRICS[pick % 4], self.hosts[pick % len(self.hosts)]
        source = ("measured", "measured", "imported", "published")[pick // 7 % 4]
        figures: dict[str, Any] = {
            "offer": host.offer,
            "host": host if source == "measured" else None,
            "metric": metric,
            "variant": VARIANTS.get(metric, "x") if pick % 5 else "another",
            "repeat": self.number,
            "value": 100 + pick % 37,
            "unit": "x",
            "flags": ([], [], [], ["disturbed"], ["cached", "outlier"])[pick // 3 % 5],
            "source": source,
            "source_note": f"https://example.com/{self.number}",
            "published_sd_ratio": 0.02 if pick % 2 else None,
            "measured_at": factories.AT + dt.timedelta(hours=self.number),
        }
        return Sample(**{**figures, **given})

    # Each of these is a way to write; `pick` chooses rows and values.

    def bulk(self, pick: int) -> None:
        Sample.objects.bulk_create([self.sample(pick + n // 3) for n in range(pick % 13)])

    def one(self, pick: int) -> None:
        self.sample(pick).save()

    def copy(self, pick: int) -> None:
        rows = [self.sample(pick * n) for n in range(1, 6)]
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY benchmarks_sample ({COPIED}) FROM STDIN") as out,
        ):
            for row in rows:
                cells = [getattr(row, name) for name in COPIED.split(", ")]
                cells[7] = "{}"
                out.write_row(cells)

    def update(self, pick: int) -> None:
        Sample.objects.filter(pk__in=self.some(pick)).update(value=50 + pick % 9)

    def move(self, pick: int) -> None:
        """To another offer and metric at once: two places change."""
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE benchmarks_sample SET offer_id = %s, metric = %s WHERE id = ANY(%s)",
                [self.offers[pick % 3].pk, METRICS[pick % 3], self.some(pick)],
            )

    def exclude(self, pick: int) -> None:
        for row in Sample.objects.filter(pk__in=self.some(pick)):
            row.excluded_reason = "" if row.excluded_reason else "wrong"
            row.save()

    def delete(self, pick: int) -> None:
        Sample.objects.filter(pk__in=self.some(pick)).delete()

    def cascade(self, pick: int) -> None:
        Host.objects.filter(pk=self.hosts[pick % len(self.hosts)].pk).delete()
        self.hosts = [host for host in self.hosts if Host.objects.filter(pk=host.pk).exists()]
        if not self.hosts:
            self.hosts = [factories.host(self.offers[0])]

    def share(self, pick: int) -> None:
        kind = ("shared", "dedicated", "")[pick % 3]
        Offer.objects.filter(pk=self.offers[pick % 2].pk).update(vcpu_kind=kind)

    def resource(self, pick: int) -> None:
        offer = self.offers[pick % 3]
        offer.source = f"https://example.org/{pick}"
        offer.save()

    def truncate(self, pick: int) -> None:
        if pick % 4 == 0:
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; TRUNCATE benchmarks_sample")

    def nothing(self, pick: int) -> None:
        Sample.objects.filter(pk=-pick).delete()

    def some(self, pick: int) -> list[int]:
        keys = list(Sample.objects.values_list("pk", flat=True))
        return keys[pick % 3 :: 1 + pick % 4]


WRITES = (
    World.bulk, World.bulk, World.one, World.copy, World.update, World.move, World.exclude,
    World.delete, World.cascade, World.share, World.resource, World.truncate, World.nothing,
)  # fmt: skip
writes = st.lists(st.tuples(st.sampled_from(WRITES), st.integers(0, 999)), min_size=1, max_size=8)


class StoredSummaries(TestCase):
    """Random writes, refreshed after some of them."""

    @whatever(st.lists(writes, min_size=1, max_size=3))
    @hypothesis_settings(max_examples=FEW)
    def test_stored_summaries_are_those_of_all_samples_after_any_writes(
        self, rounds: list[list[tuple[Callable[[World, int], None], int]]]
    ) -> None:
        world = World()
        for changes in rounds:
            for change, pick in changes:
                change(world, pick)
            assert in_step()
        assert not StoredMark.objects.filter(kind="summaries").exists()

    @whatever(writes)
    @hypothesis_settings(max_examples=FEW)
    def test_ranking_shows_every_write_although_nobody_counted_it(
        self, changes: list[tuple[Callable[[World, int], None], int]]
    ) -> None:
        world = World()
        factories.sample(world.offers[0], 7)
        current_stamp()
        ranking(RankingQuery())
        for change, pick in changes:
            change(world, pick)
        current_stamp()
        shown = {row.offer_id: row.score for row in ranking(RankingQuery()).rows}
        slugs = dict(Offer.objects.values_list("pk", "slug"))
        known = compute_scores(metric="cmips_score")
        assert shown == {slugs[offer]: score.summary.value for offer, score in known}


# --- what is made anew ------------------------------------------------------------------------


@pytest.mark.django_db
def test_refresh_makes_only_the_marked_metrics_of_the_marked_offers_anew() -> None:
    one, other = factories.offer("one"), factories.offer("other")
    for offer in (one, other):
        factories.sample(offer, 10)
        factories.sample(offer, 10, metric="coremark_score", variant="standard")
    summaries_refresh()
    StoredSummary.objects.update(value=1)
    factories.sample(one, 30)
    summaries_refresh()
    values = StoredSummary.objects.values_list("offer__slug", "metric", "value")
    assert set(values) == {
        ("one", "cmips_score", 20),
        ("one", "coremark_score", 1),
        ("other", "cmips_score", 1),
        ("other", "coremark_score", 1),
    }


@pytest.mark.django_db
def test_summaries_of_older_formulas_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    offer = factories.offer()
    factories.sample(offer, 10)
    summaries_refresh()
    StoredSummary.objects.update(value=1)
    assert not summaries.is_pending(data_stamp())
    monkeypatch.setattr(summaries, "FORMULAS", summaries.FORMULAS + 1)
    assert summaries.is_pending(data_stamp())
    assert in_step()
    assert StoredSummary.objects.get().value == 10
    assert StoredState.objects.get().summaries == summaries.FORMULAS
    assert not summaries.is_pending(data_stamp())


SAID_BY_FORMULAS = {
    1: "47305f9b33439787",
    2: "0adf04a85c6c5f8e",
    4: "0adf04a85c6c5f8e",
    5: "1b0fff22d7ee6f94",
    6: "f946eeadb7a79923",
    7: "f946eeadb7a79923",
    8: "f946eeadb7a79923",
}


@pytest.mark.django_db
def test_formulas_are_counted_up_with_what_a_summary_says() -> None:
    """Rows that are stored already are made anew only then: never change a line, add one."""
    for machines, vcpu_kind in ((1, "shared"), (2, ""), (5, "dedicated"), (12, "")):
        offer = factories.offer(f"of-{machines}", vcpu_kind=vcpu_kind)
        for number in range(machines):
            host = factories.host(offer, id=uuid.UUID(int=100 * machines + number))
            for repeat, value in enumerate((100, 103, 99 + 2 * number)):
                flags = ["disturbed"] if repeat == 1 and number % 2 else []
                factories.sample(offer, value, host=host, repeat=repeat, flags=flags)
    published = factories.offer("of-published")
    factories.sample(published, 7, source="published", published_sd_ratio=0.03, published_count=9)
    slugs = dict(Offer.objects.values_list("pk", "slug"))
    said = [
        (
            slugs[offer],
            *(f"{v:.9g}" for v in (its.value, its.ci95_low, its.ci95_high)),
            (its.n_instances, its.n_repeats, str(its.interval_basis), its.is_unstable),
            (score.variant, score.is_unfit, score.flags, score.source),
        )
        for offer, score in compute_scores()
        for its in (score.summary,)
    ]
    digest = hashlib.sha256(repr(sorted(said)).encode()).hexdigest()[:16]
    assert digest == SAID_BY_FORMULAS[summaries.FORMULAS], said


@pytest.mark.django_db
def test_refresh_without_marks_changes_nothing() -> None:
    factories.sample(factories.offer(), 10)
    summaries_refresh()
    before = data_stamp()
    summaries_refresh()
    assert data_stamp() == before
    assert before.mark == 0


@pytest.mark.django_db
def test_own_results_follow_the_address_of_the_site(settings: LazySettings) -> None:
    settings.PUBLIC_URL = "https://one.test"
    run = factories.run()
    factories.sample(run.offer, 10, run=run)
    summaries_refresh()
    settings.PUBLIC_URL = "https://two.test/"
    [(_, score)] = summary_scores()
    assert score.result_url == f"https://two.test/runs/{run.pk}/#evidence"


@pytest.mark.django_db
def test_refresh_takes_few_statements(django_assert_max_num_queries: Any) -> None:
    summaries_refresh()
    for n in range(5):
        offer = factories.offer()
        for metric, variant in VARIANTS.items():
            factories.sample(offer, 10 + n, metric=metric, variant=variant)
    with django_assert_max_num_queries(3):
        summaries_refresh()
    assert StoredSummary.objects.count() == 15


# --- several writers and readers at once ------------------------------------------------------


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=4) as pool:
        yield pool


def apart(work: Callable[[], Any]) -> Callable[[], Any]:
    """The work on a connection of its thread, which is closed afterwards."""

    def done() -> Any:
        try:
            return work()
        finally:
            connection.close()

    return done


@pytest.mark.django_db(transaction=True)
def test_a_write_that_is_not_committed_is_neither_seen_nor_lost(
    threads: ThreadPoolExecutor,
) -> None:
    offer = factories.offer()
    factories.sample(offer, 10)
    written, may_commit = threading.Event(), threading.Event()

    def write() -> None:
        with transaction.atomic():
            factories.sample(offer, 30)
            written.set()
            assert may_commit.wait(20)

    writer = threads.submit(apart(write))
    assert written.wait(20)
    summaries_refresh()
    assert StoredSummary.objects.get().value == 10
    may_commit.set()
    writer.result(20)
    assert data_stamp().mark
    summaries_refresh()
    assert StoredSummary.objects.get().value == 20


@pytest.mark.django_db(transaction=True)
def test_writers_and_readers_at_once_never_wait_in_a_circle(threads: ThreadPoolExecutor) -> None:
    offers = [factories.offer() for _ in range(3)]

    def write(turn: int) -> None:
        for n in range(8):
            with transaction.atomic():
                for offer in offers[:: 1 if turn else -1]:
                    factories.sample(offer, 10 + n)
                summaries_refresh()

    def read() -> None:
        for _ in range(8):
            summaries_refresh()

    done = [
        threads.submit(apart(work)) for work in (lambda: write(0), lambda: write(1), read, read)
    ]
    for one in done:
        one.result(60)
    assert in_step()
    assert Sample.objects.count() == 48
    assert StoredSummary.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_a_refresh_that_fails_leaves_the_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    factories.sample(factories.offer(), 10)

    def broken(_: Any) -> None:
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(summaries, "_store", broken)
        with pytest.raises(RuntimeError):
            summaries_refresh()
    assert data_stamp().mark
    assert in_step()
    assert StoredSummary.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("spread", [None, 0.0, 0.6, -1.0])
def test_every_published_figure_has_an_interval(
    client: Client, settings: LazySettings, spread: float | None
) -> None:
    """W2: without a stated spread a figure was a point, and ranked as if it were certain."""
    settings.PUBLIC_READ = True
    offer = factories.offer("wide", vcpu_kind="dedicated")
    factories.sample(offer, 100.0, source="published", published_sd_ratio=spread)
    factories.price(offer, "1")
    summaries_refresh()
    (row,) = client.get("/api/v1/rankings").json()["results"]
    assert row["score_ci95_low"] < 100 < row["score_ci95_high"]
    assert row["interval_basis"] == ("published_sd" if spread == 0.6 else "stated_spread")


# --- what one score pools ---------------------------------------------------------------------


def score_of(offer: Offer) -> Score:
    summaries_refresh()
    return kept()[offer.pk, "cmips_score"]


def sampled(offer: Offer, host: Host, *values: float, day: int, model: str, **given: Any) -> None:
    """The repeats of one run on a machine of this model."""
    vcpus = given.pop("vcpu_count", 2)
    run = factories.run(host, environment={"cpu_model": model or None, "vcpu_count": vcpus})
    at = factories.AT + dt.timedelta(days=day)
    for repeat, value in enumerate(values):
        factories.sample(offer, value, host=host, run=run, repeat=repeat, measured_at=at, **given)


@pytest.mark.django_db
def test_a_new_kernel_ranks_and_the_old_one_is_history() -> None:
    """W3: 1,000 of the old kernel and 1,300 of the new one were pooled to 1,152."""
    offer = factories.offer()
    host = factories.host(offer)
    sampled(offer, host, 999, 1000, 1001, day=0, model="Milan", method_version="cmips 2 aaaa")
    sampled(offer, host, 1299, 1302, 1303, day=1, model="Milan", method_version="cmips 2 bbbb")
    score = score_of(offer)
    assert (score.summary.value, score.method_version) == (1302, "cmips 2 bbbb")
    newest, older = score_groups(offer.pk)["cmips_score"]
    assert newest == score
    assert (older.summary.value, older.method_version) == (1000, "cmips 2 aaaa")


@pytest.mark.django_db
def test_a_host_that_was_resized_is_another_machine() -> None:
    """W3: 2 and 8 vCPUs were pooled to 1,503.5 of none of them."""
    offer = factories.offer()
    host = factories.host(offer)
    sampled(offer, host, 1500, 1501, day=0, model="Milan")
    sampled(offer, host, 6000, 6002, day=1, model="Milan", vcpu_count=8)
    assert score_of(offer).summary.value == 6001


@pytest.mark.django_db
def test_models_behind_one_offer_are_counted_and_flagged() -> None:
    offer = factories.offer()
    for day, model in enumerate(("Milan", "Rome", "Milan", "")):
        sampled(offer, factories.host(offer), 100 + day, day=day, model=model)
    score = score_of(offer)
    assert (score.cpu_models, score.summary.n_instances) == ({"Milan": 2, "Rome": 1}, 4)
    assert "mixed_hardware" in score.flags


@pytest.mark.django_db
def test_what_the_inventory_says_later_makes_the_summary_anew() -> None:
    offer = factories.offer()
    host = factories.host(offer)
    sampled(offer, host, 100, day=0, model="")
    assert score_of(offer).cpu_models == {}
    run = host.runs.get()
    run.environment = {"cpu_model": "Rome"}
    run.save(update_fields=["environment"])
    assert score_of(offer).cpu_models == {"Rome": 1}


@pytest.mark.django_db
def test_kind_of_an_offer_changes_its_stated_spread() -> None:
    """W18: a cloud that states no kind of vCPU is taken to share them."""
    offer = factories.offer(kind="cloud", vcpu_kind="")
    factories.sample(offer, 100, host=factories.host(offer))
    wide = score_of(offer).summary
    assert wide.ci95_high == pytest.approx(100 * math.exp(0.5384775))
    Offer.objects.filter(pk=offer.pk).update(kind="dedicated")
    assert score_of(offer).summary.ci95_high == pytest.approx(100 * math.exp(0.0979388))
