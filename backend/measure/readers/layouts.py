"""Other layouts of the tools that are read, each with the way to one that is; and what is read of each tool."""

import re
from collections.abc import Mapping
from types import MappingProxyType

# What a refused text should have been; every refusal of an import ends with it.
EXPECTED: Mapping[str, str] = MappingProxyType(
    {
        "dd": "give all that `LC_ALL=C dd …` printed",
        "fio": "give the whole output of fio 3 with --output-format=json",
        "iperf3": "give the whole output of iperf3 -J from the client",
        "bonnie": "give the line with commas that ends what bonnie++ prints (alone with -q)",
        "sysbench": "give all that `sysbench cpu run` or `sysbench memory run` printed",
        "stress-ng": "give the command and all that stress-ng --metrics-brief printed",
        "openssl": "give the command and all that openssl speed -mr -evp sha256 printed",
        "cmips": "give all that the program printed",
        "yabs": "give the JSON of yabs.sh -j",
        "coremark": "give all that a performance run of 10 s or more printed",
        "passmark": "give the CPU Mark as a number without separators",
        "stated": "give one figure a line",
    }
)
_FIO = "run fio with --output-format=json"
_IPERF3 = "run iperf3 with -J"
_COMMAS = "give the line with commas"
_LAYOUTS: Mapping[str, tuple[tuple[str, str], ...]] = MappingProxyType(
    {
        "fio": (
            (r"^[2-5];[^;\n]+;(?:[^;\n]+;)?\d+;\d+;", f"this is fio's terse output, which names no job: {_FIO}"),
            (
                r"(?s)\"fio version\".*\"fio version\"",
                "a second JSON follows the first: give one run at a time, and of --status-interval the last alone",
            ),
            (r"^ +(?:read|write) *: *(?:IOPS|io)=", f"this is fio's report for people: {_FIO}"),
        ),
        "iperf3": (
            (r"^(?:Client connecting to|Server listening on) .*port 5001", f"this is iperf 2: {_IPERF3}"),
            (r"^[0-9]{14}(?:[+-]\d{4})?,[0-9a-f.:]+,\d+,", f"this is CSV of iperf 2: {_IPERF3}"),
            (r"^\[ *ID\] Interval", f"this is iperf3's report for people: {_IPERF3}"),
        ),
        "stress-ng": (
            (
                r"^ *- stressor: |^system-info:",
                "this is the file of --yaml: give what stress-ng printed on the terminal",
            ),
        ),
        "sysbench": (
            (r"^sysbench v?0\.", "this is sysbench 0: install 1.0 or 1.1 and run it again"),
            (
                r"^File operations:|^SQL statistics:",
                "of sysbench only cpu and memory are read: test disks with fio",
            ),
            (r"^\s*[{\[]", "JSON of a report hook is not read: run sysbench without it"),
        ),
        "bonnie": (
            (r"<(?:!DOCTYPE|html|table)", f"this is a page of bon_csv2html: {_COMMAS} that it was made from"),
            (r"-+Sequential Output-+", f"this is the table for people: {_COMMAS} below it, or run bonnie++ with -q"),
        ),
        "openssl": (
            (
                r"^Doing \S+ |^type +16 bytes",
                "this is the table for people, which is rounded: run openssl speed with -mr -evp sha256",
            ),
        ),
        "coremark": (
            (r"CoreMark-PRO", "the marks of CoreMark-PRO have another scale: give a run of CoreMark 1.0"),
        ),
        "yabs": (
            (r"Yet-Another-Bench-Script", "this is the report for people: run yabs.sh with -j, or give the file of -w"),
        ),
    }
)  # fmt: skip
# By what a text of each tool is known, where it was given as that of another.
_SIGNS: Mapping[str, str] = MappingProxyType(
    {
        "yabs": r'"fio"\s*:\s*\[',
        "fio": r'"fio version"|^[2-5];fio-|^fio-[23]\.\d',
        "iperf3": r'"iperf 3\.|^\[ *ID\] Interval',
        "stress-ng": r"^stress-ng: ",
        "sysbench": r"^sysbench [01]\.",
        "dd": r"^[0-9]+\+[0-9]+ records in",
        "openssl": r"^\+H:16:|^Doing sha256 ",
        "coremark": r"^CoreMark Size ",
        "cmips": r"^CMIPS V",
    }
)
_NOT_READ = (
    (r"^7-Zip ", "results of 7-Zip are not read"),
    (r"geekbench\.com|^Geekbench \d", "results of Geekbench are not read"),
    (r"^System Benchmarks Index|BYTE UNIX Benchmarks", "results of UnixBench are not read"),
    (r"^STREAM version ", "results of STREAM are not read"),
    (r"^--- .+ ioping statistics ---", "results of ioping are not read: test disks with fio"),
    (r"\bMethod: (?:MEMCPY|DUMB|MCBLOCK)\b", "results of mbw are not read"),
    (r'^"?stride=\d+|^\s*L M B E N C H', "results of lmbench are not read"),
    (r"^\s*Iozone: Performance Test", "results of iozone are not read: test disks with fio"),
    (
        r"Timing (?:cached|buffered disk) reads:",
        "results of hdparm are not read: test disks with fio",
    ),
    (r"^Phoronix Test Suite", "results of the Phoronix Test Suite are not read"),
    (
        r"Speedtest by Ookla|^Testing download speed",
        "results of Speedtest are not read: use iperf3",
    ),
)


def explanation(tool: str, text: str, detail: str) -> str:
    """Why a text of a tool is refused and what to do: the layout that it has, else `detail`."""
    choices = list(_LAYOUTS.get(tool, ()))
    if not (tool in _SIGNS and _has(_SIGNS[tool], text)):
        choices += [
            (sign, f"this is output of {name}: choose {name} as the tool")
            for name, sign in _SIGNS.items()
        ]
        choices += [(sign, f"{sentence}; {EXPECTED[tool]}") for sign, sentence in _NOT_READ]
    explanations = (sentence for pattern, sentence in choices if _has(pattern, text))
    return next(explanations, f"{detail}; {EXPECTED[tool]}")


def _has(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.MULTILINE) is not None
