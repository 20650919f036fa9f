"""Set-up steps: side by side where nothing forbids it, each done once for the same inputs."""

import re
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from launcher.console import LauncherError, say
from launcher.environment import plain_environment
from launcher.paths import ROOT, TOOLS

STAMPS = TOOLS / "stamps"
LOGS = TOOLS / "log"

# What a tool's output means, in the order of how telling it is.
MEANINGS = (
    (r"No space left on device|ENOSPC|os error 28", "the disk is full"),
    (
        r"no wheels? with a matching|not a supported wheel|musl|GLIBC_\d",
        "there is no package for this operating system or processor (glibc 2.28 or newer is needed)",
    ),
    (
        r"hash(es)? mismatch|THESE PACKAGES DO NOT MATCH|EINTEGRITY",
        "a package does not match its hash",
    ),
    (
        "dns error|failed to lookup|[Cc]onnection refused|resolve|timed? ?out|Failed to fetch|ENOTFOUND|"
        "ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|unreachable|client error|establish a new connection|"
        "error sending request|SSLError|CERTIFICATE|Could not find a version",
        "the package registry cannot be reached; check the network or the proxy settings",
    ),
    (r"Permission denied|EACCES|Read-only file system", "a folder cannot be written"),
)


@dataclass(frozen=True)
class SetupStep:
    """A step: `action` runs unless `mark` is that of the last success and every output is there."""

    name: str
    action: Callable[[], None]
    mark: Callable[[], str]
    outputs: tuple[Path, ...] = ()
    after: tuple[str, ...] = ()

    def is_done(self) -> bool:
        """True if the last success was for the same inputs."""
        stamp = STAMPS / self.name.replace(" ", "-")
        known = stamp.read_text() if stamp.is_file() else ""
        # A stamp outlives what somebody deleted by hand.
        return known == self.mark() and all(output.exists() for output in self.outputs)

    def run(self) -> None:
        started = time.monotonic()
        say(f"  {self.name} …")
        stamp = STAMPS / self.name.replace(" ", "-")
        # Before the step: one that is interrupted is not done.
        stamp.unlink(missing_ok=True)
        self.action()
        stamp.write_text(self.mark())
        say(f"  {self.name:<20} {time.monotonic() - started:5.1f} s")


def run_steps(steps: Iterable[SetupStep]) -> None:
    """Run steps in threads, each after those it names (listed before it); the first LauncherError wins."""
    for folder in (STAMPS, LOGS):
        folder.mkdir(parents=True, exist_ok=True)
    todo = list(steps)
    futures: dict[str, Future[None]] = {}

    def one(step: SetupStep, before: list[Future[None]]) -> None:
        for future in before:
            future.result()
        if not step.is_done():
            step.run()

    # A thread for each, since one that waits for another must not keep it from starting.
    with ThreadPoolExecutor(max_workers=len(todo)) as pool:
        for step in todo:
            before = [futures[name] for name in step.after if name in futures]
            futures[step.name] = pool.submit(one, step, before)
        wait(futures.values())
    for future in futures.values():
        future.result()


def tool(
    name: str, argv: list[str], environment: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> str:
    """Run a set-up tool to its end, output in a log; LauncherError with one sentence when it fails."""
    log = LOGS / f"{name.replace(' ', '-')}.log"
    try:
        done = subprocess.run(
            argv,
            env={**plain_environment(), **(environment or {})},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise LauncherError(f"{name}: {argv[0]} cannot be run ({error.strerror}).") from None
    log.write_text(done.stdout)
    if done.returncode:
        raise LauncherError(f"{name}: {meaning(done.stdout)} (see {log}).")
    return done.stdout


def meaning(output: str) -> str:
    """Cause of the failure, in words for a person; the output's last line when it is not known."""
    for pattern, words in MEANINGS:
        if re.search(pattern, output):
            return words
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "failed without a word"
