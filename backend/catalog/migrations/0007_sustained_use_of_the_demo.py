"""The demo's Google prices name their table of discounts; their full months were rows of their own."""

from django.db import migrations
from django.db.models import Q

LIST = "Google Compute Engine list prices"
TABLES = {"n1": ("n1", "m1", "m2", "f1", "g1"), "n2": ("n2", "n2d", "c2")}


def name_tables(apps, schema_editor):
    listed = apps.get_model("catalog", "PriceObservation").objects.filter(
        source=LIST, offer__is_demo=True, purchase_model="on_demand"
    )
    listed.filter(basis="sustained_use").delete()
    for table, families in TABLES.items():
        is_of_family = Q()
        for family in families:
            is_of_family |= Q(offer__name__startswith=f"{family}-")
        listed.filter(is_of_family, unit="hour").update(sustained_use=table)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0006_tax_of_2013")]

    operations = [migrations.RunPython(name_tables, migrations.RunPython.noop)]
