"""Times of jobs and bounds that somebody states."""

import pytest

from backend.foundation.errors import ProbeError
from backend.foundation.facts import JOBS
from backend.measure.readers import stated
from backend.measure.readers.importing import read_text
from backend.measure.stats import UNFIT


def test_times_of_jobs_are_the_published_ones(recorded):
    samples = stated.parse(recorded("stated-tar-nfs"))
    # 3:23, 1:30, 1:15, 1:30, 1:16 and 56 s; 5.5 s, 6:26, 54 s, 2:30 and 30 s
    assert [sample.value for sample in samples] == [
        203, 90, 75, 90, 76, 56, 5.5, 386, 54, 150, 30,
    ]  # fmt: skip
    assert len({sample.variant for sample in samples}) == len(samples)
    assert {sample.metric for sample in samples} == {"job_time_s"}
    assert samples[0].parameters == {"job": "tar_nfs.no_log"}
    known = sorted(float(fact.value) for fact in JOBS if fact.value and fact.value < 1000)
    assert known == sorted(sample.value for sample in samples)


def test_lines_of_one_job_are_its_repeats():
    samples = stated.parse("job_time_s tar_nfs 75\njob_time_s tar_nfs 76 # again\n")
    assert [(sample.variant, sample.value) for sample in samples] == [
        ("tar_nfs", 75), ("tar_nfs", 76),
    ]  # fmt: skip


def test_aborted_job_is_kept_and_never_ranks(recorded):
    result = read_text("stated", recorded("stated-aborted-synthetic"), None)
    (sample,) = result.samples
    assert (sample.value, sample.flags) == (600, ("aborted",))
    assert sample.parameters == {"job": "tar_nfs", "outcome": "aborted"}
    assert not UNFIT.isdisjoint(sample.flags)
    assert result.warnings == ("an aborted job has no time of its own: kept, and takes no rank",)


def test_bound_of_a_score_is_kept_and_never_ranks(recorded):
    result = read_text("stated", recorded("stated-bound"), None)
    (sample,) = result.samples
    assert (sample.metric, sample.variant, sample.value) == ("cmips_score", "all", 16_000)
    assert sample.flags == ("lower_bound",)
    assert not UNFIT.isdisjoint(sample.flags)
    assert result.warnings == (
        "a bound says that the true figure is larger: kept, and takes no rank",
    )


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("cmips_score 16000", "taken as a bound only"),
        ("cmips_score aborted after 3", "taken as a bound only"),
        ("job_time_s 203", "the name of the job is missing"),
        ("job_time_s tar_nfs aborted", "is not like"),
        ("job_time_s tar_nfs 3:23", "is not like"),
        ("job_time_s tar_nfs -1", "is not like"),
        ("made_up > 3", "'made_up' is not a metric key"),
        ("\n\njob_time_s", "is not like"),
        (" ", "the text is empty"),
    ],
)
def test_line_that_is_no_figure_is_refused(text, detail):
    with pytest.raises(ProbeError, match=detail) as raised:
        stated.parse(text)
    assert raised.value.line == text.count("\n") + 1


def test_time_of_nothing_is_no_figure():
    with pytest.raises(ProbeError, match="job_time_s is 0"):
        read_text("stated", "job_time_s tar_nfs 0", None)
    with pytest.raises(ProbeError, match="holds no result"):
        read_text("stated", "# nothing\n", None)
