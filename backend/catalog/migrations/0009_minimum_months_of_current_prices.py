"""The minimum months of a price stand beside it where rankings read it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0008_discontinued")]

    operations = [
        migrations.AddField(
            model_name="currentprice",
            name="minimum_months",
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
    ]
