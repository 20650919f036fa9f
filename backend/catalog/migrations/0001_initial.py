import backend.catalog.models.prices
import django.db.models.deletion
import uuid
from django.db import migrations, models


# Statement-level, so that 100,000 rows copied at once leave one mark an offer; the mark table has
# no unique constraint, so that two writers never wait for each other.
MARK_PRICES = """
CREATE FUNCTION catalog_mark_prices() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO catalog_storedmark (kind, offer_id, metric) VALUES ('prices', NULL, '');
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO catalog_storedmark (kind, offer_id, metric)
        SELECT DISTINCT 'prices', offer_id, '' FROM now_rows;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO catalog_storedmark (kind, offer_id, metric)
        SELECT DISTINCT 'prices', offer_id, '' FROM old_rows;
    ELSE
        INSERT INTO catalog_storedmark (kind, offer_id, metric)
        SELECT 'prices', offer_id, '' FROM old_rows UNION SELECT 'prices', offer_id, '' FROM now_rows;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER mark_prices_inserted AFTER INSERT ON catalog_priceobservation
    REFERENCING NEW TABLE AS now_rows
    FOR EACH STATEMENT EXECUTE FUNCTION catalog_mark_prices();
CREATE TRIGGER mark_prices_updated AFTER UPDATE ON catalog_priceobservation
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
    FOR EACH STATEMENT EXECUTE FUNCTION catalog_mark_prices();
CREATE TRIGGER mark_prices_deleted AFTER DELETE ON catalog_priceobservation
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION catalog_mark_prices();
CREATE TRIGGER mark_prices_truncated AFTER TRUNCATE ON catalog_priceobservation
    FOR EACH STATEMENT EXECUTE FUNCTION catalog_mark_prices();
"""
# What backend.catalog.services.current_prices.marks_taken asks for, in one round trip. Each statement of the
# function sees what was committed before it, so nothing is missed behind the lock. What is taken is kept
# for those who hold tables of it: one row an offer and metric, or one for all where there are many; the
# rows of a day ago are forgotten. Plans are kept by long-lived connections: one made while there were few
# marks counted all of them anew for each of them, unless MATERIALIZED.
TAKE_MARKS = """
CREATE FUNCTION catalog_take_marks(wanted varchar, formulas integer)
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
        ), all_of AS MATERIALIZED (
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
"""


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Provider',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(unique=True)),
                ('name', models.CharField(max_length=100)),
                ('homepage', models.URLField(blank=True)),
            ],
            options={
                'ordering': ('slug',),
            },
        ),
        migrations.CreateModel(
            name='Region',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='regions', to='catalog.provider')),
                ('code', models.CharField(max_length=50)),
                ('name', models.CharField(blank=True, max_length=100)),
                ('country', models.CharField(blank=True, max_length=2)),
            ],
            options={
                'ordering': ('provider__slug', 'code'),
                'constraints': [models.UniqueConstraint(fields=('provider', 'code'), name='region_code_once_a_provider')],
            },
        ),
        migrations.CreateModel(
            name='Offer',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('slug', models.SlugField(max_length=120, unique=True)),
                ('provider', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='offers', to='catalog.provider')),
                ('region', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='offers', to='catalog.region')),
                ('workspace', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='offers', to='accounts.workspace')),
                ('name', models.CharField(max_length=150)),
                ('kind', models.CharField(choices=[('cloud', 'cloud'), ('vps', 'VPS'), ('dedicated', 'dedicated'), ('onprem', 'own rack')], max_length=10)),
                ('arch', models.CharField(blank=True, max_length=10)),
                ('cpu_model', models.CharField(blank=True, max_length=150)),
                ('vcpu_count', models.DecimalField(blank=True, decimal_places=3, max_digits=8, null=True)),
                ('is_vcpu_derived', models.BooleanField(default=False)),
                ('vcpu_kind', models.CharField(blank=True, choices=[('dedicated', 'dedicated'), ('shared', 'shared'), ('burstable', 'burstable')], max_length=10)),
                ('cpu_baseline_ratio', models.DecimalField(blank=True, decimal_places=6, max_digits=7, null=True)),
                ('cpu_credit_price_usd_per_vcpu_hour', models.DecimalField(blank=True, decimal_places=6, max_digits=9, null=True)),
                ('cpu_credit_default', models.CharField(blank=True, choices=[('standard', 'standard'), ('unlimited', 'unlimited')], max_length=10)),
                ('thread_count', models.PositiveIntegerField(blank=True, null=True)),
                ('memory_bytes', models.BigIntegerField(blank=True, null=True)),
                ('disk_bytes', models.BigIntegerField(blank=True, null=True)),
                ('disk_kind', models.CharField(blank=True, max_length=20)),
                ('inventory_facts', models.JSONField(db_default={}, default=dict, editable=False)),
                ('is_demo', models.BooleanField(default=False)),
                ('figures_of', models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='twins', to='catalog.offer')),
                ('note', models.TextField(blank=True)),
                ('source', models.CharField(blank=True, max_length=300)),
                ('stated_on', models.DateField(blank=True, null=True)),
                ('discontinued_on', models.DateField(blank=True, null=True)),
                ('no_orders_on', models.DateField(blank=True, editable=False, null=True)),
            ],
            options={
                'ordering': ('slug',),
            },
        ),
        migrations.CreateModel(
            name='ContractDiscount',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='discounts', to='accounts.workspace')),
                ('provider', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='discounts', to='catalog.provider')),
                ('service', models.CharField(choices=[('compute', 'compute'), ('storage', 'storage'), ('egress', 'egress'), ('all', 'all')], max_length=10)),
                ('percent', models.DecimalField(decimal_places=3, max_digits=6)),
                ('valid_from', models.DateField(blank=True, null=True)),
                ('valid_until', models.DateField(blank=True, null=True)),
            ],
            options={
                'ordering': ('provider_id', 'service', 'valid_from'),
                'constraints': [models.CheckConstraint(condition=models.Q(('percent__gt', 0), ('percent__lt', 100)), name='discount_in_percent')],
            },
        ),
        migrations.CreateModel(
            name='PriceFeed',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('provider', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='feeds', to='catalog.provider')),
                ('kind', models.CharField(max_length=20)),
                ('region', models.CharField(blank=True, max_length=50)),
                ('is_enabled', models.BooleanField(default=True)),
                ('every_s', models.PositiveIntegerField(default=86400)),
                ('next_due_at', models.DateTimeField(null=True)),
                ('lease_until', models.DateTimeField(null=True)),
                ('etag', models.CharField(blank=True, max_length=300)),
                ('last_modified', models.CharField(blank=True, max_length=100)),
                ('checked_at', models.DateTimeField(null=True)),
                ('changed_at', models.DateTimeField(null=True)),
                ('requested_at', models.DateTimeField(null=True)),
                ('tried_at', models.DateTimeField(null=True)),
                ('last_error', models.TextField(blank=True)),
                ('trouble', models.CharField(blank=True, max_length=12)),
                ('failures', models.PositiveIntegerField(default=0)),
                ('summary', models.JSONField(default=dict)),
            ],
            options={
                'ordering': ('provider_id', 'kind', 'region'),
                'constraints': [models.UniqueConstraint(fields=('provider', 'kind', 'region'), name='feed_once')],
            },
        ),
        migrations.CreateModel(
            name='PriceObservation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('zone', models.CharField(blank=True, max_length=50)),
                ('operating_system', models.CharField(default='linux', max_length=20)),
                ('tenancy', models.CharField(default='shared', max_length=20)),
                ('purchase_model', models.CharField(choices=[('on_demand', 'On Demand'), ('spot', 'Spot'), ('reserved', 'Reserved'), ('savings', 'Savings'), ('committed', 'Committed'), ('monthly', 'Monthly'), ('purchase', 'Purchase')], max_length=10)),
                ('term', models.CharField(blank=True, max_length=20)),
                ('upfront', models.CharField(blank=True, max_length=20)),
                ('plan', models.CharField(blank=True, max_length=30)),
                ('amount', models.DecimalField(decimal_places=18, max_digits=28)),
                ('currency', models.CharField(max_length=3)),
                ('unit', models.CharField(choices=[('hour', 'Hour'), ('month', 'Month'), ('year', 'Year'), ('once', 'Once')], max_length=5)),
                ('setup_amount', models.DecimalField(blank=True, decimal_places=18, max_digits=28, null=True)),
                ('monthly_cap', models.DecimalField(blank=True, decimal_places=18, max_digits=28, null=True)),
                ('sustained_use', models.CharField(blank=True, max_length=10)),
                ('valid_until', models.DateField(blank=True, null=True)),
                ('minimum_months', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('tax_basis', models.CharField(default='net', max_length=10)),
                ('tax_rate', models.DecimalField(blank=True, decimal_places=4, max_digits=6, null=True)),
                ('included', models.JSONField(blank=True, default=dict)),
                ('basis', models.CharField(default='machine', max_length=60)),
                ('observed_at', models.DateTimeField()),
                ('missing_since', models.DateTimeField(blank=True, null=True)),
                ('offer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='prices', to='catalog.offer')),
                ('source', models.CharField(max_length=300)),
                ('feed', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='prices', to='catalog.pricefeed')),
                ('raw_id', models.CharField(blank=True, max_length=100)),
                ('payload_sha256', models.CharField(blank=True, max_length=64)),
                ('valid_from', models.DateField(blank=True, null=True)),
                ('applies_to', models.CharField(db_default='all', default='all', max_length=3)),
                ('began_at', models.GeneratedField(db_persist=True, expression=backend.catalog.models.prices.Began(), output_field=models.DateTimeField())),
                ('is_published', models.BooleanField(default=True)),
                ('anomaly', models.TextField(blank=True, db_column='doubt')),
                ('reviewed_by', models.CharField(blank=True, max_length=150)),
                ('reviewed_at', models.DateTimeField(blank=True, null=True)),
                ('note', models.TextField(blank=True)),
            ],
            options={
                'ordering': ('offer_id', 'purchase_model', '-observed_at'),
                'indexes': [models.Index(condition=models.Q(('is_published', False), ('reviewed_at', None)), fields=['feed'], name='price_in_quarantine'), models.Index(fields=['currency'], name='price_by_currency'), models.Index(condition=models.Q(('valid_from__isnull', False)), fields=['valid_from'], name='price_by_first_day')],
                'constraints': [models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='price_is_positive'), models.UniqueConstraint(fields=('offer', 'zone', 'operating_system', 'tenancy', 'purchase_model', 'term', 'upfront', 'currency', 'basis', 'plan', 'began_at', 'observed_at'), name='price_once_an_observation')],
            },
        ),
        migrations.CreateModel(
            name='PricePayload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('feed', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='payloads', to='catalog.pricefeed')),
                ('sha256', models.CharField(max_length=64)),
                ('size_bytes', models.PositiveBigIntegerField()),
                ('raw_gzip', models.BinaryField()),
                ('fetched_at', models.DateTimeField()),
            ],
            options={
                'ordering': ('-fetched_at',),
                'constraints': [models.UniqueConstraint(fields=('feed', 'sha256'), name='payload_once_a_feed')],
            },
        ),
        migrations.CreateModel(
            name='UnpricedType',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('feed', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='unpriced', to='catalog.pricefeed')),
                ('region', models.CharField(blank=True, max_length=50)),
                ('name', models.CharField(max_length=150)),
                ('reason', models.CharField(max_length=30)),
                ('detail', models.CharField(blank=True, max_length=300)),
            ],
            options={
                'ordering': ('feed_id', 'region', 'name'),
                'constraints': [models.UniqueConstraint(fields=('feed', 'region', 'name'), name='unpriced_type_once_a_feed')],
            },
        ),
        migrations.CreateModel(
            name='ExtraPrice',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('provider', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='extras', to='catalog.provider')),
                ('region', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='extras', to='catalog.region')),
                ('kind', models.CharField(choices=[('disk', 'disk'), ('ipv4', 'public IPv4 address'), ('egress', 'traffic to the internet')], max_length=6)),
                ('tiers', models.JSONField()),
                ('currency', models.CharField(max_length=3)),
                ('tax_basis', models.CharField(default='net', max_length=10)),
                ('observed_on', models.DateField()),
                ('source', models.CharField(max_length=300)),
            ],
            options={
                'ordering': ('provider_id', 'region_id', 'kind', '-observed_on'),
                'constraints': [models.UniqueConstraint(fields=('provider', 'region', 'kind', 'observed_on'), name='extra_once_a_day', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='HardwareModel',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='hardware', to='accounts.workspace')),
                ('name', models.CharField(max_length=100)),
                ('version', models.PositiveIntegerField(default=1)),
                ('document', models.JSONField()),
                ('cost', models.JSONField()),
                ('offer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='hardware', to='catalog.offer')),
                ('price', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='hardware', to='catalog.priceobservation')),
                ('created_by', models.CharField(blank=True, max_length=150)),
            ],
            options={
                'ordering': ('name', '-version'),
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name', 'version'), name='hardware_version_once')],
            },
        ),
        migrations.CreateModel(
            name='ExchangeRate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('date', models.DateField()),
                ('currency', models.CharField(max_length=3)),
                ('units_per_eur', models.DecimalField(decimal_places=10, max_digits=20)),
                ('source', models.CharField(max_length=200)),
            ],
            options={
                'ordering': ('-date', 'currency'),
                'constraints': [models.UniqueConstraint(fields=('date', 'currency'), name='rate_once_a_day'), models.CheckConstraint(condition=models.Q(('units_per_eur__gt', 0)), name='rate_is_positive')],
            },
        ),
        migrations.CreateModel(
            name='DataVersion',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.BigIntegerField(default=1)),
                ('changed_at', models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name='CurrentPrice',
            fields=[
                ('zone', models.CharField(blank=True, max_length=50)),
                ('operating_system', models.CharField(default='linux', max_length=20)),
                ('tenancy', models.CharField(default='shared', max_length=20)),
                ('purchase_model', models.CharField(choices=[('on_demand', 'On Demand'), ('spot', 'Spot'), ('reserved', 'Reserved'), ('savings', 'Savings'), ('committed', 'Committed'), ('monthly', 'Monthly'), ('purchase', 'Purchase')], max_length=10)),
                ('term', models.CharField(blank=True, max_length=20)),
                ('upfront', models.CharField(blank=True, max_length=20)),
                ('plan', models.CharField(blank=True, max_length=30)),
                ('amount', models.DecimalField(decimal_places=18, max_digits=28)),
                ('currency', models.CharField(max_length=3)),
                ('unit', models.CharField(choices=[('hour', 'Hour'), ('month', 'Month'), ('year', 'Year'), ('once', 'Once')], max_length=5)),
                ('setup_amount', models.DecimalField(blank=True, decimal_places=18, max_digits=28, null=True)),
                ('monthly_cap', models.DecimalField(blank=True, decimal_places=18, max_digits=28, null=True)),
                ('sustained_use', models.CharField(blank=True, max_length=10)),
                ('valid_until', models.DateField(blank=True, null=True)),
                ('minimum_months', models.PositiveSmallIntegerField(blank=True, null=True)),
                ('tax_basis', models.CharField(default='net', max_length=10)),
                ('tax_rate', models.DecimalField(blank=True, decimal_places=4, max_digits=6, null=True)),
                ('included', models.JSONField(blank=True, default=dict)),
                ('basis', models.CharField(default='machine', max_length=60)),
                ('observed_at', models.DateTimeField()),
                ('missing_since', models.DateTimeField(blank=True, null=True)),
                ('observation', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, serialize=False, to='catalog.priceobservation')),
                ('offer', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='current_prices', to='catalog.offer')),
                ('feed', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='catalog.pricefeed')),
                ('is_questioned', models.BooleanField(db_column='is_doubted')),
            ],
            options={
                'indexes': [models.Index(fields=['purchase_model', 'term'], name='current_price_by_model')],
            },
        ),
        migrations.CreateModel(
            name='StoredMark',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=10)),
                ('offer_id', models.UUIDField(null=True)),
                ('metric', models.CharField(blank=True, max_length=40)),
            ],
        ),
        migrations.CreateModel(
            name='StoredState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('prices', models.PositiveSmallIntegerField(default=0)),
                ('summaries', models.PositiveSmallIntegerField(default=0)),
                ('refreshes', models.BigIntegerField(default=0)),
                ('prices_begin_on', models.DateField(null=True)),
                ('changes_since', models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='StoredChange',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('transaction_number', models.BigIntegerField(db_index=True)),
                ('changed_at', models.DateTimeField(db_index=True)),
                ('kind', models.CharField(max_length=10)),
                ('offer_id', models.UUIDField(null=True)),
                ('metric', models.CharField(blank=True, max_length=40)),
            ],
        ),
        migrations.CreateModel(
            name='TableMapping',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='table_mappings', to='accounts.workspace')),
                ('kind', models.CharField(max_length=10)),
                ('provider', models.CharField(max_length=50)),
                ('columns', models.JSONField(default=dict)),
                ('defaults', models.JSONField(default=dict)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ('kind', 'provider'),
                'constraints': [models.UniqueConstraint(fields=('workspace', 'kind', 'provider'), name='mapping_once_a_hoster')],
            },
        ),
        migrations.RunSQL(MARK_PRICES),
        migrations.RunSQL(TAKE_MARKS),
        migrations.RunSQL(NOTE_CHANGES),
    ]
