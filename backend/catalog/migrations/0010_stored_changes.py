from django.db import migrations, models

# As before, and what is taken is kept for those who hold tables of it: one row an offer and metric, or
# one for all where there are many. The rows of a day ago are forgotten with what followed them.
TAKE_MARKS = """
CREATE OR REPLACE FUNCTION catalog_take_marks(wanted varchar, formulas integer)
RETURNS TABLE (marked_offer uuid, marked_metric varchar) LANGUAGE plpgsql AS $$
DECLARE
    present bigint := pg_current_xact_id()::text::bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('catalog_storedmark'));
    INSERT INTO catalog_storedstate (id, prices, summaries, refreshes, changes_since)
        VALUES (1, 0, 0, 0, present) ON CONFLICT DO NOTHING;
    IF EXISTS (
        SELECT FROM catalog_storedstate
        WHERE CASE wanted WHEN 'prices' THEN prices ELSE summaries END < formulas
    ) THEN
        INSERT INTO catalog_storedmark (kind, offer_id, metric) VALUES (wanted, NULL, '');
    END IF;
    RETURN QUERY
        WITH taken AS (
            DELETE FROM catalog_storedmark WHERE kind = wanted RETURNING offer_id, metric
        ), different AS (
            SELECT DISTINCT offer_id, metric FROM taken
        ), all_of AS (
            SELECT count(*) > 2000 OR bool_or(offer_id IS NULL) AS are_all FROM different
        ), kept AS (
            INSERT INTO catalog_storedchange (transaction_number, changed_at, kind, offer_id, metric)
            SELECT DISTINCT present, now(), wanted,
                CASE WHEN NOT are_all THEN offer_id END, CASE WHEN are_all THEN '' ELSE metric END
            FROM different, all_of
        )
        SELECT offer_id, metric FROM different;
    IF FOUND THEN
        WITH gone AS (
            DELETE FROM catalog_storedchange WHERE changed_at < now() - interval '1 day'
            RETURNING transaction_number
        )
        UPDATE catalog_storedstate SET
            refreshes = refreshes + 1,
            prices = CASE wanted WHEN 'prices' THEN formulas ELSE prices END,
            summaries = CASE wanted WHEN 'summaries' THEN formulas ELSE summaries END,
            changes_since = least(present, greatest(
                changes_since, (SELECT max(transaction_number) + 1 FROM gone)
            ));
    END IF;
END $$;
"""
TAKE_MARKS_ONLY = """
CREATE OR REPLACE FUNCTION catalog_take_marks(wanted varchar, formulas integer)
RETURNS TABLE (marked_offer uuid, marked_metric varchar) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('catalog_storedmark'));
    INSERT INTO catalog_storedstate (id, prices, summaries, refreshes) VALUES (1, 0, 0, 0)
        ON CONFLICT DO NOTHING;
    IF EXISTS (
        SELECT FROM catalog_storedstate
        WHERE CASE wanted WHEN 'prices' THEN prices ELSE summaries END < formulas
    ) THEN
        INSERT INTO catalog_storedmark (kind, offer_id, metric) VALUES (wanted, NULL, '');
    END IF;
    RETURN QUERY
        WITH taken AS (
            DELETE FROM catalog_storedmark WHERE kind = wanted RETURNING offer_id, metric
        )
        SELECT DISTINCT offer_id, metric FROM taken;
    IF FOUND THEN
        UPDATE catalog_storedstate SET
            refreshes = refreshes + 1,
            prices = CASE wanted WHEN 'prices' THEN formulas ELSE prices END,
            summaries = CASE wanted WHEN 'summaries' THEN formulas ELSE summaries END;
    END IF;
END $$;
"""
# Offers are numbered by their slugs, so any change of one is a change of all. When a list was read last
# is a part of each of its prices.
NOTE_CHANGES = """
CREATE FUNCTION catalog_note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO catalog_storedchange (transaction_number, changed_at, kind, offer_id, metric)
    VALUES (pg_current_xact_id()::text::bigint, now(), TG_ARGV[0], NULL, '');
    RETURN NULL;
END $$;
CREATE TRIGGER note_offers AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON catalog_offer
    FOR EACH STATEMENT EXECUTE FUNCTION catalog_note_change('offers');
CREATE TRIGGER note_regions AFTER INSERT OR DELETE OR TRUNCATE ON catalog_region
    FOR EACH STATEMENT EXECUTE FUNCTION catalog_note_change('offers');
CREATE TRIGGER note_regions_updated AFTER UPDATE ON catalog_region
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION catalog_note_change('offers');
CREATE TRIGGER note_providers AFTER INSERT OR DELETE OR TRUNCATE ON catalog_provider
    FOR EACH STATEMENT EXECUTE FUNCTION catalog_note_change('offers');
CREATE TRIGGER note_providers_updated AFTER UPDATE ON catalog_provider
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION catalog_note_change('offers');
CREATE TRIGGER note_feeds_read AFTER UPDATE ON catalog_pricefeed
    FOR EACH ROW WHEN (OLD.checked_at IS DISTINCT FROM NEW.checked_at)
    EXECUTE FUNCTION catalog_note_change('prices');
CREATE TRIGGER note_feeds_gone AFTER DELETE OR TRUNCATE ON catalog_pricefeed
    FOR EACH STATEMENT EXECUTE FUNCTION catalog_note_change('prices');
UPDATE catalog_storedstate SET changes_since = pg_current_xact_id()::text::bigint;
"""
LEAVE_CHANGES = """
DROP TRIGGER note_offers ON catalog_offer;
DROP TRIGGER note_regions ON catalog_region;
DROP TRIGGER note_regions_updated ON catalog_region;
DROP TRIGGER note_providers ON catalog_provider;
DROP TRIGGER note_providers_updated ON catalog_provider;
DROP TRIGGER note_feeds_read ON catalog_pricefeed;
DROP TRIGGER note_feeds_gone ON catalog_pricefeed;
DROP FUNCTION catalog_note_change();
"""


class Migration(migrations.Migration):
    dependencies = [("catalog", "0009_minimum_months_of_current_prices")]

    operations = [
        migrations.CreateModel(
            name="StoredChange",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("transaction_number", models.BigIntegerField(db_index=True)),
                ("changed_at", models.DateTimeField(db_index=True)),
                ("kind", models.CharField(max_length=10)),
                ("offer_id", models.UUIDField(null=True)),
                ("metric", models.CharField(blank=True, max_length=40)),
            ],
        ),
        migrations.AddField(
            model_name="storedstate",
            name="changes_since",
            field=models.BigIntegerField(null=True),
        ),
        migrations.RunSQL(TAKE_MARKS, TAKE_MARKS_ONLY),
        migrations.RunSQL(NOTE_CHANGES, LEAVE_CHANGES),
    ]
