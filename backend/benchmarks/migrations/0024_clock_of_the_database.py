"""Steps and events begin by the database's clock; their columns stay as they are."""

from django.db import migrations, models

import backend.common.clock


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0023_pinned_plans")]

    operations = [
        migrations.AlterField(
            model, name, models.DateTimeField(default=backend.common.clock.now, editable=False)
        )
        for model, name in (("step", "created_at"), ("event", "at"))
    ]
