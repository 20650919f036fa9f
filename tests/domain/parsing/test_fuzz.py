"""Whatever a target sends, a parser answers with finite samples or with ProbeError."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backend.domain.errors import ProbeError
from backend.domain.parsing import cmips, dd, inventory, memory, observe, runner_status

PARSERS = {
    "cmips-all-x86_64": cmips.parse,
    "memory-bandwidth-x86_64": memory.parse,
    "memory-latency-x86_64": memory.parse,
    "dd-gnu-9.1-write-direct": dd.parse,
    "dd-busybox-1.35-read": dd.parse,
    "dd-gnu-9.1-progress": dd.parse,
    "inventory-debian-12-container": inventory.parse,
    "observe-complete": observe.parse,
    "runner-finished": runner_status.parse,
}
SNIPPETS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        [
            "NaN",
            "-1",
            "0",
            "1e999",
            "null",
            "true",
            "\n",
            "=== x",
            "=== end dd rc=0",
            '"',
            "{",
            "}",
            ",",
            "9" * 30,
        ]
    ),
)


def _check(parser, text):
    try:
        result = parser(text)
    except ProbeError:
        return
    for sample in result if isinstance(result, list) else ():
        assert math.isfinite(sample.value)
        assert sample.value > 0


@pytest.mark.parametrize("name", PARSERS)
@given(text=st.text(max_size=200))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_parser_never_fails_otherwise_when_the_text_is_arbitrary(name, text):
    _check(PARSERS[name], text)


@pytest.mark.parametrize("name", PARSERS)
@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_parser_never_fails_otherwise_when_recorded_text_is_damaged(name, recorded, data):
    text = recorded(name)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 20)))
        text = text[:start] + data.draw(SNIPPETS) + text[end:]
    _check(PARSERS[name], text)
