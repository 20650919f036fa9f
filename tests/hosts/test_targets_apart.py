"""Two peers and two disks of one machine, measured for real: each has a score and a name of its own."""

import io

import pytest
from django.core.management import call_command

from backend.benchmarks.models import Run
from backend.benchmarks.selectors.hosts import fingerprint
from backend.benchmarks.selectors.scores import score_groups
from backend.measure.profiles import MIB
from tests.e2e.conftest import trusted_host
from tests.e2e.namespaces import Refused, shaped_hosts
from tests.hosts.boxes import Box, Unsupported, machine, packages

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.native]

# A second disk on a device of its own, which goes through no cache of the first one.
SECOND_DISK = """
truncate -s 400M /tmp/image; mkfs.ext4 -q /tmp/image; mkdir /tmp/second
loop=$(losetup --direct-io=on --find --show /tmp/image)
mount $loop /tmp/second; losetup --detach $loop; chmod 777 /tmp/second
"""
WRITTEN = "disk_write_bytes_per_s"
RATE = "net_tcp_bits_per_s"


@pytest.fixture(autouse=True)
def _here(queued, settings, built_probes):
    settings.SSH_ALLOW_PRIVATE = True


def benchmarked(host, *words):
    call_command(
        "benchmark", host, *words, "--set", "repeats=1", "--set", "quiet_budget_s=0", "--quiet",
        stdout=io.StringIO(), stderr=io.StringIO(),
    )  # fmt: skip
    return Run.objects.order_by("created_at").last()


def medians(offer_id, metric, variant):
    """Score of each target by its name."""
    groups = score_groups(offer_id)[metric]
    return {
        group.variant_on_target: group.summary.value
        for group in groups
        if group.variant_on_target.startswith(variant)
    }


def value_of(run, metric, variant):
    return run.samples.get(metric=metric, variant=variant).value


def test_two_disks_of_a_machine_have_a_score_each(tmp_path):
    try:
        packages("losetup", "mkfs.ext4")
        with machine(Box(script=SECOND_DISK)) as there:
            key = tmp_path / "identity"
            key.write_text(there.private_key)
            words = [
                "--identity", str(key), "--config", "/dev/null", "--fingerprint", fingerprint(there.host_key),
                "--probe", "dd", "--set", f"file_bytes={64 * MIB}", "--set", "disk_s=2",
            ]  # fmt: skip
            login = f"{there.username}@{there.address}:{there.port}"
            runs = [
                benchmarked(login, *words, "--set", f"directory={directory}")
                for directory in ("/tmp", "/tmp/second")
            ]
    except Unsupported as reason:
        pytest.skip(str(reason))
    direct = runs[0].samples.filter(metric=WRITTEN).values_list("variant", flat=True)[0]
    scores = medians(runs[0].offer_id, WRITTEN, direct)
    assert sorted(scores.values()) == sorted(value_of(run, WRITTEN, direct) for run in runs)
    assert [name.split()[1].startswith("loop/") for name in sorted(scores)] in (
        [True, False],
        [False, True],
    )


def test_two_peers_of_a_machine_have_a_score_each(tmp_path):
    try:
        packages("iperf3", "ip", "tc")
        with shaped_hosts(tmp_path, 3) as machines:
            host, *peers = [trusted_host(shaped) for shaped in machines]
            words = (
                "--probe",
                "network",
                "--set",
                "network_s=1",
                "--set",
                "network_streams=2",
                "--set",
                "ping_count=5",
            )
            runs = [benchmarked(host.name, *words, "--peer", peer.name) for peer in peers]
    except (Refused, Unsupported) as reason:
        pytest.skip(str(reason))
    variant = runs[0].samples.filter(metric=RATE).values_list("variant", flat=True)[0]
    scores = medians(host.offer_id, RATE, variant)
    assert sorted(scores.values()) == sorted(value_of(run, RATE, variant) for run in runs)
    assert len({name.partition(" to ")[2] for name in scores}) == 2, scores
