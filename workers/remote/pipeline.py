"""Work of a run on its target, over any transport; free of Django and of the database.

Everything lives in one directory `rackrate-<run id>` of mode 0700 and goes with it; on the other end of
the network tests it is called `rackrate-<run id>-peer`. The target says where (scripts.IDENTIFY).
"""

import asyncio
import hashlib
import math
import re
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import ip_address
from itertools import chain, pairwise
from pathlib import Path

from backend.foundation.errors import DriverError, ProbeError, Reason
from backend.foundation.reading.texts import text_of
from backend.measure.readers import runner_status
from backend.measure.readers.runner_status import RunnerStatus
from backend.measure.repeats import RawResult
from backend.providers.machines import PEER_PORTS
from workers.remote import scripts
from workers.remote.bounds import MAX_STEPS, RunBounds
from workers.remote.driver import Transport, write_refusal
from workers.remote.probes import build

SCRIPT_TIMEOUT_S = 20
# Packages that we installed are removed by the target's package manager.
TEARDOWN_TIMEOUT_S = 75
PUT_TIMEOUT_S = 60
# The bundle, all results and some air; the files of dd are the runner's own concern.
NEEDED_KIB = 16 * 1024
LINUX = "Linux"
ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
PROBED = sorted(set(ARCHITECTURES.values()), reverse=True)
MAX_RESULTS = 60
MAX_FILE_BYTES = 2 * 2**20
# After this many no further result is begun: with its four files it stays under what a command may answer
# (workers.remote.driver).
MAX_READ_BYTES = 6 * 2**20
MAX_RECORD_BYTES = 64 * 2**10
MAX_LAST_LINES, MAX_TAIL_CHARACTERS = 8, 2000
# Sixty rows of a series have some 9 KiB.
MAX_LIVE_BYTES = 32 * 2**10
MAX_LEFTOVERS = 20
MAX_PATH = 1000
RESULT_NAME = re.compile(r"([0-9]{3,4})-[a-z0-9_.]{1,20}-[a-z0-9_.]{1,40}-[0-9]{1,4}", re.ASCII)
NUMBER = re.compile("[0-9]{1,15}", re.ASCII)
BOOT_ID = re.compile("[!-~]{0,40}", re.ASCII)
WIDEST_BOUNDS = RunBounds.of(MAX_STEPS, MAX_STEPS * 60)
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
# Below the range from which kernels take the ports of outgoing connections, or one might be taken between
# choosing and listening. Several processes listen at up to three beyond the chosen one.
PORTS = (PEER_PORTS[0], PEER_PORTS[1] - 3)


@dataclass(frozen=True)
class TargetIdentity:
    """Identity of the target; `directory` is where the run will live."""

    arch: str
    boot_id: str
    directory: str
    seen_from: str = ""
    """Our own address as the target sees it; empty where it does not say."""
    clock_s: int | None = None
    """Its clock, in whole seconds since 1970."""
    leftovers: tuple[str, ...] = ()
    """Directories of earlier runs that nobody has touched for a day."""


@dataclass(frozen=True)
class Serving:
    """How far the other end of the network tests is: it listens, or says why it cannot."""

    port: int | None = None
    unavailable: str = ""
    busy: str = ""
    """The directory of another run that measures on that machine."""


@dataclass(frozen=True)
class Snapshot:
    """The run's directory as it is now."""

    boot_id: str
    has_directory: bool
    is_alive: bool
    status: RunnerStatus | None
    last_lines: tuple[str, ...]
    """Last lines of the newest result; empty without a new one."""
    results: tuple[RawResult, ...]
    manifest: Mapping[str, str] | None
    """File name → sha256; None until the runner has finished."""
    live: str | None = None
    """Header and last lines of the running repeat's series, when it was asked for."""


async def _script(
    transport: Transport, body: str, *arguments: str, timeout_s: float = SCRIPT_TIMEOUT_S
) -> bytes:
    output = await transport.run(
        "exec /bin/sh -s -- " + shlex.join(arguments),
        stdin=scripts.WRAPPER.format(body).encode(),
        timeout_s=timeout_s,
    )
    _, begin, answer = output.stdout.partition(f"{scripts.BEGIN}\n".encode())
    if not begin:  # such as nologin, which says why on its standard output
        said = text_of(output.stderr + output.stdout).strip()[-300:]
        why = said or "it said nothing; its start-up file may read standard input, which is ours"
        raise DriverError(
            Reason.UNSUPPORTED, f"the login shell runs no commands: {why}", retryable=False
        )
    if output.exit_code != 0:
        said = text_of(output.stderr).strip()[-300:]
        raise DriverError(
            write_refusal(said),
            said or f"a script ended with status {output.exit_code}",
            retryable=False,
        )
    return answer


async def identify(transport: Transport, run_id: str, *, is_peer: bool = False) -> TargetIdentity:
    """Look at the target without leaving anything; DriverError when it cannot carry a run.

    Raises ProbeError for a fact that cannot be.
    """
    name = f"rackrate-{run_id}-peer" if is_peer else f"rackrate-{run_id}"
    text = text_of(await _script(transport, scripts.IDENTIFY, name))
    lines = [line.partition(" ")[::2] for line in text.splitlines()]
    facts = dict(lines)
    arch = facts.get("arch", "")
    missing = [value for key, value in lines if key == "missing" and len(value) <= MAX_PATH]
    _check_able(arch, facts, ", ".join(missing[:MAX_LEFTOVERS]))
    directory, boot_id = facts.get("directory", ""), facts.get("boot_id", "")
    if len(directory) > MAX_PATH or not directory.endswith(f"/{name}"):
        raise ProbeError("host", f"{directory!r} is no directory for {name}")
    if not BOOT_ID.fullmatch(boot_id):
        raise ProbeError("host", f"boot_id {boot_id!r} cannot be")
    clock = facts.get("clock_s", "")
    leftovers = [value for key, value in lines if key == "leftover" and len(value) <= MAX_PATH]
    return TargetIdentity(
        arch=ARCHITECTURES[arch],
        boot_id=boot_id,
        directory=directory,
        seen_from=_address(facts.get("seen_from", "")),
        # Not every `date` knows %s; some print the letters.
        clock_s=_whole("clock_s", clock) if clock.isdecimal() else None,
        leftovers=tuple(leftovers[:MAX_LEFTOVERS]),
    )


def _whole(name: str, text: str) -> int:
    if not NUMBER.fullmatch(text):
        raise ProbeError("host", f"{name} {text!r} is no number that can be")
    return int(text)


def _address(text: str) -> str:
    """An address without its zone; "" for none."""
    try:
        return str(ip_address(text.partition("%")[0])) if text else ""
    except ValueError as error:
        raise ProbeError("host", f"seen_from {text!r} is no address") from error


def _check_able(arch: str, facts: Mapping[str, str], missing: str) -> None:
    parent = facts.get("directory", "").rpartition("/")[0]
    reason = Reason.UNSUPPORTED
    # Before its tools: other systems lack some of them, and installing those would not help.
    # Without `uname` it has no name.
    if (system := facts.get("system") or LINUX) != LINUX:
        lacking = f"the host runs {system}, and the probes are programs for Linux"
    elif missing:
        lacking = f"the host has no {missing}"
    elif arch not in ARCHITECTURES:
        lacking = f"no probes for a {arch} machine, only for {' and '.join(PROBED)}"
    # A `df` that says nothing is no proof of a full disk.
    elif _whole("free_kib", facts.get("free_kib") or str(NEEDED_KIB)) < NEEDED_KIB:
        reason = Reason.DISK_FULL
        lacking = f"{parent} has {facts['free_kib']} KiB free, {NEEDED_KIB} are needed: remove files there"
    elif "noexec" in facts:
        lacking = (
            f"programs cannot be run from any of {facts['noexec']}: mount one of them without noexec "
            "(mount -o remount,exec)"
        )
    else:
        return
    raise DriverError(reason, lacking, retryable=False)


async def bundle(
    arch: str, programs: Sequence[str], plan_script: str, *, build_dir: Path
) -> dict[str, bytes]:
    """The files that go to a target: name → content. Builds the probes on first need."""
    try:
        try:
            built = build.binaries(arch, build_dir)
        except build.BuildError:
            # In a thread: compiling takes seconds, and the step's deadline is kept by this loop.
            built = await asyncio.to_thread(build.build, arch, build_dir=build_dir)
    except build.BuildError as error:
        raise DriverError(Reason.UNSUPPORTED, str(error), retryable=False) from error
    return {
        **{f"bin/{name}": built.binaries[name].path.read_bytes() for name in programs},
        **{name: script.path.read_bytes() for name, script in built.scripts.items()},
        "plan.sh": plan_script.encode(),
    }


def peer_files() -> dict[str, bytes]:
    """The files that the other end of the network tests needs: scripts only."""
    return {path.name: path.read_bytes() for path in sorted(build.NATIVE.glob("*.sh"))}


async def prepare(
    transport: Transport, directory: str, files: Mapping[str, bytes]
) -> Mapping[str, str] | None:
    """Bring the files to the target; those already there with the right content stay.

    Where a runner has begun nothing is touched, as it would go on with programs of two versions:
    returns the sha256 of its files by name, else None.
    All that is missing goes in one piece: a session of its own for each costs tenths of a second.
    """
    # By content, as an earlier attempt may have been cut off in the middle, or had another version's files.
    expected = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    present = _sums(await _script(transport, scripts.HASHES, directory))
    if present.pop("status.json", None):
        return present
    missing = [name for name in files if present.get(name) != expected[name]]
    if not missing:
        return None
    pack = f"{directory}/pack-{secrets.token_hex(4)}"  # a killed worker's own may still arrive
    content = b"".join(files[name] for name in missing)
    await transport.put(content, pack, mode=0o600, timeout_s=PUT_TIMEOUT_S)
    parts = (
        (name, str(len(files[name])), "600" if name == "plan.sh" else "700") for name in missing
    )
    present = _sums(await _script(transport, scripts.UNPACK, directory, pack, *chain(*parts)))
    wrong = [name for name in files if present.get(name) != expected[name]]
    if wrong:
        raise DriverError(
            Reason.INTERRUPTED, f"{wrong[0]} did not arrive as it was sent", retryable=True
        )
    return None


def _sums(content: bytes) -> dict[str, str]:
    """File name → sha256, from what `sha256sum` printed."""
    lines = text_of(content).splitlines()
    return {name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}


async def start(transport: Transport, directory: str) -> str | None:
    """Start the runner, or adopt it when it runs already.

    Returns the directory of another run that is measuring on this machine, None once started.
    """
    said = text_of(await _script(transport, scripts.START, directory)).split("\n")[0]
    return said.removeprefix("busy ")[:MAX_PATH] if said.startswith("busy ") else None


async def serve(
    transport: Transport, directory: str, *, seconds: float, is_installing: bool
) -> Serving:
    """Start the other end of the network tests, or adopt it; it never outlives the seconds.

    With neither a port nor a reason it needs more time: ask again.
    """
    # Chosen at random, so that two runs that serve on one machine seldom meet; ten, as some may be in use.
    ports = [str(PORTS[0] + secrets.randbelow(PORTS[1] - PORTS[0])) for _ in range(10)]
    install = "install" if is_installing else "-"
    said = await _script(
        transport, scripts.SERVE, directory, str(math.ceil(seconds)), install, *ports
    )
    # The last line: installing iperf3 may print before it.
    word, _, rest = text_of(said).strip().rpartition("\n")[2].partition(" ")
    return Serving(
        port=_port(rest) if word == "port" else None,
        unavailable=rest[:MAX_TAIL_CHARACTERS] if word == "unavailable" else "",
        busy=rest[:MAX_PATH] if word == "busy" else "",
    )


def _port(text: str) -> int:
    port = _whole("port", text)
    if port not in range(PEER_PORTS[0], PEER_PORTS[1] + 1):
        raise ProbeError("host", f"port {port} was not among those to choose from")
    return port


async def read(
    transport: Transport,
    directory: str,
    *,
    after: int = 0,
    count: int = MAX_RESULTS,
    orders: Sequence[str] = (),
    is_live: bool = False,
) -> Snapshot:
    """Create the ordered files (`cancel`, `stop/…`), then read status and at most `count` results
    beyond `after`. Raises ProbeError for an answer that the script cannot give."""
    limits = (str(count), str(MAX_FILE_BYTES), str(MAX_READ_BYTES))
    live = "live" if is_live else "-"
    output = await _script(transport, scripts.READ, directory, str(after), *limits, live, *orders)
    frames = _frames(output)
    status_text = text_of(frames.get("status", b""))
    tail = text_of(frames.get("tail", b""))[-MAX_TAIL_CHARACTERS:]
    manifest = frames.get("manifest")
    return Snapshot(
        boot_id=text_of(frames.get("boot_id", b"")),
        has_directory="directory" in frames,
        is_alive="alive" in frames,
        status=runner_status.parse(f"{status_text}\n") if status_text else None,
        last_lines=tuple(tail.splitlines()[-MAX_LAST_LINES:]),
        results=_results(frames, after, count),
        manifest=None if manifest is None else _sums(manifest),
        live=_live(frames["live"]) if 0 < len(frames.get("live", b"")) <= MAX_LIVE_BYTES else None,
    )


def _results(frames: Mapping[str, bytes], after: int, count: int) -> tuple[RawResult, ...]:
    """Results in the order of their numbers, each beyond `after`."""
    results = [
        RawResult(
            number=_number(name),
            name=name,
            out=frames.get(f"{name}.out", b""),
            err=frames.get(f"{name}.err", b""),
            record=frames[f"{name}.json"],
            series=frames.get(f"{name}.series", b""),
        )
        for name in (key.removesuffix(".json") for key in frames if key.endswith(".json"))
    ]
    results.sort(key=lambda result: result.number)
    if len(results) > count:
        raise ProbeError("runner", f"{len(results)} results, though {count} were asked for")
    numbers = [after, *(result.number for result in results)]
    if any(later <= earlier for earlier, later in pairwise(numbers)):
        raise ProbeError("runner", "a result comes twice, or again")
    for result in results:
        if (
            max(map(len, (result.out, result.err, result.series))) > MAX_FILE_BYTES
            or len(result.record) > MAX_RECORD_BYTES
        ):
            raise ProbeError("runner", f"{result.name} is larger than the script sends")
    return tuple(results)


def _number(name: str) -> int:
    """Number of a result by its name; raises ProbeError for a name that the runner cannot give."""
    match = RESULT_NAME.fullmatch(name)
    if match is None:
        raise ProbeError("runner", f"{name!r} is no name of a result")
    return int(match[1])


def _live(content: bytes) -> str:
    """The header once, and the rows; the dot keeps the shell from eating the last line feed."""
    header, _, rows = text_of(content).removesuffix(".").partition("\n")
    return f"{header}\n{rows.removeprefix(header + chr(10))}"


def _frames(output: bytes) -> dict[str, bytes]:
    """The framed items; ProbeError when the output was cut off."""
    frames: dict[str, bytes] = {}
    position = 0
    while position < len(output):
        end = output.find(b"\n", position)
        words = output[position : end if end >= 0 else len(output)].split(b" ")
        if end < 0 or len(words) != 3 or words[0] != b"@" or not words[2].isdigit():
            raise ProbeError("runner", "the answer is not framed as expected")
        start, size = end + 1, int(words[2])
        if len(output) < start + size + 1:
            raise ProbeError("runner", "the answer ends early")
        frames[words[1].decode(errors="replace")] = output[start : start + size]
        position = start + size + 1
    return frames


async def read_all(
    transport: Transport, directory: str, bounds: RunBounds = WIDEST_BOUNDS
) -> Snapshot:
    """Every result and the manifest, in as many pieces as it takes; raises as RunBounds does."""
    bounds = replace(bounds)
    snapshot = await read(transport, directory)
    bounds.take(snapshot.results)
    results = list(snapshot.results)
    # Until nothing more comes: without a manifest only an empty answer says that it was all.
    while snapshot.results and not _is_complete(snapshot, results):
        snapshot = await read(transport, directory, after=results[-1].number)
        bounds.take(snapshot.results)
        results += snapshot.results
    return replace(snapshot, results=tuple(results))


def _is_complete(snapshot: Snapshot, results: Sequence[RawResult]) -> bool:
    """True if these are all that the manifest lists."""
    if snapshot.manifest is None:
        return False
    listed = {name.removesuffix(".json") for name in snapshot.manifest if name.endswith(".json")}
    return listed <= {result.name for result in results}


async def read_missing(
    transport: Transport,
    directory: str,
    stored: Mapping[int, Mapping[str, str]],
    bounds: RunBounds = WIDEST_BOUNDS,
) -> Snapshot:
    """The manifest, and of the results that it lists those that are not stored as it lists them.

    `stored` has the hashes of the files of each stored result, by its number. Without a manifest
    there is nothing to compare with: every result is read.
    """
    bounds = replace(bounds)
    snapshot = await read(transport, directory, count=0)
    if snapshot.manifest is None:
        return await read_all(transport, directory, bounds)
    names = [name.removesuffix(".json") for name in snapshot.manifest if name.endswith(".json")]
    if len(names) > bounds.max_results:
        raise ProbeError("runner", f"its manifest lists {len(names)} results")
    listed = {_number(name): name for name in names}
    missing = sorted(
        number
        for number, name in listed.items()
        if number not in stored or mismatch(name, stored[number], snapshot.manifest)
    )
    results: list[RawResult] = []
    while missing:
        first = missing[0]
        # Neighbours come in one answer; what is stored between them is not sent again.
        count = sum(number == first + n for n, number in enumerate(missing[:MAX_RESULTS]))
        piece = (await read(transport, directory, after=first - 1, count=count)).results
        bounds.take(piece)
        results += [result for result in piece if result.number in missing]
        last = piece[-1].number if piece else first
        missing = [number for number in missing if number > last]
    return replace(snapshot, results=tuple(results))


def mismatch(name: str, file_hashes: Mapping[str, str], manifest: Mapping[str, str]) -> str:
    """Which file of a result is not the one that the manifest lists; "" where all are."""
    for suffix in (".out", ".err", ".json", ".series"):
        # A short repeat has no series: none listed is as good as an empty one.
        listed = manifest.get(name + suffix, EMPTY_SHA256 if suffix == ".series" else None)
        if file_hashes.get(suffix) != listed:
            return f"{name}{suffix} does not match its checksum"
    return ""


def find_damage(snapshot: Snapshot) -> dict[str, str]:
    """Results whose files are not those of the manifest: name → what is wrong."""
    if snapshot.manifest is None:
        return {}
    wrong = {
        result.name: mismatch(result.name, result.file_hashes, snapshot.manifest)
        for result in snapshot.results
    }
    return {name: detail for name, detail in wrong.items() if detail}


async def teardown(transport: Transport, directory: str) -> None:
    """End what still runs and remove the run's directory; returns once both are seen gone."""
    await _script(transport, scripts.TEARDOWN, directory, timeout_s=TEARDOWN_TIMEOUT_S)
