"""Which samples one score pools."""

import pytest

from backend.benchmarks.calc.alike import Origin, alike, method_of

SIZE = {"vcpu_count": 2, "memory_bytes": 8 * 2**30, "virtualization": "kvm"}
MILAN, ROME = {**SIZE, "cpu_model": "EPYC 7B13"}, {**SIZE, "cpu_model": "EPYC 7B12"}


def groups(*origins):
    """Indexes of the samples, given newest first, by group."""
    found = alike(range(len(origins)), lambda n: n, lambda n: Origin(*origins[n]))
    return [group.samples for group in found]


def test_another_kernel_begins_a_new_group():
    """W3: kernels of 1,000 and 1,300 were pooled to 1,152 and labelled as the newer one."""
    assert groups(("cmips 2 b", "h", MILAN), ("cmips 2 a", "h", MILAN)) == [[0], [1]]


def test_a_host_that_was_resized_begins_a_new_group():
    """W3: 2 and 8 vCPUs of one host were pooled to 1,503.5."""
    large = {**MILAN, "vcpu_count": 8}
    assert groups(("k", "h", large), ("k", "h", MILAN), ("k", "h", large)) == [[0, 2], [1]]


def test_machines_of_different_models_are_a_mixture():
    models = (MILAN, ROME, MILAN)
    found = alike([0, 1, 2], lambda n: n, lambda n: Origin("k", f"h{n}", models[n]))
    assert [group.samples for group in found] == [[0, 1, 2]]
    assert found[0].cpu_models == {"h0": "EPYC 7B13", "h1": "EPYC 7B12", "h2": "EPYC 7B13"}


def test_a_machine_whose_model_changed_begins_anew():
    assert groups(("k", "h", MILAN), ("k", "other", ROME), ("k", "h", ROME)) == [[0, 1], [2]]


def test_what_is_not_stated_is_no_difference():
    assert groups(("k", "h", {}), ("k", "h", MILAN), ("k", "h", {**MILAN, "vcpu_count": 4})) == [
        [0, 1],
        [2],
    ]


def test_memory_may_differ_by_what_a_kernel_keeps():
    less = {**MILAN, "memory_bytes": MILAN["memory_bytes"] - 2**27}
    assert groups(("k", "h", MILAN), ("k", "i", less)) == [[0, 1]]


def test_samples_of_one_key_are_looked_at_once_and_stay_together():
    asked = []

    def origin(sample):
        asked.append(sample)
        return Origin("k", "h", {"b": MILAN, "a": {}, "c": ROME}[sample[0]])

    samples = ["a1", "b1", "c1", "a2", "c2", "b2"]
    found = alike(samples, lambda sample: sample[0], origin)
    assert [group.samples for group in found] == [["a1", "b1", "a2", "b2"], ["c1", "c2"]]
    assert asked == ["a1", "b1", "c1"]


@pytest.mark.parametrize(
    ("version", "method"),
    [
        ("cmips 2 0a1b2c3d4e5f", "cmips 2 0a1b2c3d4e5f"),
        ("fio 1 fio-3.33", "fio 1 fio-3"),
        ("dd 2 dd (coreutils) 9.1", "dd 2 dd (coreutils) 9"),
        ("sysbench 1.0.20", "sysbench 1"),
        ("iperf 3.12", "iperf 3"),
        ("stress_ng 1 stress-ng 0.15.06", "stress_ng 1 stress-ng 0.15"),
        ("", ""),
    ],
)
def test_only_the_major_version_of_a_tool_makes_a_method(version, method):
    assert method_of(version) == method
