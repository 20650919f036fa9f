"""disk.sh on local disks of rented machines: which it takes, and that nothing stays behind."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from backend.measure.readers import fio_local
from tests.probes.conftest import Programs, RunDirectory, needs

MIB, GIB = 1024**2, 1024**3
EC2 = "Amazon EC2 NVMe Instance Storage"


def _line(name, kind="disk", *, size=75 * GIB, fs="", table="", mounted="", parent="", model=""):
    """As lsblk -P prints a device."""
    return (
        f'NAME="{name}" TYPE="{kind}" SIZE="{size}" FSTYPE="{fs}" PTTYPE="{table}" '
        f'MOUNTPOINT="{mounted}" PKNAME="{parent}" MODEL="{model}"'
    )


def _root(name, model):
    """The disk that the machine has booted from."""
    return (
        _line(name, table="gpt", model=model),
        _line(f"{name}p1", "part", fs="ext4", table="gpt", mounted="/", parent=name),
    )


MACHINES = {
    # docs.aws.amazon.com/ebs/latest/userguide/nvme-ebs-volumes.html has both models.
    "i4i": (
        [
            *_root("nvme0n1", "Amazon Elastic Block Store"),
            _line("nvme1n1", model="Amazon Elastic Block Store"),
            _line("nvme2n1", size=937500000000, model=EC2),
            _line("nvme3n1", size=937500000000, model=EC2),
        ],
        [f"nvme2n1 937500000000 {EC2}", f"nvme3n1 937500000000 {EC2}"],
    ),
    # cloud.google.com/compute/docs/disks/set-persistent-device-name-in-linux-vm: the rules of udev
    # that name disks know nvme_card and nvme_card0, and nvme_card-pd for those over the network.
    "c3-lssd": (
        [
            *_root("nvme0n1", "nvme_card-pd"),
            _line("nvme1n1", size=402653184000, model="nvme_card0"),
            _line("nvme2n1", size=402653184000, model="nvme_card"),
            _line("nvme3n1", model="nvme_card-pd"),
        ],
        ["nvme1n1 402653184000 nvme_card0", "nvme2n1 402653184000 nvme_card"],
    ),
    # Older versions of lsblk fill the model with blanks.
    "L8s_v3": (
        [
            *_root("sda", "Virtual Disk"),
            _line("nvme0n1", size=1920383410176, model="Microsoft NVMe Direct Disk              "),
            _line("nvme1n1", model="MSFT NVMe Accelerator v1.0"),
        ],
        ["nvme0n1 1920383410176 Microsoft NVMe Direct Disk"],
    ),
    "D8ds_v6": (
        [_line("nvme1n1", size=GIB, model="Microsoft NVMe Direct Disk v2")],
        [f"nvme1n1 {GIB} Microsoft NVMe Direct Disk v2"],
    ),
    "taken": (
        [
            _line("nvme1n1", model=EC2, fs="xfs"),
            _line("nvme2n1", model=EC2, mounted="/data"),
            _line("nvme3n1", model=EC2, mounted="[SWAP]"),
            _line("nvme4n1", model=EC2, table="dos"),
            _line("nvme5n1", model=EC2),
            _line("md0", "raid0", parent="nvme5n1"),
            _line("nvme6n1", model=EC2, fs="LVM2_member"),
            _line("nvme7n1p1", "part", parent="nvme7n1", model=EC2),
        ],
        [],
    ),
    "own": ([*_root("nvme0n1", "SAMSUNG MZVL21T0"), _line("nvme1n1", model="INTEL P4510")], []),
}


def _put_lsblk(programs: Programs, lines: list[str]) -> None:
    (programs.directory / "listed").write_text("".join(f"{line}\n" for line in lines))
    programs.put("lsblk", f"#!/bin/sh\ncat {programs.directory}/listed\n")


@pytest.mark.parametrize("machine", MACHINES)
def test_local_disks_are_those_that_end_with_the_machine(
    run_directory: RunDirectory, shell: list[str], programs: Programs, machine: str
) -> None:
    listed, expected = MACHINES[machine]
    _put_lsblk(programs, listed)
    said = run_directory.run(shell, "disk.sh", "list_local_disks", path=programs.path)
    assert said.splitlines() == expected


def test_local_disk_is_unavailable_where_there_is_none(
    run_directory: RunDirectory, shell: list[str], programs: Programs
) -> None:
    programs.put("fio", "#!/bin/sh\necho fio-3.33\n")
    _put_lsblk(programs, MACHINES["own"][0])
    words = ("disk.sh", "fio_local", 16 * MIB, "randread", "4k", 1, 1, 0)
    said = run_directory.run(shell, *words, code=7, path=programs.path)
    assert said == "=== failure unavailable: this machine has no empty local disk\n"


@pytest.fixture
def empty_disk(tmp_path: Path) -> Iterator[Path]:
    """A block device of 4 GiB with nothing on it."""
    needs("losetup", "blkid", "mkfs.ext4", "fio")
    if os.geteuid() != 0:
        pytest.skip("a loop device needs root")
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(4 * GIB)
    done = subprocess.run(
        ["losetup", "--find", "--show", "--direct-io=on", image], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"this machine has no loop device for us: {done.stderr.strip()}")
    yield Path(done.stdout.strip())
    subprocess.run(["losetup", "--detach", done.stdout.strip()], check=True)


def _step(work: str, number: int) -> str:
    return f"step local_disk {work} {number} 60 disk.sh fio_local {16 * MIB} {work} 4k 4 0.3 0"


def test_local_disk_is_formatted_once_measured_and_unmounted(
    run_directory: RunDirectory, programs: Programs, empty_disk: Path
) -> None:
    programs.put("fio", f'#!/bin/sh\nexec {shutil.which("fio")} "$@"\n')
    disk = _line(empty_disk.name, size=4 * GIB, model=EC2)
    _put_lsblk(programs, [disk, _line("nvme9n1", model=EC2)])
    run_directory.plan(_step("randread", 0), _step("randwrite", 0), _step("randread", 1))
    run_directory.run(["sh"], path=programs.path)
    names = run_directory.finished()
    said = [run_directory.result(f"{name}.err") for name in names]
    assert ["wrote 16 MiB" in text for text in said] == [True, False, False]
    for name in names:
        sample = fio_local.parse(run_directory.result(f"{name}.out"))[0]
        assert sample.variant == "local_4k_qd4"
        assert sample.parameters["volume"] == {"type": EC2, "size_gib": 4}
        assert sample.parameters["local_disks"] == 2
        assert (sample.parameters["filesystem"], sample.flags) == ("ext4", ())
    assert str(run_directory.path) not in Path("/proc/mounts").read_text()


def test_local_disk_stays_as_it_is_when_something_is_on_it(
    run_directory: RunDirectory, programs: Programs, empty_disk: Path
) -> None:
    """lsblk knows what udev has seen; the disk itself is asked before it is formatted."""
    subprocess.run(["mkfs.ext4", "-q", "-L", "theirs", empty_disk], check=True)
    programs.put("fio", "#!/bin/sh\necho fio-3.33\n")
    _put_lsblk(programs, [_line(empty_disk.name, size=4 * GIB, model=EC2)])
    run_directory.plan(_step("randread", 0))
    run_directory.run(["sh"], path=programs.path)
    said = run_directory.result("001-local_disk-randread-0.out")
    assert said.endswith(f"{empty_disk} is not seen to be empty, and stays as it is\n")
    label = subprocess.run(["blkid", "-p", empty_disk], capture_output=True, text=True, check=True)
    assert 'LABEL="theirs"' in label.stdout
