"""Texts of evidence may lie in an object store, by their key there."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    # An index of a large table is made beside writers, which no transaction can hold.
    atomic = False

    dependencies = [
        ("benchmarks", "0035_earlier_login_key"),
        ("catalog", "0013_price_by_currency"),
    ]

    operations = [
        migrations.AddField(
            model_name="evidence",
            name="object_key",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        AddIndexConcurrently(
            model_name="evidence",
            index=models.Index(
                models.F("created_at"),
                condition=models.Q(("object_key", "")),
                name="evidence_in_the_database",
            ),
        ),
    ]
