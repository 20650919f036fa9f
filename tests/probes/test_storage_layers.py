"""The device below a directory: found through overlayfs, loop devices, mappers and memory."""

import contextlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from backend.measure.readers import dd, fio, small_files
from tests.probes.conftest import needs

MIB = 2**20


def _as_root(*words):
    needs(words[0])
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this machine does not allow {words[0]}: {done.stderr.strip()[:100]}")
    return done.stdout.strip()


@pytest.fixture
def layers(tmp_path):
    """Makes file systems on top of each other; all of them are gone after the test."""
    with contextlib.ExitStack() as stack:
        yield Layers(stack, tmp_path)


class Layers:
    def __init__(self, stack, path):
        self.stack, self.path, self.count = stack, path, 0

    def _new_directory(self):
        self.count += 1
        place = self.path / f"layer {self.count}"
        place.mkdir()
        return place

    def _mounted(self, *words):
        place = self._new_directory()
        _as_root("mount", *words, place)
        self.stack.callback(subprocess.run, ["umount", "-l", str(place)], check=False)
        return place

    def tmpfs(self):
        return self._mounted("-t", "tmpfs", "-o", "size=4g", "tmpfs")

    def overlay(self, upper):
        for name in ("upper", "work"):
            (upper / name).mkdir()
        lower = self._new_directory()
        # overlayfs separates its options by commas, and takes blanks.
        options = f"lowerdir={lower},upperdir={upper}/upper,workdir={upper}/work"
        return self._mounted("-t", "overlay", "-o", options, "overlay")

    def loop(self, below, *, is_direct):
        image = below / "image"
        with image.open("wb") as file:
            file.truncate(3 * 1024 * MIB)
        device = _as_root(
            "losetup", "-f", "--show", *(["--direct-io=on"] if is_direct else []), image
        )
        self.stack.callback(subprocess.run, ["losetup", "-d", device], check=False)
        return device

    def ext4(self, device):
        _as_root("mkfs.ext4", "-q", "-F", device)
        return self._mounted(device)

    def map_codes(self, device):
        needs("dmsetup")
        sectors = _as_root("blockdev", "--getsz", device)
        name = f"rackrate-test-{self.path.name[-20:]}".replace("_", "-")
        done = subprocess.run(
            ["dmsetup", "create", name, "--table", f"0 {sectors} linear {device} 0"],
            capture_output=True,
            text=True,
        )
        if done.returncode:
            pytest.skip(f"this machine has no device mapper: {done.stderr.strip()[:100]}")
        self.stack.callback(subprocess.run, ["dmsetup", "remove", name], check=False)
        return f"/dev/mapper/{name}"


@pytest.fixture
def disk():
    """A directory on the disk of this machine."""
    path = Path(tempfile.mkdtemp(dir="/var/tmp"))
    yield path
    shutil.rmtree(path)


def storage_of(run_directory, directory, shell=("sh",)):
    """What the scripts say of a directory: [in memory, file system, device]."""
    script = run_directory.path / "storage.sh"
    script.write_text(
        '. "$(dirname "$0")/common.sh"\nlook_up_storage "$1"\necho "$in_memory $stored_as $stored_on"\n'
    )
    return run_directory.run(list(shell), "storage.sh", directory).strip().split(" ", 2)


def test_disk_of_this_machine_is_named(run_directory, shell, disk):
    in_memory, stored_as, stored_on = storage_of(run_directory, disk, shell)
    source = _as_root("findmnt", "-n", "-o", "SOURCE,FSTYPE", "-T", disk).split()
    assert (stored_as, in_memory) == (source[1], "no")
    assert stored_on == source[0].removeprefix("/dev/")


def test_tmpfs_is_memory(run_directory, shell, layers):
    assert storage_of(run_directory, layers.tmpfs(), shell) == ["yes", "tmpfs", "tmpfs"]


def test_overlay_is_what_its_upper_directory_lies_on(run_directory, shell, layers, disk):
    on_memory, on_disk = layers.overlay(layers.tmpfs()), layers.overlay(disk)
    assert storage_of(run_directory, on_memory, shell) == ["yes", "tmpfs", "tmpfs"]
    assert storage_of(run_directory, on_disk, shell) == storage_of(run_directory, disk, shell)


def test_overlay_resolves_hidden_upper_directory(run_directory, layers):
    """As in live systems, whose upper directory was mounted before the root was changed."""
    upper = layers.tmpfs()
    place = layers.overlay(upper)
    moved = layers._new_directory()
    _as_root("mount", "--bind", upper, moved)
    layers.stack.callback(subprocess.run, ["umount", "-l", str(moved)], check=False)
    _as_root("umount", "-l", upper)
    assert storage_of(run_directory, place) == ["yes", "tmpfs", "tmpfs"]


@pytest.mark.parametrize("is_direct", [True, False])
def test_loop_device_is_memory_unless_it_passes_the_page_cache(
    run_directory, shell, layers, disk, is_direct
):
    place = layers.ext4(layers.loop(disk, is_direct=is_direct))
    below = storage_of(run_directory, disk, shell)[2]
    expected = ["no" if is_direct else "yes", "ext4", f"loop/{below}"]
    assert storage_of(run_directory, place, shell) == expected


def test_loop_device_in_memory_is_memory(run_directory, layers):
    place = layers.ext4(layers.loop(layers.tmpfs(), is_direct=False))
    assert storage_of(run_directory, place) == ["yes", "ext4", "loop/tmpfs"]


def test_mapped_device_is_what_it_is_made_of(run_directory, shell, layers, disk):
    place = layers.ext4(layers.map_codes(layers.loop(disk, is_direct=False)))
    below = storage_of(run_directory, disk, shell)[2]
    assert storage_of(run_directory, place, shell) == ["yes", "ext4", f"dm/loop/{below}"]


def test_overlay_on_a_loop_in_memory_is_memory(run_directory, layers):
    place = layers.overlay(layers.ext4(layers.loop(layers.tmpfs(), is_direct=False)))
    assert storage_of(run_directory, place) == ["yes", "ext4", "loop/tmpfs"]


def test_compressed_memory_is_memory(run_directory, layers):
    size = Path("/sys/block/zram0/disksize")
    if not size.exists() or size.read_text().strip() != "0":
        pytest.skip("no free zram device")
    try:
        size.write_text(str(96 * MIB))
    except OSError as error:
        pytest.skip(str(error))
    layers.stack.callback(Path("/sys/block/zram0/reset").write_text, "1")
    place = layers.ext4("/dev/zram0")
    assert storage_of(run_directory, place) == ["yes", "ext4", "zram"]


@pytest.mark.parametrize("kind", ["overlay", "loop"])
def test_figures_of_memory_below_other_layers_are_flagged_cached(run_directory, layers, kind):
    """A rescue system, and an image file: figures of a disk that is none."""
    needs("fio")
    below = layers.tmpfs()
    place = (
        layers.overlay(below)
        if kind == "overlay"
        else layers.ext4(layers.loop(below, is_direct=False))
    )
    run_directory.plan(
        f"step dd write 0 60 disk.sh dd_write '{place}' {16 * MIB} 5",
        f"step small_files create 0 60 disk.sh small_files '{place}' 50",
        f"step fio rand_read_qd1 0 60 disk.sh fio_run '{place}' {16 * MIB} randread 4k 1 1 0.5 0",
    )
    run_directory.run(["sh"])
    texts = [run_directory.result(f"{name}.out") for name in run_directory.finished()]
    samples = [
        s
        for parse, text in zip((dd.parse, small_files.parse, fio.parse), texts, strict=True)
        for s in parse(text)
    ]
    assert len(samples) >= 4
    assert all("cached" in sample.flags for sample in samples)
    stored = {
        (sample.parameters["stored_as"], sample.parameters["stored_on"]) for sample in samples
    }
    assert stored == {("tmpfs", "tmpfs") if kind == "overlay" else ("ext4", "loop/tmpfs")}


def test_figures_of_a_disk_name_it_and_are_not_cached(run_directory, target):
    run_directory.plan(f"step small_files create 0 60 disk.sh small_files '{target}' 50")
    run_directory.run(["sh"])
    text = run_directory.result("001-small_files-create-0.out")
    said = json.loads(text)
    assert said["stored_on"] == storage_of(run_directory, target)[2]
    assert said["root_on"] == storage_of(run_directory, "/")[2]
    assert all("cached" not in sample.flags for sample in small_files.parse(text))
