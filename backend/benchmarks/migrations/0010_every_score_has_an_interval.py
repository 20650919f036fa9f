"""Summaries with an interval each and the models of their machines; all are made anew.

What a summary says now also depends on the kind of the offer (a cloud that states no kind of vCPU
is taken to share them) and on the machine that a run found, so changes of these mark it.
"""

from importlib import import_module

from django.db import migrations, models

before = import_module("backend.benchmarks.migrations.0005_stored_summaries")

KIND_BEFORE = """(old_rows.vcpu_kind, old_rows.source) IS DISTINCT FROM
          (now_rows.vcpu_kind, now_rows.source)"""
KIND_AFTER = """(old_rows.kind, old_rows.vcpu_kind, old_rows.source) IS DISTINCT FROM
          (now_rows.kind, now_rows.vcpu_kind, now_rows.source)"""
# As the record of the provider says of new offers; its price list states no kind of vCPU.
BURSTABLE_AZURE = """
UPDATE catalog_offer SET vcpu_kind = 'burstable' FROM catalog_provider
WHERE catalog_provider.id = catalog_offer.provider_id AND catalog_provider.slug = 'azure'
  AND vcpu_kind = '' AND catalog_offer.name ~ '^(Standard|Basic)_B[0-9]'
"""
MARK_RUNS = """
CREATE FUNCTION benchmarks_mark_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO catalog_storedmark (kind, offer_id, metric)
    SELECT DISTINCT 'summaries', offer_id, metric FROM benchmarks_sample WHERE run_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER mark_run_environment AFTER UPDATE OF environment ON benchmarks_run
    FOR EACH ROW WHEN (OLD.environment IS DISTINCT FROM NEW.environment)
    EXECUTE FUNCTION benchmarks_mark_run();
"""
UNMARK_RUNS = """
DROP TRIGGER mark_run_environment ON benchmarks_run;
DROP FUNCTION benchmarks_mark_run();
"""


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0009_flags_from_the_evidence")]

    operations = [
        # The version of the formulas has risen: the next reader makes them anew from the samples.
        migrations.RunSQL("DELETE FROM benchmarks_storedsummary", migrations.RunSQL.noop),
        migrations.AlterField("storedsummary", "ci95_low", models.FloatField()),
        migrations.AlterField("storedsummary", "ci95_high", models.FloatField()),
        migrations.AddField("storedsummary", "cpu_models", models.JSONField(default=dict)),
        migrations.RunSQL(before.UNMARK_OFFERS, before.MARK_OFFERS),
        migrations.RunSQL(
            before.MARK_OFFERS.replace(KIND_BEFORE, KIND_AFTER), before.UNMARK_OFFERS
        ),
        migrations.RunSQL(MARK_RUNS, UNMARK_RUNS),
        migrations.RunSQL(BURSTABLE_AZURE, migrations.RunSQL.noop),
    ]
