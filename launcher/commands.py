"""The action of each word after ./rackrate."""

import os
import sys
from collections.abc import Callable

from launcher import checks, host_tools
from launcher.console import LauncherError, console, say
from launcher.environment import application_environment, choice
from launcher.loopback import claim_port
from launcher.paths import MANAGE, PYTHON, ROOT, STATE_VARIABLE, state_directory
from launcher.processes import has_ended, send, wait_until
from launcher.setup import set_up
from launcher.stack import Stack
from launcher.state import Busy, StackState, throw_away

SERVING = ("up", "demo")
# PostgreSQL alone may take 20 s, and what is before it in line 8 s each.
STOPPED_WITHIN_S = 60.0


def _acquire(state: StackState, command: str) -> None:
    """Become this state's launcher; a `manage` that needs the database briefly is waited for."""
    said = False

    def is_ours() -> bool:
        nonlocal said
        try:
            state.acquire(command)
        except Busy as busy:
            if busy.command in SERVING:
                raise LauncherError(
                    f"A stack of this checkout runs already ({busy}); stop it with ./rackrate stop."
                ) from None
            if not said:
                say(f"waiting for {busy} to end")
                said = True
            return False
        return True

    if not wait_until(is_ours, 600, 0.2):
        raise LauncherError(
            "Another command of this checkout holds the database; try again when it is done."
        )


def serve(
    command: str, port: int, *, benchmark: bool, once: bool, install_tools: bool = False
) -> int:
    """`up` and `demo`: everything set up and running until Ctrl-C."""
    state = StackState(state_directory())
    _acquire(state, command)
    try:
        # First of all: a port that is taken is said before minutes of set-up, not behind them.
        port = claim_port(port)
        # First, so that nobody has to wait for the question.
        missing = host_tools.offer_tools(state, is_asked_for=install_tools) if benchmark else []
        set_up()
        for each in missing:
            host_tools.install_tool(each)
        # Again, as setting up may take minutes, in which somebody else may have taken it.
        claim_port(port)
        stack = Stack(state)
        try:
            stack.start_services()
            stack.migrate()
            stack.load_fixtures()
            url = stack.start_application(port)
            status = 0
            if benchmark:
                say(f"serving at {url}/ — now benchmarking this machine")
                stack.settle()
                status = _measure(stack)
                if status:
                    say(f"the benchmark failed (status {status}); logs are in {state.logs}")
            if once:
                return status
            say(f"Rackrate serves at {url}/ — Ctrl-C stops it")
            try:
                stack.create_first_account()
                stack.supervisor.run_until(lambda: False)
            except KeyboardInterrupt:
                say("\nstopping")
            return 0
        finally:
            stack.stop()
    finally:
        state.release()


def _measure(stack: Stack) -> int:
    """Benchmark this machine: a quick look, then what compares it with published machines."""
    profiles = ["quick", *(["general"] if host_tools.is_there(host_tools.REDIS) else [])]
    for profile in profiles:
        command = [str(PYTHON), str(MANAGE), "benchmark", "local", "--profile", profile]
        status = stack.run(command, log_name="benchmark")
        if status:
            return status
    return 0


def stop() -> int:
    """Stop the live stack of this state, or what a killed one left."""
    state = StackState(state_directory())
    busy = state.holder()
    if busy is not None:
        if busy.command not in SERVING:
            raise LauncherError(f"No stack is up; {busy} uses the database and ends by itself.")
        send(busy.pid, 15)
        if not wait_until(lambda: has_ended(busy.pid), STOPPED_WITHIN_S, 0.1):
            raise LauncherError(f"{busy} does not stop; see {state.logs}.")
        say("stopped")
        return 0
    _acquire(state, "stop")
    left = state.stop_left_overs()
    state.release()
    say(
        f"stopped what an earlier launcher left: {', '.join(left)}"
        if left
        else "nothing is running"
    )
    return 0


def manage(arguments: list[str]) -> int:
    """manage.py with the database and broker of the running stack, or with own ones meanwhile."""
    console.stream = sys.stderr  # stdout is the command's
    set_up(only_packages=True)
    state = StackState(state_directory())
    command = [str(PYTHON), str(MANAGE), *arguments]
    while True:
        try:
            state.acquire("manage")
            break
        except Busy as busy:
            if busy.command not in {"manage", "stop"}:
                return _join(state, busy, command)
            # These end soon, and the database with them: who joined one would lose it in the
            # middle.
            wait_until(lambda: state.holder() is None, 600, 0.2)
    try:
        stack = Stack(state)
        try:
            stack.start_services()
            stack.migrate()
            # A benchmark that is interrupted ends its run and cleans its host up.
            return stack.run(command, grace_s=60)
        finally:
            stack.stop()
    finally:
        state.release()


def user(arguments: list[str]) -> int:
    """manage.py user, where its link leads somewhere: the stack that runs, or a named database."""
    busy = StackState(state_directory()).holder()
    is_serving = busy is not None and busy.command in SERVING
    if not is_serving and choice("DATABASE_URL") is None:
        raise LauncherError(
            "Nothing is running; start it with ./rackrate up, then ask again beside it."
        )
    return manage(arguments)


def restore(arguments: list[str]) -> int:
    """manage.py restore, once nothing else uses the database."""
    busy = StackState(state_directory()).holder()
    if busy is not None and busy.command in SERVING:
        raise LauncherError(f"{busy} uses the database; stop it with ./rackrate stop first.")
    return manage(arguments)


def _join(state: StackState, busy: Busy, command: list[str]) -> int:
    """Become manage.py in the environment of the live stack, once that is ready."""
    if not wait_until(lambda: bool(state.published()) or state.holder() is None, 300, 0.1):
        raise LauncherError(f"{busy} does not become ready; see {state.logs}.")
    environment = application_environment(state, state.published())
    environment[STATE_VARIABLE] = str(state.directory)
    if choice("DATABASE_URL") is None and "DATABASE_URL" not in environment:
        raise LauncherError(f"{busy} ended before it was ready; see {state.logs}.")
    # Instead of a child: signals and the exit status are the command's own then.
    os.execve(command[0], command, environment)


def _in_throw_away_stack(
    purpose: str, job: Callable[[Stack], int], *, with_browser: bool = False
) -> int:
    """Run a job against a complete stack that is thrown away afterwards."""
    set_up(for_development=True, with_browser=with_browser)
    with throw_away(StackState(state_directory()), purpose) as state:
        stack = Stack(state, is_throw_away=True, is_isolated=True)
        try:
            stack.start_services()
            stack.migrate()
            stack.load_fixtures()
            url = stack.start_application(claim_port(0))
            stack.environment.update(checks.tool_environment(), RACKRATE_URL=url)
            return job(stack)
        finally:
            stack.stop()


def bench(name: str) -> int:
    """Performance figures of one kind, as JSON on stdout."""
    console.stream = sys.stderr
    known = sorted(path.stem for path in (ROOT / "tests/bench").glob("[!_]*.py"))
    if name not in known:
        raise LauncherError(f"There is no bench {name!r}; there are: {', '.join(known) or 'none'}.")

    def job(stack: Stack) -> int:
        if name == "quiet":
            stack.settle()
        return stack.run([str(PYTHON), "-m", f"tests.bench.{name}"])

    return _in_throw_away_stack("bench", job, with_browser=name == "pages")


def screenshots() -> int:
    """The pictures of the documentation, taken anew: this machine is measured for them."""
    measure = ["benchmark", "local", "--price", "49", "EUR", "month"]

    def job(stack: Stack) -> int:
        return stack.run([str(PYTHON), str(MANAGE), *measure]) or stack.run(
            [str(PYTHON), "-m", "tests.e2e.screenshots"]
        )

    return _in_throw_away_stack("screenshots", job, with_browser=True)
