"""Figures of a disk or a network name their target: two targets never share a score."""

from django.db import migrations, models


TARGET = models.CharField(blank=True, db_default="", default="", max_length=120)


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0037_machines_beside_a_launch")]

    operations = [
        migrations.AddField(model_name="sample", name="target", field=TARGET),
        migrations.AddField(model_name="storedsummary", name="target", field=TARGET),
    ]
