"""`check` and `test`: everything that must hold before a change is taken."""

import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from launcher import browser, node
from launcher.console import say
from launcher.environment import plain_environment, production_environment
from launcher.paths import BIN, MANAGE, NATIVE, PYTHON, ROOT
from launcher.setup import set_up
from launcher.stack import Stack
from launcher.state import State, throw_away

NO_TESTS_FOUND = 5
FLOOR_REST_PERCENT = 90
BIOME = "node_modules/@biomejs/biome/bin/biome"
REPORT = ["-m", "coverage", "report", "--skip-covered"]
OUTSIDE_DOMAIN = "backend/domain/*,*/migrations/*,backend/config/asgi.py"


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
    domain = ["tests/domain", "tests/providers", "tests/architecture"]
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
                "-m", "pytest", "-q", *domain, "--cov", "--cov-config=tests/pure.coveragerc",
                "--cov-fail-under=100", "--cov-report=term-missing:skip-covered",
            ),
        ),
    ]  # fmt: skip


def check(state: State) -> int:
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


def test(state: State, arguments: list[str], *, is_deep: bool) -> int:
    """The whole suite with real services; with arguments only what they choose, without floors."""
    set_up(for_development=True, every_architecture=True, with_browser=True)
    with throw_away(state, "test") as own:
        stack = Stack(own, is_throw_away=True)
        try:
            stack.start_services()
            stack.publish()
            stack.environment.update(
                browser.environment(),
                HYPOTHESIS_PROFILE="deep" if is_deep else "default",
                COVERAGE_FILE=str(own.directory / "coverage"),
            )
            os.chdir(ROOT)
            if arguments:
                return stack.run(_python("-m", "pytest", *arguments))
            return _whole_suite(stack, is_deep=is_deep)
        finally:
            stack.stop()


def _whole_suite(stack: Stack, *, is_deep: bool) -> int:
    """Side by side what may, then alone what measures time, then the coverage floor."""
    chosen = "" if is_deep else " and not deep"
    both = _python("-m", "pytest", "--cov", "--cov-report=")
    side_by_side = [*both, "-n", "2", "-m", f"not serial{chosen}"]
    alone = [*both, "--cov-append", "-n", "0", "-m", f"serial{chosen}"]
    statuses = [stack.run(side_by_side), stack.run(alone)]
    if statuses[1] == NO_TESTS_FOUND:
        statuses[1] = 0
    floor = f"--fail-under={FLOOR_REST_PERCENT}"
    statuses.append(stack.run(_python(*REPORT, floor, f"--omit={OUTSIDE_DOMAIN}")))
    return next((status for status in statuses if status), 0)


def chaos(state: State) -> int:
    """Break things on purpose, at length: the chaos tests in their long form, and their table.

    They start and kill services of their own; those here only satisfy the settings.
    """
    set_up(for_development=True)
    with throw_away(state, "chaos") as own:
        stack = Stack(own, is_throw_away=True, is_isolated=True)
        try:
            stack.start_services()
            stack.environment.update(CHAOS="long")
            os.chdir(ROOT)
            return stack.run(_python("-m", "pytest", "tests/e2e", "-m", "chaos"))
        finally:
            stack.stop()


def tool_environment() -> dict[str, str]:
    """Environment of the tests' own programs (figures, screenshots)."""
    return {**browser.environment(), "PYTHONPATH": str(ROOT), "PATH": plain_environment()["PATH"]}
