"""Makes a workspace's hosts, campaigns, schedules and subscriptions what a file says they are."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from backend.accounts.models import Workspace
from backend.benchmarks.calc.campaign_document import CampaignDocument, CampaignEntry
from backend.benchmarks.calc.host_document import HostDocument, HostEntry
from backend.benchmarks.calc.schedules import ScheduleEntry
from backend.benchmarks.calc.setup_document import SetupFile, SubscriptionEntry, with_lines
from backend.benchmarks.models import Campaign, Host, Schedule
from backend.benchmarks.selectors import setup_files as current
from backend.benchmarks.selectors.hosts import hosts_visible
from backend.benchmarks.services.campaigns import (
    campaign_create,
    campaign_delete,
    campaign_update,
)
from backend.benchmarks.services.hosts import host_create, host_remove, host_update
from backend.benchmarks.services.schedules import schedule_create, schedule_delete, schedule_update
from backend.core.applying import Faults
from backend.foundation.errors import InvalidValue
from backend.notifications.models import Subscription
from backend.notifications.selectors.subscriptions import SubscriptionDocument
from backend.notifications.services.subscriptions import (
    subscription_create,
    subscription_delete,
    subscription_update,
)


@dataclass(frozen=True)
class SetupChange:
    """A difference between file and workspace."""

    action: str
    """create, update or delete."""
    kind: str
    name: str
    fields: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    """Changed fields of an update as (old, new)."""


@transaction.atomic
def setup_apply(
    *, workspace: Workspace, file: SetupFile, actor: str, is_pruning: bool, is_dry: bool
) -> list[SetupChange]:
    """Apply the file; the differences in the order in which they are put right. Nothing stays where
    `is_dry`.

    Only parts that the file has are compared, and what it does not name is deleted only where
    `is_pruning`. InvalidDocument has every fault by its line, and then nothing was changed.
    """
    applying = _Applying(workspace, file, actor)
    applying.apply(is_pruning=is_pruning)
    if applying.errors:
        raise with_lines(applying.errors, file.lines)
    if is_dry:
        transaction.set_rollback(True)
    return applying.changes


class _Applying(Faults):
    def __init__(self, workspace: Workspace, file: SetupFile, actor: str) -> None:
        super().__init__()
        self.workspace = workspace
        self.document = file.document
        self.actor = actor
        self.changes: list[SetupChange] = []

    def apply(self, *, is_pruning: bool) -> None:
        each: list[tuple[str, Callable[[Any], Any]]] = [
            ("hosts", self._host),
            ("campaigns", self._campaign),
            ("schedules", self._schedule),
            ("subscriptions", self._subscription),
        ]
        kept: dict[str, set[Any]] = {}
        for part, put in each:
            entries = getattr(self.document, part)
            if entries is None:
                continue
            self._check_names(part, entries)
            self._kept = kept[part] = set()
            for index, entry in enumerate(entries):
                with self.faults_at(f"/{part}/{index}"):
                    self._kept.add(put(entry).pk)
        if is_pruning and not self.errors:
            self._prune(kept)

    def _check_names(self, part: str, entries: Iterable[Any]) -> None:
        seen: set[str] = set()
        for index, entry in enumerate(entries):
            name = getattr(entry, "name", None)
            if name in seen:
                self.errors.append((f"/{part}/{index}/name", f"{name!r} stands twice"))
            if name is not None:
                seen.add(name)

    def _apply_change(
        self, kind: str, name: str, before: dict[str, Any], after: dict[str, Any]
    ) -> bool:
        differing = {
            key: (before[key], value) for key, value in after.items() if before[key] != value
        }
        if differing:
            self.changes.append(SetupChange("update", kind, name, differing))
        return bool(differing)

    # --- hosts --------------------------------------------------------------------------------

    def _host(self, entry: HostEntry) -> Host:
        bastion = self._host_named(entry.bastion, "/bastion").pk if entry.bastion else None
        stated = {**dict(entry), "bastion": bastion}
        host = hosts_visible(self.workspace).filter(name=entry.name).first()
        if host is None:
            self.changes.append(SetupChange("create", "host", entry.name))
            document = HostDocument.read(stated)
            return host_create(workspace=self.workspace, document=document, actor=self.actor)
        # Of an offer that is made with it.
        del stated["kind"]
        after = entry.model_dump(exclude={"kind"}) | {"tags": sorted(entry.tags)}
        if self._apply_change("host", host.name, current.host_entry(host), after):
            return host_update(host=host, changes=stated, actor=self.actor)
        return host

    def _host_named(self, name: str, pointer: str) -> Host:
        host = hosts_visible(self.workspace).filter(name=name).first()
        if host is None:
            raise InvalidValue(pointer, f"no host is named {name!r}")
        return host

    # --- campaigns ----------------------------------------------------------------------------

    def _campaign(self, entry: CampaignEntry) -> Campaign:
        stated = entry.model_dump() | {
            "hosts": sorted(entry.hosts),
            "offers": sorted(entry.offers),
        }
        campaign = self._campaigns().filter(name=entry.name).first()
        if campaign is None:
            self.changes.append(SetupChange("create", "campaign", entry.name))
            document = CampaignDocument.read(self._with_ids(entry))
            return campaign_create(
                workspace=self.workspace, name=entry.name, plan=document, actor=self.actor
            )
        before = current.campaign_entry(campaign)
        if not self._apply_change("campaign", entry.name, before, stated):
            return campaign
        campaign_update(campaign=campaign, changes=self._with_ids(entry), actor=self.actor)
        return campaign

    def _with_ids(self, entry: CampaignEntry) -> dict[str, Any]:
        """The entry as a document, which identifies hosts."""
        parameters = dict(entry.parameters)
        if "peer" in parameters:
            peer = self._host_named(str(parameters["peer"]), "/parameters/peer")
            parameters["peer"] = str(peer.pk)
        hosts = [
            self._host_named(name, f"/hosts/{index}").pk for index, name in enumerate(entry.hosts)
        ]
        return {**dict(entry), "hosts": hosts, "parameters": parameters}

    def _campaigns(self) -> QuerySet[Campaign]:
        return Campaign.objects.filter(workspace=self.workspace)

    def _campaign_named(self, name: str) -> Campaign:
        campaign = self._campaigns().filter(name=name).first()
        if campaign is None:
            raise InvalidValue("/campaign", f"no campaign is named {name!r}")
        return campaign

    # --- schedules ----------------------------------------------------------------------------

    def _schedule(self, entry: ScheduleEntry) -> Schedule:
        """Schedules have no names: one that is the same is it, else the next of the campaign."""
        campaign = self._campaign_named(entry.campaign)
        stated = entry.model_dump(by_alias=True)
        rest = list(campaign.schedules.exclude(pk__in=self._kept))
        same = [host for host in rest if current.schedule_entry(host) == stated]
        named = [e for e in self.document.schedules or () if e.campaign == entry.campaign]
        # One that another entry states is that entry's.
        taken = [each.model_dump(by_alias=True) for each in named]
        free = [o for o in rest if current.schedule_entry(o) not in taken]
        if same:
            return same[0]
        if free and self._apply_change(
            "schedule", entry.campaign, current.schedule_entry(free[0]), stated
        ):
            return schedule_update(schedule=free[0], when=entry, actor=self.actor)
        self.changes.append(SetupChange("create", "schedule", entry.campaign))
        return schedule_create(campaign=campaign, when=entry, actor=self.actor)

    # --- subscriptions ------------------------------------------------------------------------

    def _subscription(self, entry: SubscriptionEntry) -> Subscription:
        campaign = self._campaign_named(entry.campaign).pk if entry.campaign else None
        row = Subscription.objects.filter(
            workspace=self.workspace, channel=entry.channel, address=entry.address,
            campaign=campaign,
        ).first()  # fmt: skip
        stated = entry.model_dump(exclude={"secret_env"}) | {"kinds": sorted(entry.kinds)}
        if row is None:
            self.changes.append(SetupChange("create", "subscription", entry.address))
            return subscription_create(
                workspace=self.workspace,
                document=SubscriptionDocument.read(
                    entry.model_dump(include={"channel", "address", "kinds"})
                    | {"enabled": entry.is_enabled, "secret": _secret(entry)}
                ),
                campaign=campaign,
                actor=self.actor,
            )
        if self._apply_change(
            "subscription", entry.address, current.subscription_entry(row), stated
        ):
            changes = {"kinds": entry.kinds, "enabled": entry.is_enabled}
            return subscription_update(subscription=row, changes=changes, actor=self.actor)
        return row

    # --- what the file does not name --------------------------------------------------------

    def _prune(self, kept: dict[str, set[Any]]) -> None:
        """In the order in which nothing is left that refers to what is deleted."""
        own = {"workspace": self.workspace}
        hosts = hosts_visible(self.workspace).filter(driver=current.STATIC_DRIVER, is_rented=False)
        parts: tuple[tuple[str, Any, Callable[..., None], str], ...] = (
            ("subscriptions", Subscription.objects.filter(**own), subscription_delete, "subscription"),
            ("schedules", Schedule.objects.filter(**own), schedule_delete, "schedule"),
            ("campaigns", self._campaigns(), campaign_delete, "campaign"),
            ("hosts", hosts, host_remove, "host"),
        )  # fmt: skip
        for part, rows, delete, kind in parts:
            if part not in kept:
                continue
            gone = list(rows.exclude(pk__in=kept[part]))
            if part == "hosts":
                gone.sort(key=lambda host: -len(host.route))
            for row in gone:
                with self.faults_at(f"/{part}"):
                    self.changes.append(SetupChange("delete", kind, _name(row)))
                    delete(**{kind: row}, actor=self.actor)


def _name(row: Any) -> str:
    return f"{row.campaign.name}: {row}" if isinstance(row, Schedule) else str(row)


def _secret(entry: SubscriptionEntry) -> str | None:
    if entry.secret_env is None:
        return None
    if entry.secret_env not in os.environ:
        raise InvalidValue("/secret_env", f"no variable {entry.secret_env} is set")
    return os.environ[entry.secret_env]
