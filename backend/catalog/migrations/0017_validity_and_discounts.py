import uuid

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
        migrations.CreateModel(
            name="ContractDiscount",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "service",
                    models.CharField(
                        choices=[
                            (word, word) for word in ("compute", "storage", "egress", "all")
                        ],
                        max_length=10,
                    ),
                ),
                ("percent", models.DecimalField(decimal_places=3, max_digits=6)),
                ("valid_from", models.DateField(blank=True, null=True)),
                ("valid_until", models.DateField(blank=True, null=True)),
                (
                    "provider",
                    models.ForeignKey(
                        on_delete=models.PROTECT, related_name="discounts", to="catalog.provider"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=models.CASCADE, related_name="discounts", to="accounts.workspace"
                    ),
                ),
            ],
            options={
                "ordering": ("provider_id", "service", "valid_from"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(percent__gt=0, percent__lt=100),
                        name="discount_in_percent",
                    )
                ],
            },
        ),
    ]
