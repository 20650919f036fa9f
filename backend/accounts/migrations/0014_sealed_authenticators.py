"""Keys of authenticators, sealed; those that were stored as they are become sealed ones."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from backend.common.crypto import WEB, opened, sealed

SAME = ("user_id", "name", "confirmed", "drift", "last_t")


def seal(apps, schema):
    """Move every authenticator of django-otp into the sealed table."""
    for old in apps.get_model("otp_totp", "TOTPDevice").objects.all():
        made = uuid.uuid4()
        key = sealed(bytes.fromhex(old.key), identity=f"authenticator:{made}", ring=WEB)
        given = {name: getattr(old, name) for name in SAME}
        apps.get_model("accounts", "Authenticator").objects.create(id=made, sealed_key=key, **given)
        old.delete()


def unseal(apps, schema):
    """Give them back to django-otp, with their keys as they are."""
    for row in apps.get_model("accounts", "Authenticator").objects.all():
        identity = f"authenticator:{row.pk}"
        key = opened(bytes(row.sealed_key), identity=identity, ring=WEB).hex()
        given = {name: getattr(row, name) for name in SAME}
        apps.get_model("otp_totp", "TOTPDevice").objects.create(key=key, **given)
        row.delete()


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0013_roles_of_members"),
        ("otp_totp", "0003_add_timestamps"),
    ]
    operations = [
        migrations.CreateModel(
            name="Authenticator",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=uuid.uuid4, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "throttling_failure_timestamp",
                    models.DateTimeField(
                        blank=True,
                        default=None,
                        help_text="A timestamp of the last failed verification attempt. "
                        "Null if last attempt succeeded.",
                        null=True,
                    ),
                ),
                (
                    "throttling_failure_count",
                    models.PositiveIntegerField(
                        default=0, help_text="Number of successive failed attempts."
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        help_text="The human-readable name of this device.", max_length=64
                    ),
                ),
                (
                    "confirmed",
                    models.BooleanField(default=True, help_text="Is this device ready for use?"),
                ),
                (
                    "user",
                    models.ForeignKey(
                        help_text="The user that this device belongs to.",
                        on_delete=django.db.models.deletion.CASCADE,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("sealed_key", models.BinaryField(editable=False)),
                ("drift", models.SmallIntegerField(default=0)),
                ("last_t", models.BigIntegerField(default=-1)),
            ],
        ),
        migrations.RunPython(seal, unseal),
    ]
