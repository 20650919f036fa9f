"""Families of machine types that run on several models of CPU."""

import pytest

from backend.measure.mixtures import TypeRuns, mixtures

OLD, NEW = "AMD EPYC 7452 32-Core Processor", "AMD EPYC 7763 64-Core Processor"


def runs(cpu, *values, vcpus=2, family="a_v4"):
    ordered = sorted(values)
    middle = ordered[len(ordered) // 2] if len(ordered) % 2 else sum(ordered) / 2
    return TypeRuns("cloud", family, cpu, vcpus, len(ordered), ordered[0], middle, ordered[-1])


def test_mixture_pools_every_run_of_the_family():
    """Two runs of 400 and 1,300 a vCPU, one of 400, three of 1,300: (2·400 + 4·1,300) / 6 = 1,000."""
    found = mixtures(
        [
            runs(NEW, 800, 2600),
            runs(OLD, 1600, vcpus=4),
            runs(NEW, 5200, 5200, 5200, vcpus=4),
        ]
    )
    mixture = found["a_v4"]
    assert mixture.mean == pytest.approx(1000)
    assert sorted(mixture.runs) == [400, 400, 1300, 1300, 1300, 1300]
    assert mixture.cpu_models == {NEW: 5, OLD: 1}


@pytest.mark.parametrize(
    "types",
    [
        # one model, though runs differ: neighbours, not a mixture
        [runs(NEW, 800, 2600), runs(NEW, 2600)],
        # two models that do the same
        [runs(OLD, 2500, 2600), runs(NEW, 2600, 2650)],
        # the same model under the names of two firmwares
        [runs("AMD EPYC 9R14", 800, 2600), runs("AMD EPYC 9R14 96-Core Processor", 2600)],
        # one model is not known, which makes it no second one
        [runs("", 800, 2600), runs(NEW, 2600)],
        # types of one model differ by their size
        [runs(NEW, 800, 2600), runs(OLD, 1000), runs(OLD, 1000, vcpus=8)],
    ],
)
def test_family_is_no_mixture_without_models_that_differ(types):
    assert mixtures(types) == {}


def test_order_of_the_rows_changes_nothing():
    types = [runs(NEW, 800, 2600), runs(OLD, 1600, vcpus=4), runs(OLD, 3, 3, family="other")]
    assert sorted(mixtures(types)["a_v4"].runs) == sorted(mixtures(types[::-1])["a_v4"].runs)
