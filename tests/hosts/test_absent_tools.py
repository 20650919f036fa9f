"""The suite on a machine without one of the tools that it may use: `./rackrate test` passes all the same.

The program is there but may not be executed, which is what shutil.which() and shells call absent.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from launcher.paths import ROOT

pytestmark = [pytest.mark.deep, pytest.mark.services]

PROBES = "tests/probes"
PEERS = ("tests/workers/test_peers.py", "tests/e2e/test_campaign_namespaces.py")
# Tool → tests that use it where it is installed.
USERS = {
    "fio": (PROBES, "tests/e2e/test_campaign_namespaces.py"),
    "iperf3": (PROBES, "tests/workers/test_rented_pairs.py", "tests/workers/test_pipeline.py", *PEERS),
    "ping": (PROBES, *PEERS),
    "stress-ng": ("tests/probes/test_cpu_tools.py", "tests/e2e/test_campaign_namespaces.py"),
    "sysbench": ("tests/probes/test_cpu_tools.py", "tests/e2e/test_campaign_namespaces.py"),
    "openssl": ("tests/probes/test_cpu_tools.py", "tests/e2e/test_campaign_namespaces.py"),
    "busybox": (PROBES, "tests/workers/test_pipeline.py", "tests/hosts/test_odd_hosts.py"),
    "ip": ("tests/probes/test_observe_probe.py", "tests/e2e/test_campaign_namespaces.py"),
    "sshd": ("tests/workers/test_host_keys.py", "tests/workers/test_host_authorities.py", "tests/hosts"),
    "ssh-agent": ("tests/workers/test_ssh_agent.py", "tests/workers/test_host_keys.py"),
    "losetup": ("tests/probes/test_local_disk.py", "tests/probes/test_storage_layers.py"),
    "chrt": ("tests/probes/test_inventory_script.py",),
}  # fmt: skip


@pytest.mark.parametrize("tool", USERS)
def test_suite_passes_when_a_tool_is_absent(tool, tmp_path):
    program = shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    hidden = tmp_path / "absent"
    hidden.touch(mode=0o000)
    hide = f'mount --bind "{hidden}" "{Path(program).resolve()}" && ' if program else ""
    before = [
        "unshare",
        "--mount",
        "--propagation",
        "private",
        "sh",
        "-c",
        f'{hide}exec "$@"',
        "sh",
    ]
    if program and (done := subprocess.run([*before, "true"], capture_output=True)).returncode:
        pytest.skip(f"this machine does not let us hide a program: {done.stderr.decode()}")
    command = [str(ROOT / "rackrate"), "test", "-q", *USERS[tool]]
    done = subprocess.run(
        [*before, *command], cwd=ROOT, capture_output=True, text=True, env=_plain_environment()
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


def _plain_environment() -> dict[str, str]:
    """Without what says where the services of this very test are."""
    names = ("PATH", "HOME", "LANG", "TERM", "TMPDIR", "SSL_CERT_FILE", "CI")
    return {name: os.environ[name] for name in names if name in os.environ}
