"""Exchange rates, and the count of all changes."""

from django.db import models


class ExchangeRate(models.Model):
    """Units of a currency for one euro on a date."""

    date = models.DateField()
    currency = models.CharField(max_length=3)
    units_per_eur = models.DecimalField(max_digits=20, decimal_places=10)
    source = models.CharField(max_length=200)

    class Meta:
        ordering = ("-date", "currency")
        constraints = [
            models.UniqueConstraint(fields=("date", "currency"), name="rate_once_a_day"),
            models.CheckConstraint(
                condition=models.Q(units_per_eur__gt=0), name="rate_is_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.units_per_eur} {self.currency}/EUR on {self.date}"


class DataVersion(models.Model):
    """A row whose number grows whenever a price, offer, rate or sample changes."""

    number = models.BigIntegerField(default=1)
    changed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return str(self.number)
