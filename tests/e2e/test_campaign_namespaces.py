"""A campaign over two hosts on a shaped link: every probe measures, and what it says is true."""

import gzip
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from backend.accounts.services.workspaces import default_workspace
from backend.benchmarks.calc.campaign_document import CampaignPlan
from backend.benchmarks.models import Campaign, CampaignState, Evidence, Run, RunState, Sample
from backend.benchmarks.services.campaigns import campaign_create, campaign_start
from backend.measure.probes import CHOICES, PROBES
from backend.measure.profiles import MIB
from tests.e2e.chaos_form import NOTES
from tests.e2e.conftest import trusted_host
from tests.e2e.namespaces import Refused, ShapedHost, shaped_hosts
from tests.e2e.stack import Stack, eventually
from tests.e2e.truth import assert_clean, ended
from tests.fakes.sshd import FakeSshd

pytestmark = [pytest.mark.serial, pytest.mark.native]

DEPTHS = [1, 4]
TINY: dict[str, Any] = {
    "repeats": 1,
    "quiet_budget_s": 0,
    "seconds": 0.3,
    "sustained_s": 2,
    "sustained_window_s": 1,
    "file_bytes": 16 * MIB,
    "disk_s": 2,
    "small_files": 20,
    "fio_file_bytes": 16 * MIB,
    "fio_s": 0.5,
    "fio_ramp_s": 0,
    "matrix_s": 0.5,
    "matrix_depths": DEPTHS,
    "matrix_jobs": [1],
    "network_s": 3,
    "network_streams": 4,
    "ping_count": 10,
    "redis_s": 1,
    "web_s": 1,
    "algorithm_s": 1,
}
NEEDED_TOOLS = {
    "fio": "fio",
    "fio_matrix": "fio",
    "general": "openssl redis-benchmark",
    "network": "iperf3",
    "openssl": "openssl",
    "stress_ng": "stress-ng",
    "sysbench": "sysbench",
    "web": "nginx wrk",
}
# Of a login over SSH, which knows nothing of tools in the checkout.
LOGIN_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# One would write twice the memory of this machine, the other one rents it; tests/probes has both.
LEFT_OUT = ("fio_steady", "local_disk")
LEASE_S = 120
# At most what is left of 1 Gbit/s without the headers of TCP, IP and Ethernet; less where both ends
# of the link share busy processors.
LINK_BITS_PER_S = (0.85e9, 0.97e9)


class Hosts:
    """Where the campaign goes, and why the link between them is not shaped, if it is not."""

    def __init__(self, places: list[ShapedHost], refused: str = "") -> None:
        self.places = places
        self.refused = refused


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    """Two network namespaces; two servers on loopback where those are refused."""
    with ExitStack() as undo:
        try:
            yield Hosts(undo.enter_context(shaped_hosts(tmp_path, 2)))
        except Refused as refused:
            yield Hosts([_on_loopback(tmp_path / name, undo) for name in "ab"], str(refused))


def _on_loopback(directory: Path, undo: ExitStack) -> ShapedHost:
    directory.mkdir()
    sshd = FakeSshd(directory)
    sshd.start()
    undo.callback(sshd.stop)
    return ShapedHost(
        name=directory.name,
        address="127.0.0.1",
        port=sshd.port,
        username=sshd.username,
        private_key=sshd.private_key,
        host_key=sshd.host_key,
        temporary=sshd.temporary,
    )


def campaign_of(places: list[ShapedHost], directory: Path) -> Campaign:
    directories = [directory / name for name in ("disk1", "disk2")]
    for path in directories:
        path.mkdir()
    plan = CampaignPlan(
        hosts=[trusted_host(place).pk for place in places],
        profile="full",
        probes=[probe for probe in CHOICES if probe not in LEFT_OUT],
        parameters={**TINY, "directories": [str(path) for path in directories]},
        concurrency=2,
        network_pairs="ring",
    )
    workspace = default_workspace()
    made = campaign_create(workspace=workspace, name="everything", plan=plan, actor="tester")
    return campaign_start(campaign=made, actor="tester")


def planned(run: Run) -> set[tuple[str, str]]:
    """Every series that this run of the campaign has to measure."""
    if run.peer is not None:
        return {("network", variant) for variant in PROBES["network"].variants}
    # "general" contains the tests of "redis".
    rest = set(CHOICES) - {"network", "fio_matrix", "redis", *LEFT_OUT}
    series = {(probe, variant) for probe in rest for variant in PROBES[probe].variants}
    cells = {(way, depth) for way in PROBES["fio_matrix"].variants for depth in DEPTHS}
    return {
        *(series - {("dd", "read_outer"), ("dd", "read_inner")}),  # need a device of their own
        *(("fio_matrix", f"{way}_qd{depth}_jobs1") for way, depth in cells),
    }


def text_of(evidence: Evidence) -> str:
    return gzip.decompress(bytes(evidence.raw_gzip)).decode()


def assert_measured(run: Run) -> None:
    """Each series has samples; one whose tool is not installed says so."""
    found = {(it.probe, it.variant): it for it in run.evidence.exclude(probe="inventory")}
    if run.peer is not None and shutil.which("iperf3") is None:
        said = list(run.events.filter(kind="unavailable").values_list("detail", flat=True))
        assert not found
        assert any("iperf3" in detail for detail in said), said
        return
    assert set(found) == planned(run)
    for (probe, variant), evidence in found.items():
        tools = "ping" if variant == "ping" else NEEDED_TOOLS.get(probe, "")
        if None in [shutil.which(tool, path=LOGIN_PATH) for tool in tools.split()]:
            assert evidence.error.startswith("not available"), (probe, variant)
        else:
            assert evidence.samples.exists(), (probe, variant, evidence.error)


def assert_true_rates(samples: list[Sample]) -> None:
    """Each rate is the receiver's in iperf3's own words, and what the link carries."""
    for sample in samples:
        assert sample.evidence is not None
        _, _, document = text_of(sample.evidence).partition("=== iperf3\n")
        said, _ = json.JSONDecoder().raw_decode(document)
        assert sample.value == said["end"]["sum_received"]["bits_per_second"]
        low, high = LINK_BITS_PER_S
        assert low <= sample.value <= high, (sample.variant, sample.value)


def test_campaign_over_two_hosts_measures_every_probe_and_their_link(
    make_stack, hosts, queued, tmp_path, subtests
):
    stack: Stack = make_stack(LEASE_S)
    campaign = campaign_of(hosts.places, tmp_path)
    runs = list(campaign.runs.order_by("created_at"))
    assert [run.peer is None for run in runs] == [True, True, False]
    eventually(ended(*runs), "the end of the campaign", within_s=400)
    for run in runs:
        run.refresh_from_db()
        what = f"{run.host.name}, {'alone' if run.peer is None else 'network'}"
        NOTES.append(
            f"{what}: {run.overhead_s:.2f} s beside {run.runner_s} s of the runner, "
            f"load {os.getloadavg()[0]:.1f}"
        )
        with subtests.test(what):
            assert (run.state, run.failure_detail) == (RunState.DONE, ""), stack.said()
            assert_measured(run)
    campaign.refresh_from_db()
    assert campaign.state == CampaignState.DONE
    for place in hosts.places:
        assert_clean(place.temporary)
    with subtests.test("link"):
        if hosts.refused:
            pytest.skip(f"no shaped link: {hosts.refused}")
        if shutil.which("iperf3") is None:
            pytest.skip("iperf3 is not installed on this machine")
        rates = list(runs[-1].samples.filter(metric="net_tcp_bits_per_s"))
        assert len(rates) == len([name for name in PROBES["network"].variants if "tcp" in name])
        assert_true_rates(rates)
        NOTES.extend(f"{it.variant}: {it.value / 1e9:.3f} Gbit/s" for it in rates)
