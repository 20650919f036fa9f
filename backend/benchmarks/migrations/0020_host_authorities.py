"""Authorities that sign the keys of hosts."""

import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial"), ("benchmarks", "0019_credit_modes")]

    operations = [
        migrations.CreateModel(
            name="HostAuthority",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("patterns", models.TextField()),
                ("public_key", models.TextField()),
                ("is_revoked", models.BooleanField(default=False)),
                (
                    "workspace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="host_authorities",
                        to="accounts.workspace",
                    ),
                ),
            ],
            options={
                "ordering": ("created_at",),
                "constraints": [
                    models.UniqueConstraint(
                        fields=("workspace", "public_key"), name="host_authority_once_a_workspace"
                    )
                ],
            },
        ),
        migrations.AddField(
            "host",
            "authority",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="hosts",
                to="benchmarks.hostauthority",
            ),
        ),
        migrations.AddField("host", "certificate_refusal", models.TextField(blank=True)),
    ]
