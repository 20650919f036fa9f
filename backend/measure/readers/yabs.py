"""JSON of YABS (yet another bench script), the form in which many results are passed on.

Its fio cells are half reads and half writes at depth 64 in 2 jobs without latencies, and its
iperf3 runs use 8 streams to public servers: variants of their own, which never rank.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from backend.measure.readers import ParsedSample
from backend.measure.readers.document import Node, ToolResult, read_document, shown
from backend.measure.readers.fio_setup import size_bytes

TOOL = "yabs"
KIB = 1024
BLOCK = re.compile(r"[0-9]{1,4}[km]")
SPEED = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ([KMGT]?)bits/sec")
LATENCY = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ms")
THOUSANDS = " KMGT"
DIRECTIONS = (("read", "r"), ("write", "w"))
TRANSFERS = (("send", "yabs_send"), ("recv", "yabs_receive"))
FIO: Mapping[str, object] = MappingProxyType(
    {"depth": 64, "jobs": 2, "read_ratio": 0.5, "engine": "libaio", "is_direct": True}
)
STREAMS = 8
NO_SCORE = re.compile(r'("(?:single|multi)"\s*:\s*)(?=[,}])')
NO_LIST = re.compile(r'("geekbench"\s*:\s*)\]')


def parse(text: str) -> ToolResult:
    """disk_rand_*_iops (`yabs_4k` …) and net_tcp_bits_per_s (`yabs_send`, `yabs_receive`).

    What YABS prints before its JSON is ignored. One variant may occur for several locations.
    Raises ProbeError.
    """
    document = read_document(TOOL, _mend_json(text), takes_more=True)
    root = document.root
    version = root.text("version")
    warnings: list[str] = []
    host = _host(root)
    samples = (*_disks(root, host, warnings), *_networks(root, host, warnings))
    if not samples:
        root.fail("neither fio nor iperf has a result")
    warnings += [_geekbench(score) for score in _node_list(root, "geekbench")]
    if NO_LIST.search(text):
        warnings.append("Geekbench failed in this run; the rest was read")
    return ToolResult(samples, tuple(warnings), version)


def _mend_json(text: str) -> str:
    """The text with null where a Geekbench that failed left nothing, which is no JSON
    (masonr/yet-another-bench-script, issues 41 and 127)."""
    return NO_SCORE.sub(r"\1null", NO_LIST.sub(r"\1[]", text))


def _node_list(root: Node, key: str) -> list[Node]:
    return root.nodes(key) if root.has(key) else []


def _host(root: Node) -> dict[str, object]:
    """Identity of the machine, where YABS says it."""
    host: dict[str, object] = {"yabs": root.text("version")}
    for part, key, name in (
        ("cpu", "model", "cpu_model"),
        ("os", "distro", "os_name"),
        ("os", "kernel", "kernel"),
        ("os", "arch", "arch"),
        ("os", "vm", "virtualization"),
    ):
        if root.has(part) and root.node(part).has(key):
            host[name] = shown(root.node(part).text(key))
    if root.has("cpu") and root.node("cpu").has("cores"):
        host["vcpu_count"] = root.node("cpu").count("cores", minimum=1)
    if root.has("mem") and root.node("mem").has("ram"):
        host["ram_bytes"] = root.node("mem").count("ram", minimum=1) * KIB
    return host


def _disks(root: Node, host: Mapping[str, object], warnings: list[str]) -> Iterator[ParsedSample]:
    for cell in _node_list(root, "fio"):
        block = cell.text("bs").lower()
        if not BLOCK.fullmatch(block):
            cell.fail(f"bs {block!r} is no block size")
        for direction, letter in DIRECTIONS:
            iops = cell.number(f"iops_{letter}")
            if iops == 0:
                warnings.append(f"fio {block}: no {direction}s, left out")
                continue
            parameters = {
                **host,
                **FIO,
                "block_bytes": size_bytes(block),
                # fio's terse output, which YABS takes over, counts in KiB.
                "bytes_per_s": cell.number(f"speed_{letter}") * KIB,
            }
            yield ParsedSample(
                f"disk_rand_{direction}_iops", f"yabs_{block}", iops, "operations/s", parameters
            )


def _networks(
    root: Node, host: Mapping[str, object], warnings: list[str]
) -> Iterator[ParsedSample]:
    for server in _node_list(root, "iperf"):
        location = f"{shown(server.text('provider'))}, {shown(server.text('loc'))}"
        latency = (
            LATENCY.fullmatch(server.text("latency").strip()) if server.has("latency") else None
        )
        for key, variant in TRANSFERS:
            said = server.text(key).strip()
            speed = SPEED.fullmatch(said)
            # iperf3 counts bits by thousands, and only bytes by 1,024.
            bits_per_s = float(speed[1]) * 1000 ** THOUSANDS.index(speed[2] or " ") if speed else 0
            if speed is None and said != "busy":
                server.fail(f"{key} is {said!r}, not a speed")
            if bits_per_s == 0:
                warnings.append(f"iperf {location}: {key} was busy, left out")
                continue
            parameters = {
                **host,
                "streams": STREAMS,
                "location": location,
                "mode": shown(server.text("mode")),
                "rtt_ns": float(latency[1]) * 1e6 if latency else None,
            }
            yield ParsedSample("net_tcp_bits_per_s", variant, bits_per_s, "bits/s", parameters)


def _geekbench(score: Node) -> str:
    if not (score.has("single") and score.has("multi")):
        return "Geekbench failed in this run; the rest was read"
    scores = " and ".join(f"{key} {score.number(key):g}" for key in ("single", "multi"))
    return f"Geekbench {score.number('version'):g} ({scores}) is not imported"
