"""Whole servers whose seller states no vCPUs have the threads of their processors."""

from django.db import migrations, models

from backend.catalog.selectors.processors import processor_figures


def count_threads(apps, schema_editor):
    offers = apps.get_model("catalog", "Offer").objects.filter(
        kind="dedicated", vcpu_count=None, workspace=None
    )
    for model in offers.exclude(cpu_model="").values_list("cpu_model", flat=True).distinct():
        if figures := processor_figures(model):
            offers.filter(cpu_model=model).update(**figures)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0015_life_of_own_hardware")]

    operations = [
        migrations.AddField(
            model_name="offer",
            name="is_vcpu_derived",
            field=models.BooleanField(default=False),
        ),
        migrations.RunPython(count_threads, migrations.RunPython.noop),
    ]
