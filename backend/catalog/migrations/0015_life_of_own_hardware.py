"""Prices of own hardware say how long it is paid for."""

from django.db import migrations
from django.db.models import IntegerField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast


def fill_lives(apps, schema_editor):
    life = Cast(KeyTextTransform("life_months", "document"), IntegerField())
    models = apps.get_model("catalog", "HardwareModel").objects.annotate(life=life)
    prices = apps.get_model("catalog", "PriceObservation").objects
    for price_id, months in models.exclude(life=None).values_list("price_id", "life"):
        prices.filter(pk=price_id).update(minimum_months=months)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0014_cpu_credits")]

    operations = [migrations.RunPython(fill_lives, migrations.RunPython.noop)]
