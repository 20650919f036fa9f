"""Where the price of a ranked row was read."""

from collections.abc import Iterable

from backend.catalog.models import PriceObservation
from backend.rankings.selectors.rows import RankingRow


def price_sources(rows: Iterable[RankingRow]) -> dict[str, str]:
    """The source of each row's price as its observation names it, by the offer's identifier."""
    offers = {row.price_id: row.offer_id for row in rows if row.price_id is not None}
    sources = PriceObservation.objects.filter(pk__in=offers).values_list("pk", "source")
    return {offers[pk]: source for pk, source in sources}
