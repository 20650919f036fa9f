"""Published figures keep the range of their results, their licence and the address of their table.

Those of Google are recognised by their source; the loader would add them again under another one.
"""

from django.db import migrations, models

BEFORE = (
    "Google Compute Engine documentation, CoreMark scores of VM instances by platform (public copy)"
)
AFTER = (
    "Google Compute Engine documentation, CoreMark scores of VM instances by family (public copy), "
    "https://cloud.google.com/compute/docs/coremark-scores-of-vm-instances"
)


def name_the_address(apps, schema_editor):
    samples = apps.get_model("benchmarks", "Sample").objects
    samples.filter(source_note=BEFORE).update(source_note=AFTER)


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0012_launch_rounds")]

    operations = [
        migrations.AddField("sample", "published_low", models.FloatField(null=True)),
        migrations.AddField("sample", "published_high", models.FloatField(null=True)),
        migrations.AddField("sample", "licence", models.CharField(blank=True, max_length=80)),
        migrations.AddField(
            "storedsummary", "licence", models.CharField(blank=True, max_length=80)
        ),
        migrations.RunPython(name_the_address, migrations.RunPython.noop),
    ]
