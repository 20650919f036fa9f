"""Scores of the Spare Cores database carry their licence, which stood in the words of their source."""

from django.db import migrations

# "Spare Cores, <licence>, <benchmark>, <page>"; neither a benchmark nor a page has a comma.
LICENCE = r"""
UPDATE benchmarks_sample
SET licence = left(
    regexp_replace(source_note, '^Spare Cores, (.*), [^,]+, [^,]*$', '\1'), 58
) || ', Spare Cores database'
WHERE source = 'imported' AND licence = '' AND source_note ~ '^Spare Cores, .*, [^,]+, [^,]*$'
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0013_published_ranges_and_licences")]

    operations = [migrations.RunSQL(LICENCE, migrations.RunSQL.noop)]
