"""Samples of cancelled runs count in no score, unless a person says so."""

from django.db import migrations


def leave_out(apps, schema_editor):
    samples = apps.get_model("benchmarks", "Sample").objects
    samples.filter(run__state="cancelled", excluded_reason="").update(
        excluded_reason="the run was cancelled"
    )


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0029_campaign_names")]

    operations = [migrations.RunPython(leave_out, migrations.RunPython.noop)]
