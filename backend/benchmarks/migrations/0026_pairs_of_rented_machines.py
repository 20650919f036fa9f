"""A run may rent the other end of another run's network tests, and says how much was sent in them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0025_round_starts")]
    operations = [
        migrations.AddField(
            model_name="run",
            name="server",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="client",
                to="benchmarks.run",
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="sent_bytes",
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AlterField(
            model_name="campaign",
            name="network_pairs",
            field=models.CharField(
                choices=[
                    ("none", "none"),
                    ("ring", "each to the next"),
                    ("all", "each to every other"),
                    ("twins", "each rented machine to a second one of its type"),
                ],
                default="none",
                max_length=5,
            ),
        ),
    ]
