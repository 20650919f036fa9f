"""Data stored ready for rankings, and the parts of it to be made again (catalog.stored)."""

from django.db import models

from backend.catalog.models.offers import Offer
from backend.catalog.models.prices import PriceFeed, PriceObservation, QuotedPrice


class CurrentPrice(QuotedPrice):
    """The newest published observation of each price, as catalog.stored keeps it.

    No constraint ties it to what it is of: a row that is left behind is marked, and goes.
    """

    observation = models.OneToOneField(
        PriceObservation, on_delete=models.DO_NOTHING, db_constraint=False, primary_key=True
    )
    offer = models.ForeignKey(
        Offer, on_delete=models.DO_NOTHING, db_constraint=False, related_name="current_prices"
    )
    feed = models.ForeignKey(
        PriceFeed,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        null=True,
        related_name="+",
    )
    is_questioned = models.BooleanField(db_column="is_doubted")
    """True if its list states another one, which waits for a person."""

    class Meta:
        indexes = [models.Index(fields=("purchase_model", "term"), name="current_price_by_model")]


class StoredMark(models.Model):
    """Something stored has to be made anew: triggers append one with every change beneath it."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=10)
    """prices or summaries."""
    offer_id = models.UUIDField(null=True)
    """None = of every offer."""
    metric = models.CharField(max_length=40, blank=True)

    def __str__(self) -> str:
        return f"{self.kind} {self.offer_id} {self.metric}".strip()


class StoredState(models.Model):
    """A row: which formulas made what is stored, and how often it was made anew."""

    prices = models.PositiveSmallIntegerField(default=0)
    summaries = models.PositiveSmallIntegerField(default=0)
    refreshes = models.BigIntegerField(default=0)
    prices_begin_on = models.DateField(null=True)
    """First day of the next announced price; from then on current prices are out of date."""
    changes_since = models.BigIntegerField(null=True)
    """Number of the transaction from which on every change is a StoredChange."""

    def __str__(self) -> str:
        return str(self.refreshes)


class StoredChange(models.Model):
    """A change of data that rankings read: whoever holds it reads only that again.

    The database appends it (catalog_take_marks, and triggers of offers and what belongs to them)
    and forgets it after a day.
    """

    id = models.BigAutoField(primary_key=True)
    transaction_number = models.BigIntegerField(db_index=True)
    """Number of the transaction that made the change; numbers of rows do not follow the order of
    commits."""
    changed_at = models.DateTimeField(db_index=True)
    kind = models.CharField(max_length=10)
    """offers, prices or summaries."""
    offer_id = models.UUIDField(null=True)
    """None = of every offer."""
    metric = models.CharField(max_length=40, blank=True)

    def __str__(self) -> str:
        return f"{self.kind} {self.offer_id} {self.metric}".strip()
