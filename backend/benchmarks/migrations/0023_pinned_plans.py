"""The plan that a run began with."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0022_drains")]

    operations = [migrations.AddField("run", "plan", models.JSONField(null=True))]
