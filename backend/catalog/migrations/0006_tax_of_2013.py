"""The table of 2013 states no tax. Clouds list prices in dollars before tax: they count as net."""

from django.db import migrations

TABLE = "http://www.cmips.net/2013/09/21/introducing-cups/"


def count_as_net(apps, schema_editor):
    prices = apps.get_model("catalog", "PriceObservation").objects
    prices.filter(source=TABLE, tax_basis="unknown").update(tax_basis="net")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0005_anomalies")]

    operations = [migrations.RunPython(count_as_net, migrations.RunPython.noop)]
