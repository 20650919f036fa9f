"""The published scores of real work, as they stand with the offers."""

import csv
import gzip
import math
from collections import defaultdict

import pytest
from django.conf import settings
from django.test import Client

from backend.benchmarks.models import Sample, StoredSummary
from backend.rankings.selectors.ranking import query_from, ranking

pytestmark = pytest.mark.django_db
LICENCE = "CC BY-SA 4.0, Spare Cores Inspector Data"


def facts(metric: str) -> dict[tuple[str, str], list[dict[str, str]]]:
    """Provider and type → rows of the table."""
    rows: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    path = settings.FIXTURE_DIR / "published/sparecores/scores.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            if row["metric"] == metric:
                provider = {"hcloud": "hetzner"}.get(row["vendor"], row["vendor"])
                rows[provider, row["server"]].append(row)
    return rows


def test_general_performance_equals_the_facts_under_burst(market: None) -> None:
    stated = {
        machine: float(row["value"]) for machine, [row] in facts("derived_general_noweb").items()
    }
    query, _ = query_from({"metric": ["general_performance"], "load": ["burst"]})
    rows = [row for row in ranking(query).everyone if row.score is not None]
    differing = [
        (row.offer, row.score)
        for row in rows
        if not math.isclose(float(row.score), stated[row.provider, row.offer], rel_tol=1e-12)
    ]
    assert differing == []
    # Every offer whose type is in the table has the figure, in each of its regions.
    every = Sample.objects.values_list("offer__provider__slug", "offer__name").distinct()
    scored = {(row.provider, row.offer) for row in rows}
    assert scored == stated.keys() & set(every)
    assert len(rows) > 1000


def test_web_server_at_its_limit_takes_no_rank(market: None) -> None:
    limited = {machine for machine, rows in facts("web_64k").items() if "s" in rows[0]["flags"]}
    stored = StoredSummary.objects.filter(metric="web_requests_per_s").values_list(
        "offer__provider__slug", "offer__name", "is_unfit", "flags"
    )
    unfit = {(provider, name) for provider, name, is_unfit, _ in stored if is_unfit}
    assert unfit
    assert unfit == limited & {(provider, name) for provider, name, *_ in stored}
    assert all("saturated" in flags for *_, is_unfit, flags in stored if is_unfit)


def test_type_on_several_models_is_a_mixture_with_shares(market: None) -> None:
    """Two runs on an E5-2673 v4 and a Platinum 8171M: their mean, from the lowest to the highest."""
    machine = "azure", "Standard_D16_v3"
    rows = facts("redis_set_p16")[machine]
    assert [row["runs"] for row in rows] == ["1", "1"]
    values = [float(row["value"]) for row in rows]
    summary = StoredSummary.objects.filter(metric="redis_set_per_s", offer__name=machine[1]).first()
    assert summary is not None
    assert summary.value == pytest.approx(sum(values) / 2)
    assert summary.ci95_low <= min(values)
    assert summary.ci95_high >= max(values)
    assert {row["cpu_model"] for row in rows} <= summary.cpu_models.keys()
    assert "mixed_hardware" in summary.flags


def test_type_unlike_its_peers_has_a_wide_interval(market: None) -> None:
    summaries = StoredSummary.objects.filter(
        metric="general_performance", flags__contains=["unlike_peers"]
    )
    assert summaries
    assert all(each.ci95_high > 1.5 * each.value for each in summaries)


def test_intervals_follow_the_repeated_runs_of_the_family(market: None) -> None:
    """Of an m6i.large the assumed 5 % would reach ± 10 %."""
    steady = StoredSummary.objects.get(
        metric="general_performance", offer__slug="aws-m6i-large-us-east-1"
    )
    assert steady.interval_basis == "published_sd"
    assert 1.01 < steady.ci95_high / steady.value < 1.08
    shared = StoredSummary.objects.get(
        metric="general_performance", offer__slug="gcp-e2-small-us-central1"
    )
    assert shared.ci95_high / shared.value > 1.5


@pytest.mark.parametrize(
    ("name", "key", "variant", "factor"),
    [
        ("derived_general_cpu", "general_performance", "with_web", 1),
        ("web_1k", "web_requests_per_s", "1k", 1),
        ("redis_set_p1", "redis_set_per_s", "p1", 1),
        ("derived_single_thread", "single_thread_performance", "standard", 1),
        ("gzip5_compress_percore", "compression_bytes_per_s", "gzip,5,multi", 1e6),
        ("llm_smollm135m_gen128", "llm_tokens_per_s", "gen128", 1),
        ("bwmem_rd_64MB_all", "bw_mem_bytes_per_s", "rd,64", 1e6),
        ("membench_latency_max", "membench_latency_ns", "largest", 1),
        ("pgbench_rocpu", "pgbench_read_per_s", "peak", 1 / 60),
    ],
)
def test_figures_of_a_type_stand_in_our_unit(
    market: None, name: str, key: str, variant: str, factor: float
) -> None:
    samples = Sample.objects.filter(source="published", metric=key, variant=variant)
    stated, seen = facts(name), set()
    for sample in samples.select_related("offer__provider"):
        machine = sample.offer.provider.slug, sample.offer.name
        rows = stated[machine]
        if len(rows) == 1:
            assert sample.value == pytest.approx(float(rows[0]["value"]) * factor)
        assert sample.licence == LICENCE
        if variant == "with_web":
            assert float(rows[0]["vcpu"]) <= 32
        seen.add(machine)
    assert len(seen) > 50


def test_credit_type_is_not_slowed_twice(market: None) -> None:
    """Some types were measured after their credits were spent: they keep their figure, though their
    share of it would be less."""
    params = {"metric": ["general_performance"]}
    rows = [
        row
        for row in ranking(query_from(params)[0]).everyone
        if row.credit_mode == "standard" and row.score and row.burst_score
    ]
    slowed = [row for row in rows if row.score < row.burst_score]
    kept = [row for row in rows if row.score == row.burst_score]
    assert slowed
    assert kept
    assert all((row.cpu_baseline_ratio or 1) < 1 for row in kept)


def test_rank_correlation_with_postgresql_stands_on_the_page(client: Client) -> None:
    """By the textbook formula over the types with both figures: 1 − 6 Σd² / n(n² − 1)."""
    ours = {key: row for key, [row] in facts("derived_general_noweb").items()}
    theirs = {key: rows[0] for key, rows in facts("pgbench_rocpu").items()}
    known = {key for key, row in theirs.items() if "u" not in row["flags"]}
    machines = [key for key in ours.keys() & known if 2 <= float(ours[key]["vcpu"]) <= 64]

    def ranks(rows: dict[tuple[str, str], dict[str, str]]) -> list[int]:
        speed = {key: float(rows[key]["value"]) / float(rows[key]["vcpu"]) for key in machines}
        order = sorted(machines, key=lambda key: (speed[key], key))
        return [order.index(key) for key in machines]

    n = len(machines)
    squares = sum((a - b) ** 2 for a, b in zip(ranks(ours), ranks(theirs), strict=True))
    expected = 1 - 6 * squares / (n * (n * n - 1))
    assert expected >= 0.95
    shown = client.get("/metrics/general_performance/").context["database"]
    assert shown.type_count == n
    assert shown.ratio == pytest.approx(expected, abs=1e-3)


def test_page_of_a_metric_draws_the_correlation_table(client: Client) -> None:
    path = settings.FIXTURE_DIR / "published/sparecores/rankcorr.csv"
    with path.open(encoding="utf-8", newline="") as lines:
        stated = {row["metric"]: row for row in csv.DictReader(lines) if row["kind"] == "per_vcpu"}
    page = client.get("/metrics/redis_set_per_s/")
    cells = {cell.label: cell.ratio for cell in page.context["correlations"].cells}
    assert cells["Broad server work"] == float(stated["redis_p16"]["broad6"]) == 0.966
    assert cells["CPU speed"] == float(stated["redis_p16"]["general_noweb"])
    assert page.content.decode().count("<meter") == len(cells) - 1
    assert "tenth-10" in page.content.decode()


def test_page_of_div16_warns_and_names_the_better_metric(client: Client) -> None:
    page = client.get("/metrics/stress_ng_div16/").content.decode()
    assert "typical error is 42%" in page
    assert 'href="/metrics/general_performance/"' in page


@pytest.mark.parametrize("use", ["web", "database", "build", "compute", "analytics"])
def test_use_sets_the_metric_of_the_answer(market: None, client: Client, use: str) -> None:
    metric = {
        "web": "web_requests_per_s",
        "database": "redis_set_per_s",
        "build": "single_thread_performance",
        "compute": "general_performance",
        "analytics": "bw_mem_bytes_per_s",
    }[use]
    best = client.get("/api/v1/answer", {"use": use, "vcpu": 8}).json()["best"]
    assert best["metric"] == metric
    named = client.get("/api/v1/answer", {"use": use, "metric": "coremark_score"}).json()["best"]
    assert named["metric"] == "coremark_score"


def test_first_screen_answers_with_an_offer_on_sale_and_its_contenders(
    market: None, client: Client
) -> None:
    asked = {"vcpu": 8, "ram": 32, "region_group": "europe"}
    answer = client.get("/api/v1/answer", asked).json()
    best, contenders = answer["best"], answer["contenders"]
    assert (best["metric"], best["load"]) == ("general_performance", "sustained")
    assert "discontinued" not in best["flags"].split()
    assert best["score_ci95_low"] < best["score"] < best["score_ci95_high"]
    assert contenders
    least = min(contenders, key=lambda each: float(each["price"]))
    if least["offer"] != best["offer"]:
        assert f"{least['offer']} " in answer["sentence"].partition("Of these, ")[2]


def test_attribution_stands_on_pages_and_exports_that_show_a_score(
    market: None, client: Client
) -> None:
    words = "github.com/SpareCores/sc-inspector-data"
    for url in (
        "/metrics/general_performance/",
        "/offers/?metric=general_performance",
        "/offers/aws-m6i-large-us-east-1/",
        "/",
    ):
        assert words in client.get(url, follow=True).content.decode(), url
    export = client.get("/api/v1/rankings.csv?metric=general_performance")
    content = b"".join(export.streaming_content) if export.streaming else export.content
    assert LICENCE.encode() in content
