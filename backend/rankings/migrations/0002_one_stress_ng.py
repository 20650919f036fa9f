"""Saved views name the one metric of stress-ng by its new key."""

from django.db import migrations

RENAME = """
UPDATE rankings_savedview SET params =
replace(params::text, 'stress_ng_div16_ops_per_s', 'stress_ng_div16')::jsonb
WHERE params::text LIKE '%stress_ng_div16_ops_per_s%'
"""


class Migration(migrations.Migration):
    dependencies = [("rankings", "0001_initial")]

    operations = [migrations.RunSQL(RENAME, migrations.RunSQL.noop)]
