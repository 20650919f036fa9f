"""Celery tasks: they carry ids only, PostgreSQL holds the truth. A lost or doubled message is harmless."""

from backend.config.celery import app
from workers import accounts, engine, fetching, notices, poller, reaper, scan, scheduler
from workers.leases import Claim


@app.task(name="workers.tick")
def tick() -> None:
    """Send every due step to the workers, and start campaigns that are due."""
    engine.tick()
    scheduler.tick()


@app.task(name="workers.run_step")
def run_step(step_id: int, token: int) -> None:
    """Do one step of a run, if the claim still holds."""
    engine.run_step(Claim(step_id, token), engine.to_queue)


@app.task(name="workers.poll_steps")
def poll_steps() -> None:
    """Follow the running runs that nobody follows."""
    poller.follow(engine.to_queue)


@app.task(name="workers.scan_host")
def scan_host(host_id: str) -> None:
    """Look at the key that a host presents."""
    scan.scan_host(host_id)


@app.task(name="workers.send_notices")
def send_notices() -> None:
    """Deliver the notices that are due."""
    notices.deliver_due()


@app.task(name="workers.check_account")
def check_account(account_id: str) -> None:
    """Ask a cloud who it says we are."""
    accounts.check(account_id)


@app.task(name="workers.reap")
def reap() -> None:
    """End rented machines that should not run."""
    reaper.reap()


@app.task(
    name="workers.fetch_prices",
    soft_time_limit=fetching.TASK_S,
    time_limit=fetching.TASK_S + 60,
)
def fetch_prices() -> None:
    """Read the price lists that are due."""
    fetching.fetch_due()
