"""inventory.sh: each fact on its own, whatever the host lacks."""

import os

from backend.measure.readers import inventory
from backend.measure.readers.frames import sections
from tests.probes.conftest import needs

# What every Linux has; the rest may be missing and then ends with a status.
ALWAYS = {"uname", "cpuinfo", "online", "allowed", "meminfo", "loadavg", "partitions"}


def _inventory(run_directory, shell, *directories, path=""):
    text = run_directory.run(shell, "inventory.sh", "inventory", *directories, path=path)
    assert inventory.parse(text).vcpu_count > 0
    found = {section.name: section for section in sections("inventory", text)}
    assert len(found) == len(sections("inventory", text))
    assert {name for name in ALWAYS if found[name].exit_code == 0} == ALWAYS
    return found


def test_inventory_describes_each_directory_on_several_file_systems(run_directory, shell, target):
    found = _inventory(run_directory, shell, target, "/dev/shm")
    assert found["mount /dev/shm"].text.startswith("/dev/shm tmpfs rw,")
    assert found["device /dev/shm"].lines[0] in {"tmpfs", "shm"}
    assert found[f"mount {target}"].exit_code == 0
    assert found[f"device {target}"].lines[0]
    assert f"zfs {target}" not in found


def test_inventory_lists_disks_and_interfaces_when_there_are_some(run_directory, shell):
    found = _inventory(run_directory, shell)
    for line in found["block"].text.split():
        assert "[" not in line
    names = [line.split(" ")[0] for line in found["block"].lines if line]
    assert not [name for name in names if name.startswith(("loop", "ram"))]
    for line in filter(None, found["network"].lines):
        assert line.split(" ")[1].startswith("mtu=")
    assert found["congestion"].lines[0]


def test_inventory_names_the_tools_when_they_are_installed(run_directory):
    needs("fio", "iperf3")
    found = _inventory(run_directory, ["sh"])
    assert found["fio"].text.startswith("fio-3.")
    assert found["iperf3"].text.startswith("iperf 3.")


def test_inventory_goes_on_when_tools_are_missing_or_hang(run_directory, programs):
    programs.put("lscpu", "#!/bin/sh\nexec sleep 60\n")
    programs.put("lsblk", "#!/bin/sh\nexit 9\n")
    found = _inventory(run_directory, ["sh"], path=programs.path)
    assert (found["lscpu"].exit_code, found["lsblk"].exit_code) == (124, 9)
    assert found["fio"].exit_code == found["iperf3"].exit_code == 127


ZFS_MOUNTS = "tank/data /tank zfs rw,xattr 0 0\n"


def test_inventory_has_ashift_when_a_directory_is_on_zfs(run_directory, programs):
    # No ZFS here: the mount table is a stand-in, and so are the two commands.
    script = run_directory.path / "common.sh"
    mounts = programs.directory / "mounts"
    mounts.write_text(ZFS_MOUNTS)
    script.write_text(script.read_text().replace("/proc/mounts", str(mounts)))
    programs.put("df", "#!/bin/sh\nprintf 'Filesystem 1 2 3 4 M\\ntank/data 9 1 8 1%% /tank\\n'\n")
    programs.put("zfs", '#!/bin/sh\necho "recordsize\t131072 of $6"\n')
    programs.put("zpool", '#!/bin/sh\n[ "$6" = tank ] && echo 12\n')
    found = _inventory(run_directory, ["sh"], "/tank", path=programs.path)
    assert found["device /tank"].lines[0] == "tank/data"
    assert found["zfs /tank"].lines[0] == "recordsize\t131072 of tank/data"
    assert found["zfs /tank"].lines[1] == "ashift 12"


CLOUD_INIT = """{
 "v1": {
  "cloud_name": "aws",
  "instance_id": "i-0123",
  "region": "eu-west-1"
 },
 "ds": {"meta_data": {
   "instance-type": "m5.large",
   "security-credentials": "redacted"
 }}
}
"""


def test_inventory_names_the_cloud_when_cloud_init_wrote_it(run_directory, tmp_path):
    (tmp_path / "instance-data.json").write_text(CLOUD_INIT)
    (tmp_path / "cloud-id").write_text("aws\n")
    script = run_directory.path / "inventory.sh"
    script.write_text(script.read_text().replace("/run/cloud-init", str(tmp_path)))
    found = _inventory(run_directory, ["sh"])
    lines = found["cloud"].text.split("\n")
    assert {"cloud-id: aws", "cloud_name: aws", "region: eu-west-1"} <= set(lines)
    assert "instance-type: m5.large" in lines
    assert "i-0123" not in found["cloud"].text


def test_inventory_has_the_priority_of_the_login(run_directory, shell):
    needs("chrt")
    running = run_directory.start(
        shell, "inventory.sh", "inventory", before=["nice", "-n", "7", "chrt", "-b", "0"]
    )
    facts = inventory.parse(running.communicate(timeout=60)[0])
    # On top of the value that these tests run at themselves.
    assert (facts.nice, facts.scheduling) == (os.nice(0) + 7, "batch")
