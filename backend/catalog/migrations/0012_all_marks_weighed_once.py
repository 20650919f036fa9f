from importlib import import_module

from django.db import migrations

# The function's plans are kept by long-lived connections. One made while there were few marks counted
# all of them anew for each of them: with 60,000 marks that took hours.
INLINED = import_module("backend.catalog.migrations.0010_stored_changes").TAKE_MARKS
ONCE = INLINED.replace("all_of AS (", "all_of AS MATERIALIZED (")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0011_table_mappings")]

    operations = [migrations.RunSQL(ONCE, INLINED)]
