"""Spare Cores' best stress-ng figure is a variant of the metric that our own probe measures."""

from django.db import migrations


def join_metrics(apps, schema_editor):
    samples = apps.get_model("benchmarks", "Sample").objects
    samples.filter(metric="stress_ng_div16_ops_per_s").update(
        metric="stress_ng_div16", variant="best_of_workers", unit="bogo ops/s"
    )


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0010_every_score_has_an_interval")]

    operations = [migrations.RunPython(join_metrics, migrations.RunPython.noop)]
