from django.db import migrations, models

import backend.catalog.models.prices

IDENTITY = (
    "offer",
    "zone",
    "operating_system",
    "tenancy",
    "purchase_model",
    "term",
    "upfront",
    "currency",
    "basis",
    "plan",
)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0016_vcpus_of_processors")]

    operations = [
        migrations.RenameField("priceobservation", "effective_from", "valid_from"),
        migrations.AddField(
            "priceobservation",
            "applies_to",
            models.CharField(db_default="all", default="all", max_length=3),
        ),
        migrations.AddField(
            "priceobservation",
            "began_at",
            models.GeneratedField(
                db_persist=True,
                expression=backend.catalog.models.prices.Began(),
                output_field=models.DateTimeField(),
            ),
        ),
        migrations.RemoveConstraint("priceobservation", "price_once_an_observation"),
        migrations.AddConstraint(
            "priceobservation",
            models.UniqueConstraint(
                fields=(*IDENTITY, "began_at", "observed_at"), name="price_once_an_observation"
            ),
        ),
        migrations.AddIndex(
            "priceobservation",
            models.Index(
                condition=models.Q(valid_from__isnull=False),
                fields=["valid_from"],
                name="price_by_first_day",
            ),
        ),
        migrations.AddField("storedstate", "prices_begin_on", models.DateField(null=True)),
    ]
