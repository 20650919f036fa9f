"""The access to a cloud: its secret is opened here, in the worker's memory, and nowhere else."""

import asyncio
import logging
import traceback
from collections.abc import Sequence
from dataclasses import asdict

from backend.accounts.models import CloudAccount
from backend.core.crypto import SealBroken
from backend.foundation.errors import DriverError, Reason
from backend.foundation.redaction import redact
from backend.providers.machines import Access, Preflight, Readiness
from backend.rentals.services.account_access import (
    account_mark_checked,
    account_mark_looked_over,
    account_mark_used,
    account_secret,
)
from workers.remote.registry import cloud

# All regions at once, within the time limit of a task.
PREFLIGHT_S = 45
LATER = "Check the account again; the provider may be out of order."
log = logging.getLogger(__name__)


def access_of(account: CloudAccount) -> Access:
    """Access that a driver needs to call the provider; raises DriverError for a secret that does
    not open.

    The use is noted on the row and in the audit trail.
    """
    try:
        secret = account_secret(account=account)
    except SealBroken as error:
        raise DriverError(Reason.AUTH, str(error), retryable=False) from error
    account_mark_used(account=account)
    return Access(kind=account.access, settings=account.settings, secret=secret)


def check(account_id: str) -> None:
    """Ask the provider who we are and record its answer, or why there is none; then look over the
    regions where machines are rented."""
    account = CloudAccount.objects.get(pk=account_id)
    identity, error = "", ""
    secret: dict[str, str] = {}
    access: Access | None = None
    try:
        access = access_of(account)
        # Here, as whatever goes wrong below may quote it.
        secret = dict(access.secret)
        # One that only reads prices may often not ask, and its next price list shows whether it is let in.
        if account.rents_machines:
            identity = asyncio.run(cloud(account.provider, access).whoami())
    except DriverError as failure:
        error = str(failure)
    except Exception as failure:  # noqa: BLE001  (whoever asked would wait for ever)
        error = f"{Reason.BUG}: {type(failure).__name__}"
        trace = redact(traceback.format_exc(), secret)
        log.error("the check of account %s failed: %s", account_id, trace)
    # Before the regions are looked over: that takes up to PREFLIGHT_S, and whoever asked is
    # waiting.
    account_mark_checked(
        account_id=account_id,
        identity=redact(identity, secret),
        error=redact(error, secret),
    )
    if access is not None and not error:
        lines = asyncio.run(_preflight(account, access)) if account.rents_machines else []
        account_mark_looked_over(
            account_id=account_id,
            lines=[
                {name: redact(str(text), secret) for name, text in asdict(line).items()}
                for line in lines
            ],
        )


async def _preflight(account: CloudAccount, access: Access) -> list[Preflight]:
    """The lines of every region, all asked at once; one that fails is a line itself."""
    machine, tag = cloud(account.provider, access), str(account.workspace_id)

    async def region_lines(region: str) -> Sequence[Preflight]:
        try:
            async with asyncio.timeout(PREFLIGHT_S):
                return await machine.preflight(region, tag)
        except (DriverError, TimeoutError) as error:
            detail = str(error) or f"no answer within {PREFLIGHT_S} s"
            return [Preflight(region, "region", Readiness.NOT_READY, detail, LATER)]

    every = await asyncio.gather(*map(region_lines, access.settings["regions"]))
    return [line for lines in every for line in lines]
