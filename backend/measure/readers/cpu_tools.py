"""Framed output of the probes that measure the CPU by tools of others, with its conditions."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from backend.foundation.errors import ProbeError
from backend.foundation.reading.texts import check_text
from backend.measure.readers import ParsedSample, openssl, stress_ng, sysbench
from backend.measure.readers.frames import key_values, sections

TOOL = "cpu"
KEYS = ("threads", "seconds", "tool")
WHOLE = re.compile(r"[0-9]{1,6}")
READERS: Mapping[str, Callable[[str], list[ParsedSample]]] = {
    stress_ng.TOOL: stress_ng.parse,
    openssl.TOOL: openssl.parse,
    sysbench.TOOL: sysbench.parse,
}


def parse(text: str, *, variant: str) -> list[ParsedSample]:
    """The sample of one test as that of the series: `all` CPUs, or a `single` one. ProbeError."""
    parts = sections(TOOL, check_text(TOOL, text))
    if len(parts) != 2 or parts[0].name != "conditions" or parts[1].name not in READERS:
        raise ProbeError(TOOL, "not the conditions and one test", 1)
    conditions, output = parts
    values = key_values(TOOL, conditions, KEYS)
    if output.exit_code:
        raise ProbeError(TOOL, f"{output.name} ended with {output.exit_code}", output.first_line)
    # Blank lines, so that an error names the line of the whole text.
    (sample,) = READERS[output.name]("\n" * (output.first_line - 1) + output.text)
    if values["threads"] != str(sample.parameters["threads"]):
        detail = f"{sample.parameters['threads']} threads, and {values['threads'][:20]} asked for"
        raise ProbeError(TOOL, detail, output.first_line)
    if not WHOLE.fullmatch(values["seconds"]):
        raise ProbeError(TOOL, f"{values['seconds'][:20]!r} s", conditions.first_line)
    described = {"seconds": int(values["seconds"]), "tool": values["tool"]}
    return [replace(sample, variant=variant, parameters={**sample.parameters, **described})]
