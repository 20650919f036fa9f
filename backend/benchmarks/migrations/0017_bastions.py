"""Hosts that are reached through another one."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0014_licence_of_imported_scores")]

    operations = [
        migrations.AddField(
            "host",
            "bastion",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="hosts_behind",
                to="benchmarks.host",
            ),
        )
    ]
