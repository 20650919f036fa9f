"""Answers kept for an Idempotency-Key, and one token in force of each name."""

import uuid

from django.db import migrations, models


def rename_doubles(apps, schema_editor):
    """The oldest token in force keeps its name; the others get a number."""
    tokens = apps.get_model("accounts", "ApiToken").objects.filter(revoked_at=None)
    used = {(one.workspace_id, one.name) for one in tokens}
    seen = set()
    for token in tokens.order_by("created_at", "id"):
        stem, name, n = token.name[:90], token.name, 2
        while (token.workspace_id, name) in seen or (name != token.name and (token.workspace_id, name) in used):
            name, n = f"{stem} ({n})", n + 1
        seen.add((token.workspace_id, name))
        if name != token.name:
            token.name = name
            token.save(update_fields=["name"])


class Migration(migrations.Migration):
    dependencies = [("accounts", "0010_audit_append_only")]

    operations = [
        migrations.RunPython(rename_doubles, migrations.RunPython.noop),
        # Rows that were changed have triggers waiting, and an index would have to wait for them.
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.AddConstraint(
            "apitoken",
            models.UniqueConstraint(
                fields=("workspace", "name"),
                condition=models.Q(revoked_at=None),
                name="token_name_once",
            ),
        ),
        migrations.CreateModel(
            name="KeptAnswer",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("caller", models.CharField(max_length=50)),
                ("key", models.CharField(max_length=255)),
                ("request_sha256", models.BinaryField(max_length=32)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("headers", models.JSONField(default=dict)),
                ("sealed_body", models.BinaryField(editable=False, null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["created_at"], name="kept_answer_age")],
                "constraints": [
                    models.UniqueConstraint(fields=("caller", "key"), name="idempotency_key_once")
                ],
            },
        ),
    ]
