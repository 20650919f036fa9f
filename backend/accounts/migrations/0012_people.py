"""Members of workspaces with their roles, invitations, and owners of API tokens."""

import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

SCOPES = [
    ("read", "read (viewer)"),
    ("write", "write (analyst)"),
    ("run", "run (operator)"),
    ("admin", "admin"),
]
FOREIGN = {"on_delete": django.db.models.deletion.CASCADE}


def identified():
    return [
        (
            "id",
            models.UUIDField(
                default=uuid.uuid4, editable=False, primary_key=True, serialize=False
            ),
        ),
        ("created_at", models.DateTimeField(auto_now_add=True)),
    ]


def members_make(apps, schema):
    """Everybody was a member of the default workspace."""
    of = apps.get_model
    workspace = of("accounts", "Workspace").objects.filter(slug="default").first()
    people = of("accounts", "User").objects.order_by("date_joined")
    if workspace is None and people.exists():
        workspace = of("accounts", "Workspace").objects.create(slug="default", name="Default")
    for user in people:
        of("accounts", "Membership").objects.create(
            workspace=workspace, user=user, role="admin" if user.is_superuser else user.role
        )
    # Tokens had no owner; whoever runs the installation answers for them from now on.
    owner = people.filter(is_superuser=True, is_active=True).first()
    if owner is not None:
        of("accounts", "ApiToken").objects.update(owner=owner)


class Migration(migrations.Migration):
    dependencies = [("accounts", "0011_kept_answers_and_names")]

    operations = [
        migrations.CreateModel(
            name="Membership",
            fields=[
                *identified(),
                ("role", models.CharField(choices=SCOPES, default="read", max_length=8)),
                (
                    "user",
                    models.ForeignKey(
                        related_name="memberships", to=settings.AUTH_USER_MODEL, **FOREIGN
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        related_name="memberships", to="accounts.workspace", **FOREIGN
                    ),
                ),
            ],
            options={"ordering": ("user__username",)},
        ),
        migrations.AddConstraint(
            "membership",
            models.UniqueConstraint(fields=("workspace", "user"), name="member_once_a_workspace"),
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                *identified(),
                ("role", models.CharField(choices=SCOPES, default="read", max_length=8)),
                ("note", models.CharField(blank=True, max_length=100)),
                ("invited_by", models.CharField(max_length=150)),
                ("digest", models.BinaryField(max_length=32, unique=True)),
                ("expires_at", models.DateTimeField()),
                (
                    "workspace",
                    models.ForeignKey(
                        related_name="invitations", to="accounts.workspace", **FOREIGN
                    ),
                ),
            ],
            options={"ordering": ("expires_at",)},
        ),
        migrations.AddField(
            "apitoken",
            "owner",
            models.ForeignKey(
                null=True, related_name="tokens", to=settings.AUTH_USER_MODEL, **FOREIGN
            ),
        ),
        migrations.RunPython(members_make, migrations.RunPython.noop),
    ]
