"""Rackrate's own key, certificates, hosts in production and tags."""

import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial"), ("benchmarks", "0017_bastions")]

    operations = [
        migrations.CreateModel(
            name="LoginKey",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("public_key", models.TextField()),
                ("sealed_private_key", models.BinaryField()),
                (
                    "workspace",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="login_key",
                        to="accounts.workspace",
                    ),
                ),
            ],
            options={"abstract": False},
        ),
        migrations.AddField("host", "certificate", models.TextField(blank=True)),
        migrations.AddField("host", "is_in_production", models.BooleanField(default=False)),
        migrations.AddField("host", "tags", models.JSONField(default=list)),
    ]
