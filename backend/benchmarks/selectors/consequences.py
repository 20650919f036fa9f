"""Consequences of deleting an object, said before it is done: what goes with it, what stays."""

from django.db.models import Q

from backend.accounts.models import Workspace
from backend.benchmarks.models import Campaign, Evidence, Host, HostState, Run
from backend.benchmarks.selectors.hosts import hosts_with_login_key
from backend.catalog.models import Offer
from backend.foundation.texts import join_texts
from backend.foundation.texts import text as _


def earlier_key_consequences(workspace: Workspace) -> list[str]:
    """Consequences of dropping the login key that was replaced."""
    hosts = hosts_with_login_key(workspace)
    return [
        _("{name} has to accept the new key, or its runs fail.", name=host.name) for host in hosts
    ]


def host_consequences(host: Host) -> list[str]:
    losing = [
        _("Campaign {name} no longer measures it.", name=campaign.name)
        for campaign in host.campaigns.all()
    ]
    return [
        _("Its private key and its address are deleted here."),
        *losing,
        _("Its runs and their results stay with {name}.", name=host.offer.name),
    ]


def campaign_consequences(campaign: Campaign) -> list[str]:
    ending = [
        _("Its schedule ends: {schedule}.", schedule=schedule)
        for schedule in campaign.schedules.all()
    ]
    return [*ending, _("Its runs and their results stay.")]


def import_consequences(evidence: Evidence) -> list[str]:
    """Consequences of deleting a text that was imported for an offer."""
    count, name = evidence.samples.count(), evidence.offer.name if evidence.offer else ""
    return [
        _("The text and its figures of {name} are deleted: {count}.", count=count, name=name),
        _("Its scores are calculated without them; frozen reports keep theirs."),
    ]


def run_consequences(run: Run) -> list[str]:
    """Consequences of deleting a run that came as an archive."""
    count = run.samples.count()
    return [
        _(
            "Its raw output and its figures of {name} are deleted: {count}.",
            count=count,
            name=run.offer.name,
        ),
        _("Its scores are calculated without them; frozen reports keep theirs."),
    ]


def offer_consequences(offer: Offer) -> list[str]:
    """Consequences of deleting an offer of one's own; of what everybody sees, objects of other
    workspaces are left out."""
    owner = offer.workspace
    losing = [
        _("The campaign {name} no longer measures it.", name=campaign.name)
        for campaign in offer.campaigns.filter(workspace=owner)
    ]
    prices = offer.prices.count()
    figures = offer.samples.filter(Q(run=None) | Q(run__workspace=owner)).count()
    return [
        _(
            "Its prices ({prices}) and figures ({figures}) are deleted.",
            prices=prices,
            figures=figures,
        ),
        *losing,
        _("Frozen reports keep it."),
    ]


def offer_uses(offer: Offer) -> str:
    """Why an offer cannot be deleted; "" where it can."""
    hosts = offer.hosts.filter(is_rented=False).exclude(state=HostState.GONE)
    reasons = [_("{name} is a host of it", name=host.name) for host in hosts]
    if count := offer.runs.count():
        reasons.append(_("runs that measured it: {count}", count=count))
    reasons += [
        _("the cost model {name} is of it", name=model.name) for model in offer.hardware.all()
    ]
    return join_texts("; ", reasons)
