"""Celery tasks: they carry ids only, PostgreSQL holds the truth. A lost or doubled message is harmless."""

import logging
from uuid import UUID

from backend.benchmarks.services.leases import Claim
from backend.catalog.services.feeds import feeds_due
from backend.config.celery import app
from backend.core.object_store import StoreAway
from backend.core.queue import Task, enqueue
from workers import bills, retention, scenario_jobs
from workers.engine import dispatch, host_scan, periodic, poller, presence
from workers.notifications import delivery
from workers.pricelists import fetching
from workers.rentals import account_access, reaper

log = logging.getLogger(__name__)

# By name, here: when a module connected the signals as it was imported, nobody imported it and no worker
# took local runs.
presence.follow_worker()


@app.task(name="workers.tick")
def tick() -> None:
    """Send every due step to the workers, and start campaigns that are due."""
    dispatch.tick()
    periodic.tick()


@app.task(name="workers.run_step")
def run_step(step_id: int, token: int) -> None:
    """Do one step of a run, if the claim still holds."""
    dispatch.run_step(Claim(step_id, token), dispatch.to_queue)


@app.task(name="workers.poll_steps")
def poll_steps() -> None:
    """Follow the running runs that nobody follows."""
    poller.follow(dispatch.to_queue)


@app.task(name="workers.scan_host")
def scan_host(host_id: str) -> None:
    host_scan.scan_host(host_id)


@app.task(name="workers.send_notices")
def send_notices() -> None:
    delivery.deliver_due()


@app.task(name="workers.check_account")
def check_account(account_id: str) -> None:
    """Ask a cloud who it says we are."""
    account_access.check(account_id)


@app.task(name="workers.retention")
def retain() -> None:
    """Delete what is older than the settings keep, and move old texts to the object store."""
    try:
        for policy, count in retention.delete_expired():
            if count:
                log.info("%s %s %s", count, policy.kind, policy.done)
    except StoreAway as error:
        log.warning("old texts stay in the database for now: %s", error)


@app.task(name="workers.reap")
def reap() -> None:
    """End rented machines that should not run."""
    reaper.reap()


@app.task(
    name="workers.fetch_prices",
    soft_time_limit=fetching.TASK_S,
    # The soft limit is an exception that ends up on the feed; the hard one ends a call that does not hear
    # it.
    time_limit=fetching.TASK_S + 60,
)
def fetch_prices() -> None:
    """Read price lists that are due; where more are, go on behind the other work of the queue."""
    if fetching.fetch_due() and feeds_due().exists():
        enqueue(Task.FETCH_PRICES)


@app.task(name="workers.read_bills", soft_time_limit=bills.TASK_S, time_limit=bills.TASK_S + 60)
def read_bills() -> None:
    """Make bills of the files that people sent."""
    bills.read_waiting()


@app.task(
    name="workers.simulate_job",
    soft_time_limit=scenario_jobs.TASK_S,
    time_limit=scenario_jobs.TASK_S + 60,
)
def simulate_job(job_id: str) -> None:
    """Calculate the next piece of a job of scenarios."""
    scenario_jobs.work(UUID(job_id))
