"""Machines of 2013 and processors of 2014 are history: they can no longer be bought."""

import datetime as dt

from django.db import migrations, models

SLUG_ENDINGS = ("-2013", "-2014")
KNOWN_ON = dt.date(2026, 11, 22)


def end_the_examples(apps, schema_editor):
    offers = apps.get_model("catalog", "Offer").objects.filter(is_demo=True)
    for ending in SLUG_ENDINGS:
        offers.filter(slug__endswith=ending).update(discontinued_on=KNOWN_ON)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0007_sustained_use_of_the_demo")]

    operations = [
        migrations.AddField(
            model_name="offer",
            name="discontinued_on",
            field=models.DateField(blank=True, null=True),
        ),
        migrations.RunPython(end_the_examples, migrations.RunPython.noop),
    ]
