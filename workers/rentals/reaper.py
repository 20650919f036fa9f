"""Compares what runs at the providers with what we know of, and ends what should not run.

Needs PostgreSQL and the providers only. What the provider lists under our tag counts, not what was
asked of it: something is gone when a later look does not list it. One reaper at a time looks at an
account; a second one passes it over.
"""

import datetime as dt
import logging
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from operator import methodcaller
from time import monotonic, sleep
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection

from backend.accounts.models import CloudAccount
from backend.benchmarks.models import Resource, ResourceState
from backend.foundation.errors import DriverError, Reason
from backend.providers import machines
from backend.providers.machines import ProviderDriver, ResourceKind
from backend.rentals.selectors.leaks import (
    accounts_to_reap,
    resources_left,
    resources_of_tokens,
    teardowns_stuck,
)
from backend.rentals.services.leaks import (
    Ending,
    ending_audit,
    ending_of,
    look_begin,
    look_record,
    look_record_delay,
    look_record_failure,
    resource_alarm,
    strangers_alarm,
)
from backend.rentals.services.resources import (
    ledger_record,
    resource_mark_created,
    resource_mark_gone,
)
from workers.rentals.orphans import Launch, Orphan, orphans
from workers.rentals.provider_calls import NoCallLeft, ProviderCalls, of_ours
from workers.rentals.surplus import surplus_book, surplus_close

log = logging.getLogger(__name__)
T = TypeVar("T")

# After this no further call is begun, well within a task's time limit.
BUDGET_S = 60.0
# The least time that one account has, also when many wait: two silent accounts must not use up the minute
# for good.
ACCOUNT_S = 15.0
NO_TIME = "no time was left to look at it"
# First half of the advisory lock's key; the second one is of the account.
LOCK = 0x5EA9


class TimeIsUp(DriverError):
    """The rest is for the next look; nothing went wrong."""


@dataclass
class Look:
    """Findings and actions of one look at an account. Lists hold words for a person."""

    account: str
    provider: str
    machines: int = 0
    """Under our tag at the provider."""
    strangers: int = 0
    """Under our tag, and made by another installation: the database of one is a copy."""
    ended: list[str] = field(default_factory=list)
    """Asked to go in this look; when dry, what would have been asked."""
    waiting: list[str] = field(default_factory=list)
    """Asked to go in this look or an earlier one, and still there."""
    verified: list[str] = field(default_factory=list)
    """Asked to go earlier, and gone now."""
    closed: list[str] = field(default_factory=list)
    """Launches of ended runs whose machine is gone."""
    error: str = ""
    is_skipped: bool = False
    """Another reaper is at it, or time was up."""


@dataclass
class ReapReport:
    """Findings on all accounts."""

    is_dry: bool
    looks: list[Look] = field(default_factory=list)

    @property
    def has_failed(self) -> bool:
        """True if some account could not be looked at or something could not be ended."""
        return any(look.error for look in self.looks)


def reap(*, is_dry: bool = False, accounts: Iterable[CloudAccount] | None = None) -> ReapReport:
    """Look at every account, or those given; when dry nothing is ended and nothing written."""
    report, until = ReapReport(is_dry), monotonic() + BUDGET_S
    due = list(accounts_to_reap(_now()) if accounts is None else accounts)
    for index, account in enumerate(due):
        look = Look(account.name, account.provider)
        report.looks.append(look)
        with _lock_account(account) as is_alone:
            if not is_alone:
                look.is_skipped = True
            elif monotonic() > until:
                # An error too, so that the command ends with one: nobody has looked for machines there.
                look.is_skipped, look.error = True, NO_TIME
                if not is_dry:
                    look_record_delay(account=account, now=_now())
            else:
                share = max(ACCOUNT_S, (until - monotonic()) / (len(due) - index))
                _look(account, look, min(until, monotonic() + share), is_dry=is_dry)
    return report


def _look(account: CloudAccount, look: Look, until: float, *, is_dry: bool) -> None:
    if not is_dry:
        # Written before the look: one that is killed must not put the account first again.
        look_begin(account=account, at=_now())
    try:
        _Reaping(account, look, until, is_dry=is_dry).work()
    except Exception as error:  # an account's defect does not keep the others waiting
        log.exception("reaping %s failed", account.pk)
        look.error = f"{type(error).__name__}: {error}"
        if not is_dry:
            look_record_failure(account=account, error=look.error)


@contextmanager
def _lock_account(account: CloudAccount) -> Iterator[bool]:
    """True if nobody else reaps the account; PostgreSQL lets go of it when this process dies."""
    # A lock of the session: a look is many transactions, and calls of the provider between them.
    # The keys of PostgreSQL's advisory locks are signed numbers of 32 bits.
    key = int.from_bytes(account.pk.bytes[:4], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCK, key])
        is_alone = bool(cursor.fetchone()[0])
    try:
        yield is_alone
    finally:
        if is_alone:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", [LOCK, key])


def _now() -> dt.datetime:
    """By PostgreSQL's clock, which is the same for all workers."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: dt.datetime = cursor.fetchone()[0]
    return now


class _Reaping:
    """A look at one account."""

    def __init__(self, account: CloudAccount, look: Look, until: float, *, is_dry: bool) -> None:
        account.refresh_from_db()  # another reaper may have been at it since it was read
        self.account, self.look, self.until, self.is_dry = account, look, until, is_dry
        self.settle = dt.timedelta(seconds=settings.PROVIDER_SETTLE_S)
        self.before = ending_of(account)
        self.ending: dict[str, Ending] = {}
        self.errors: list[str] = []
        self.unread: dict[str, str] = {}

    def work(self) -> None:
        if not self.is_dry:
            self.alarm_stuck()
        # Before the question: what somebody saw of a machine after this may be newer than the
        # answer.
        self.asked_at = _now()
        try:
            everything: machines.Inventory = self.ask(
                methodcaller("inventory", str(self.account.workspace_id))
            )
        except DriverError as error:
            self.record_failure(error)
            return
        listed = of_ours(everything)
        self.look.strangers = len(everything) - len(listed)
        if self.look.strangers and not self.is_dry:
            known = {thing.id for thing in listed}
            others = [thing for thing in everything if thing.id not in known]
            rented = Counter(
                thing.installation for thing in others if thing.kind == ResourceKind.MACHINE
            )
            strangers_alarm(account=self.account, machines=rented)
        self.unread = {region: str(error) for region, error in listed.unread.items()}
        self.now = _now()  # after the provider's answer, as everything below
        # After the provider was asked: a token is saved before it is used, so none is missing that is in
        # use.
        resources = self.rows_by_token(listed)
        self.look.machines = sum(thing.kind == ResourceKind.MACHINE for thing in listed)
        due = orphans(listed, _launches(resources), now=self.now, settle=self.settle)
        for orphan in due:
            self.end(orphan, resources.get(orphan.thing.token))
        if not self.is_dry:
            self.record_costs(listed, resources)
        self.close_launches(listed)
        self.finish({thing.id for thing in listed})

    def alarm_stuck(self) -> None:
        """Runs try for ever to end their machines; here people are notified that it takes too long."""
        for step in teardowns_stuck(self.account, _now()):
            detail = f"asked to go {step.attempt} times: {step.last_error}"
            resource_alarm(resource=step.run.resource, detail=detail)

    def record_failure(self, error: DriverError) -> None:
        self.look.error = str(error)
        log.warning("%s cannot be looked at: %s", self.account, self.look.error)
        if not self.is_dry:
            look_record_failure(account=self.account, error=self.look.error)

    def finish(self, listed: Collection[str]) -> None:
        for key, entry in self.before.items():
            # Not listed because nobody answered: it is not gone.
            if self.unread and entry.region in {"", *self.unread}:
                self.ending.setdefault(key, entry)
        self.look.waiting = [f"{key}: {entry.why}" for key, entry in self.ending.items()]
        gone = self.before.keys() - self.ending.keys() - set(listed)
        self.look.verified = [key for key in self.before if key in gone]
        for key in self.look.verified:
            log.info("%s of %s is gone", key, self.account)
        if not self.is_dry:
            surplus_close(self.account, listed, self.unread, asked_at=self.asked_at, now=self.now)
        refusals = [f"{region}: {why}" for region, why in self.unread.items()]
        self.look.error = "; ".join([*refusals, *self.errors])
        if not self.is_dry:
            look_record(account=self.account, at=self.now, ending=self.ending, unread=self.unread)

    # --- the parts of a look ------------------------------------------------------------------

    def rows_by_token(self, listed: Sequence[machines.ProviderResource]) -> dict[str, Resource]:
        """Ours by token: of any account, two of them may lead into one cloud."""
        # A person may have changed a tag: what is no id of ours must not end the look as a database error.
        tokens = {thing.token for thing in listed if _is_uuid(thing.token)}
        return {str(row.pk): row for row in resources_of_tokens(self.account, tokens)}

    def end(self, orphan: Orphan, resource: Resource | None) -> None:
        """Ask it to go, and remember that until it is gone."""
        thing, why = orphan.thing, orphan.why
        self.look.ended.append(f"{thing.id}: {why}")
        if self.is_dry:
            return
        entry = self.before.get(thing.id)
        if entry is None:
            entry = Ending(self.now.isoformat(), why, thing.region)
            # Once for each thing, not each minute until it is gone.
            ending_audit(
                account=self.account,
                resource=resource,
                id=thing.id,
                kind=thing.kind,
                region=thing.region,
                token=thing.token,
                launched_at=thing.launched_at and thing.launched_at.isoformat(),
                why=why,
            )
            log.warning("ending %s %s of %s: %s", thing.kind, thing.id, self.account, why)
        try:
            self.ask(methodcaller("terminate", thing), is_end=True)
            entry = replace(entry, error="")
        except DriverError as error:
            # Without time left nothing was asked: no failure of the provider, so no alarm.
            is_failure = not isinstance(error, TimeIsUp)
            entry = replace(entry, failed=entry.failed + is_failure, error=str(error))
            self.errors.append(f"{thing.id}: {error}")
        self.ending[thing.id] = entry

    def record_costs(
        self, listed: Sequence[machines.ProviderResource], resources: dict[str, Resource]
    ) -> None:
        """Keep the ledger of living machines up to now, and of those that ended of themselves."""
        for thing in listed:
            resource = resources.get(thing.token)
            if resource is None or thing.kind != ResourceKind.MACHINE:
                continue
            # Booked by the account that rented it; another one into the same cloud sees it, too.
            if resource.account_id != self.account.pk:
                continue
            is_closed = resource.state == ResourceState.GONE
            is_named = thing.id == resource.provider_id
            # Nobody else will name it.
            is_nameless = not (resource.provider_id or is_closed) and resource.run.is_finished
            if not (is_named or is_nameless):
                # Also while its run may still name it: it may end before.
                surplus_book(resource, thing, self.now)
            elif not is_closed:
                resource_mark_created(
                    resource=resource,
                    provider_id=thing.id,
                    launched_at=thing.launched_at,
                    zone=thing.zone,
                )
                ledger_record(resource=resource, until=self.now)

    def close_launches(self, listed: Sequence[machines.ProviderResource]) -> None:
        """Launches of ended runs of which the provider lists nothing any more."""
        tokens = {thing.token for thing in listed}
        for resource in resources_left(self.account):
            # Where a region was not read, nothing is known of what it does not list.
            if str(resource.pk) in tokens or resource.region in self.unread:
                continue
            try:
                if self.is_left(resource):
                    continue
                machine = self.describe(resource)
            except DriverError as error:
                self.errors.append(f"{resource.provider_id}: {error}")
                continue
            if machine.state not in machines.OVER:
                self.end(Orphan(machine, "its run has ended"), resource)
            elif machine.state == machines.ProviderResourceState.GONE or self.is_settled(resource):
                self.look.closed.append(str(resource))
                if not self.is_dry:
                    resource_mark_gone(resource=resource, ended_at=machine.ended_at)

    def is_left(self, resource: Resource) -> bool:
        """True if something of a launch is left after all. Some providers list what is over for a while where
        one launch is asked for: it is booked, as nobody may have seen it alive."""
        token = str(resource.pk)
        tag = str(resource.workspace_id)
        everything: machines.Inventory = self.ask(
            methodcaller("inventory", tag, token=token, region=resource.region)
        )
        listed = [thing for thing in of_ours(everything) if thing.token == token]
        if not self.is_dry:
            self.record_costs(listed, {token: resource})
        return any(thing.state not in machines.OVER for thing in listed)

    def describe(self, resource: Resource) -> machines.ProviderResource:
        """ABSENT for one that the provider never named."""
        handle = machines.ProviderResource(
            id=resource.provider_id,
            state=machines.ProviderResourceState.ABSENT,
            token=str(resource.pk),
            region=resource.region,
            zone=resource.zone,
        )
        if not handle.id:
            return handle
        described = self.ask(lambda provider: provider.describe(handle))
        return next(iter(of_ours(machines.Inventory([described]))), handle)

    def is_settled(self, resource: Resource) -> bool:
        return resource.called_at is None or resource.called_at + self.settle < self.now

    # --- calls --------------------------------------------------------------------------------

    def ask(
        self, call: Callable[[ProviderDriver], Coroutine[Any, Any, T]], *, is_end: bool = False
    ) -> T:
        """A call to the provider, once the account's bucket has it; raises DriverError."""
        self.check_time(0)
        # Waited for here and not by the calls themselves: only the look knows how much time it has
        # left.
        while True:
            try:
                return ProviderCalls(self.account, is_end=is_end).ask(call)
            except NoCallLeft as none:
                self.check_time(none.seconds)
                sleep(none.seconds)

    def check_time(self, more_s: float) -> None:
        if monotonic() + more_s > self.until:
            raise TimeIsUp(Reason.TIMEOUT, "no time is left in this look", retryable=True)


def _launches(resources: dict[str, Resource]) -> dict[str, Launch]:
    return {
        token: Launch(
            is_over=row.run.is_finished or row.state == ResourceState.GONE,
            provider_id=row.provider_id,
            lifetime=dt.timedelta(seconds=row.lifetime_s),
        )
        for token, row in resources.items()
    }


def _is_uuid(text: str) -> bool:
    try:
        # Python reads other spellings of a UUID as well, such as one in braces, which are no token
        # of ours.
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
