"""An alert may be of one campaign alone."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0002_any_channel")]

    operations = [
        migrations.AddField("subscription", "campaign", models.UUIDField(null=True)),
    ]
