"""Offers that are one machine type in several regions: their published figures stand with one of them.

A public figure is of a type. The first offer of a type, its lead, holds it; the others, its twins, name
their lead, and get a copy of its scores within the database, since they are tens of thousands.
"""

from django.db import connection, transaction
from django.db.models import Q, QuerySet

from backend.benchmarks.models import StoredSummary
from backend.benchmarks.services.summaries import STORED, summaries_refresh
from backend.catalog.models import Offer, OfferKind
from backend.core.statistics import tables_analyze

# What figures and their intervals depend on beside the tables.
TYPE = ("provider_id", "name", "kind", "vcpu_kind")
# A later table must not change the lead: its figures would be left with the former one.
FIRST = ("created_at", "slug")
LINK = f"""
UPDATE catalog_offer SET figures_of_id = nullif(lead_id, catalog_offer.id) FROM (
    SELECT id, first_value(id) OVER (
        PARTITION BY {", ".join(TYPE)} ORDER BY NOT is_demo, {", ".join(FIRST)}
    ) AS lead_id
    FROM catalog_offer WHERE workspace_id IS NULL AND region_id IS NOT NULL AND kind <> 'dedicated'
) AS alike
WHERE alike.id = catalog_offer.id AND figures_of_id IS DISTINCT FROM nullif(lead_id, alike.id)
"""  # noqa: S608 - names of our own columns only
# Where the lead was measured, its published score is not stored: such twins are marked.
COPY = f"""
WITH unlike AS (
    INSERT INTO catalog_storedmark (kind, offer_id, metric)
    SELECT DISTINCT 'summaries', twin.id, lead.metric
    FROM catalog_offer AS twin JOIN benchmarks_storedsummary AS lead ON lead.offer_id = figures_of_id
    JOIN benchmarks_sample AS figure
        ON (figure.offer_id, figure.metric, figure.source) = (lead.offer_id, lead.metric, 'published')
    WHERE lead.source <> 'published'
)
INSERT INTO benchmarks_storedsummary AS stored (offer_id, metric, {", ".join(STORED)})
SELECT twin.id, metric, {", ".join(f"lead.{name}" for name in STORED)}
FROM catalog_offer AS twin JOIN benchmarks_storedsummary AS lead ON lead.offer_id = figures_of_id
WHERE lead.source = 'published'
ON CONFLICT (metric, offer_id) DO UPDATE
SET {", ".join(f"{name} = EXCLUDED.{name}" for name in STORED)}
WHERE stored.source = 'published' AND ({", ".join(f"stored.{name}" for name in STORED)})
    IS DISTINCT FROM ({", ".join(f"EXCLUDED.{name}" for name in STORED)})
"""  # noqa: S608 - names of our own columns only


def offers_without_twin() -> QuerySet[Offer]:
    """Offers of the demo that get figures from the tables: leads, and servers rented whole."""
    sold = Offer.objects.filter(is_demo=True, region__isnull=False)
    leads = sold.exclude(kind=OfferKind.DEDICATED).order_by(*TYPE, *FIRST).distinct(*TYPE)
    return sold.filter(Q(kind=OfferKind.DEDICATED) | Q(pk__in=leads.values("pk")))


@transaction.atomic
def twins_refresh() -> None:
    """Name the lead of every twin and give twins the published scores of their leads."""
    # First: scores of leads are copied below, and its lock keeps two from linking offers at once.
    summaries_refresh()
    with connection.cursor() as cursor:
        cursor.execute(LINK)
        cursor.execute(COPY)
    tables_analyze(StoredSummary)
    summaries_refresh()
