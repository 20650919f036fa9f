"""How long answers of price lists are kept: never shorter than a price in force refers to them."""

import datetime as dt

from django.db.models import Exists, OuterRef, QuerySet

from backend.catalog.models import CurrentPrice, PriceObservation, PricePayload
from backend.core.retention import Retention


def _payloads(before: dt.datetime) -> QuerySet[PricePayload]:
    in_force = PriceObservation.objects.filter(
        payload_sha256=OuterRef("sha256"),
        feed=OuterRef("feed"),
        pk__in=CurrentPrice.objects.values("observation"),
    )
    return PricePayload.objects.filter(~Exists(in_force), fetched_at__lt=before)


POLICIES = (Retention("price payloads", "RETAIN_PAYLOADS_DAYS", _payloads),)
