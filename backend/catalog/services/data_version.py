"""The number that grows with every change of what rankings show."""

from django.db.models import F

from backend.catalog.models import (
    DataVersion,
)
from backend.core import clock


def data_version_bump() -> None:
    """Count up after any change of an offer, price, rate or sample, in the same transaction."""
    changed = DataVersion.objects.filter(pk=1).update(
        number=F("number") + 1, changed_at=clock.now()
    )
    if not changed:
        _, is_new = DataVersion.objects.get_or_create(pk=1)
        if not is_new:
            data_version_bump()
