"""Lock files: pinned, hashed, and without the address of any package registry."""

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON_LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
NODE_LOCKS = [ROOT / "package-lock.json", ROOT / "requirements/browser/package-lock.json"]
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def pins(lock):
    return set(PIN.findall((ROOT / "requirements" / lock).read_text()))


@pytest.mark.parametrize("lock", PYTHON_LOCKS, ids=lambda path: path.name)
def test_python_lock_names_no_address_when_read(lock):
    assert not re.search(r"://|index-url|find-links|/(work|home|root|tmp)/", lock.read_text())


@pytest.mark.parametrize("lock", PYTHON_LOCKS, ids=lambda path: path.name)
def test_python_lock_hashes_every_package_when_read(lock):
    text = lock.read_text()
    entries = [block for block in re.split(r"\n(?=[A-Za-z])", text) if PIN.match(block)]
    assert entries
    assert [block.splitlines()[0] for block in entries if "--hash=sha256:" not in block] == []


@pytest.mark.parametrize("lock", NODE_LOCKS, ids=lambda path: path.parent.name)
def test_node_lock_has_integrity_and_no_address_when_read(lock):
    packages = {
        name: entry for name, entry in json.loads(lock.read_text())["packages"].items() if name
    }
    assert packages
    assert [name for name, entry in packages.items() if "integrity" not in entry] == []
    assert [name for name, entry in packages.items() if "resolved" in entry] == []


def test_dev_lock_contains_the_runtime_lock_when_compared():
    # The launcher takes an environment with the larger set for one with the smaller.
    assert pins("runtime.txt") <= pins("dev.txt")


def test_runtime_lock_holds_every_dependency_when_compared():
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.match(r"[A-Za-z0-9._-]+", line)[0].lower() for line in wanted}
    assert names <= {name for name, _ in pins("runtime.txt")}


def test_every_dependency_has_a_reason_when_read():
    text = (ROOT / "pyproject.toml").read_text()
    listed = text[text.index("\ndependencies = [") : text.index("\n[tool.uv]")].splitlines()
    assert [
        line for line in listed if line.startswith('    "') and ", # " not in " ".join(line.split())
    ] == []
