"""How many vCPUs the machines of an account may have together."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_preflight")]

    operations = [
        migrations.AddField("cloudaccount", "max_vcpus", models.PositiveIntegerField(null=True))
    ]
