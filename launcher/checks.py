"""`check` and `test`: everything that must hold before a change is taken."""

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from launcher import browser, node
from launcher.console import say
from launcher.environment import (
    application_environment,
    plain_environment,
    production_environment,
)
from launcher.paths import BIN, MANAGE, NATIVE, PYTHON, ROOT
from launcher.setup import set_up
from launcher.stack import Stack
from launcher.state import StackState, throw_away

FLOOR_REST_PERCENT = 90
BIOME = "node_modules/@biomejs/biome/bin/biome"
PYTEST = [str(PYTHON), "-m", "pytest"]
REMEMBERING = ["-p", "tests.failed_tests"]
SIDE_BY_SIDE = ["-n", "2", "--dist", "worksteal"]
SERIAL = ["tests/e2e", "tests/launcher"]  # tests/conftest.py accepts the mark nowhere else
CHAOS = "tests/e2e/test_*chaos*.py"
# In the part of the others, so that both parts take equally long.
CHAOS_OF_SERVICES = "tests/e2e/test_chaos_services.py"
# Processes for all that is not serial: one more than a small machine has processors, as many tests
# wait for hosts and pages.
BESIDE = 3
FAST = ["tests/pure", "tests/providers", "tests/workers"]
# So many failed tests may run once more: a busy machine spoils a few, a fault of ours many.
FAILED_AGAIN_MAX = 5


@dataclass(frozen=True)
class Check:
    """A named command that is to end with status 0."""

    name: str
    argv: list[str]


def _python(*arguments: str) -> list[str]:
    return [str(PYTHON), *arguments]


def _checks() -> list[Check]:
    manage = [str(MANAGE)]
    shell = [*map(str, sorted(NATIVE.glob("*.sh"))), "rackrate", ".ci/run", "requirements/lock"]
    probes = [str(path) for path in sorted(NATIVE.glob("*.[ch]"))]
    # Named one by one: node 20 takes a folder, later ones a pattern.
    script_tests = [str(path) for path in sorted((ROOT / "frontend/tests").glob("*.test.js"))]
    domain = ["tests/pure", "tests/providers", "tests/architecture"]
    return [
        Check("types", _python("-m", "mypy")),
        Check("format", [str(BIN / "ruff"), "format", "--check", "."]),
        Check("lint", [str(BIN / "ruff"), "check", "."]),
        Check("shell", [str(BIN / "shellcheck"), "-x", "-P", "SCRIPTDIR", *shell]),
        Check("shell format", [str(BIN / "shfmt"), "-d", *shell]),
        Check("C format", [str(BIN / "clang-format"), "--dry-run", "--Werror", *probes]),
        Check("templates", [str(BIN / "djlint"), "--lint", "--quiet", "frontend/templates"]),
        Check("scripts, styles", [node.node(), BIOME, "ci", "--error-on-warnings"]),
        Check("imports", [str(BIN / "lint-imports"), "--no-logo"]),
        Check(
            "migrations",
            # No database is reached on purpose; Django says so with a RuntimeWarning.
            _python("-W", "ignore::RuntimeWarning", *manage, "makemigrations", "--check", "--dry-run"),
        ),
        Check("deploy", _python(*manage, "check", "--deploy", "--fail-level", "WARNING")),
        Check("script tests", [node.node(), "--test", *script_tests]),
        Check(
            "domain tests",
            _python(
                "-m", "pytest", "-q", *domain, *SIDE_BY_SIDE, "--cov", "--cov-config=tests/pure.coveragerc",
                "--cov-fail-under=100", "--cov-report=term-missing:skip-covered",
            ),
        ),
    ]  # fmt: skip


def check(state: StackState) -> int:
    """Run every check, two at a time; each one's time and outcome, and the output of failures."""
    set_up(for_development=True)
    environment = {
        **production_environment(),
        "COVERAGE_FILE": str(state.directory / "coverage.domain"),
    }
    checks = _checks()
    failed: list[str] = []

    def one(item: Check) -> None:
        started = time.monotonic()
        done = subprocess.run(
            item.argv, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        outcome = "ok" if done.returncode == 0 else "FAILED"
        say(f"  {item.name:<14} {time.monotonic() - started:6.1f} s  {outcome}")
        if done.returncode:
            failed.append(item.name)
            say(done.stdout.rstrip())

    with ThreadPoolExecutor(max_workers=2) as pool:
        list(pool.map(one, checks))
    say(f"failed: {', '.join(failed)}" if failed else "all checks passed")
    return 1 if failed else 0


def test(
    state: StackState, arguments: list[str], *, is_fast: bool, is_deep: bool, is_covered: bool
) -> int:
    """The whole suite with real services, and the floor of what it covers when asked for; with
    arguments only what they choose.

    Sets up and starts only what the chosen tests need.
    """
    set_up(for_development=True, only_packages=True)
    os.chdir(ROOT)
    with throw_away(state, "test") as own:
        stack = Stack(own, is_throw_away=True)
        try:
            stack.environment = application_environment(own, {})
            stack.environment.update(HYPOTHESIS_PROFILE="deep" if is_deep else "default")
            if is_fast:
                has_path = any(Path(word.partition("::")[0]).exists() for word in arguments)
                folders = [] if has_path else FAST
                return stack.run([*PYTEST, "--fast", *SIDE_BY_SIDE, *folders, *arguments])
            if not arguments:
                _prepare(stack, {"browser", "build", "services"})
                _migrate_once(stack)
                return _whole_suite(stack, is_covered=is_covered)
            needs, status = _needs(stack, arguments)
            if status:
                return status
            _prepare(stack, needs)
            return stack.run([*PYTEST, *arguments])
        finally:
            stack.stop()


def _needs(stack: Stack, arguments: list[str]) -> tuple[set[str], int]:
    """Needs of the tests that the arguments choose, and the status of a choice that fails."""
    answer = stack.state.directory / "needs.json"
    output = stack.state.log("collection")
    with output.open("wb") as file:
        collect = ["--collect-only", "-q", f"--write-needs={answer}", "-n", "0", "--no-cov"]
        status = stack.run([*PYTEST, *arguments, *collect], stdout=file)
    if status:
        say(output.read_text(errors="replace").rstrip())
        return set(), status
    return set(json.loads(answer.read_text())), 0


def _prepare(stack: Stack, needs: set[str]) -> None:
    """Set up and start what tests need; tests/conftest.py names the needs."""
    if "build" in needs:
        set_up(for_development=True, with_browser="browser" in needs)
    if "browser" in needs:
        stack.environment.update(browser.environment())
    if "services" in needs:
        own = stack.environment
        stack.start_services()
        stack.environment = {**own, **stack.environment}
        stack.publish()


def _migrate_once(stack: Stack) -> None:
    """Make the tables that the tests' own databases copy: each would take seconds to migrate."""
    copies = stack.state.directory / "copies"
    stack.migrate()
    stack.manage_quietly("copied", "backup", str(copies))
    stack.environment.update(MIGRATED_COPIES=str(copies))


def _serial_parts() -> dict[str, list[str]]:
    """The files with tests that run one after the other: those of chaos, and all others."""
    chaos = {str(path) for path in Path().glob(CHAOS)} - {CHAOS_OF_SERVICES}
    every = {str(path) for folder in SERIAL for path in Path(folder).glob("test_*.py")}
    parts = {"chaos": sorted(chaos), "measured": sorted(every - chaos)}
    return {part: files for part, files in parts.items() if files}


def _whole_suite(stack: Stack, *, is_covered: bool) -> int:
    """Three parts at the same time; the coverage is that of the largest one.

    Of the tests that measure time or break services those of a part run one after the other and
    mostly wait. All others take what processor time is left: they are nice, so that the first do
    not notice.
    """
    coverage = str(stack.state.directory / "coverage.json")
    rows = stack.state.directory / "rows"
    rows.mkdir()
    stack.environment.update(ROWS_DIRECTORY=str(rows))
    # It takes its probes out again where they were passed: tracing costs two thirds more time.
    slipcover = _python("-m", "slipcover", "--out", coverage)
    parts = _serial_parts()
    outputs = {part: stack.state.log(part) for part in parts}
    failed = {part: stack.state.directory / f"failed-{part}" for part in [*parts, "others"]}
    with ExitStack() as files:
        serial = [
            stack.start(
                [*PYTEST, *REMEMBERING, "-m", "serial", *parts[part]],
                files.enter_context(output.open("wb")),
                FAILED_TESTS=str(failed[part]),
            )
            for part, output in outputs.items()
        ]
        many = ["-n", str(BESIDE), "--dist", "worksteal", "-m", "not serial"]
        covered = [*slipcover, "--json", "-m", "pytest"] if is_covered else PYTEST
        others = stack.start(
            ["nice", *covered, *REMEMBERING, *many], FAILED_TESTS=str(failed["others"])
        )
        statuses = stack.wait(others, *serial)
    for output in outputs.values():
        say(output.read_text(errors="replace").rstrip())
    if set(statuses) in ({1}, {0, 1}):  # some tests failed, nothing else went wrong
        statuses = [_run_failed_again(stack, [*failed.values()])]
    if is_covered:
        # A step of its own: with xdist slipcover 1.1 either prints what its processes covered or judges it.
        floor = f"--fail-under={FLOOR_REST_PERCENT}"
        statuses.append(stack.run([*slipcover, floor, "--merge", coverage]))
    return next((status for status in statuses if status), 0)


def _run_failed_again(stack: Stack, files: list[Path]) -> int:
    """Run the few tests that failed beside all others once more, with the machine to themselves.

    What passes then is named, as it depends on how busy the machine is. Fails as they fail.
    """
    failed = [name for file in files for name in file.read_text().splitlines()]
    if not 0 < len(failed) <= FAILED_AGAIN_MAX:
        return 1
    status = stack.run([*PYTEST, *failed])
    if not status:
        say("\n  ".join(["failed beside the other tests, passed alone:", *failed]))
    return status


def chaos(state: StackState, *, kills: int | None) -> int:
    """Break things on purpose, at length: the chaos tests in their long form, and their table.

    They start and kill services of their own; those here only satisfy the settings.
    """
    set_up(for_development=True)
    with throw_away(state, "chaos") as own:
        stack = Stack(own, is_throw_away=True, is_isolated=True)
        try:
            stack.start_services()
            stack.environment.update(CHAOS="long")
            if kills is not None:
                stack.environment.update(CHAOS_KILLS=str(kills))
            os.chdir(ROOT)
            # Its runs and machines mostly wait.
            return stack.run([*PYTEST, "tests/e2e", "-m", "chaos", *SIDE_BY_SIDE])
        finally:
            stack.stop()


def tool_environment() -> dict[str, str]:
    """Environment of the tests' own programs (figures, screenshots)."""
    return {**browser.environment(), "PYTHONPATH": str(ROOT), "PATH": plain_environment()["PATH"]}
