"""What of a round is still to be made."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0024_clock_of_the_database")]

    operations = [
        migrations.CreateModel(
            name="RoundStart",
            fields=[
                (
                    "campaign",
                    models.OneToOneField(
                        on_delete=models.deletion.CASCADE,
                        primary_key=True,
                        related_name="round_start",
                        serialize=False,
                        to="benchmarks.campaign",
                    ),
                ),
                ("requests", models.JSONField()),
                ("made_count", models.PositiveIntegerField(default=0)),
                ("actor", models.CharField(max_length=150)),
            ],
        )
    ]
