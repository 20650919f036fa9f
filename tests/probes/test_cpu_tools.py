"""cpu.sh with real tools: what it prints is read as it stands."""

import os
import shutil

import pytest

from backend.measure.probes import PROBES
from tests.probes.conftest import needs

TOOLS = {
    "stress_ng": ("stress-ng", "stress_ng_div16"),
    "openssl": ("openssl", "openssl_sha256"),
    "sysbench": ("sysbench", "sysbench_cpu"),
}


@pytest.mark.parametrize("probe", TOOLS)
def test_cpu_tool_measures_all_usable_cpus_and_one(run_directory, shell, probe):
    tool, function = TOOLS[probe]
    needs(tool)
    usable = len(os.sched_getaffinity(0))
    for variant, threads, counted in (("all", "all", usable), ("single", "1", 1)):
        text = run_directory.run(shell, "cpu.sh", function, threads, 1)
        # What it says on stderr is beside the result here, and apart from it in a run.
        text = "".join(line for line in text.splitlines(True) if not line.startswith(("+DT", "+R")))
        (sample,) = PROBES[probe].parse(text, variant)
        assert sample.metric == PROBES[probe].metrics[0]
        assert (sample.variant, sample.parameters["threads"]) == (variant, counted)
        assert sample.parameters["tool"].lower().startswith(tool)


def test_cpu_tool_is_unavailable_when_it_is_absent(run_directory, tmp_path):
    for name in ("sh", "dirname", "sed"):
        (tmp_path / name).symlink_to(shutil.which(name))
    for tool, function in TOOLS.values():
        said = run_directory.run(["sh"], "cpu.sh", function, 1, 1, code=7, path=str(tmp_path))
        assert said.startswith("=== failure unavailable: ")
        assert tool in said.lower()


def test_stress_ng_is_unavailable_when_it_is_too_old(run_directory, programs):
    programs.put(
        "stress-ng",
        "#!/bin/sh\n"
        'case "$1" in --version) echo "stress-ng, version 0.12.06 (gcc)";;\n'
        '*) echo "cpu-method must be one of: all ackermann"; exit 1;; esac\n',
    )
    said = run_directory.run(["sh"], "cpu.sh", "stress_ng_div16", 1, 1, code=7, path=programs.path)
    assert said == (
        "=== failure unavailable: stress-ng 0.12.06 has no method div16; a newer one has\n"
    )
