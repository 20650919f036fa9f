"""Whatever a target or a person sends, a parser answers with finite samples or with ProbeError."""

import math
import random
import re
import resource
import time
from pathlib import Path

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import why_not_kept
from backend.measure.readers import (
    ParsedSample,
    bonnie,
    cmips,
    cmips_program,
    coremark,
    cpu_tools,
    dd,
    fio,
    fio_local,
    fio_steady,
    frames,
    general,
    inventory,
    iperf3,
    memory,
    network,
    observe,
    openssl,
    passmark,
    ping,
    redis,
    runner_status,
    small_files,
    stated,
    stress_ng,
    sustained,
    sysbench,
    web,
    yabs,
)
from backend.measure.readers.importing import TOOLS, read_text

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures" / "probes"
ALLOWED_ZERO = "net_udp_loss_ratio"
# By the beginning of the file's name; the first that fits.
PARSERS = {
    "cmips-program-": cmips_program.parse,
    "cmips-windows": sustained.parse,
    "cmips-": cmips.parse,
    "sustained-": sustained.parse,
    "small-files-": small_files.parse,
    "small_files-": small_files.parse,
    "memory-": memory.parse,
    "dd-": dd.parse,
    "fio-3.33-framed-": fio.parse,
    "fio-local-": fio_local.parse,
    "fio-steady-": fio_steady.parse,
    "fio-": fio.parse_json,
    "iperf3-": iperf3.parse_json,
    "network-": network.parse,
    "ping-": ping.round_trips,
    "yabs-": yabs.parse,
    "bonnie-": bonnie.parse,
    "sysbench-": sysbench.parse,
    "stress-ng-typed-": lambda text: read_text("stress-ng", text, None),
    "stress-ng-": stress_ng.parse,
    "openssl-": openssl.parse,
    "redis-": redis.parse,
    "web-": web.parse,
    "general-": general.parse,
    "cpu-": lambda text: cpu_tools.parse(text, variant="all"),
    "coremark-": coremark.parse,
    "passmark-": passmark.parse,
    "inventory-": inventory.parse,
    "stated-": stated.parse,
    "observe-series": observe.series,
    "observe-": observe.parse,
    "runner-": runner_status.parse,
}
EVERY = {
    **PARSERS,
    "series": observe.series,
    "frames": lambda text: frames.sections("fuzz", text),
    **{tool: lambda text, tool=tool: read_text(tool, text, None) for tool in TOOLS},
}
NAMES = sorted(path.stem for path in FIXTURES.glob("*.txt"))
NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
NUMBERS = (
    "0",
    "-1",
    "9" * 30,
    "9" * 400,
    "1e999",
    "1e308",
    "NaN",
    "Infinity",
    "null",
    "1,5",
    "0.0",
)
SNIPPETS = (
    *("\0", "\ud800", "\\u0000", "\\ud800", "\n", "\r", "=== x", "=== end dd rc=0", '"', "{", "}"),
    *("[", ",", "true", "é", "\u202e", "\ufeff", "%s", "'", "--- stderr ---", " "),
)


def parser_of(name):
    return next(parser for begin, parser in PARSERS.items() if name.startswith(begin))


def check(parser, text):
    """The parser's answer is a measurement that can be stored, or a ProbeError with a cause."""
    try:
        answer = parser(text)
    except ProbeError:
        return
    samples = getattr(answer, "samples", answer)
    for sample in samples if isinstance(samples, (list, tuple)) else ():
        if isinstance(sample, ParsedSample):
            assert math.isfinite(sample.value)
            assert sample.value > 0 or (sample.value == 0 and sample.metric == ALLOWED_ZERO)
            assert why_not_kept(dict(sample.parameters)) is None


# --- ways to damage a text --------------------------------------------------------------------


def cut(chance, text):
    return text[: chance.randrange(len(text) + 1)]


def cut_out(chance, text):
    start = chance.randrange(len(text) + 1)
    return text[:start] + text[start + chance.randrange(40) :]


def put_in(chance, text):
    place = chance.randrange(len(text) + 1)
    return text[:place] + chance.choice(SNIPPETS) + text[place:]


def other_digit(chance, text):
    places = [place for place, letter in enumerate(text) if letter.isdigit()]
    if not places:
        return text
    place = chance.choice(places)
    return text[:place] + chance.choice("0123456789") + text[place + 1 :]


def other_number(chance, text):
    found = list(NUMBER.finditer(text))
    if not found:
        return text
    number = chance.choice(found)
    return text[: number.start()] + chance.choice(NUMBERS) + text[number.end() :]


def other_lines(chance, text):
    lines = text.split("\n")
    place = chance.randrange(len(lines))
    match chance.randrange(3):
        case 0:
            lines.insert(place, lines[place])
        case 1:
            del lines[place]
        case _:
            lines[place], lines[-1] = lines[-1], lines[place]
    return "\n".join(lines)


DAMAGES = (cut, cut_out, put_in, other_digit, other_number, other_lines)


@pytest.mark.parametrize("name", NAMES)
def test_parser_answers_or_refuses_when_a_recorded_text_is_damaged(name):
    whole = (FIXTURES / f"{name}.txt").read_text(encoding="utf-8")
    parser = parser_of(name)
    check(parser, whole)
    for seed in range(hypothesis.settings().max_examples // 10):
        chance = random.Random(f"{name} {seed}")  # a failure names the seed, which gives the text
        text = whole
        for _ in range(chance.randint(1, 3)):
            text = chance.choice(DAMAGES)(chance, text)
        try:
            check(parser, text)
        except BaseException as error:
            error.add_note(f"seed {seed}")
            raise


@given(name=st.sampled_from(sorted(EVERY)), content=st.binary(max_size=200))
def test_parser_answers_or_refuses_when_bytes_are_arbitrary(name, content):
    check(EVERY[name], content.decode(errors="replace"))
    check(EVERY[name], content.decode("latin-1") + "\n")


@given(name=st.sampled_from(sorted(EVERY)), text=st.text(max_size=200))
def test_parser_answers_or_refuses_when_the_text_is_arbitrary(name, text):
    check(EVERY[name], text)


def test_long_runs_make_ten_thousand_inputs():
    # What `test --deep` sets: one tenth as many damaged texts of every recording, and two runs of
    # arbitrary ones, of which the first makes two texts each.
    deep = hypothesis.settings.get_profile("deep").max_examples
    assert len(NAMES) * (deep // 10) + 3 * deep >= 10_000


@pytest.mark.deep
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "\n",
        "1",
        "{",
        '{"a":',
        "[",
        "1,",
        "=== dd\n",
        "1+0 records out\n",
        "End thread 1 (0)\n",
    ],
)
def test_parser_refuses_a_hundred_megabytes_within_bounds(tool, piece):
    text = piece * (100_000_000 // len(piece))
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    parsers = [parser for name, parser in PARSERS.items() if name.startswith(tool)]
    for parser in [lambda text: read_text(tool, text, None), *parsers]:
        with pytest.raises(ProbeError):
            parser(text)
    assert time.monotonic() - started < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 700 * 1024
