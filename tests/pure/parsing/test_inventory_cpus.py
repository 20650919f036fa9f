"""Models of the CPUs of a host: several, without a name, or not known."""

import pytest

from backend.measure.readers import inventory
from backend.measure.readers.inventory_cpus import cpu_models
from tests.pure.parsing.test_inventory import _framed


def lscpu(*clusters, head="Architecture: aarch64\nCPU(s): 8\nVendor ID: ARM\n"):
    """lscpu's text for clusters of a name and a number of cores."""
    return head + "".join(
        f"  Model name:                    {name}\n    Thread(s) per core:          1\n"
        f"    Core(s) per socket:          {cores}\n    Socket(s):                   1\n"
        for name, cores in clusters
    )


def cpuinfo(*lines):
    return "\n\n".join(f"processor\t: {n}\n{line}" for n, line in enumerate(lines))


BIG_LITTLE = (("Cortex-A510", 3), ("Cortex-A710", 2), ("Cortex-A715", 2))


@pytest.mark.parametrize(("last", "expected"), [("Cortex-X3", "Cortex-X3 ×1"), ("-", "unknown ×1")])
def test_several_models_are_all_listed_with_their_counts(last, expected):
    facts = inventory.parse(_framed(online="0-7", lscpu=lscpu(*BIG_LITTLE, (last, 1))))
    assert facts.cpu_model == f"Cortex-A510 ×3, Cortex-A710 ×2, Cortex-A715 ×2, {expected}"
    assert (facts.vcpu_count, facts.sockets, facts.threads_per_core) == (8, 1, 1)


def test_one_model_has_no_count():
    assert cpu_models(lscpu(("Neoverse-N1", 64)), "") == "Neoverse-N1"
    assert cpu_models("", cpuinfo("model name\t: AMD EPYC", "model name\t: AMD EPYC")) == "AMD EPYC"


def test_clusters_count_where_lscpu_has_no_sockets():
    # util-linux 2.37 and later on ARM without ACPI.
    text = lscpu(("Cortex-A55", 4), ("Cortex-A76", 4)).replace("per socket", "per cluster")
    text = text.replace("Socket(s):                   1", "Socket(s): -\n    Cluster(s): 1")
    assert cpu_models(text, "") == "Cortex-A55 ×4, Cortex-A76 ×4"


def test_cores_with_two_threads_count_as_two_cpus():
    text = "Model name: Big\nThread(s) per core: 2\nCore(s) per socket: 4\nSocket(s): 1\n"
    assert cpu_models(text + lscpu(("Small", 8), head=""), "") == "Big ×8, Small ×8"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["CPU implementer\t: 0x41\nCPU part\t: 0xd0c"], "CPU implementer 0x41 part 0xd0c"),
        (
            ["CPU implementer\t: 0x48\nCPU part\t: 0xd01"] * 4,
            "CPU implementer 0x48 part 0xd01",
        ),
        (
            [
                "CPU implementer\t: 0x41\nCPU part\t: 0xd03",
                "CPU implementer\t: 0x41\nCPU part\t: 0xd03",
                "CPU implementer\t: 0x41\nCPU part\t: 0xd08",
            ],
            "CPU implementer 0x41 part 0xd03 ×2, CPU implementer 0x41 part 0xd08 ×1",
        ),
    ],
)
def test_cpus_without_a_name_are_known_by_implementer_and_part(lines, expected):
    assert cpu_models("Architecture: aarch64\nModel: 1", cpuinfo(*lines)) == expected
    # lscpu without a name for them is no name either
    assert cpu_models(lscpu(("-", len(lines))), cpuinfo(*lines)) == expected


def test_kernel_lists_two_models_in_two_sockets():
    """lscpu shows the first alone."""
    text = "Model name: EPYC 7402\nThread(s) per core: 1\nCore(s) per socket: 1\nSocket(s): 2\n"
    read = cpuinfo("model name\t: EPYC 7402", "model name\t: EPYC 7502")
    assert cpu_models(text, read) == "EPYC 7402 ×1, EPYC 7502 ×1"


def test_two_unlike_arm_hosts_are_never_equal():
    one, other = (
        inventory.parse(_framed(cpus=cpuinfo(f"CPU implementer\t: 0x41\nCPU part\t: {part}")))
        for part in ("0xd0c", "0xd40")
    )
    assert one.cpu_model != other.cpu_model


@pytest.mark.parametrize("text", ["", "Model name: -\n", "Architecture: riscv64\n"])
def test_nothing_known_is_no_model(text):
    assert cpu_models(text, "processor\t: 0\nhart\t: 1") is None


def test_name_of_the_firmware_stands_in_for_a_missing_one():
    assert cpu_models("BIOS Model name: AWS Graviton2\n", "") == "AWS Graviton2"
