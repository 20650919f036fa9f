"""What of a run is kept: evidence, samples, warnings, and what could not be measured."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from backend.accounts.models import CloudAccount
from backend.benchmarks.models import Campaign, Resource, Run, RunState
from backend.benchmarks.selectors.evidence import evidence_series
from backend.benchmarks.selectors.runs import run_cost, run_view
from backend.benchmarks.selectors.scores import compute_scores
from backend.benchmarks.services.results import boot_store, repeats_store
from backend.core import clock
from backend.foundation.errors import Reason
from backend.measure.readers import ParsedSample
from backend.measure.readers.inventory import parse as parse_inventory
from backend.measure.readers.runner_status import RunnerStatus
from backend.measure.repeats import RawResult, Repeat, repeat_of
from backend.measure.stats import UNLIKE_OFFER
from backend.site.lines import variant_of
from tests import factories
from workers.engine import report
from workers.engine.run_failure import remarks_on_failed_probes, run_failure
from workers.remote.pipeline import Snapshot

pytestmark = pytest.mark.django_db

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures/probes"
RECORD = json.loads((FIXTURES / "observe-clocks.txt").read_text())
STATUS = RunnerStatus(
    state="finished", probe=None, variant=None, repeat=None, step=3, steps=3, progress=1,
    monotonic_s=30, boot_id="b", pid=1, quiet_wait_s=0, failure=None,
)  # fmt: skip


def repeat(number, name, out=b"", series=b"", **record):
    text = f"{json.dumps({**RECORD, **record})}\n".encode()
    return repeat_of(RawResult(number, f"{number:03d}-{name}", out, b"", text, series))


def unavailable(number, repeat_number, why=b"fio is not installed"):
    said = b"=== failure unavailable: " + why + b"\n"
    return repeat(number, f"fio-rand_read_qd1-{repeat_number}", said, exit_code=7)


def test_what_is_not_available_is_said_once_and_kept_as_evidence():
    run = factories.run()
    found = [unavailable(2, 0), unavailable(3, 1), unavailable(4, 0, b"no asynchronous engine")]
    repeats_store([(run, found[:1])])
    repeats_store([(run, found)])
    assert run_view(run).warnings == [
        "fio: not available: fio is not installed",
        "fio: not available: no asynchronous engine",
    ]
    assert [item.n for item in run.evidence.all()] == [2, 3, 4]
    first = run.evidence.get(n=2)
    assert (first.exit_code, first.error) == (7, "not available: fio is not installed")


def test_run_with_probes_that_are_not_available_is_no_failure():
    snapshot = Snapshot("b", True, False, STATUS, (), (), {})
    assert run_failure(snapshot, [unavailable(2, 0)]) is None
    assert run_failure(snapshot, [repeat(2, "cmips-all-0", b"{", exit_code=2)]) is not None
    failed = replace(unavailable(2, 0), probe="packages", reason=Reason.TIMEOUT, error="late")
    assert run_failure(snapshot, [failed]) is None  # what is missing then says so by itself


def test_probe_that_failed_is_no_failure_of_a_run_that_measured_others():
    snapshot = Snapshot("b", True, False, STATUS, (), (), {})
    broken = repeat(2, "cmips-all-0", b"{", exit_code=2)
    assert run_failure(snapshot, [broken], {"cmips"}) is not None
    assert run_failure(snapshot, [broken], {"cmips", "memory"}) is None
    assert list(remarks_on_failed_probes([broken], {"cmips_score"})) == [
        "cmips failed, so the run has no cmips_single_score"
    ]


@pytest.mark.parametrize(
    ("provider", "machine_type", "shown"),
    [
        ("aws", "m5.large", "gp3 20 GiB 3000 IOPS 125 MiB/s"),
        ("gcp", "n2-standard-2", "pd-balanced 20 GiB"),
        ("gcp", "c4-standard-2", "hyperdisk-balanced 20 GiB"),
        ("hetzner", "cx22", ""),
    ],
)
def test_disk_figures_name_the_volume_that_was_rented(provider, machine_type, shown):
    """3.5: a disk's speed is that of the volume we chose, and another volume another method."""
    run = factories.run(factories.host(is_rented=True))
    account = CloudAccount(provider=provider)
    run.resource = Resource(run=run, account=account, machine_type=machine_type)
    text = (FIXTURES / "dd-gnu-9.1-write-direct.txt").read_bytes()
    cpu = (FIXTURES / "cmips-all-x86_64.txt").read_bytes()
    repeats_store([(run, [repeat(1, "dd-write-0", text), repeat(2, "cmips-all-0", cpu)])])
    disk = run.samples.get(metric="disk_write_bytes_per_s")
    other = run.samples.get(metric="cmips_score")
    assert variant_of(disk) == ("dd_direct, " + shown if shown else "dd_direct")
    assert disk.method_version.endswith(f" on {shown}") is bool(shown)
    assert ("volume" in disk.parameters, "volume" in other.parameters) == (bool(shown), False)
    # What an EBS gp3 may do is provisioned, whatever its size.
    assert ("volume_small" in disk.flags, "volume_small" in other.flags) == (
        provider == "gcp",
        False,
    )


def general_and_web(threads=2):
    """A repeat of general and of both sizes of files, as recorded."""
    texts = {
        "general-all": "general-openssl-3.0.19-redis-7.0.15",
        "web-64k": "web-nginx-1.22.1-wrk-4.1.0-64k",
        "web-1k": "web-nginx-1.22.1-wrk-4.1.0-1k",
    }
    for n, (series, name) in enumerate(texts.items(), start=1):
        text = (FIXTURES / f"{name}.txt").read_text()
        if n > 1:
            text = text.replace("threads 2\n", f"threads {threads}\n")
        yield repeat(n, f"{series}-0", text.encode())


def test_general_performance_with_web_is_stored_once_all_parts_are():
    run = factories.run()
    *first, last = general_and_web()
    repeats_store([(run, first)])
    assert not run.samples.filter(variant="with_web").exists()
    repeats_store([(run, [last])])
    repeats_store([(run, [last])])
    sample = run.samples.get(variant="with_web")
    # Recorded: 0.372552 × m5.large, 6,878.52 files of 64 KiB and 3,259.53 of 1 KiB a second.
    # Web: √(6,878.52/24,641 · 3,259.53/64,606) = √(0.279149 · 0.050452) = 0.118675.
    # All: ∛(0.372552² · 0.118675) = ∛0.0164715 = 0.254436.
    assert sample.value == pytest.approx(0.254436, rel=1e-5)
    assert (sample.metric, sample.unit) == ("general_performance", "× m5.large")
    assert "other_method" in sample.flags
    assert sample.method_version.startswith("web 1 nginx 1.22.1 by wrk 4.1.0, general 1 OpenSSL")
    assert sample.parameters == {"threads": 2}


def test_general_performance_with_web_ends_where_the_server_stops_growing():
    run, largest = factories.run(), factories.run()
    repeats_store([(run, list(general_and_web(33))), (largest, list(general_and_web(32)))])
    assert not run.samples.filter(variant="with_web").exists()
    assert largest.samples.filter(variant="with_web").count() == 1


def test_cached_flag_covers_the_directory():
    """A flush of 378 ns: the reads of the same directory met memory, too, those of others did not."""
    run = factories.run()
    read = (FIXTURES / "dd-gnu-9.1-read-direct.txt").read_text()
    flush = json.loads((FIXTURES / "small_files-ext4.txt").read_text())
    quick = {"fsync_p50_ns": 300, "fsync_p99_ns": 378, "fsync_max_ns": 900}
    directory = next(line for line in read.split("\n") if line.startswith("directory "))[10:]
    places = {"dd": directory, "small_files": f"{directory}/rackrate-1.small"}
    other = read.replace(f"directory {directory}", "directory /mnt/other")
    small = json.dumps({**flush, **quick, "directory": places["small_files"]}) + "\n"
    # They come one after the other, as a run goes on.
    repeats_store([(run, [repeat(1, "dd-read-0", read.encode())])])
    assert "cached" not in run.samples.get().flags
    repeats_store([(run, [repeat(2, "small_files-create-0", small.encode())])])
    repeats_store([(run, [repeat(3, "dd-read-1", other.encode())])])
    flags = {(s.metric, s.repeat): "cached" in s.flags for s in run.samples.all()}
    assert flags == {
        ("disk_read_bytes_per_s", 0): True,
        ("disk_read_bytes_per_s", 1): False,
        ("small_files_per_s", 0): True,
        ("fsync_p99_ns", 0): True,
    }


@pytest.mark.parametrize("is_emulated", [True, False])
def test_figures_of_an_emulated_processor_are_flagged(is_emulated):
    run = factories.run()
    host = (FIXTURES / "inventory-debian-12-container.txt").read_text()
    if is_emulated:
        host = host.replace("=== cpuinfo\n", "=== cpuinfo\nCPU implementer : 0x41\n")
    cpu = (FIXTURES / "cmips-all-x86_64.txt").read_bytes()
    repeats_store([(run, [repeat(1, "inventory-host-0", host.encode())])])
    repeats_store([(Run.objects.get(pk=run.pk), [repeat(2, "cmips-all-0", cpu)])])
    assert ("emulated" in run.samples.get().flags) is is_emulated


INVENTORY = (FIXTURES / "inventory-debian-12-container.txt").read_bytes()
CMIPS = (FIXTURES / "cmips-all-x86_64.txt").read_bytes()


def measured(run):
    """The run as the worker reads it in each step, with its inventory and one figure."""
    for n, name, text in ((1, "inventory-host-0", INVENTORY), (2, "cmips-all-0", CMIPS)):
        repeats_store([(Run.objects.get(pk=run.pk), [repeat(n, name, text)])])
    return run


def facts():
    return parse_inventory(INVENTORY.decode())


def run_of_offer(**stated):
    offer = factories.offer("aws-c6g-4xlarge", **stated)
    return factories.run(factories.host(offer))


def test_machine_unlike_its_offer_takes_no_rank_and_names_both_figures():
    """A6: a server of 2 CPUs was ranked as the 16 that its offer sells."""
    run = measured(run_of_offer(arch="x86_64", vcpu_count=16, memory_bytes=facts().memory_bytes))
    assert UNLIKE_OFFER in run.samples.get().flags
    [(_, score)] = compute_scores(offer_id=run.offer_id)
    assert score.is_unfit
    seen = facts().vcpu_count
    assert [text for text in run_view(run).warnings if "offer" in text] == [
        "the machine is not what the offer aws-c6g-4xlarge states: it has "
        f"{seen} CPUs instead of 16. Its figures take no rank; correct the offer or the host, and "
        "measure again"
    ]


def test_boot_time_of_a_machine_unlike_its_offer_takes_no_rank_either():
    run = run_of_offer(memory_bytes=facts().memory_bytes * 2)
    boot_store(run=run, seconds=20, kernel_s=5)
    measured(run)
    assert all(UNLIKE_OFFER in sample.flags for sample in run.samples.all())


def test_machine_that_is_what_its_offer_states_has_no_remark():
    seen = facts()
    run = measured(
        run_of_offer(arch="x86_64", vcpu_count=seen.vcpu_count, memory_bytes=seen.memory_bytes)
    )
    assert UNLIKE_OFFER not in run.samples.get().flags
    assert not [text for text in run_view(run).warnings if "offer" in text]


def test_hidden_cpus_warn_once():
    run = factories.run()
    cpu = (FIXTURES / "cmips-all-x86_64.txt").read_bytes()
    unseen = dict.fromkeys(("foreign_cpu_ratio", "steal_ratio", "iowait_ratio"))
    unseen["foreign_user_ratio"] = None
    repeats_store([(run, [repeat(n, f"cmips-all-{n}", cpu, **unseen) for n in (1, 2)])])
    assert len([text for text in run_view(run).warnings if "does not show" in text]) == 1
    assert run.samples.count() == 2


def test_memory_figures_say_how_much_lay_in_huge_pages():
    run = factories.run()
    text = (FIXTURES / "memory-bandwidth-nodes.txt").read_text()
    few = text.replace('"huge_page_bytes":402653184', '"huge_page_bytes":40265318').encode()
    repeats_store([(run, [repeat(1, "memory-bandwidth-0", few)])])
    sample = run.samples.get(variant="all")
    assert variant_of(sample) == "all, 10% in huge pages"
    assert "small_pages" in sample.flags


def test_figures_of_a_local_disk_name_it_and_not_the_rented_volume():
    run = factories.run(factories.host(is_rented=True))
    account = CloudAccount(provider="gcp")  # whose own volume is a small one
    run.resource = Resource(run=run, account=account, machine_type="c3-standard-4-lssd")
    text = (FIXTURES / "fio-local-3.33.txt").read_bytes()
    repeats_store([(run, [repeat(1, "local_disk-rand_read_qd32-0", text)])])
    sample = run.samples.get(metric="disk_rand_read_iops")
    assert variant_of(sample) == "local_4k_qd32, Amazon EC2 NVMe Instance Storage 873 GiB"
    assert sample.method_version.endswith(" on Amazon EC2 NVMe Instance Storage 873 GiB")
    assert sample.parameters["volume"]["size_gib"] == 873
    assert "volume_small" not in sample.flags


def test_result_of_a_steady_test_says_how_long_it_took_to_settle():
    run = factories.run()
    text = (FIXTURES / "fio-steady-3.33-reached.txt").read_bytes()
    repeats_store([(run, [repeat(1, "fio_steady-rand_write_qd32-0", text)])])
    assert variant_of(run.samples.first()) == "steady_4k_qd32, after 3 s"


@pytest.mark.parametrize(
    ("mode", "is_rented", "flags"),
    [
        ("standard", True, ["credit_standard"]),
        ("unlimited", True, ["credit_unlimited"]),
        ("", True, []),
        ("", False, []),
    ],
)
def test_figures_name_the_credits_of_a_rented_machine(mode, is_rented, flags):
    """3.2: without their mode figures of t2 and t3 cannot be compared."""
    run = factories.run(factories.host(is_rented=is_rented))
    account = CloudAccount(provider="aws")
    run.resource = Resource(run=run, account=account, machine_type="t3.large", credit_mode=mode)
    text = (FIXTURES / "cmips-all-x86_64.txt").read_bytes()
    repeats_store([(run, [repeat(1, "cmips-all-0", text)])])
    stated = run.samples.get(metric="cmips_score").flags
    assert [flag for flag in stated if flag.startswith("credit")] == flags


def test_run_says_what_was_installed():
    run = factories.run()
    said = b"=== packages\ninstalling fio by apt-get\n\n=== end packages rc=0\n"
    repeats_store([(run, [repeat(1, "packages-install-0", said)])])
    assert run.events.get(kind="packages").detail == "installing fio by apt-get"
    refused = b"=== failure unavailable: neither root nor sudo without a password\n"
    repeats_store([(run, [repeat(2, "packages-install-0", refused, exit_code=7)])])
    assert run_view(run).warnings == [
        "packages: not available: neither root nor sudo without a password"
    ]


def test_series_is_kept_beside_its_repeat_and_left_out_of_lists():
    run = factories.run()
    out = (FIXTURES / "cmips-all-x86_64.txt").read_bytes()
    series = (FIXTURES / "observe-series.txt").read_bytes()
    header = series.splitlines(keepends=True)[0]  # of a repeat that was over within a second
    found = [repeat(1, "cmips-all-0", out, series), repeat(2, "cmips-all-1", out, header)]
    repeats_store([(run, found)])
    kept = evidence_series(run.evidence.get(n=1))
    assert kept is not None
    assert kept["t_s"][:2] == [1.0, 2.0]
    assert evidence_series(run.evidence.get(n=2)) is None
    listed = run_view(run).evidence
    assert [getattr(item, "has_series", None) for item in listed] == [True, False]
    assert all({"series", "raw_gzip"} <= item.get_deferred_fields() for item in listed)


def test_text_with_nul_characters_is_stored(django_assert_num_queries):
    run = factories.run()
    repeats_store([(run, [unavailable(1, 0, b"a\0b"), repeat(2, "cmips-all-0", b"\0")])])
    assert "a\ufffdb" in run_view(run).warnings[0]
    assert run.evidence.count() == 2


def test_repeats_of_many_runs_are_stored_in_a_few_statements(django_assert_max_num_queries):
    runs = [factories.run() for _ in range(5)]
    sample = ParsedSample("cmips_score", "all", 100.0, "CMIPS", {}, ())
    raw = RawResult(1, "001-cmips-all-0", b"x", b"", b"")
    found = Repeat(raw, "cmips", "all", 0, None, (sample,))
    with django_assert_max_num_queries(6):  # of which some are savepoints
        repeats_store([(run, [found]) for run in runs])
    assert [run.samples.get().value for run in runs] == [100.0] * 5


# --- time and money -------------------------------------------------------------------------------


def test_time_that_remains_is_that_of_earlier_runs_of_the_same_kind():
    host = factories.host()
    given = {"profile": "quick", "probes": ["cmips"], "parameters": {"seconds": 5}}
    live = {"expected_s": 100, "likely_s": 80}
    now = factories.run(
        host, **given, state=RunState.RUNNING, runner_s=10, progress_ratio=0.2, live=live
    )
    assert run_view(now).remaining_s == 70  # of the plan, with the profile's cap
    for seconds in (40, 50, 60):
        factories.run(host, **given, state=RunState.DONE, runner_s=seconds, finished_at=clock.now())
    others = [
        {"host": factories.host()}, {"profile": "full"}, {"probes": None}, {"parameters": {}},
        {"state": RunState.FAILED},
    ]  # fmt: skip
    for other in others:
        fields = {"host": host, **given, "state": RunState.DONE, "runner_s": 5, **other}
        factories.run(fields.pop("host"), **fields, finished_at=clock.now())
    assert run_view(now).remaining_s == 40  # 50 less the 10 that have gone


@pytest.mark.parametrize("state", [RunState.COLLECTING, RunState.TEARING_DOWN, RunState.DONE])
def test_run_that_measures_no_more_expects_nothing(state):
    """As when it was given up at 13 %, and only the cleaning is left."""
    run = factories.run(state=state, progress_ratio=0.13, live={"expected_s": 60})
    assert run_view(run).remaining_s is None


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([], "(dd_cached, 1 repeat)"),
        (["cached"], "(dd_cached, 1 repeat, not ranked: memory may have stood in for the disk)"),
        (["emulated"], "(dd_cached, 1 repeat, not ranked: the CPU is emulated)"),
    ],
)
def test_report_says_beside_a_figure_why_it_does_not_rank(flags, said):
    run = factories.run(state=RunState.DONE)
    factories.sample(
        run.offer, 4e9, metric="disk_read_bytes_per_s", variant="dd_cached", unit="bytes/s",
        run=run, host=run.host, flags=flags,
    )  # fmt: skip
    lines = report.lines(report.document(run_view(run)))
    assert next(line for line in lines if "disk_read" in line).endswith(said)


def test_cost_of_a_run_is_its_time_at_the_price_in_force():
    host = factories.host()
    price = factories.price(host.offer, "49", currency="EUR", unit="month")
    of = Campaign.objects.create(
        workspace=host.workspace, name="c", profile="quick", budget_amount=Decimal("2.50"),
        budget_currency="EUR",
    )  # fmt: skip
    at = factories.AT
    run = factories.run(host, price=price, campaign=of, started_at=at, finished_at=at)
    run.finished_at = at.replace(hour=at.hour + 1)
    # 49 / 730 hours
    assert run_cost(run) == {"so_far": "0.067123", "currency": "EUR", "cap": "2.5"}
    of.budget_currency = "USD"
    assert run_view(run).cost == {"so_far": "0.067123", "currency": "EUR", "cap": None}


def test_cost_is_unknown_without_a_price_by_time_or_a_start():
    host = factories.host()
    bought = factories.price(host.offer, "2000", unit="once", purchase_model="purchase")
    assert run_cost(factories.run(host, started_at=factories.AT)) is None
    assert run_cost(factories.run(factories.host(), price=bought)) is None
    assert run_cost(factories.run(host, price=bought, started_at=factories.AT)) is None
