"""In which mode of CPU credits machines are rented."""

from django.db import migrations, models


def mark_standard(apps, schema_editor):
    """Until now every burstable machine was rented in the mode standard, and AWS alone has some."""
    resources = apps.get_model("benchmarks", "Resource").objects
    burstable = resources.filter(offer__vcpu_kind="burstable", account__provider="aws")
    burstable.update(credit_mode="standard")


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0018_keys_and_tags_of_hosts")]

    operations = [
        migrations.AddField(
            "resource", "credit_mode", models.CharField(blank=True, max_length=10)
        ),
        migrations.RunPython(mark_standard, migrations.RunPython.noop),
    ]
