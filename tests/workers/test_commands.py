"""`manage.py benchmark` and `manage.py pump`, without a worker and without a broker."""

import datetime as dt
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import threading
from decimal import Decimal
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from backend.benchmarks.models import Host, HostState, Run, RunState, Tick
from backend.benchmarks.selectors.hosts import fingerprint
from backend.benchmarks.selectors.runs import run_view
from backend.benchmarks.services.login_keys import host_private_key_replace
from backend.catalog.models import Offer
from backend.core import clock
from backend.measure.profiles import OTHER_PARAMETERS, PARAMETERS
from tests import factories
from tests.workers.conftest import tiny_run
from workers.engine import dispatch, report
from workers.engine.in_process import Interrupts, is_worker_alive, pump_thread
from workers.engine.pump import Pump
from workers.management.commands import benchmark

pytestmark = pytest.mark.django_db(transaction=True)

TINY = [
    "--probe",
    "cmips",
    "--set",
    "seconds=0.2",
    "--set",
    "repeats=2",
    "--set",
    "quiet_budget_s=0",
]


@pytest.fixture(autouse=True)
def _here(queued, tmp_path, monkeypatch, settings):
    settings.SSH_ALLOW_PRIVATE = True
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "here"))


def benchmarked(*arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command("benchmark", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


@pytest.fixture
def identity(sshd, tmp_path):
    path = tmp_path / "identity"
    path.write_text(sshd.private_key)
    return str(path)


# --- benchmark ------------------------------------------------------------------------------------


def test_benchmark_of_this_machine_ends_with_score_price_and_rank():
    out, err = benchmarked("local", *TINY)
    run = Run.objects.get()
    assert run.state == RunState.DONE
    assert "cmips_score" in out
    assert "score: " in out
    assert "price: none known" in out
    assert f"/runs/{run.pk}/" in out
    # one line a stage, where no terminal draws a bar
    lines = err.splitlines()
    assert lines[-1] == "100%  done"
    assert any("measuring" in line for line in lines)


PLACE = {
    "metric": "cmips_score", "score": 2277.3, "score_ci95_low": 2100.0, "score_ci95_high": 2400.0,
    "score_n_repeats": 6, "interval_basis": "repeats_widened", "price": Decimal("0.0671232877"), "currency": "EUR",
    "period": "hour", "price_basis": "machine", "price_term": "monthly", "rank": 3, "rank_low": 2,
    "rank_high": 5, "count": 18, "place_by_score": 7, "flags": "", "missing": "",
    "stated": None,
}  # fmt: skip


def test_stated_price_is_shown_when_its_exchange_rate_is_missing():
    out, _ = benchmarked("local", *TINY, "--price", "49.50", "EUR", "month")
    assert (
        "price: €49.50/mo; it has no rank by cost, because no exchange rate from EUR to "
        "USD is stored: import the rates of the ECB with manage.py import_fx"
    ) in out
    assert "none known" not in out


def test_result_shows_interval_price_basis_and_rank():
    assert report.rank_lines(PLACE) == [
        "  score: 2,277 CMIPS from 6 repeats of this offer (95% interval 2,100 … 2,400, repeats_widened)",
        "  price: €0.0671/h (machine, monthly)",
        "  place: 3 of 18 by value per cost (plausibly 2 … 5)",
    ]


def test_result_says_why_there_is_no_rank():
    for flags, why in (
        ("disturbed", "other programs were running on this machine during every repeat"),
        ("unlike_offer", "the machine is not what its offer states"),
        (
            "unstable cached emulated",
            "memory may have stood in for the disk and the CPU is emulated",
        ),
    ):
        shown = {**PLACE, "rank": None, "flags": flags}
        assert report.rank_lines(shown)[2] == f"  not ranked: {why}"


def test_score_of_a_report_names_its_repeats_where_they_are_known():
    assert (
        "CMIPS from 1 repeat of this offer ("
        in report.rank_lines({**PLACE, "score_n_repeats": 1})[0]
    )
    assert "CMIPS (95% interval" in report.rank_lines({**PLACE, "score_n_repeats": None})[0]


def test_result_gives_the_rank_by_score_when_there_is_no_price():
    shown = {**PLACE, "price": None, "rank": None, "flags": "unstable"}
    assert report.rank_lines(shown)[1:] == [
        "  price: none known, so it has no rank by cost; state one with "
        "--price 49 EUR month (amount, currency, hour|month|year)",
        "  place: 7 of 18 by score",
        "  the repeats spread more than they should: measure again when it is quiet",
    ]


def test_result_says_below_which_price_the_machine_ranks_first():
    for amount in ("1", "2"):
        other = factories.offer()
        factories.price(other, amount)
        factories.sample(other, 1000.0, metric="stress_ng_div16", unit="bogo ops/s")
    run = factories.run()
    for metric in ("cmips_score", "stress_ng_div16"):  # nothing with a price has the first
        factories.sample(run.offer, 500.0, metric=metric, run=run, host=run.host)
    document = report.document(run_view(run))
    # the best costs 730 USD a month for 1000, so half of it is worth half
    assert round(document["worth"]["break_even_price"], 9) == 365
    assert document["worth"]["break_even_price_low"] < 365
    assert re.fullmatch(
        r"  below \$365/mo \([0-9.]+ … [0-9.]+ by the interval of its score\) it would rank "
        "first of 3 priced offers by stress-ng div16, all CPUs",
        report.lines(document)[-2],
    )


def test_result_says_what_to_do_when_general_performance_was_disturbed():
    results = [
        {"metric": "general_performance", "repeats": 3, "disturbed": disturbed}
        for disturbed in (3, 2)
    ]
    assert report.lines_of_disturbance(results) == [
        "  general performance is not compared: other work disturbed every repeat. When the machine is "
        "quiet: ./rackrate manage benchmark local --profile general"
    ]
    assert report.lines_of_disturbance([{**results[0], "metric": "cmips_score"}]) == []


@pytest.mark.parametrize("flags", [[], ["other_method"]])
def test_result_ends_with_general_performance_and_its_best_price(flags):
    """m5.large costs 730 USD a month here, so 1.9 times its speed is worth 1.9 times as much."""
    factories.price(factories.offer(), "1")
    for offer in Offer.objects.all():
        factories.sample(offer, 1.0, metric="general_performance", variant="standard")
        factories.sample(offer, 1000.0, metric="stress_ng_div16", unit="bogo ops/s")
    other = factories.offer()
    factories.price(other, "1")
    factories.sample(other, 1000.0, metric="stress_ng_div16", unit="bogo ops/s")
    run = factories.run()
    for metric, variant, value in (
        ("stress_ng_div16", "all", 500.0),
        ("general_performance", "standard", 1.8963),
    ):
        factories.sample(
            run.offer,
            value,
            metric=metric,
            variant=variant,
            run=run,
            host=run.host,
            flags=flags,
        )
    document = report.document(run_view(run))
    assert document["worth"]["offers"] == 1
    shown = "about 1.9" if flags else "1.896"
    assert re.fullmatch(
        rf"  general performance {shown} \(m5.large = 1\); at \$1,384/mo "
        r"\([0-9.,]+ … [0-9.,]+ by the interval of its score\) it would rank first of 2",
        report.lines(document)[-2],
    )
    width = document["worth"]["break_even_price_high"] / document["worth"]["break_even_price_low"]
    # ± 5 % between machines, and for other tools ± 15 % beside it, as squares of logarithms.
    sigma = math.sqrt(math.log1p(0.05**2))
    expected = math.hypot(1.96 * sigma, math.log(1.15) if flags else 0)
    assert math.log(width) / 2 == pytest.approx(expected)


def test_labels_stand_with_the_run_and_quiet_prints_only_its_result():
    out, err = io.StringIO(), io.StringIO()
    labels = ["--label", "kernel=6.18", "--label", "commit=abc"]
    call_command("benchmark", "local", *TINY, *labels, "--quiet", "--json", stdout=out, stderr=err)
    document = json.loads(out.getvalue())
    assert document["labels"] == {"commit": "abc", "kernel": "6.18"}
    assert err.getvalue() == ""
    assert Run.objects.get(pk=document["run"]).labels == document["labels"]
    with pytest.raises(CommandError, match="is not NAME=TEXT"):
        call_command("benchmark", "local", "--label", "kernel")
    with pytest.raises(CommandError, match="/labels/Kernel"):
        call_command("benchmark", "local", "--label", "Kernel=6")


def test_benchmark_prints_one_json_document():
    out, _ = benchmarked("local", *TINY, "--json")
    document = json.loads(out)
    assert (document["state"], document["failure"]) == ("done", None)
    assert document["offer"] == "own-this-machine"
    assert [(found["metric"], found["repeats"]) for found in document["results"]] == [
        ("cmips_score", 2), ("cmips_single_score", 2),
    ]  # fmt: skip
    assert document["ranking"]["metric"] == "cmips_score"
    assert document["ranking"]["rank"] is None  # it has no price
    assert document["overhead_s"] > 0


def test_benchmark_of_a_new_host_shows_its_fingerprint_and_runs_nothing(sshd, identity):
    with pytest.raises(CommandError) as raised:
        benchmarked(f"bench@127.0.0.1:{sshd.port}", "--identity", identity, *TINY)
    assert fingerprint(sshd.host_key) in str(raised.value)
    assert "nothing was run" in str(raised.value)
    assert sshd.commands == []
    assert not Run.objects.exists()


def test_benchmark_of_a_host_with_another_fingerprint_is_refused(sshd, identity):
    with pytest.raises(CommandError) as raised:
        benchmarked(
            f"bench@127.0.0.1:{sshd.port}", "--identity", identity, "--fingerprint", "SHA256:x"
        )
    assert str(raised.value) == (
        f"127-0-0-1 presents the host key {fingerprint(sshd.host_key)}, and SHA256:x was expected; "
        "nothing was run"
    )
    assert Host.objects.get().state == HostState.UNVERIFIED


def test_benchmark_of_a_second_machine_takes_one_command(sshd, identity):
    place = f"bench@127.0.0.1:{sshd.port}"
    shown = fingerprint(sshd.host_key)
    price = ("--price", "49", "EUR", "month")
    out, _ = benchmarked(
        place, "--identity", identity, "--fingerprint", shown, *price, *TINY, "--json"
    )
    assert json.loads(out)["state"] == "done"
    host = Host.objects.get()
    assert (host.name, host.offer.slug) == ("127-0-0-1", "own-127-0-0-1")
    assert host.offer.prices.get().currency == "EUR"
    out, _ = benchmarked(place, *TINY)  # known and trusted by now
    assert "127-0-0-1 (own-127-0-0-1)" in out


def test_benchmark_of_a_host_by_name_fails_with_the_named_reason(ssh_host, sshd):
    sshd.change_host_key()
    with pytest.raises(CommandError, match=r"the run failed: auth: .* is pinned; nothing was run"):
        benchmarked("Target", *TINY)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nobody"], "no host is named 'nobody'"),
        (["me@192.0.2.1"], "give its private key with --identity"),
        (["me@192.0.2.1:x", "--identity", "/dev/null"], "'x' in 'me@192.0.2.1:x' is not a port"),
        (["me@192.0.2.1", "--identity", "/nonexistent"], "cannot be read"),
        (["me@192.0.2.1", "--identity", "/dev/null"], "not an unencrypted private key"),
        (["local", "--set", "iodepth=4"], "/parameters/iodepth: unknown"),
        (["local", "--set", "seconds"], "is not NAME=VALUE"),
        (["local", "--profile", "slow"], "invalid choice: 'slow'"),
    ],
)
def test_benchmark_says_in_one_line_what_is_wrong(arguments, words):
    with pytest.raises(CommandError) as raised:
        benchmarked(*arguments)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("seconds=0.5", ("seconds", 0.5)),
        ("directory=/data/a,b", ("directory", "/data/a,b")),
        ("directories=/a,/b c", ("directories", ["/a", "/b c"])),
        ('directories=["/a,b", "/c"]', ("directories", ["/a,b", "/c"])),
        ("matrix_depths=1,8,32", ("matrix_depths", [1, 8, 32])),
        ("matrix_jobs=4", ("matrix_jobs", [4])),
        ("install_tools=true", ("install_tools", True)),
        ("install_tools=no", ("install_tools", False)),
    ],
)
def test_parameter_is_read_with_its_type(text, found):
    assert benchmark._assignment(text) == found


def test_help_names_every_parameter_with_its_limits(capsys):
    with pytest.raises(SystemExit):
        benchmark.Command().create_parser("manage.py", "benchmark").parse_args(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for name in (*PARAMETERS, *OTHER_PARAMETERS):
        assert name in shown
    assert "network_s (One network test: 1 … 600 s)" in shown


def test_peer_is_named_as_a_host_is(ssh_host):
    with pytest.raises(CommandError, match="/parameters/peer: a host cannot be its own peer"):
        benchmarked("Target", "--peer", "Target", *TINY)
    with pytest.raises(CommandError, match="no host is named 'nobody'"):
        benchmarked("Target", "--peer", "nobody", *TINY)
    benchmarked("local", "--peer", "Target", *TINY, "--json")
    assert Run.objects.get().peer == ssh_host


def test_bar_is_drawn_on_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out, err = io.StringIO(), Terminal()
    call_command("benchmark", "local", *TINY, stdout=out, stderr=err)
    frames = err.getvalue().split("\r")
    assert frames[-1].startswith(f"[{'#' * 30}] 100%  done")
    assert any("measuring" in frame and "s left" in frame for frame in frames)


def test_worker_is_alive_while_its_ticks_come(settings):
    Tick.objects.create(pk=1, at=clock.now())
    assert is_worker_alive()
    Tick.objects.update(at=clock.now() - dt.timedelta(seconds=4 * settings.TICK_S))
    assert not is_worker_alive()


def test_command_goes_on_with_another_pump_when_one_ended_by_a_fault(monkeypatch, caplog):
    steps, failed = Pump.steps, []

    def fails_at_first(self, *, wait_s):
        if len(failed) < 2:  # once more while it ends
            failed.append(self)
            raise RuntimeError("a defect")
        steps(self, wait_s=wait_s)

    monkeypatch.setattr(Pump, "steps", fails_at_first)
    out, _ = benchmarked("local", *TINY)
    assert Run.objects.get().state == RunState.DONE
    assert "ended by a fault" in caplog.text
    assert "cmips_score" in out


@pytest.mark.parametrize(
    "numbers",
    [[signal.SIGINT], [signal.SIGTERM], [signal.SIGTERM, signal.SIGTERM, signal.SIGINT]],
)
def test_benchmark_is_cancelled_by_a_signal(monkeypatch, numbers):
    """Ctrl-C asks for the end of the run; the command goes on until it is cleaned up."""
    before = signal.getsignal(signal.SIGTERM)
    pressed: list[bool] = []
    show = benchmark.Command._show

    def shown(self, view, before):
        if view.run.evidence.count() >= 2 and not pressed:
            pressed.append(True)
            for number in numbers:
                signal.raise_signal(number)
        return show(self, view, before)

    monkeypatch.setattr(benchmark.Command, "_show", shown)
    with pytest.raises(CommandError, match="the run was cancelled: asked for"):
        benchmarked("local", *TINY, "--set", "repeats=50")
    assert Run.objects.get().state == RunState.CANCELLED
    assert signal.getsignal(signal.SIGTERM) == before


def test_pause_ends_once_for_each_signal():
    with Interrupts().note_interrupts() as interrupts:
        signal.raise_signal(signal.SIGTERM)
        interrupts.pause(3600)
        interrupts.pause(0.01)
        assert interrupts.signals == [signal.SIGTERM]


def test_second_ctrl_c_ends_the_next_pause_where_python_ignored_it():
    with Interrupts().note_interrupts() as interrupts:
        signal.raise_signal(signal.SIGINT)
        interrupts.pause(3600)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interrupts.pause(3600)


# --- pump -----------------------------------------------------------------------------------------


def test_pump_once_takes_a_run_to_its_end(ssh_host):
    run = tiny_run(ssh_host)
    call_command("pump", "--once")
    run.refresh_from_db()
    assert run.state == RunState.DONE


def test_pump_does_not_pretend_to_be_a_worker(ssh_host):
    tiny_run(ssh_host, probes=["inventory"])
    Pump().once()
    assert not Tick.objects.exists()
    dispatch.tick()
    assert Tick.objects.exists()


def test_two_pumps_share_the_work_of_four_hosts(sshd, queued):
    runs = []
    for number in range(4):
        host = factories.host(
            address="127.0.0.1", port=sshd.port, username=sshd.username, host_key=sshd.host_key,
            name=f"h{number}",
        )  # fmt: skip
        host_private_key_replace(host=host, private_key=sshd.private_key, actor="tester")
        runs.append(tiny_run(host, probes=["inventory"]))
    pumps = [Pump(), Pump()]
    threads = [threading.Thread(target=pump_thread, args=(pump,)) for pump in pumps]
    for thread in threads:
        thread.start()
    try:
        while Run.objects.exclude(state__in=["done", "failed", "lost"]).exists():
            for run in runs:
                run.refresh_from_db()
    finally:
        for pump in pumps:
            pump.stop()
        for thread in threads:
            thread.join()
    assert {run.failure_detail for run in Run.objects.all()} == {""}
    assert [run.steps.filter(finished_at=None).count() for run in runs] == [0, 0, 0, 0]
    assert [run.evidence.count() for run in runs] == [1, 1, 1, 1]


def test_pump_ends_on_a_signal(tmp_path):
    database = urlsplit(os.environ["DATABASE_URL"])
    environment = {
        **os.environ,
        "DATABASE_URL": database._replace(path=f"/{connection.settings_dict['NAME']}").geturl(),
    }
    manage = Path(__file__).resolve().parents[2] / "manage.py"
    pump = subprocess.Popen([sys.executable, str(manage), "pump"], env=environment)
    while not _has_handler(pump.pid):
        assert pump.poll() is None
    pump.send_signal(signal.SIGTERM)
    assert pump.wait(timeout=20) == 0


def _has_handler(pid):
    """Whether the process catches SIGTERM by now (bit 15 of SigCgt)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("SigCgt:"):
            return bool(int(line.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
    return False
