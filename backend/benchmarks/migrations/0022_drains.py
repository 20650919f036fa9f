"""While there is one no run begins."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0021_tools_on_rented_machines")]

    operations = [
        migrations.CreateModel(
            name="Drain",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("since", models.DateTimeField(auto_now_add=True)),
                (
                    "worker",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drain",
                        to="benchmarks.worker",
                    ),
                ),
            ],
            options={"ordering": ("since",)},
        ),
    ]
