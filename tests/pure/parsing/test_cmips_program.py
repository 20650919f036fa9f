"""Output of the original CMIPS program and its consistency checks."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import cmips_program


@pytest.mark.parametrize(
    ("version", "threads", "score"), [("1.0.5", 200, 6150), ("1.0.4", 100, 6149)]
)
def test_cmips_program_score_is_read_when_it_agrees_with_the_time(
    recorded, version, threads, score
):
    text = recorded(f"cmips-program-{version}-synthetic")
    (sample,) = cmips_program.parse(text)
    assert (sample.metric, sample.variant) == ("cmips_score", "all")
    assert (sample.value, sample.unit) == (score, "CMIPS")
    assert sample.parameters["threads"] == threads
    assert sample.parameters["usable_cpus"] == 8
    assert cmips_program.version(text) == version
    assert cmips_program.warnings(text) == ()


@pytest.mark.parametrize(
    ("seconds", "score"), [("100.000000", 20_000), ("120.424000", 16_607), ("40816.326531", 49)]
)
def test_cmips_program_score_is_truncated(recorded, seconds, score):
    text = recorded("cmips-program-1.0.5-synthetic")
    text = text.replace("325.170113", seconds).replace("CMIPS: 6150", f"CMIPS: {score}")
    assert cmips_program.parse(text)[0].value == score


def test_cmips_program_warns_when_there_are_many_cpus(recorded):
    text = recorded("cmips-program-1.0.5-synthetic")
    many = text.replace("processor\t: 0\n", "".join(f"processor\t: {i}\n" for i in range(90)))
    assert "97 CPUs" in cmips_program.warnings(many)[0]


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("CMIPS V1.0.5", "Other", "banner"),
        ("CMIPS V1.0.5", "CMIPS V1.0", "version 1.0 is not"),
        ("CMIPS: 6150", "", "CMIPS: is missing"),
        ("CMIPS: 6150", "CMIPS: 6150\nCMIPS: 6150", "there twice"),
        ("CMIPS: 6150", "CMIPS: 0", "0 does not agree"),
        ("CMIPS: 6150", "CMIPS: 6151", "6151 does not agree"),
        ("CMIPS: 6150", "CMIPS: 6149", "6149 does not agree"),
        ("Execution time: 325.170113", "", "Execution time: is missing"),
        ("Execution time: 325.170113", "Execution time: 325,170113", "does not agree"),
        (
            "Execution time: 325.170113\nCMIPS: 6150",
            "Execution time: 1\nCMIPS: 2000000",
            "impossible",
        ),
        ("End thread 7 (0) at Sat Nov 21 10:06:40 2026\n", "", "199 threads ended instead of 200"),
        ("End thread 7 (0)", "End thread 7 (67)", "byte 0"),
        ("End thread 7 (0)", "End thread 7", "byte 0"),
    ],
)
def test_cmips_program_is_refused_when_it_contradicts_itself(recorded, old, new, detail):
    text = recorded("cmips-program-1.0.5-synthetic")
    assert old in text
    with pytest.raises(ProbeError, match=detail):
        cmips_program.parse(text.replace(old, new))


def test_cmips_program_names_the_line_when_a_thread_went_wrong(recorded):
    text = recorded("cmips-program-1.0.5-synthetic").replace("End thread 7 (0)", "End thread 7 (1)")
    with pytest.raises(ProbeError) as refused:
        cmips_program.parse(text)
    line = refused.value.line or 0
    assert text.split("\n")[line - 1].startswith("End thread 7 (1)")
