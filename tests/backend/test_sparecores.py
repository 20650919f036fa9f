"""Imports of Spare Cores' public database. Every figure here is invented."""

import datetime as dt
import io
import json
import sqlite3
from decimal import Decimal

import pytest
from django.core.management import CommandError, call_command
from django.forms.models import model_to_dict

from backend.accounts.models import AuditEntry
from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.models import Sample, Source
from backend.benchmarks.services.current_data import current_stamp
from backend.benchmarks.services.sparecores import FEED_KIND, sparecores_import
from backend.benchmarks.services.sparecores_scores import ScoreStaging
from backend.catalog.models import Offer, PriceObservation
from backend.catalog.selectors.data_version import data_version
from backend.catalog.services.price_import import feed_get
from backend.foundation.errors import InvalidValue
from backend.money.pricing.purchase import PurchaseModel
from backend.rankings.selectors.ranking import query_from, ranking
from tests import factories
from tests.backend.sparecores_file import Writer, full_size

pytestmark = pytest.mark.django_db

SCORE = "stress_ng_div16"


@pytest.fixture
def write(tmp_path):
    """Starts a file, of AWS in two regions with the type m5.large."""

    def started(name="file.db", *, is_classic=True):
        file = Writer(tmp_path / name, is_classic=is_classic)
        file.vendor("aws", name="Amazon Web Services")
        for region in ("eu-west-1", "us-east-1"):
            file.region("aws", region)
        file.server(
            "aws", "m5.large", cpu_manufacturer="Intel", cpu_model="8175M", cpu_allocation="SHARED"
        )
        return file

    return started


def imported(file, **given):
    path = file.done() if isinstance(file, Writer) else file
    return sparecores_import(workspace=default_workspace(), path=path, actor="test", **given)


def state():
    """Everything that an import of the same file must leave as it is."""
    rows = [
        sorted(map(str, map(model_to_dict, model.objects.all())))
        for model in (Offer, PriceObservation, Sample)
    ]
    return [*rows, data_version()]


def rows(**params):
    current_stamp()
    query, _ = query_from({name: [value] for name, value in params.items()})
    return ranking(query).rows


# --- what comes in --------------------------------------------------------------------------------


def test_import_stores_offer_price_and_score_of_a_complete_row(write):
    file = write()
    file.price("aws", "eu-west-1", "m5.large", 0.107, observed_at="2026-08-19 23:30:00")
    file.score(
        "aws",
        "m5.large",
        "openssl",
        1.5e9,
        config={"algo": "AES-256-CBC", "block_size": 16384},
        framework_version="3.3.0",
        kernel_version="6.8",
        note="as it was",
    )
    report = imported(file)
    assert report.counts["samples_new"] == report.counts["prices_new"] == 1
    assert not report.skipped
    offer = Offer.objects.get()
    assert (offer.slug, offer.provider.slug) == ("aws-m5-large-eu-west-1", "aws")
    assert (offer.region.code, offer.region.country) == ("eu-west-1", "IE")
    assert (offer.vcpu_count, offer.vcpu_kind, offer.memory_bytes) == (2, "shared", 2**33)
    assert (offer.arch, offer.cpu_model, offer.disk_bytes) == ("x86_64", "Intel 8175M", None)
    assert offer.source.startswith("Spare Cores, CC BY-SA 4.0")
    price = PriceObservation.objects.get()
    assert (price.amount, price.currency, price.unit) == (Decimal("0.107"), "USD", "hour")
    assert (price.purchase_model, price.zone, price.operating_system) == ("on_demand", "", "linux")
    assert price.observed_at == dt.datetime(2026, 8, 19, 23, 30, tzinfo=dt.UTC)
    assert price.source.startswith("Spare Cores, CC BY-SA 4.0")
    sample = Sample.objects.get()
    assert (sample.metric, sample.variant) == ("openssl_bytes_per_s", "AES-256-CBC,16384")
    assert (sample.value, sample.unit, sample.source) == (1.5e9, "bytes/s", Source.IMPORTED)
    assert (sample.host, sample.run, sample.evidence) == (None, None, None)
    assert sample.method_version == "3.3.0"
    assert sample.source_note == (
        "Spare Cores, CC BY-SA 4.0, openssl, https://sparecores.com/server/aws/m5.large"
    )
    assert sample.parameters == {
        "benchmark": "openssl",
        "config": {"algo": "AES-256-CBC", "block_size": 16384},
        "kernel_version": "6.8",
        "note": "as it was",
    }
    assert sample.measured_at == dt.datetime(2026, 8, 20, 10, 15, 30, 123456, dt.UTC)


def test_import_states_another_licence_when_the_file_has_one(write):
    file = write()
    file.score("aws", "m5.large", "bogomips", 5000)
    imported(file, licence="BSL 1.1")
    sample = Sample.objects.get()
    assert sample.source_note.startswith("Spare Cores, BSL 1.1, bogomips, ")
    assert sample.licence == "BSL 1.1, Spare Cores database"
    assert Offer.objects.get().source.startswith("Spare Cores, BSL 1.1")


@pytest.mark.parametrize("licence", ["", "x" * 59, "a\nb"])
def test_import_refuses_a_licence_that_cannot_be_stated(write, licence):
    with pytest.raises(InvalidValue) as caught:
        imported(write(), licence=licence)
    assert caught.value.field == "licence"


def test_ranking_marks_the_row_and_leads_to_its_source_when_imported(write):
    file = write()
    file.price("aws", "eu-west-1", "m5.large", 0.1)
    file.score("aws", "m5.large", "stress_ng:bestn", 2000)
    imported(file)
    [row] = rows(metric=SCORE)
    assert (row.score, row.value_per_cost) == (2000, Decimal(20000))
    assert "imported" in row.flags.split()
    assert row.result_url == "https://sparecores.com/server/aws/m5.large"
    assert str(row.price_observed_on) == "2026-08-20"


def test_import_reads_both_ages_of_the_file_alike(write, tmp_path):
    made = []
    for is_classic in (True, False):
        file = write(f"{is_classic}.db", is_classic=is_classic)
        file.price("aws", "eu-west-1", "m5.large", 0.1)
        older = (
            {"kernel_version": "6.8"}
            if is_classic
            else {"environment": '{"kernel_version": "6.8"}'}
        )
        file.score("aws", "m5.large", "stress_ng:best1", 900, **older)
        file.score("aws", "m5.large", "bw_mem", 10, config={"operation": "rd", "size": 256.0})
        report = imported(file)
        made.append((state()[:3], report.counts["scores"]))
    assert made[0] == made[1]
    assert made[0][1] == 2


def test_import_counts_scores_of_databases_and_leaves_them_out(write):
    file = write(is_classic=False)
    file.score("aws", "m5.large", "stress_ng:best1", 900)
    file.score("aws", "db.large", "pgbench:heavy_read_only:peak", 900, resource_type="DATABASE")
    report = imported(file)
    assert report.skipped == {"benchmark_score: not of a server": 1}
    assert Sample.objects.count() == 1


def test_import_names_hetzner_and_its_regions_as_its_own_list_does(tmp_path):
    file = Writer(tmp_path / "h.db")
    file.vendor("hcloud", name="Hetzner Cloud")
    file.region("hcloud", "2", api_reference="nbg1-dc3", name="nbg1-dc3", country_id="DE")
    file.server("hcloud", "104", name="cx22", outbound_traffic=20480)
    tiers = [
        {"lower": 0, "upper": 672, "price": 0.006},
        {"lower": 673, "upper": "Infinity", "price": 0},
    ]
    file.price(
        "hcloud", "2", "104", 0.006, currency="EUR", zone_id="2", price_tiered=json.dumps(tiers)
    )
    imported(file)
    offer = Offer.objects.get()
    assert (offer.provider.slug, offer.region.code, offer.name) == ("hetzner", "nbg1", "cx22")
    price = offer.prices.get()
    assert (price.currency, price.monthly_cap) == ("EUR", Decimal("4.032"))
    assert price.included == {"traffic_bytes": 20 * 2**40}


# --- one score, several offers --------------------------------------------------------------------


def test_first_offer_has_all_scores_and_the_others_those_that_rank(write):
    file = write()
    file.price("aws", "eu-west-1", "m5.large", 0.1)
    file.price("aws", "us-east-1", "m5.large", 0.09)
    for cores in ("single", "multi"):
        file.score("aws", "m5.large", "geekbench:score", 1000, config={"cores": cores})
    file.score("aws", "m5.large", "bogomips", 5000)
    imported(file)
    found = {
        slug: sorted(Sample.objects.filter(offer__slug=slug).values_list("metric", "variant"))
        for slug in Offer.objects.values_list("slug", flat=True)
    }
    assert found == {
        "aws-m5-large-eu-west-1": [
            ("bogomips", "standard"),
            ("geekbench_score", "multi"),
            ("geekbench_score", "single"),
        ],
        "aws-m5-large-us-east-1": [("geekbench_score", "multi")],
    }
    assert [row.offer_id for row in rows(metric="geekbench_score")] == [
        "aws-m5-large-us-east-1",
        "aws-m5-large-eu-west-1",
    ]


def test_scores_stay_where_they_are_when_a_later_file_has_one_more_region(write):
    file = write("one.db")
    file.price("aws", "us-east-1", "m5.large", 0.1)
    file.score("aws", "m5.large", "bogomips", 5000)
    imported(file)
    later = write("two.db")
    for region in ("eu-west-1", "us-east-1"):
        later.price("aws", region, "m5.large", 0.1)
    later.score("aws", "m5.large", "bogomips", 5000)
    assert imported(later).counts["samples_new"] == 0
    assert Sample.objects.get().offer.region.code == "us-east-1"


def test_server_with_scores_and_no_price_is_an_offer_of_no_region(write):
    file = write()
    file.server("aws", "x9.huge")
    file.server("aws", "nothing.known")
    file.price("aws", "eu-west-1", "m5.large", 0.1)
    file.score("aws", "x9.huge", "stress_ng:bestn", 9000)
    imported(file)
    offers = dict(Offer.objects.values_list("name", "region__code"))
    assert offers == {"m5.large": "eu-west-1", "x9.huge": None}
    [row] = rows(metric=SCORE)
    assert (row.price, row.rank, row.missing) == (None, None, "price")


# --- what is ours already -------------------------------------------------------------------------


def test_import_matches_a_known_offer_and_leaves_its_figures(write):
    region = factories.region("eu-west-1")
    ours = factories.offer("our-m5", name="m5.large", region=region, memory_bytes=7, vcpu_kind="")
    elsewhere = factories.offer("our-other", name="m5.large", region=factories.region("eu-south-1"))
    file = write()
    file.price("aws", "eu-west-1", "m5.large", 0.1)
    file.score("aws", "m5.large", "stress_ng:bestn", 2000)
    imported(file)
    assert set(Offer.objects.values_list("slug", flat=True)) == {"our-m5", "our-other"}
    ours.refresh_from_db()
    assert (ours.memory_bytes, ours.vcpu_kind, ours.source) == (7, "", "")
    assert ours.prices.get().amount == Decimal("0.1")
    assert ours.samples.get().value == 2000
    assert not elsewhere.samples.exists()
    assert not elsewhere.prices.exists()


def test_price_of_the_provider_s_own_list_stays_in_force(write):
    offer = factories.offer("our-m5", name="m5.large", region=factories.region("eu-west-1"))
    own = feed_get(provider="aws", kind="on_demand", region="eu-west-1")
    factories.price(offer, "0.2", feed=own, observed_at=dt.datetime(2025, 1, 1, tzinfo=dt.UTC))
    file = write()
    file.price("aws", "eu-west-1", "m5.large", 0.1)
    file.price("aws", "eu-west-1", "m5.large", 0.03, allocation="SPOT")
    report = imported(file)
    assert (report.counts["prices_of_lists"], report.counts["prices_new"]) == (1, 1)
    models = set(offer.prices.values_list("purchase_model", "amount"))
    assert models == {("on_demand", Decimal("0.2")), ("spot", Decimal("0.03"))}


def test_price_that_a_person_stated_before_is_superseded_by_a_newer_one(write):
    offer = factories.offer("our-m5", name="m5.large", region=factories.region("eu-west-1"))
    factories.price(offer, "0.2", observed_at=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))
    file = write()
    file.price("aws", "eu-west-1", "m5.large", 0.1)
    file.score("aws", "m5.large", "stress_ng:bestn", 2000)
    imported(file)
    [row] = rows(metric=SCORE)
    assert row.price == Decimal("0.1")


# --- again, and later -----------------------------------------------------------------------------


def test_same_file_changes_nothing_when_imported_again(tmp_path):
    path = tmp_path / "small.db"
    full_size(path, share=0.004)
    first = imported(path)
    before = state()
    again = imported(path)
    assert state() == before
    assert first.counts["samples_new"] > 5000
    names = ("offers_new", "offers_changed", "prices_new", "prices_gone", "samples_new")
    assert [again.counts[name] for name in names] == [0] * 5
    assert again.counts["prices_known"] == first.counts["prices_new"]


def test_import_is_made_whole_by_the_next_run_when_it_was_cut_short(tmp_path, monkeypatch):
    path = tmp_path / "small.db"
    full_size(path, share=0.004)
    monkeypatch.setattr("backend.benchmarks.services.sparecores.BATCH", 4000)
    store, calls = ScoreStaging.store, []

    def cut(self, *given):
        calls.append(1)
        if len(calls) == 2:
            raise ConnectionError("the line went down")
        return store(self, *given)

    monkeypatch.setattr(ScoreStaging, "store", cut)
    with pytest.raises(ConnectionError):
        imported(path)
    some = Sample.objects.count()
    monkeypatch.undo()
    imported(path)
    counted = Sample.objects.count()
    assert 0 < some < counted
    Sample.objects.all().delete()
    imported(path)
    assert Sample.objects.count() == counted


def test_later_file_appends_prices_and_scores_and_keeps_the_earlier_ones(write):
    for name, price, score, day in (("a", 0.1, 2000, 20), ("b", 0.2, 2100, 25)):
        file = write(f"{name}.db")
        at = f"2026-08-{day} 00:00:00"
        file.price("aws", "eu-west-1", "m5.large", price, observed_at=at)
        file.score("aws", "m5.large", "stress_ng:bestn", score, observed_at=at)
        imported(file)
    assert PriceObservation.objects.count() == Sample.objects.count() == 2
    [row] = rows(metric=SCORE)
    assert (row.price, row.score, row.score_n_repeats) == (Decimal("0.2"), 2050, 2)


def test_price_is_missing_while_a_file_lacks_it(write):
    def imported_counts(name, *regions):
        file = write(f"{name}.db")
        for region in regions:
            file.price("aws", region, "m5.large", 0.1)
        return imported(file).counts

    imported_counts("one", "eu-west-1", "us-east-1")
    price = PriceObservation.objects.get(offer__region__code="us-east-1")
    assert imported_counts("two", "eu-west-1")["prices_gone"] == 1
    price.refresh_from_db()
    assert price.missing_since is not None
    assert imported_counts("three", "eu-west-1", "us-east-1")["prices_back"] == 1
    price.refresh_from_db()
    assert price.missing_since is None


def test_figures_of_its_own_offers_follow_a_later_file(write):
    for vcpus in (2, 4):
        file = write(f"{vcpus}.db")
        file.server("aws", "c7i.large", vcpus=vcpus)
        file.price("aws", "eu-west-1", "c7i.large", 0.1)
        counts = imported(file).counts
    assert counts["offers_changed"] == 1
    assert Offer.objects.get(name="c7i.large").vcpu_count == 4


# --- what is left out, and said -------------------------------------------------------------------


def test_rows_that_do_not_hold_any_more_are_counted_and_left_out(write):
    file = write()
    file.server("aws", "m1.old", status="INACTIVE")
    file.server("aws", "m2.late", status="PLANNED_FOR_RETIREMENT")
    file.price("aws", "eu-west-1", "m1.old", 0.1)
    file.price("aws", "eu-west-1", "m2.late", 0.1)
    file.price("aws", "us-east-1", "m2.late", 0.1, status="INACTIVE")
    file.score("aws", "m1.old", "stress_ng:bestn", 1)
    file.score("aws", "m2.late", "stress_ng:bestn", 1)
    file.score("aws", "m2.late", "stress_ng:best1", 1, status="INACTIVE")
    report = imported(file)
    assert report.skipped == {
        "server: inactive": 1,
        "server_price: inactive": 1,
        "server_price: server inactive or absent": 1,
        "benchmark_score: server inactive or absent": 1,
        "benchmark_score: inactive": 1,
    }
    assert [offer.slug for offer in Offer.objects.all()] == ["aws-m2-late-eu-west-1"]
    assert Sample.objects.count() == 1


def test_unknown_benchmarks_are_counted_by_their_id(write):
    file = write()
    for size in (1, 2):
        file.score("aws", "m5.large", "vllm:throughput", 1, config={"size": size})
    file.score("aws", "m5.large", "quantum\0:rps", 1)
    report = imported(file)
    assert report.unknown_benchmarks == {"vllm:throughput": 2, "quantum?:rps": 1}
    assert report.skipped["benchmark_score: unknown benchmark"] == 3
    assert not Sample.objects.exists()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"score": 0.0}, "not above zero"),
        ({"score": -1.0}, "not above zero"),
        ({"score": float("inf")}, "not above zero"),
        ({"score": "fast"}, "not above zero"),
        ({"observed_at": "soon"}, "no time"),
        ({"config": "{"}, "configuration is not JSON"),
        ({"config": '{"algo": "\\u0000"}'}, "configuration is no object that can be kept"),
    ],
)
def test_score_that_is_none_is_counted_with_its_reason(write, given, reason):
    file = write()
    score = given.pop("score", 1.0)
    file.score("aws", "m5.large", "openssl", score, **given)
    file.score("aws", "m5.large", "stress_ng:bestn", 1)
    assert imported(file).skipped == {f"benchmark_score: {reason}": 1}
    assert Sample.objects.count() == 1


def test_prices_that_are_none_are_counted_with_their_reason(write):
    file = write()
    file.price("aws", "eu-west-1", "m5.large", 0.0)
    file.price("aws", "us-east-1", "m5.large", 1.0, allocation="RESERVED")
    file.price("aws", "mars-1", "m5.large", 1.0)
    report = imported(file)
    assert report.skipped == {
        "server_price: zero": 1,
        "server_price: other_terms": 1,
        "server_price: region absent": 1,
    }
    assert not PriceObservation.objects.exists()


def test_words_that_no_column_takes_are_made_fit(write):
    file = write()
    file.server("aws", "a.b", cpu_model="one\0two")
    file.price("aws", "eu-west-1", "a.b", 0.1)
    file.score("aws", "a.b", "bogomips", 1, note="tab\tand\nline\\ \0", framework_version="v" * 99)
    imported(file)
    sample = Sample.objects.get()
    assert sample.parameters["note"] == "tab?and?line\\ ?"
    assert sample.method_version == "v" * 80
    assert sample.offer.cpu_model == "one?two"


# --- the order ------------------------------------------------------------------------------------


def in_euros(currency):
    return Decimal(1) if currency == "EUR" else Decimal("1.1")


def by_hand(path, benchmark, *, is_higher_better=True, allocation="ONDEMAND"):
    """Value per dollar and hour of each priced server and region, by nothing but the file."""
    rows = sqlite3.connect(path).execute(
        """
        SELECT p.vendor_id, p.server_id, p.region_id, s.score, p.price, p.currency
        FROM server_price p JOIN server USING (vendor_id, server_id)
        JOIN benchmark_score s USING (vendor_id, server_id)
        WHERE s.benchmark_id = ? AND s.config = '{}' AND p.allocation = ?
            AND server.status = 'ACTIVE'
        """,
        [benchmark, allocation],
    )
    values = {}
    for vendor, name, region, score, price, currency in rows:
        dollars = Decimal(repr(price)) * Decimal("1.1") / in_euros(currency)
        exact = Decimal(repr(score))
        value = exact / dollars if is_higher_better else 1 / (exact * dollars)
        slug = {"hcloud": "hetzner"}.get(vendor, vendor)
        values[slug, name, f"{vendor}-{region}"] = value
    return sorted(values.items(), key=lambda item: -item[1])


def test_ranking_is_in_the_order_of_score_per_price_of_the_file(tmp_path):
    path = tmp_path / "file.db"
    full_size(path, share=0.02)
    factories.rate("USD", "1.1")
    imported(path)
    for metric, benchmark, is_higher_better in (
        (SCORE, "stress_ng:bestn", True),
        ("passmark_cpu_mark", "passmark:cpu_mark", True),
        ("passmark_memory_latency_ns", "passmark:memory_latency", False),
    ):
        expected = by_hand(path, benchmark, is_higher_better=is_higher_better)
        found = [
            ((row.provider, row.offer, row.region), row.value_per_cost)
            for row in rows(metric=metric)
            if row.value_per_cost is not None
        ]
        assert len(expected) > 60
        assert [place for place, _ in found] == [place for place, _ in expected]
        for (_, value), (_, right) in zip(found, expected, strict=True):
            assert abs(value / right - 1) < Decimal("1e-9")


def test_spot_price_never_ranks_for_a_reader_of_on_demand_prices(write):
    file = write()
    file.price("aws", "eu-west-1", "m5.large", 0.1)
    for zone, price in (("a", 0.04), ("b", 0.03)):
        file.price("aws", "eu-west-1", "m5.large", price, allocation="SPOT", zone_id=zone)
    file.score("aws", "m5.large", "stress_ng:bestn", 2000)
    imported(file)
    [plain], [spot] = rows(metric=SCORE), rows(metric=SCORE, term="spot")
    assert (plain.price, plain.price_term) == (Decimal("0.1"), PurchaseModel.ON_DEMAND)
    assert (spot.price, spot.price_zone) == (Decimal("0.03"), "b")


# --- files of another form, and the command -------------------------------------------------------


def test_import_says_what_is_wrong_with_a_file_and_stores_nothing(write, tmp_path):
    (tmp_path / "text.db").write_text("no database at all, just text" * 50)
    tables = sqlite3.connect(tmp_path / "tables.db")
    tables.execute("CREATE TABLE vendor (vendor_id TEXT, name TEXT)")
    tables.close()
    columns = write("columns.db")
    columns.database.execute("ALTER TABLE server DROP COLUMN vcpus")
    messages = {}
    for name in ("absent", "text", "tables", "columns"):
        if name == "columns":
            columns.done()
        with pytest.raises(InvalidValue) as caught:
            imported(tmp_path / f"{name}.db")
        messages[name] = str(caught.value)
    assert "unable to open" in messages["absent"]
    assert "not a database" in messages["text"]
    assert "has no table region" in messages["tables"]
    assert "its table server has no vcpus" in messages["columns"]
    assert not Offer.objects.exists()


def test_import_ends_where_the_file_is_damaged(write):
    file = write()
    for number in range(2000):
        file.score("aws", "m5.large", "stress_ng:div16", 1.0, config={"cores": number})
    path = file.done()
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 20_000] = b"\xff" * 20_000
    path.write_bytes(content)
    with pytest.raises(InvalidValue, match="cannot be read"):
        imported(path)


def test_import_refuses_a_file_whose_scores_are_of_nothing(write):
    file = write()
    file.database.executescript(
        "DROP TABLE benchmark_score;"
        "CREATE TABLE benchmark_score (vendor_id, benchmark_id, config, score, observed_at)"
    )
    with pytest.raises(InvalidValue, match="benchmark_score has no server_id"):
        imported(file)


def test_command_reports_progress_and_every_count(write):
    file = write()
    file.price("aws", "eu-west-1", "m5.large", 0.1)
    file.score("aws", "m5.large", "stress_ng:bestn", 2000)
    file.score("aws", "m5.large", "vllm:throughput", 1)
    out, err = io.StringIO(), io.StringIO()
    path = file.done()
    call_command("import_sparecores", str(path), stdout=out, stderr=err)
    assert "samples_new: 1" in out.getvalue()
    assert "unknown: 1 × vllm:throughput" in out.getvalue()
    assert "left out: 1 × benchmark_score: unknown benchmark" in out.getvalue()
    assert "aws: 1 servers" in err.getvalue()
    assert "scores: 2 of 2" in err.getvalue()
    entry = AuditEntry.objects.get(action="sparecores_import")
    assert entry.detail["counts"]["samples_new"] == 1
    call_command(
        "import_sparecores", str(path), "--json", stdout=(out := io.StringIO()), stderr=err
    )
    assert json.loads(out.getvalue())["counts"]["samples_new"] == 0


def test_command_ends_with_one_line_when_the_file_is_of_another_form(tmp_path):
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("import_sparecores", str(tmp_path / "absent.db"))


def test_prices_hang_on_a_list_of_their_own_that_nobody_fetches(write):
    file = write()
    file.price("aws", "eu-west-1", "m5.large", 0.1)
    imported(file)
    feed = PriceObservation.objects.get().feed
    assert (feed.kind, feed.is_enabled, feed.checked_at) == (FEED_KIND, False, None)


def test_pages_show_what_was_imported_and_whose_it_is(write, client, settings):
    settings.PUBLIC_READ = True
    file = write()
    file.price("aws", "eu-west-1", "m5.large", 0.1)
    file.score("aws", "m5.large", "stress_ng:bestn", 2000)
    imported(file)
    shown = {
        "/prices/": "m5.large",
        "/offers/aws-m5-large-eu-west-1/": "sparecores.com/server/aws/m5.large",
        f"/?metric={SCORE}": "m5.large",
        f"/metrics/{SCORE}/": "bogo ops/s",
        "/api/v1/prices?format=csv": "Spare Cores, CC BY-SA 4.0",
    }
    for address, words in shown.items():
        response = client.get(address, follow=True)
        assert response.status_code == 200, address
        assert words in response.content.decode(), address
