"""The quotes that a workspace was given."""

from django.db.models import QuerySet

from backend.accounts.services.workspaces import DEFAULT_WORKSPACE
from backend.catalog.models import PriceObservation
from backend.catalog.selectors.price_list import PriceFilter, price_list

# What the source of a quote's price begins with.
QUOTE = "quote"


def quotes_listed(workspace_slug: str = DEFAULT_WORKSPACE) -> QuerySet[PriceObservation]:
    """The workspace's own, as price_list shows prices; those that wait among them, refused ones not."""
    return (
        price_list(PriceFilter(state="all"), workspace_slug)
        .filter(offer__workspace__slug=workspace_slug, feed=None, source__startswith=QUOTE)
        .filter(unit="month", purchase_model="monthly")
        .exclude(is_published=False, reviewed_at__isnull=False)
    )
