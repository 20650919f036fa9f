"""Hosts that vanish, come back, reboot or fill up under a run, and messages that come twice."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from celery import Celery

from backend.benchmarks.models import Run, RunState, Step
from tests.e2e.chaos_form import FORM, RESUME_SLACK_S, Case, case
from tests.e2e.stack import Stack, eventually
from tests.e2e.truth import assert_clean, assert_part, assert_whole, ended, has_results
from tests.e2e.watch import Change, Watch, watching
from tests.fakes.sshd import FakeSshd

pytestmark = [pytest.mark.chaos, pytest.mark.serial, pytest.mark.native]

# Some ten seconds: on an idle machine every run is in the middle when all have begun.
SHORT_REPEATS = 10
LONG_REPEATS = 10
# So that the run outlasts the cut, and on a busy machine the time until a host reboots.
LONG = {"repeats": LONG_REPEATS, "seconds": FORM.cut_s / (2 * LONG_REPEATS - 2)}
# Results that are stored before anything happens.
BEFORE = 3
LEFT_BLOCKS = 4


@dataclass
class Scene:
    """A run on a host of its own."""

    sshd: FakeSshd
    run: Run


def fill(directory: Path) -> None:
    """Take all space but a few pages, which one or two results need."""
    space = os.statvfs(directory)
    with (directory / "filling").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, (space.f_bavail - LEFT_BLOCKS) * space.f_frsize)


class Doubling:
    """Sends every message of a run again, and some that are long out of date."""

    def __init__(self, stack: Stack, run: Run) -> None:
        self._app = Celery(broker=stack.broker_url, set_as_current=False)
        self._run = str(run.pk)
        self.count = 0

    def __call__(self, change: Change) -> None:
        if change.run != self._run or not change.token:
            return
        self._app.send_task("workers.poll_steps", queue="poll")
        self._app.send_task("workers.tick", queue="engine")
        self.count += 2
        if change.state == RunState.RUNNING:  # followed by poll_steps, never sent by its id
            return
        old = Step.objects.filter(run_id=self._run, pk__lte=change.step).values_list(
            "pk", flat=True
        )
        mine = (change.step, change.token)
        claims = [mine, mine, (change.step, 99), *((step, 1) for step in old)]
        for step, token in claims:
            arguments = {"step_id": step, "token": token}
            self._app.send_task("workers.run_step", kwargs=arguments, queue="engine")
        self.count += len(claims)

    def close(self) -> None:
        self._app.close()


def until(watch: Watch, is_so: Callable[[], bool], note: Callable[[Change], None]) -> None:
    """Like `eventually`, and every change is passed on meanwhile."""

    def is_it() -> bool:
        for change in watch.read(timeout_s=0.05):
            note(change)
        return is_so()

    eventually(is_it, "the end of the runs")


def killed(stack: Stack, watch: Watch, runs: Sequence[Run], done: Case) -> None:
    """Kill the worker, and see every one of these runs taken up again."""
    stack.kill("worker")
    at = time.time()
    stack.up("worker")
    keys = {str(run.pk) for run in runs}
    while keys:
        change = watch.until(
            lambda it: it.run in keys and it.at > at, within_s=stack.lease_s + RESUME_SLACK_S
        )
        assert change is not None, f"nobody went on with {keys}"
        keys.remove(change.run)
        done.resumes.append((change.at - at, RunState.RUNNING))


def assert_ended_by_full_disk(scene: Scene) -> None:
    """What was measured before is kept; beside the file that filled the disk nothing is left."""
    assert_part(scene.run, reason="disk_full", at_least=BEFORE)
    (scene.sshd.temporary / "filling").unlink()
    assert_clean(scene.sshd.temporary)


def test_runs_end_as_they_should_when_their_hosts_fail_side_by_side(
    make_stack, make_host, begin, small_disk, subtests
):
    is_small = small_disk("full")
    stack = make_stack(FORM.cut_lease_s)

    def scene(name: str, **given) -> Scene:
        sshd, host = make_host(name)
        return Scene(sshd, begin(host, **{"repeats": SHORT_REPEATS, **given}))

    with case("network cut", stack.said) as cut, watching(stack.database.url) as watch:
        refused = scene("refused", **LONG)
        eventually(has_results(BEFORE, refused.run), "the first results")
        silent, rebooted, doubled = scene("silent"), scene("rebooted", **LONG), scene("doubled")
        full = scene("full") if is_small else rebooted
        doubling = Doubling(stack, doubled.run)
        runs = [it.run for it in (refused, silent, rebooted, doubled, full)]
        until(watch, has_results(BEFORE, *runs), doubling)

        refused.sshd.refuse()
        refused.sshd.drop()
        silent.sshd.silence()
        back_at = time.monotonic() + FORM.cut_s
        rebooted.sshd.reboot()
        if is_small:
            fill(full.sshd.temporary)
        until(watch, ended(rebooted.run, doubled.run, full.run), doubling)
        for _ in range(FORM.cut_kills):
            killed(stack, watch, [refused.run, silent.run], cut)
        time.sleep(max(0, back_at - time.monotonic()))
        refused.sshd.accept()
        silent.sshd.accept()
        eventually(ended(*runs), "the end of the runs")

        cut.did = f"{FORM.cut_kills} kills of the worker meanwhile, lease {stack.lease_s} s"
        assert cut.worst_s <= stack.lease_s + RESUME_SLACK_S
    doubling.close()
    for gone, name, repeats in (
        (refused, "refused", LONG_REPEATS),
        (silent, "silent", SHORT_REPEATS),
    ):
        with subtests.test(name), case(f"network {name}", stack.said) as done:
            done.did = f"for {FORM.cut_s:g} s in the middle of the run"
            assert_whole(gone.run, repeats=repeats)
            assert_clean(gone.sshd.temporary)
    with subtests.test("reboot"), case("target rebooted", stack.said) as done:
        done.did = "another boot id, every process gone"
        assert_part(rebooted.run, reason="rebooted", at_least=BEFORE)
        assert_clean(rebooted.sshd.temporary)
    with subtests.test("messages"), case("messages doubled and late", stack.said) as done:
        done.did = f"{doubling.count} messages too many"
        assert doubling.count > 30
        assert_whole(doubled.run, repeats=SHORT_REPEATS)
        assert_clean(doubled.sshd.temporary)
    with subtests.test("disk"), case("target's disk full", stack.said) as done:
        if not is_small:
            done.result = "skipped"
            pytest.skip("mounting a small file system is refused here")
        done.did = "no space left in the middle of the run"
        assert_ended_by_full_disk(full)
