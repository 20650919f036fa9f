"""Missing tools are installed on rented machines unless a campaign says otherwise."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0020_host_authorities")]

    operations = [
        migrations.AlterField("campaign", "install_tools", models.BooleanField(null=True)),
    ]
