"""Objects of people that name an offer, and lose it when it is deleted."""

import json
from typing import Any

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from backend.accounts.models import Workspace
from backend.benchmarks.selectors.consequences import offer_consequences
from backend.catalog.models import Offer
from backend.foundation.texts import text as _
from backend.rankings.models import SavedView
from backend.scenarios.models import Scenario


def offer_mentions(offer: Offer, workspace: Workspace) -> list[str]:
    """All that goes with an offer of the workspace, and what stays of it."""
    scenarios = _naming(Scenario.objects.filter(frozen_at=None), "document", offer, workspace)
    # Also those that only their owners see: their names stay with them.
    views = _naming(SavedView.objects.all(), "params", offer, workspace)
    hidden = [view for view in views if view.is_private]
    return [
        *offer_consequences(offer),
        *(
            _("Scenario {name} names it, and has no price for it any more.", name=scenario.name)
            for scenario in scenarios
        ),
        *(_("View {name} names it.", name=view.name) for view in views if view not in hidden),
        *([_("Private views of others that name it: {n}.", n=len(hidden))] if hidden else []),
    ]


def _naming(rows: QuerySet[Any], field: str, offer: Offer, workspace: Workspace) -> QuerySet[Any]:
    """Rows in whose JSON the offer's slug is a text of its own."""
    rows = rows.filter(workspace=workspace).annotate(written=Cast(field, TextField()))
    named: QuerySet[Any] = rows.filter(written__contains=json.dumps(offer.slug))
    return named
