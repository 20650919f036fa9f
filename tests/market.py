"""The tables that come with the program, whole or a few rows of each, loaded once a process."""

from django.conf import settings
from django.db.models import F, Window
from django.db.models.functions import RowNumber

from backend.benchmarks.services.demo import demo_load
from backend.benchmarks.services.summaries import summaries_refresh
from backend.catalog.models import Offer
from backend.catalog.services.current_prices import prices_refresh
from backend.catalog.services.data_version import data_version_bump
from tests.database import Loaded

OFFERS_OF_EACH_KIND = 12


def _whole() -> None:
    demo_load(settings.FIXTURE_DIR)


def _few() -> None:
    """The first offers of each provider, region and kind, and all of those that are history."""
    WHOLE_MARKET.load()
    each = [F("provider"), F("region"), F("kind"), F("discontinued_on")]
    numbered = Offer.objects.annotate(
        number=Window(RowNumber(), partition_by=each, order_by="slug")
    )
    numbers = numbered.filter(discontinued_on=None).values_list("pk", "number")
    Offer.objects.filter(pk__in=[pk for pk, n in numbers if n > OFFERS_OF_EACH_KIND]).delete()
    prices_refresh()
    summaries_refresh()
    data_version_bump()


WHOLE_MARKET, FEW_OFFERS = Loaded(_whole), Loaded(_few)
