"""Feed keys end with the membership of who made them."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import OuterRef, Subquery


def set_owners(apps, schema_editor):
    app_label, name = settings.AUTH_USER_MODEL.split(".")
    users = apps.get_model(app_label, name).objects.filter(username=OuterRef("created_by"))
    keys = apps.get_model("rankings", "FeedKey").objects
    keys.update(owner=Subquery(users.values("pk")[:1]))


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("rankings", "0005_view_names"),
    ]

    operations = [
        migrations.AddField(
            model_name="feedkey",
            name="owner",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="feed_keys",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunPython(set_owners, migrations.RunPython.noop),
    ]
