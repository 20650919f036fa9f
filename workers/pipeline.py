"""What a run does on its target, over any transport; free of Django and of the database.

Everything lives in one directory `${TMPDIR:-/tmp}/rackrate-<run id>` of mode 0700 and goes with it.
Every script is sent on the standard input of /bin/sh, so that nothing shows in the process list.
"""

import asyncio
import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from backend.domain.cmips import is_disturbed
from backend.domain.errors import ProbeError, Reason
from backend.domain.parsing import ParsedSample, observe, runner_status
from backend.domain.parsing.inventory import HostFacts
from backend.domain.parsing.observe import Conditions
from backend.domain.parsing.runner_status import RunnerStatus
from workers.driver import DriverError, Transport
from workers.probes import build
from workers.probes.registry import PROBES

SCRIPT_TIMEOUT_S = 20
PUT_TIMEOUT_S = 60
NEEDED_KIB = 16 * 1024
"""The bundle, all results and some air; the files of dd are the runner's own concern."""
ARCHITECTURES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
EXIT_DISK_FULL = 5  # of the runner's functions
MAX_RESULTS = 60
MAX_FILE_BYTES = 2**20

# The whole script is one function, read to its end before it starts: nothing it runs can eat it.
WRAPPER = 'LC_ALL=C; export LC_ALL; umask 077\nmain() {{\n{}\n}}\nmain "$@" </dev/null\n'

IDENTIFY = r"""
directory=${TMPDIR:-/tmp}/$1
probe=${TMPDIR:-/tmp}/$1.try
printf 'directory %s\n' "$directory"
printf 'arch %s\n' "$(uname -m)"
printf 'boot_id %s\n' "$(cat /proc/sys/kernel/random/boot_id)"
df -Pk "${TMPDIR:-/tmp}" | { read -r _; read -r _ _ _ free _; printf 'free_kib %s\n' "$free"; }
for tool in sha256sum nohup readlink mkdir; do
    command -v "$tool" >/dev/null || printf 'missing %s\n' "$tool"
done
if printf '#!/bin/sh\nexit 0\n' >"$probe" && chmod 700 "$probe"; then
    "$probe" 2>/dev/null || echo 'noexec yes'
fi
rm -f "$probe"
"""

HASHES = r"""
mkdir -p -m 700 "$1" "$1/bin" || exit 1
[ -O "$1" ] || { echo "$1 belongs to somebody else" >&2; exit 1; }
cd "$1" && sha256sum runner.sh plan.sh bin/* 2>/dev/null
:
"""

# The lock of the machine is a link to the run's directory: made in one step, and its owner shows.
START = r"""
cd "$1" || exit 1
lock=${1%/*}/rackrate-host.lock
if ! ln -sn "$1" "$lock" 2>/dev/null; then
    other=$(readlink "$lock")
    if [ "$other" != "$1" ]; then
        pid=$(cat "$other/pid" 2>/dev/null)
        [ -z "$pid" ] || [ ! -d "/proc/$pid" ] || { printf 'busy %s\n' "$other"; exit 0; }
        ln -sfn "$1" "$lock" 2>/dev/null
    fi
fi
detach=nohup
command -v setsid >/dev/null && detach='setsid nohup'
$detach /bin/sh runner.sh >>runner.log 2>&1 &
tries=0
until [ -e status.json ] || [ $tries -ge 100 ]; do sleep 0.05; tries=$((tries + 1)); done
[ -e status.json ] || { tail -n 3 runner.log >&2; exit 1; }
echo started
"""

# Every item is framed as `@ name size`, a line feed, that many bytes and a line feed. This runs every
# second beside a measurement: without news it starts one process besides its shell.
READ = r"""
text() { printf '@ %s %s\n%s\n' "$1" "${#2}" "$2"; }
file() {
    size=$(wc -c <"$2")
    [ "$size" -le "$most" ] || size=$most
    printf '@ %s %s\n' "$1" $((size)); head -c $((size)) "$2"; echo
}
directory=$1 after=$2 many=$3 most=$4
shift 4
read -r boot_id </proc/sys/kernel/random/boot_id
text boot_id "$boot_id"
cd "$directory" 2>/dev/null || return 0
text directory "$directory"
for name in "$@"; do : >"$name"; done
pid= status= newest=
[ ! -r pid ] || read -r pid <pid
[ -z "$pid" ] || [ "$(readlink "/proc/$pid/cwd" 2>/dev/null)" != "$(pwd -P)" ] || text alive "$pid"
[ ! -r status.json ] || IFS= read -r status <status.json
text status "$status"
for path in results/*.json; do
    [ -e "$path" ] || continue
    name=${path##*/}
    name=${name%.json}
    [ "${name%%-*}" -gt "$after" ] || continue
    many=$((many - 1))
    [ $many -ge 0 ] || break
    file "$name.out" "results/$name.out"
    file "$name.err" "results/$name.err"
    file "$name.json" "$path"
    newest=results/$name.out
done
[ -z "$newest" ] || text tail "$(tail -n 8 "$newest" | tail -c 2000)"
[ ! -e results/manifest.sha256 ] || file manifest results/manifest.sha256
"""

# Whatever of ours still runs has its working directory inside the run's.
TEARDOWN = r"""
directory=$1
lock=${directory%/*}/rackrate-host.lock
ours() {
    ls -ld /proc/[0-9]*/cwd 2>/dev/null | while IFS= read -r line; do
        case $line in
        *" -> $real" | *" -> $real/"*) line=${line##* /proc/}; echo "${line%%/*}" ;;
        esac
    done
}
if real=$(cd "$directory" 2>/dev/null && pwd -P); then
    pid=$(cat "$directory/pid" 2>/dev/null)
    [ "$(readlink "/proc/${pid:-none}/cwd" 2>/dev/null)" != "$real" ] || kill -TERM "$pid" 2>/dev/null
    tries=0
    while [ -n "$(ours)" ] && [ $tries -lt 40 ]; do sleep 0.1; tries=$((tries + 1)); done
    for pid in $(ours); do kill -KILL "$pid" 2>/dev/null; done
    [ ! -r "$directory/files" ] || while IFS= read -r path; do rm -f -- "$path"; done <"$directory/files"
    rm -rf -- "$directory" || { sleep 0.2; rm -rf -- "$directory"; }
    [ -z "$(ours)" ] || { echo "processes remain: $(ours)" >&2; exit 1; }
fi
[ "$(readlink "$lock" 2>/dev/null)" != "$directory" ] || rm -f -- "$lock"
if [ -e "$directory" ]; then echo "$directory remains" >&2; exit 1; fi
echo gone
"""


@dataclass(frozen=True)
class Identity:
    """What the target is; `directory` is where the run will live."""

    arch: str
    boot_id: str
    directory: str


@dataclass(frozen=True)
class RawResult:
    """One finished repeat as the target wrote it."""

    number: int
    name: str
    """`<nnn>-<probe>-<variant>-<repeat>`."""
    out: bytes
    err: bytes
    record: bytes
    """The JSON line of `observe`."""


@dataclass(frozen=True)
class Snapshot:
    """The run's directory as it is now."""

    boot_id: str
    has_directory: bool
    is_alive: bool
    status: RunnerStatus | None
    last_lines: tuple[str, ...]
    """Of the newest result; empty without a new one."""
    results: tuple[RawResult, ...]
    manifest: Mapping[str, str] | None
    """File name → sha256; None until the runner has finished."""


async def _script(
    transport: Transport, body: str, *arguments: str, timeout_s: float = SCRIPT_TIMEOUT_S
) -> bytes:
    output = await transport.run(
        "exec /bin/sh -s -- " + shlex.join(arguments),
        stdin=WRAPPER.format(body).encode(),
        timeout_s=timeout_s,
    )
    if output.exit_code != 0:
        said = output.stderr.decode(errors="replace").strip()[-300:]
        is_full = "No space left" in said or "quota exceeded" in said.lower()
        raise DriverError(
            Reason.DISK_FULL if is_full else Reason.UNSUPPORTED,
            said or f"a script ended with status {output.exit_code}",
            retryable=False,
        )
    return output.stdout


def run_directory(run_id: str) -> str:
    """Name of the run's directory below the target's temporary one."""
    return f"rackrate-{run_id}"


async def identify(transport: Transport, run_id: str) -> Identity:
    """Look at the target without leaving anything; DriverError when it cannot carry a run."""
    text = (await _script(transport, IDENTIFY, run_directory(run_id))).decode(errors="replace")
    facts = dict(line.partition(" ")[::2] for line in text.splitlines())
    directory = facts.get("directory", "")
    if missing := facts.get("missing"):
        raise DriverError(Reason.UNSUPPORTED, f"the host has no {missing}", retryable=False)
    if facts.get("arch") not in ARCHITECTURES:
        raise DriverError(
            Reason.UNSUPPORTED, f"no probes for a {facts.get('arch')} machine", retryable=False
        )
    parent = directory.rpartition("/")[0]
    if int(facts.get("free_kib") or NEEDED_KIB) < NEEDED_KIB:
        raise DriverError(
            Reason.DISK_FULL,
            f"{parent} has {facts['free_kib']} KiB free, {NEEDED_KIB} are needed",
            retryable=False,
        )
    if "noexec" in facts:
        raise DriverError(
            Reason.UNSUPPORTED, f"programs cannot be run from {parent}", retryable=False
        )
    return Identity(ARCHITECTURES[facts["arch"]], facts.get("boot_id", ""), directory)


async def bundle(
    arch: str, programs: Sequence[str], plan_script: str, *, build_dir: Path
) -> dict[str, bytes]:
    """The files that go to a target: name → content. Builds the probes on first need."""
    try:
        try:
            built = build.binaries(arch, build_dir)
        except build.BuildError:
            built = await asyncio.to_thread(build.build, arch, build_dir=build_dir)
    except build.BuildError as error:
        raise DriverError(Reason.UNSUPPORTED, str(error), retryable=False) from error
    return {
        **{f"bin/{name}": built.binaries[name].path.read_bytes() for name in programs},
        "runner.sh": built.runner.path.read_bytes(),
        "plan.sh": plan_script.encode(),
    }


async def prepare(transport: Transport, directory: str, files: Mapping[str, bytes]) -> None:
    """Bring the files to the target; those already there with the right content stay."""
    wanted = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    found = await _hashes(transport, directory)
    for name, content in files.items():
        if found.get(name) != wanted[name]:
            mode = 0o600 if name == "plan.sh" else 0o700
            await transport.put(content, f"{directory}/{name}", mode=mode, timeout_s=PUT_TIMEOUT_S)
    found = await _hashes(transport, directory)
    wrong = [name for name in files if found.get(name) != wanted[name]]
    if wrong:
        raise DriverError(
            Reason.INTERRUPTED, f"{wrong[0]} did not arrive as it was sent", retryable=True
        )


async def _hashes(transport: Transport, directory: str) -> dict[str, str]:
    lines = (await _script(transport, HASHES, directory)).decode(errors="replace").splitlines()
    return {name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}


async def start(transport: Transport, directory: str) -> str | None:
    """Start the runner, or adopt it when it runs already.

    Returns the directory of another run that is measuring on this machine, None once started.
    """
    said = (await _script(transport, START, directory)).decode(errors="replace").split("\n")[0]
    return said.removeprefix("busy ") if said.startswith("busy ") else None


async def read(
    transport: Transport, directory: str, *, after: int = 0, orders: Sequence[str] = ()
) -> Snapshot:
    """Create the ordered files (`cancel`, `stop/…`), then read status and results beyond `after`."""
    output = await _script(
        transport, READ, directory, str(after), str(MAX_RESULTS), str(MAX_FILE_BYTES), *orders
    )
    frames = _frames(output)
    status_text = frames.get("status", b"").decode(errors="replace")
    results = [
        RawResult(
            number=int(name.split("-")[0]),
            name=name,
            out=frames.get(f"{name}.out", b""),
            err=frames.get(f"{name}.err", b""),
            record=content,
        )
        for name, content in ((key[:-5], frames[key]) for key in frames if key.endswith(".json"))
    ]
    manifest = frames.get("manifest")
    return Snapshot(
        boot_id=frames.get("boot_id", b"").decode(errors="replace"),
        has_directory="directory" in frames,
        is_alive="alive" in frames,
        status=runner_status.parse(f"{status_text}\n") if status_text else None,
        last_lines=tuple(frames.get("tail", b"").decode(errors="replace").splitlines()),
        results=tuple(sorted(results, key=lambda result: result.number)),
        manifest=None if manifest is None else _manifest(manifest),
    )


def _manifest(content: bytes) -> dict[str, str]:
    lines = content.decode(errors="replace").splitlines()
    return {name: sha256 for sha256, _, name in (line.partition("  ") for line in lines)}


def _frames(output: bytes) -> dict[str, bytes]:
    """The framed items; ProbeError when the output was cut off."""
    frames: dict[str, bytes] = {}
    place = 0
    while place < len(output):
        end = output.find(b"\n", place)
        words = output[place : end if end >= 0 else len(output)].split(b" ")
        if end < 0 or len(words) != 3 or words[0] != b"@" or not words[2].isdigit():
            raise ProbeError("runner", "the answer is not framed as expected")
        start, size = end + 1, int(words[2])
        if len(output) < start + size + 1:
            raise ProbeError("runner", "the answer ends early")
        frames[words[1].decode(errors="replace")] = output[start : start + size]
        place = start + size + 1
    return frames


async def read_all(transport: Transport, directory: str) -> Snapshot:
    """Every result and the manifest, in as many pieces as it takes."""
    snapshot = await read(transport, directory)
    results = list(snapshot.results)
    while snapshot.results:
        snapshot = await read(transport, directory, after=results[-1].number)
        results += snapshot.results
    return replace(snapshot, results=tuple(results))


def damaged(snapshot: Snapshot) -> dict[str, str]:
    """Results whose files are not those of the manifest: name → what is wrong."""
    if snapshot.manifest is None:
        return {}
    wrong: dict[str, str] = {}
    for result in snapshot.results:
        parts = {".out": result.out, ".err": result.err, ".json": result.record}
        for suffix, content in parts.items():
            recorded = snapshot.manifest.get(result.name + suffix)
            if recorded != hashlib.sha256(content).hexdigest():
                wrong[result.name] = f"{result.name}{suffix} does not match its checksum"
    return wrong


@dataclass(frozen=True)
class Reading:
    """One repeat, read. With an error it carries no samples; the text stays as evidence."""

    raw: RawResult
    probe: str
    variant: str
    repeat: int
    conditions: Conditions | None
    samples: tuple[ParsedSample, ...] = ()
    facts: HostFacts | None = None
    reason: Reason | None = None
    error: str = ""

    @property
    def is_disturbed(self) -> bool:
        """Whether other work took CPU from the repeat (backend.domain.cmips.is_disturbed)."""
        if self.conditions is None:
            return False
        shares = [sample.parameters.get("cpu_share") for sample in self.samples]
        share = next((share for share in shares if isinstance(share, float)), None)
        return is_disturbed(share, self.conditions.foreign_cpu_ratio)


def reading(raw: RawResult, damage: str = "") -> Reading:
    """What one repeat measured, or the named reason why it measured nothing."""
    _, probe, variant, repeat = (*raw.name.split("-"), "", "", "", "")[:4]
    place = f"{probe} {variant}, repeat {repeat}"
    made = Reading(raw, probe, variant, int(repeat or 0), None)
    try:
        if damage:
            raise ProbeError("runner", damage)
        conditions = observe.parse(raw.record.decode())
    except (ProbeError, UnicodeDecodeError) as error:
        return replace(made, reason=Reason.INTERRUPTED, error=f"{place}: {error}")
    made = replace(made, conditions=conditions)
    if not conditions.is_complete:
        reason, said = _incomplete(conditions, raw)
        return replace(made, reason=reason, error=f"{place}: {said}")
    try:
        found = PROBES[probe].parse(raw.out.decode(), variant)
    except (ProbeError, KeyError, UnicodeDecodeError) as error:
        return replace(made, reason=Reason.BUG, error=f"{place}: {error}")
    if isinstance(found, HostFacts):
        return replace(made, facts=found)
    return replace(made, samples=tuple(found))


def _incomplete(conditions: Conditions, raw: RawResult) -> tuple[Reason, str]:
    said = (raw.err or raw.out).decode(errors="replace").strip().split("\n")[-1][:200]
    if conditions.is_timed_out:
        return Reason.TIMEOUT, f"took longer than allowed, {conditions.wall_s:.0f} s"
    if conditions.is_cancelled:
        return Reason.INTERRUPTED, "cancelled"
    if conditions.signal is not None:
        return Reason.INTERRUPTED, f"killed by signal {conditions.signal}"
    if conditions.exit_code == EXIT_DISK_FULL:
        return Reason.DISK_FULL, said
    return Reason.UNSUPPORTED, f"ended with status {conditions.exit_code}: {said}"


async def teardown(transport: Transport, directory: str) -> None:
    """End what still runs and remove the run's directory; returns once both are seen gone."""
    await _script(transport, TEARDOWN, directory)
