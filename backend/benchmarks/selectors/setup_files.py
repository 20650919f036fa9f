"""A workspace's hosts, campaigns, schedules and subscriptions, as a file states them."""

from typing import Any

from backend.accounts.models import Workspace
from backend.benchmarks.calc.host_document import HostFields
from backend.benchmarks.calc.schedules import ScheduleEntry, WindowEntry
from backend.benchmarks.models import Campaign, Host, Schedule
from backend.benchmarks.selectors.campaign_documents import campaign_document
from backend.benchmarks.selectors.hosts import host_document, hosts_visible
from backend.benchmarks.selectors.schedules import schedule_document
from backend.notifications.models import Subscription

STATIC_DRIVER = "static"


def setup_current(workspace: Workspace) -> dict[str, Any]:
    """The file's content; defaults are left out, and so are secrets and what was learned."""
    hosts = hosts_visible(workspace).filter(driver=STATIC_DRIVER, is_rented=False)
    campaigns = Campaign.objects.filter(workspace=workspace).order_by("name")
    schedules = Schedule.objects.filter(workspace=workspace).order_by("campaign__name", "pk")
    subscriptions = Subscription.objects.filter(workspace=workspace).order_by("channel", "address")
    return {
        "schema_version": 1,
        # A bastion before what it leads to.
        "hosts": [
            host_entry(known_host) for known_host in sorted(hosts, key=lambda host: len(host.route))
        ],
        "campaigns": [campaign_entry(campaign) for campaign in campaigns],
        "schedules": [schedule_entry(schedule) for schedule in schedules],
        "subscriptions": [subscription_entry(subscription) for subscription in subscriptions],
    }


def host_entry(host: Host) -> dict[str, Any]:
    stated = host_document(host).model_dump(include=set(HostFields.model_fields))
    return {**stated, "bastion": host.bastion.name if host.bastion else None}


def campaign_entry(campaign: Campaign) -> dict[str, Any]:
    document = campaign_document(campaign)
    parameters = dict(document.parameters)
    peer = Host.objects.filter(pk=parameters["peer"]).first() if "peer" in parameters else None
    if peer is not None:
        parameters["peer"] = peer.name
    return {
        "name": document.name,
        "hosts": sorted(campaign.hosts.values_list("name", flat=True)),
        **document.model_dump(exclude={"name", "hosts"}),
        "offers": sorted(document.offers),
        "parameters": parameters,
    }


def schedule_entry(schedule: Schedule) -> dict[str, Any]:
    document = schedule_document(schedule)
    window = document.window and WindowEntry.model_construct(**dict(document.window))
    entry = ScheduleEntry.model_construct(**{**dict(document), "window": window})
    return {
        "campaign": schedule.campaign.name,
        **entry.model_dump(by_alias=True, exclude={"campaign"}),
    }


def subscription_entry(subscription: Subscription) -> dict[str, Any]:
    campaign = subscription.campaign
    named = Campaign.objects.filter(pk=campaign).first() if campaign else None
    return {
        "channel": subscription.channel,
        "address": subscription.address,
        "kinds": sorted(subscription.kinds),
        "campaign": named.name if named else None,
        "is_enabled": subscription.is_enabled,
    }
