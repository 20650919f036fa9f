"""The machine that was measured against the offer: what agrees, what contradicts, and the sentence's figures."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.benchmarks.calc.offered import MachineSize, differences, machine_size

GIB = 2**30
OFFER = MachineSize(
    arch="x86_64", cpu_model="", vcpu_count=4.0, thread_count=None, memory_bytes=16 * GIB
)
FACTS = {"arch": "x86_64", "vcpu_count": 4, "usable_cpu_count": 4, "memory_bytes": 16 * GIB}


def contradictions(offer=None, *, is_whole=False, **facts):
    changed = machine_size({**FACTS, **facts})
    return list(differences(replace(OFFER, **(offer or {})), changed, is_whole=is_whole))


@pytest.mark.parametrize(
    ("facts", "vcpus", "threads", "memory_gib"),
    [
        ({}, 4, 4, 16),
        ({"usable_cpu_count": 1}, 1, 1, 16),
        ({"usable_cpu_count": None}, 4, 4, 16),
        ({"cgroup_quota_cpus": 0.5, "cgroup_memory_bytes": GIB // 2}, 0.5, 4, 0.5),
        ({"cgroup_quota_cpus": 1 / 3}, 0.333, 4, 16),
        ({"cgroup_quota_cpus": 8.0}, 4, 4, 16),  # a quota above the CPUs limits nothing
    ],
)
def test_size_is_the_least_of_what_is_there_and_what_may_be_used(facts, vcpus, threads, memory_gib):
    size = machine_size({**FACTS, **facts})
    assert (size.vcpu_count, size.thread_count) == (vcpus, threads)
    assert size.memory_bytes == memory_gib * GIB


def test_inventory_that_says_nothing_contradicts_no_offer():
    assert list(differences(OFFER, machine_size({}), is_whole=True)) == []
    unknown = machine_size({})
    assert list(differences(unknown, machine_size(FACTS), is_whole=True)) == []


@pytest.mark.parametrize(
    ("offer", "facts", "words"),
    [
        ({"arch": "arm64"}, {}, "the architecture x86_64 instead of arm64"),
        ({"arch": "arm64"}, {"arch": "aarch64"}, None),
        ({"vcpu_count": 16.0}, {}, "4 CPUs instead of 16"),
        ({}, {"usable_cpu_count": 1}, "1 CPU instead of 4"),
        ({}, {"cgroup_quota_cpus": 1.5}, "1.5 CPUs instead of 4"),
        ({"vcpu_count": 2.0}, {}, "4 CPUs instead of 2"),
        # A quarter of a CPU is sold; the guest shows one CPU that is slowed down.
        ({"vcpu_count": 0.25}, {"usable_cpu_count": 1}, None),
        ({"vcpu_count": None, "thread_count": 8}, {}, "4 CPUs instead of 8"),
        ({}, {"memory_bytes": int(15.4 * GIB)}, None),
        ({}, {"memory_bytes": int(14.5 * GIB)}, None),
        ({}, {"memory_bytes": int(14.3 * GIB)}, "14.3 GiB of memory instead of 16 GiB"),
        ({}, {"memory_bytes": int(17.5 * GIB)}, None),
        ({}, {"memory_bytes": int(17.7 * GIB)}, "17.7 GiB of memory instead of 16 GiB"),
        ({}, {"cgroup_memory_bytes": GIB // 2}, "0.5 GiB of memory instead of 16 GiB"),
        # Half a gibibyte is sold; kernel and firmware leave 450 MiB of it to others.
        ({"memory_bytes": GIB // 2}, {"memory_bytes": 450 * 2**20}, None),
        (
            {"memory_bytes": GIB // 2},
            {"memory_bytes": 320 * 2**20},
            "0.3125 GiB of memory instead of 0.5 GiB",
        ),
    ],
)
def test_difference_names_both_figures_when_the_machine_contradicts(offer, facts, words):
    assert contradictions(offer, **facts) == ([words] if words else [])


@pytest.mark.parametrize(
    ("stated", "seen", "is_whole", "is_other"),
    [
        ("AMD EPYC 7502P", "AMD EPYC 7502P 32-Core Processor", True, False),
        ("AMD EPYC 7502P", "AMD EPYC 7401P 24-Core Processor", True, True),
        ("Intel Xeon E5-2680 v4", "Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz", True, False),
        ("Intel Xeon E5-2680 v4", "Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", True, True),
        ("Intel Xeon E3-1230", "Intel(R) Xeon(R) CPU E3-1230 v6 @ 3.50GHz", True, False),
        ("Intel Core i7-6700", "Intel(R) Core(TM) i7-6700 CPU @ 3.40GHz", True, False),
        ("Intel Core i5-13500", "13th Gen Intel(R) Core(TM) i5-13500", True, False),
        ("AMD Ryzen 9 7950X", "AMD Ryzen 9 7950X3D 16-Core Processor", True, True),
        ("AMD Ryzen 7 PRO 8700GE", "AMD Ryzen 7 PRO 8700GE w/ Radeon 780M Graphics", True, False),
        ("2 x Intel Xeon Gold 6226R", "Intel(R) Xeon(R) Gold 6226R CPU @ 2.90GHz ×64", True, False),
        # A name without a number says nothing that could differ.
        ("Ampere Altra Q80-30", "Neoverse-N1", True, False),
        ("AMD EPYC 7502P", "AMD EPYC-Rome Processor", True, False),
        # Types of clouds run on several models; the list leaves a letter out.
        ("Intel Xeon Platinum 8175 (Skylake)", "Intel(R) Xeon(R) Platinum 8175M CPU", True, False),
        (
            "Intel Xeon Platinum 8175",
            "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz",
            False,
            False,
        ),
        ("AMD EPYC 7R13 Processor", "Intel(R) Xeon(R) Platinum 8259CL CPU", False, True),
        ("Variable", "Intel(R) Xeon(R) Platinum 8259CL CPU", False, False),
    ],
)
def test_processor_contradicts_by_maker_or_by_its_number(stated, seen, is_whole, is_other):
    words = [f"the processor {seen} instead of {stated}"] if is_other else []
    assert contradictions({"cpu_model": stated}, is_whole=is_whole, cpu_model=seen) == words


def test_whole_machine_may_be_sold_by_its_cores_or_its_threads():
    sold = {"vcpu_count": 8.0, "thread_count": 16}
    for count in (8, 16):
        assert contradictions(sold, is_whole=True, vcpu_count=count, usable_cpu_count=count) == []
    # Of a guest the vCPUs are what is sold.
    assert contradictions(sold, vcpu_count=16, usable_cpu_count=16) == ["16 CPUs instead of 8"]


@given(stated=st.integers(GIB, 2048 * GIB), ratio=st.floats(0.01, 4.0, exclude_min=True))
def test_memory_contradicts_exactly_beyond_a_tenth_above_two_gibibytes(stated, ratio):
    stated += GIB
    is_far = bool(contradictions({"memory_bytes": stated}, memory_bytes=int(stated * ratio)))
    if ratio < 0.9 - 1e-6 or ratio > 1.1 + 1e-6:
        assert is_far
    elif 0.9 + 1e-6 < ratio < 1.1 - 1e-6:
        assert not is_far
