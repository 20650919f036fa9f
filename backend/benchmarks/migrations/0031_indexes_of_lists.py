"""Indexes of the lists of samples and runs, made while both are written."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("benchmarks", "0030_cancelled_runs")]

    operations = [
        AddIndexConcurrently(
            "sample", models.Index(fields=["-measured_at", "id"], name="sample_newest")
        ),
        AddIndexConcurrently(
            "run", models.Index(fields=["workspace", "-created_at", "id"], name="run_newest")
        ),
        AddIndexConcurrently("run", models.Index(fields=["state"], name="run_by_state")),
    ]
