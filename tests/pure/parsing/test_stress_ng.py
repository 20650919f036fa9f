"""Output of stress-ng."""

import pytest

from backend.foundation.errors import ProbeError
from backend.measure.readers import stress_ng


@pytest.mark.parametrize(
    ("name", "variant", "value", "seconds"),
    [
        ("0.12.06-int16", "2_workers", 16944.84, 2.0),  # the end stands before the table
        ("0.15.06-2", "2_workers", 507.65, 3.0),
        ("0.19.02-2", "2_workers", 456.05, 2.0),
        ("0.19.02-metrics", "single", 450.96, 2.01),  # with two columns more
    ],
)
def test_stress_ng_is_the_rate_of_the_clock_in_every_layout(
    recorded, name, variant, value, seconds
):
    (sample,) = stress_ng.parse(recorded(f"stress-ng-{name}"))
    assert (sample.metric, sample.variant) == ("stress_ng_div16", variant)
    assert (sample.value, sample.unit) == (value, "bogo ops/s")
    assert sample.parameters["seconds"] == seconds


@pytest.mark.parametrize(
    ("old", "new", "detail"),
    [
        ("hogs: 2 cpu", "hogs: 2 cpu, 1 vm", "not the CPU stressor alone"),
        ("stress-ng: info:  [10349] dispatching", "total", "not a line of stress-ng"),
        ("dispatching hogs: 2 cpu", "note: it begins", "no whole result"),
        ("stressor       bogo ops real time", "stressor       bogo ops", "columns that are not"),
        ("507.65", "507,65", "columns that are not known"),
        ("507.65        1314.64", "1314.64         507.65", "does not agree with 1523 in 3 s"),
        ("    3.00 ", "    0.50 ", "507.65 bogo ops/s in 0.5 s"),
        ("507.65", "0.00", "0 bogo ops/s"),
        ("a 3 second", "a 10 second", "ended after 3 of 10 s"),
        ("a 3 second", "a 90 second (1 min, 30.00 secs)", "ended after 3 of 90 s"),
        ("a 3 second", "a 1 hour, 1 min, 1 sec", "ended after 3 of 3661 s"),
        ("a 3 second", "a 2 days, 0.00 secs", "ended after 3 of 172800 s"),
        ("successful", "unsuccessful", "unsuccessful run"),
        ("successful run", "metrics untrustworthy: 2: cpu (2)", "untrustworthy: 2"),
        ("info:  [10349] successful", "error: [10349] no memory", "no memory"),
        ("successful run completed", "note: all is", "no whole result"),
    ],
)
def test_stress_ng_is_refused_when_a_line_is_not_as_it_must_be(recorded, old, new, detail):
    text = recorded("stress-ng-0.15.06-2")
    assert old in text
    with pytest.raises(ProbeError, match=detail):
        stress_ng.parse(text.replace(old, new))


@pytest.mark.parametrize(
    ("name", "detail"),
    [
        ("0.15.06-ended-early", "ended after 1.53 of 10 s"),
        ("0.12.06-no-method", "not a line of stress-ng: 'cpu-method must be one of"),
    ],
)
def test_stress_ng_is_refused_when_it_did_not_do_its_work(recorded, name, detail):
    with pytest.raises(ProbeError, match=detail):
        stress_ng.parse(recorded(f"stress-ng-{name}"))


def test_stress_ng_is_refused_when_two_runs_are_given(recorded):
    with pytest.raises(ProbeError, match="one run at a time"):
        stress_ng.parse(recorded("stress-ng-0.15.06-2") * 2)
