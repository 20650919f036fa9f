"""Steps of a run, on its host and on the other end of its network tests."""

import asyncio
import hashlib
import random
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from socket import gethostname
from typing import Any, TypeVar

from django.conf import settings

from backend.benchmarks.models import Host, HostState, Run, RunState, Step
from backend.benchmarks.selectors.evidence import result_file_hashes
from backend.benchmarks.selectors.hosts import authorities_of
from backend.benchmarks.services.hosts import host_key_distrust
from backend.benchmarks.services.login_keys import host_earlier_key, host_private_key
from backend.benchmarks.services.offered_machine import architecture_contradiction
from backend.benchmarks.services.results import (
    record_sent_bytes,
    repeats_store,
    unavailable_note,
)
from backend.core import clock
from backend.foundation.errors import DriverError, Reason
from backend.measure.probes import NETWORK
from backend.measure.profiles import PROFILES
from backend.measure.repeats import repeat_of
from workers.engine.run_failure import remarks_on_failed_probes, run_failure
from workers.remote import pipeline
from workers.remote.driver import HostKeyChanged, Target, Transport
from workers.remote.probes.pinned_plan import PinnedPlan
from workers.remote.probes.plan import Plan, plan, plan_script
from workers.remote.registry import driver
from workers.time_limits import step_seconds

T = TypeVar("T")
BUSY_RETRY_S = 2
PEER_RETRY_S = 3
# A package manager that waits for its lock may take this long to install iperf3.
PEER_READY_S = 600
# The other end listens for this long beyond the deadline of the run, then ends by itself: nobody may be
# left to stop it.
SERVED_S = 300
# Below that it is the way to the host and back, and nothing of ours compares the two clocks.
MAX_SKEW_S = 2
LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Move:
    """The outcome of a step: the next state, and what else is written about the run."""

    target: RunState
    fields: Mapping[str, object] = field(default_factory=dict)
    event: str = ""
    """A warning."""
    effect: Callable[[], None] | None = None
    """Further rows to write, in the same fenced transaction."""
    events: tuple[tuple[str, str], ...] = ()
    """Pairs of kind and detail."""


@dataclass(frozen=True)
class Wait:
    """The outcome of a step that found nothing to do yet."""

    seconds: float
    why: str
    is_progress: bool = False
    """True if nothing went wrong, so that the attempts start anew."""


# --- the machines of a run ----------------------------------------------------------------------


def jitter(seconds: float) -> float:
    """About as long, so that many who wait for the same do not all come back at once."""
    return seconds * random.uniform(0.75, 1.25)  # noqa: S311  (no secret)


def target_of(host: Host) -> Target:
    """How to log in to the host, through its bastion where it has one."""
    signed = authorities_of(host.authority.workspace, host) if host.authority else ({}, frozenset())
    return Target(
        address=host.address,
        port=host.port,
        username=host.username,
        private_key=host_private_key(host=host),
        earlier_key=host_earlier_key(host=host),
        certificate=host.certificate,
        # A host that was given a key has no use for others, and a rented machine has its own.
        agent_socket=""
        if host.sealed_private_key
        else host.agent_socket or settings.SSH_AGENT_SOCKET,
        is_agent_of_host=bool(host.agent_socket),
        host_key=host.host_key,
        authorities=tuple(signed[0]),
        revoked=signed[1],
        is_private_allowed=settings.SSH_ALLOW_PRIVATE,
        via=target_of(host.bastion) if host.bastion else None,
    )


def on_host(
    host: Host, work: Callable[[Transport], Coroutine[Any, Any, T]], *, seconds: float
) -> T:
    """Log in, do the work, let go; DriverError(timeout) when the time is over."""
    machine, target = driver(host.driver), target_of(host)

    async def connected() -> T:
        async with asyncio.timeout(seconds):
            transport = await machine.connect(target)
            try:
                return await work(transport)
            finally:
                await transport.close()

    try:
        return asyncio.run(connected())
    except HostKeyChanged as error:
        # Written at once: every other run of the host must stop before it logs in.
        host_key_distrust(host=host, pinned=error.pinned, presented=error.presented)
        raise
    except TimeoutError:
        raise DriverError(
            Reason.TIMEOUT, f"the step took more than {seconds:g} s", retryable=True
        ) from None


def on_peer(
    peer: Host, work: Callable[[Transport], Coroutine[Any, Any, T]], *, seconds: float
) -> T:
    """As `on_host`; what goes wrong there names the peer."""
    try:
        return on_host(peer, work, seconds=seconds)
    except DriverError as error:
        detail = f"the peer {peer.name}: {error.detail}"
        raise DriverError(error.reason, detail, retryable=error.retryable) from error


def plan_of(run: Run, *, peer_port: int | None = None) -> Plan:
    """Plan of the run; without the network tests while nobody serves them."""
    return plan(
        PROFILES[run.profile],
        run.probes,
        run.parameters,
        run_directory=run.live.get("directory", ""),
        peer_address=str(run.live.get("peer_address", "")),
        peer_port=peer_port or int(run.live.get("peer_port", 0)),
    )


def plan_of_run(run: Run) -> PinnedPlan:
    """Plan that the run began with; of one from before plans were stored, the present one."""
    return PinnedPlan.read(run.plan) if run.plan else PinnedPlan.of(plan_of(run))


def _peer_of(run: Run) -> Host | None:
    """The other end of the run's network tests, if it has any."""
    chosen = PROFILES[run.profile].series if run.probes is None else run.probes
    # Without network tests the peer is not touched, not even logged in to.
    return run.peer if NETWORK in chosen else None


def failure_fields(
    run: Run, reason: Reason, detail: str, *, outcome: RunState = RunState.FAILED
) -> dict[str, object]:
    """Fields that record why a run fails; the first reason stays."""
    # What comes later usually follows from it.
    if run.failure_reason:
        return {}
    return {"outcome": outcome, "failure_reason": reason, "failure_detail": detail[:2000]}


def failing(run: Run, reason: Reason, detail: str, *, outcome: RunState = RunState.FAILED) -> Move:
    """To the teardown, with the reason as a warning."""
    fields = failure_fields(run, reason, detail, outcome=outcome)
    return Move(RunState.TEARING_DOWN, fields, event=detail)


# --- what each state does -----------------------------------------------------------------------


def begin(run: Run, step: Step) -> Move:
    """The hosts are free and trusted: take them. Machines of one's own need no budget and no
    launch."""
    for host in filter(None, (run.host, run.peer)):
        for machine in host.route:
            if machine.state != HostState.TRUSTED:
                detail = f"the host key of {machine.name} is not approved"
                return Move(RunState.FAILED, failure_fields(run, Reason.AUTH, detail))
    return Move(RunState.REACHABLE, {"started_at": clock.now()})


def identify(run: Run, step: Step) -> Move:
    """Look at the machines: architecture, boot, space, whether programs may run; what earlier
    runs left there goes."""
    peer = _peer_of(run)
    # Both machines are looked at in one step, which must end within its lease.
    seconds = step_seconds() / (1 if peer is None else 2)
    target, swept = on_host(run.host, lambda t: _identify(t, run, seconds), seconds=seconds)
    live = {"directory": target.directory, "arch": target.arch, "container": gethostname()}
    if peer is not None:
        other, more = on_peer(peer, lambda t: _identify(t, run, seconds, True), seconds=seconds)
        # The peer may be the worker's own machine, whose address only the host sees.
        address = peer.address or target.seen_from or LOOPBACK
        live |= {"peer_directory": other.directory, "peer_address": address}
        swept += more
    run.live = live
    if why := architecture_contradiction(run, target.arch):
        move = failing(run, Reason.UNSUPPORTED, why)
        return replace(move, fields={**move.fields, "live": live})
    # Before the runner gets it: a worker that dies then leaves the next one, perhaps a newer one, what the
    # runner goes by. Which port a peer gets makes no difference to that.
    pinned = PinnedPlan.of(plan_of(run, peer_port=1 if peer is not None else None))
    fields = {"boot_id": target.boot_id, "live": live, "plan": pinned.document()}
    return Move(RunState.PREPARED, fields, events=tuple(swept))


async def _identify(
    transport: Transport, run: Run, seconds: float, is_peer: bool = False
) -> tuple[pipeline.TargetIdentity, list[tuple[str, str]]]:
    """Facts of the machine, and the events of clearing up there. That fails no run."""
    before = clock.now().timestamp()
    target = await pipeline.identify(transport, str(run.pk), is_peer=is_peer)
    events = _clock_events(target, before, clock.now().timestamp())
    for directory in target.leftovers:
        try:
            # A part of the time only: cleaning up after earlier runs must leave this one enough for
            # its own look.
            async with asyncio.timeout(seconds / 3):
                await pipeline.teardown(transport, directory)
            events.append(("swept", f"{directory} was left by an earlier run and is removed"))
        except (DriverError, TimeoutError) as error:
            events.append(("warning", f"{directory} of an earlier run remains: {error}"))
    return target, events


def _clock_events(
    target: pipeline.TargetIdentity, before_s: float, after_s: float
) -> list[tuple[str, str]]:
    """A warning when the machine's clock was not between our two looks at ours."""
    if target.clock_s is None:
        return []
    # Its clock shows whole seconds only.
    skew_s = max(target.clock_s - after_s, 0) + min(target.clock_s + 1 - before_s, 0)
    if abs(skew_s) <= MAX_SKEW_S:
        return []
    return [("warning", f"the clock is {skew_s:+.0f} s off; durations are not affected")]


def _why_unknown(run: Run) -> str:
    """Why nobody can know what a run left on its worker's machine; "" where one can: a container
    has its host name for itself, and the next one does not see what ran in it."""
    began_on = run.live.get("container", gethostname())
    if run.worker is None or began_on == gethostname():
        return ""
    return f"the run began in the worker {began_on}, which {gethostname()} has replaced"


def prepare(run: Run, step: Step) -> Move | Wait:
    """Bring runner, probes and plan, and start the runner detached; before that, its peer."""
    if replaced := _why_unknown(run):
        raise DriverError(Reason.INTERRUPTED, replaced, retryable=False)
    began = time.monotonic()
    peer = _peer_of(run)
    unavailable = ""
    if peer is not None:
        # Before the host: it must listen when the runner starts.
        serving = on_peer(peer, lambda t: _serve(t, run), seconds=step_seconds() / 2)
        if serving.busy:
            why = f"{serving.busy} is measuring on the peer {peer.name}"
            return Wait(BUSY_RETRY_S, why, is_progress=True)
        unavailable = serving.unavailable
        if serving.port is not None:
            run.live = {**run.live, "peer_port": serving.port}
        elif not unavailable and (clock.now() - step.created_at).total_seconds() < PEER_READY_S:
            return Wait(PEER_RETRY_S, f"the peer {peer.name} gets ready", is_progress=True)
    planned = plan_of(run)
    # Both logins share the time of one step, which must end within its lease.
    seconds = step_seconds() - (time.monotonic() - began)
    other, pinned = on_host(run.host, lambda t: _start_runner(t, run, planned), seconds=seconds)
    if other is not None:
        if peer is not None:  # it would grow old meanwhile
            clean = partial(pipeline.teardown, directory=run.live["peer_directory"])
            on_peer(peer, clean, seconds=step_seconds() / 2)
        return Wait(BUSY_RETRY_S, f"{other} is measuring on this machine", is_progress=True)
    live = {**run.live, "expected_s": pinned.expected_s, "likely_s": pinned.likely_s}
    effect = None
    if peer is not None and "peer_port" not in live:
        why = f"{unavailable or 'it did not get ready in time'} (the peer {peer.name})"
        effect = lambda: unavailable_note(run=run, probe=NETWORK, why=why)  # noqa: E731
    return Move(RunState.RUNNING, {"live": live, "plan": pinned.document()}, effect=effect)


async def _start_runner(
    transport: Transport, run: Run, planned: Plan
) -> tuple[str | None, PinnedPlan]:
    """None once the runner runs, else the directory of the run that is in the way; and the plan
    that it goes by."""
    directory = run.live["directory"]
    files = await pipeline.bundle(
        run.live["arch"],
        planned.programs,
        plan_script(planned),
        build_dir=settings.PROBE_BUILD_DIR,
    )
    begun = await pipeline.prepare(transport, directory, files)
    if begun is None:
        sent = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        pinned = replace(PinnedPlan.of(planned), hashes=sent)
    else:
        pinned = replace(plan_of_run(run), hashes=begun)
    return await pipeline.start(transport, directory), pinned


async def _serve(transport: Transport, run: Run) -> pipeline.Serving:
    directory = run.live["peer_directory"]
    await pipeline.prepare(transport, directory, pipeline.peer_files())
    return await pipeline.serve(
        transport,
        directory,
        # Any port: the plan's length does not depend on which one it is, only on whether there is one.
        seconds=plan_of(run, peer_port=1).deadline_s + SERVED_S,
        is_installing=bool(run.parameters.get("install_tools")),
    )


def collect(run: Run, step: Step) -> Move:
    """Compare what is stored with the manifest, take over what is missing, and judge the run."""
    stored = result_file_hashes(run)
    directory = run.live["directory"]
    snapshot = on_host(
        run.host,
        lambda t: pipeline.read_missing(t, directory, stored, plan_of_run(run).bounds),
        seconds=step_seconds(),
    )
    # One that is stored and yet read again differed: what is stored of it is not what was measured.
    damage = {
        result.name: f"{result.name} is not stored as the target lists it"
        for result in snapshot.results
        if stored.get(result.number)
    } | pipeline.find_damage(snapshot)
    repeats = [repeat_of(result, damage.get(result.name, "")) for result in snapshot.results]
    fields: dict[str, object] = {}
    if snapshot.status is not None:
        fields["runner_s"] = snapshot.status.monotonic_s
    figures = set(run.samples.values_list("evidence__probe", "metric"))
    figures |= {(repeat.probe, sample.metric) for repeat in repeats for sample in repeat.samples}
    # What was damaged on the way says nothing of its probe: then nobody knows what else was.
    measured_probes = set() if damage else {probe for probe, _ in figures}
    failure = run_failure(snapshot, repeats, measured_probes)
    if failure is not None:
        fields |= failure_fields(run, *failure)
    remarks = [*plan_of_run(run).probe_changes]
    if failure is None:
        remarks += remarks_on_failed_probes(repeats, {metric for _, metric in figures})
    events = tuple(("warning", remark) for remark in remarks)

    def stored_all() -> None:
        repeats_store([(run, repeats)])
        record_sent_bytes(run=run)

    return Move(RunState.PARSED, fields, effect=stored_all, events=events)


def conclude(run: Run, step: Step) -> Move:
    """All of it is stored: the machines are cleaned or ended."""
    return Move(RunState.TEARING_DOWN)


def tear_down(run: Run, step: Step) -> Move:
    """End what still runs on the machines, remove our directories, and see that both are gone.

    Each is cleaned also when the other does not answer; then all of it is tried again. Rented
    hosts are left as they are: their machines end.
    """
    directories = [
        (run.host, run.live.get("directory")),
        (run.peer, run.live.get("peer_directory")),
    ]
    known = [
        (host, directory)
        for host, directory in directories
        if host and directory and not host.is_rented
    ]
    errors = []
    for host, directory in known:
        on = on_host if host == run.host else on_peer
        try:
            on(
                host,
                partial(pipeline.teardown, directory=directory),
                seconds=step_seconds() / len(known),
            )
        except DriverError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    if replaced := _why_unknown(run):
        if run.outcome == RunState.DONE:
            return Move(RunState.DONE, event=replaced)
        return Move(
            RunState.LOST, failure_fields(run, Reason.INTERRUPTED, replaced), event=replaced
        )
    return Move(RunState.VERIFIED_GONE)


def finish(run: Run, step: Step) -> Move:
    """The end that the run was heading for."""
    return Move(RunState(run.outcome))


HANDLERS: Mapping[RunState, Callable[[Run, Step], Move | Wait]] = {
    RunState.QUEUED: begin,
    RunState.REACHABLE: identify,
    RunState.PREPARED: prepare,
    RunState.COLLECTING: collect,
    RunState.PARSED: conclude,
    RunState.TEARING_DOWN: tear_down,
    RunState.VERIFIED_GONE: finish,
}
