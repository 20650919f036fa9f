"""Stored campaigns as the documents that people state."""

from backend.benchmarks.calc.campaign_document import STORED, CampaignDocument
from backend.benchmarks.models import Campaign


def campaign_document(campaign: Campaign) -> CampaignDocument:
    """The campaign as a person would state it."""
    return CampaignDocument.model_construct(
        name=campaign.name,
        hosts=list(campaign.hosts.values_list("pk", flat=True)),
        offers=list(campaign.offers.values_list("slug", flat=True)),
        **{name: getattr(campaign, name) for name in STORED},
    )
