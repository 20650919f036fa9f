"""Results of a disk that was left to settle first."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import fio_steady

REACHED, NOT_REACHED = "fio-steady-3.33-reached", "fio-steady-3.33-not-reached"


def test_steady_result_says_how_the_disk_came_to_rest(recorded):
    samples = fio_steady.parse(recorded(REACHED))
    assert [(sample.metric, sample.variant, sample.value) for sample in samples] == [
        ("disk_rand_write_iops", "steady_4k_qd32", 86924.075924),
        ("disk_rand_write_p99_ns", "steady_4k_qd32", 585728),
    ]
    for sample in samples:
        assert sample.flags == ()
        assert sample.parameters["is_steady"] is True
        assert (sample.parameters["cache_bytes"], sample.parameters["file_bytes"]) == (2**26, 2**27)
        assert (sample.parameters["settled_s"], sample.parameters["steady_window_s"]) == (2.893, 3)
        # fio's criterion is 0.016586 % a second, over three seconds.
        assert sample.parameters["drift_ratio"] == pytest.approx(0.00049758, rel=1e-4)


def test_result_that_never_settled_is_flagged(recorded):
    sample, _ = fio_steady.parse(recorded(NOT_REACHED))
    assert sample.flags == ("not_steady",)
    assert sample.parameters["is_steady"] is False
    assert sample.parameters["settled_bytes"] == 1157025792
    assert sample.parameters["drift_ratio"] is None


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("=== steady\n", "=== settled\n", "unexpected '=== end steady"),
        ("=== end steady rc=0\n", "=== end steady rc=0\n=== more\n=== end more rc=0\n", "not the"),
        ("cache_bytes 67108864", "cache_bytes much", "cache_bytes 'much'"),
        ("window_s 3", "window_s 4", "duration is 3 s, and 4 s were asked for"),
        ('"attained" : 1', '"attained" : 2', "attained is 2"),
        ('"slope" : ', '"slope" : true, "other" : ', "slope is True"),
    ],
)
def test_steady_result_is_refused_when_it_contradicts_itself(recorded, old, new, why):
    text = recorded(REACHED)
    assert old in text
    with pytest.raises(ProbeError, match=why):
        fio_steady.parse(text.replace(old, new, 1))


@pytest.mark.parametrize("count", [0, 2])
def test_steady_result_is_refused_without_its_one_job(recorded, count):
    text = recorded(REACHED)
    begin = text.index('  "jobs" : [\n') + len('  "jobs" : [\n')
    end = text.index("\n  ],", begin)
    jobs = ",".join([text[begin:end]] * count)
    with pytest.raises(ProbeError, match=f"{count} groups of jobs"):
        fio_steady.parse(text[:begin] + jobs + text[end:])


def test_steady_result_is_refused_when_settling_failed(recorded):
    text = recorded(REACHED)
    with pytest.raises(ProbeError, match="error is 5"):
        fio_steady.parse(text.replace('"error" : 0', '"error" : 5', 1))
