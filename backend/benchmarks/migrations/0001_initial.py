import backend.core.clock
import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.db import migrations, models


# Statement-level, as those of prices. A published figure is also that of its offer's twins.
MARK_SAMPLES = """
CREATE FUNCTION benchmarks_mark_samples() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'TRUNCATE' THEN
        INSERT INTO catalog_storedmark (kind, offer_id, metric) VALUES ('summaries', NULL, '');
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO catalog_storedmark (kind, offer_id, metric)
        SELECT 'summaries', offer_id, metric FROM old_rows
        UNION SELECT 'summaries', twin.id, metric FROM old_rows
        JOIN catalog_offer AS twin ON twin.figures_of_id = offer_id WHERE old_rows.source = 'published';
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO catalog_storedmark (kind, offer_id, metric)
        SELECT 'summaries', offer_id, metric FROM now_rows
        UNION SELECT 'summaries', twin.id, metric FROM now_rows
        JOIN catalog_offer AS twin ON twin.figures_of_id = offer_id WHERE now_rows.source = 'published';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER mark_samples_inserted AFTER INSERT ON benchmarks_sample
    REFERENCING NEW TABLE AS now_rows
    FOR EACH STATEMENT EXECUTE FUNCTION benchmarks_mark_samples();
CREATE TRIGGER mark_samples_updated AFTER UPDATE ON benchmarks_sample
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
    FOR EACH STATEMENT EXECUTE FUNCTION benchmarks_mark_samples();
CREATE TRIGGER mark_samples_deleted AFTER DELETE ON benchmarks_sample
    REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION benchmarks_mark_samples();
CREATE TRIGGER mark_samples_truncated AFTER TRUNCATE ON benchmarks_sample
    FOR EACH STATEMENT EXECUTE FUNCTION benchmarks_mark_samples();
"""
# How wide an interval is depends on the kind of the offer's CPUs, and where a published figure
# is to be found may stand with the offer. Transition tables allow no list of columns. Who gives an offer
# the figures of another one makes its scores, too (services.twins).
MARK_OFFERS = """
CREATE FUNCTION benchmarks_mark_offers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO catalog_storedmark (kind, offer_id, metric)
    SELECT DISTINCT 'summaries', sample.offer_id, sample.metric
    FROM old_rows
    JOIN now_rows ON now_rows.id = old_rows.id
    JOIN benchmarks_sample AS sample ON sample.offer_id = now_rows.id
    WHERE (old_rows.kind, old_rows.vcpu_kind, old_rows.source) IS DISTINCT FROM
          (now_rows.kind, now_rows.vcpu_kind, now_rows.source)
    UNION SELECT 'summaries', offer_id, metric
    FROM old_rows
    JOIN now_rows ON now_rows.id = old_rows.id
    JOIN benchmarks_storedsummary ON offer_id = now_rows.id
    WHERE old_rows.figures_of_id IS DISTINCT FROM now_rows.figures_of_id
        AND old_rows.figures_of_id IS NOT NULL;
    RETURN NULL;
END $$;
CREATE TRIGGER mark_offers_updated AFTER UPDATE ON catalog_offer
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS now_rows
    FOR EACH STATEMENT EXECUTE FUNCTION benchmarks_mark_offers();
"""
# What a score says also depends on the machine that a run met.
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


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('catalog', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Worker',
            fields=[
                ('id', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('instance', models.CharField(blank=True, max_length=200)),
                ('seen_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ('id',),
            },
        ),
        migrations.CreateModel(
            name='Drain',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('worker', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='drain', to='benchmarks.worker')),
                ('since', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ('since',),
            },
        ),
        migrations.CreateModel(
            name='LoginKey',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='login_key', to='accounts.workspace')),
                ('public_key', models.TextField()),
                ('sealed_private_key', models.BinaryField()),
                ('earlier_public_key', models.TextField(blank=True)),
                ('sealed_earlier_key', models.BinaryField(null=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='HostAuthority',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='host_authorities', to='accounts.workspace')),
                ('patterns', models.TextField()),
                ('public_key', models.TextField()),
                ('is_revoked', models.BooleanField(default=False)),
            ],
            options={
                'ordering': ('created_at',),
                'constraints': [models.UniqueConstraint(fields=('workspace', 'public_key'), name='host_authority_once_a_workspace')],
            },
        ),
        migrations.CreateModel(
            name='Host',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='hosts', to='accounts.workspace')),
                ('offer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='hosts', to='catalog.offer')),
                ('name', models.CharField(max_length=100)),
                ('driver', models.CharField(max_length=20)),
                ('worker', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='hosts', to='benchmarks.worker')),
                ('is_rented', models.BooleanField(default=False)),
                ('address', models.CharField(blank=True, max_length=255)),
                ('port', models.PositiveIntegerField(default=22)),
                ('username', models.CharField(blank=True, max_length=64)),
                ('bastion', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='hosts_behind', to='benchmarks.host')),
                ('sealed_private_key', models.BinaryField(null=True)),
                ('certificate', models.TextField(blank=True)),
                ('agent_socket', models.CharField(blank=True, db_default='', default='', max_length=255)),
                ('is_in_production', models.BooleanField(default=False)),
                ('tags', models.JSONField(default=list)),
                ('state', models.CharField(choices=[('unverified', 'Unverified'), ('trusted', 'Trusted'), ('key_changed', 'Key Changed'), ('gone', 'Gone')], default='unverified', max_length=12)),
                ('host_key', models.TextField(blank=True)),
                ('authority', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='hosts', to='benchmarks.hostauthority')),
                ('certificate_refusal', models.TextField(blank=True)),
                ('scanned_key', models.TextField(blank=True)),
                ('scanned_at', models.DateTimeField(null=True)),
                ('scan_requested_at', models.DateTimeField(null=True)),
                ('scan_error', models.TextField(blank=True)),
                ('facts', models.JSONField(default=dict)),
            ],
            options={
                'ordering': ('name',),
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='host_name_once_a_workspace')],
            },
        ),
        migrations.CreateModel(
            name='Campaign',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='campaigns', to='accounts.workspace')),
                ('name', models.CharField(max_length=100)),
                ('profile', models.CharField(max_length=10)),
                ('probes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), null=True, size=None)),
                ('parameters', models.JSONField(default=dict)),
                ('repeats', models.PositiveIntegerField(default=1)),
                ('concurrency', models.PositiveIntegerField(default=4)),
                ('budget_amount', models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ('budget_currency', models.CharField(blank=True, max_length=3)),
                ('install_tools', models.BooleanField(null=True)),
                ('network_pairs', models.CharField(default='none', max_length=5)),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('running', 'Running'), ('done', 'Done'), ('cancelled', 'Cancelled')], default='draft', max_length=10)),
                ('round', models.PositiveIntegerField(default=0)),
                ('hosts', models.ManyToManyField(related_name='campaigns', to='benchmarks.host')),
                ('offers', models.ManyToManyField(related_name='campaigns', to='catalog.offer')),
            ],
            options={
                'ordering': ('-created_at',),
                'constraints': [models.UniqueConstraint(fields=('workspace', 'name'), name='campaign_name_once')],
            },
        ),
        migrations.CreateModel(
            name='RoundStart',
            fields=[
                ('campaign', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='round_start', serialize=False, to='benchmarks.campaign')),
                ('requests', models.JSONField()),
                ('made_count', models.PositiveIntegerField(default=0)),
                ('actor', models.CharField(max_length=150)),
            ],
        ),
        migrations.CreateModel(
            name='Schedule',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='schedules', to='accounts.workspace')),
                ('campaign', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='schedules', to='benchmarks.campaign')),
                ('cron', models.CharField(blank=True, max_length=100)),
                ('every_s', models.PositiveIntegerField(null=True)),
                ('time_zone', models.CharField(max_length=50)),
                ('window_from', models.TimeField(null=True)),
                ('window_to', models.TimeField(null=True)),
                ('is_enabled', models.BooleanField(default=True)),
                ('next_at', models.DateTimeField(null=True)),
                ('last_at', models.DateTimeField(null=True)),
                ('last_outcome', models.CharField(blank=True, max_length=200)),
            ],
            options={
                'ordering': ('created_at',),
                'indexes': [models.Index(condition=models.Q(('is_enabled', True)), fields=['next_at'], name='schedule_due')],
            },
        ),
        migrations.CreateModel(
            name='Run',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='accounts.workspace')),
                ('host', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='benchmarks.host')),
                ('peer', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='peer_runs', to='benchmarks.host')),
                ('server', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='client', to='benchmarks.run')),
                ('campaign', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='runs', to='benchmarks.campaign')),
                ('round', models.PositiveIntegerField(default=0)),
                ('offer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='catalog.offer')),
                ('price', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='runs', to='catalog.priceobservation')),
                ('profile', models.CharField(max_length=10)),
                ('probes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), null=True, size=None)),
                ('parameters', models.JSONField(default=dict)),
                ('labels', models.JSONField(db_default={}, default=dict)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('budget_reserved', 'Budget Reserved'), ('launching', 'Launching'), ('booting', 'Booting'), ('reachable', 'Reachable'), ('prepared', 'Prepared'), ('running', 'Running'), ('collecting', 'Collecting'), ('parsed', 'Parsed'), ('tearing_down', 'Tearing Down'), ('verified_gone', 'Verified Gone'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('lost', 'Lost')], default='queued', max_length=16)),
                ('is_cancel_requested', models.BooleanField(default=False)),
                ('outcome', models.CharField(choices=[('queued', 'Queued'), ('budget_reserved', 'Budget Reserved'), ('launching', 'Launching'), ('booting', 'Booting'), ('reachable', 'Reachable'), ('prepared', 'Prepared'), ('running', 'Running'), ('collecting', 'Collecting'), ('parsed', 'Parsed'), ('tearing_down', 'Tearing Down'), ('verified_gone', 'Verified Gone'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('lost', 'Lost')], default='done', max_length=16)),
                ('probe', models.CharField(blank=True, max_length=40)),
                ('progress_ratio', models.FloatField(default=0)),
                ('runner_s', models.FloatField(null=True)),
                ('live', models.JSONField(default=dict)),
                ('plan', models.JSONField(null=True)),
                ('boot_id', models.CharField(blank=True, max_length=40)),
                ('environment', models.JSONField(default=dict)),
                ('sent_bytes', models.PositiveBigIntegerField(null=True)),
                ('failure_reason', models.CharField(blank=True, max_length=20)),
                ('failure_detail', models.TextField(blank=True)),
                ('requested_by', models.CharField(blank=True, max_length=150)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
            ],
            options={
                'ordering': ('-created_at',),
                'indexes': [models.Index(fields=['workspace', '-created_at', 'id'], name='run_newest'), models.Index(fields=['state'], name='run_by_state')],
                'constraints': [models.UniqueConstraint(condition=models.Q(models.Q(('state__in', ['done', 'failed', 'cancelled', 'lost']), _negated=True), models.Q(('state', 'queued'), _negated=True)), fields=('host',), name='one_active_run_a_host')],
            },
        ),
        migrations.CreateModel(
            name='Step',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='benchmarks.run')),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('budget_reserved', 'Budget Reserved'), ('launching', 'Launching'), ('booting', 'Booting'), ('reachable', 'Reachable'), ('prepared', 'Prepared'), ('running', 'Running'), ('collecting', 'Collecting'), ('parsed', 'Parsed'), ('tearing_down', 'Tearing Down'), ('verified_gone', 'Verified Gone'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('lost', 'Lost')], max_length=16)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('lease_token', models.PositiveBigIntegerField(default=0)),
                ('lease_until', models.DateTimeField(null=True)),
                ('next_due_at', models.DateTimeField(null=True)),
                ('deadline_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('last_error', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(default=backend.core.clock.now, editable=False)),
            ],
            options={
                'ordering': ('id',),
                'indexes': [models.Index(condition=models.Q(('finished_at', None)), fields=['next_due_at'], name='step_due_open')],
                'constraints': [models.UniqueConstraint(fields=('run', 'state'), name='step_once_a_state')],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='benchmarks.run')),
                ('at', models.DateTimeField(default=backend.core.clock.now, editable=False)),
                ('kind', models.CharField(max_length=30)),
                ('detail', models.TextField(blank=True)),
            ],
            options={
                'ordering': ('id',),
            },
        ),
        migrations.CreateModel(
            name='Tick',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='Resource',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='resources', to='accounts.workspace')),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='resources', to='accounts.cloudaccount')),
                ('run', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, related_name='resource', to='benchmarks.run')),
                ('offer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='resources', to='catalog.offer')),
                ('state', models.CharField(choices=[('wanted', 'Wanted'), ('reserved', 'Reserved'), ('called', 'Called'), ('created', 'Created'), ('gone', 'Gone')], default='wanted', max_length=10)),
                ('purchase_model', models.CharField(choices=[('on_demand', 'On Demand'), ('spot', 'Spot')], default='on_demand', max_length=10)),
                ('credit_mode', models.CharField(blank=True, max_length=10)),
                ('region', models.CharField(max_length=50)),
                ('zone', models.CharField(blank=True, max_length=50)),
                ('zones', models.JSONField(default=list)),
                ('tried_zones', models.JSONField(default=list)),
                ('rounds', models.PositiveIntegerField(default=0)),
                ('machine_type', models.CharField(max_length=150)),
                ('arch', models.CharField(blank=True, max_length=10)),
                ('provider_id', models.CharField(blank=True, max_length=200)),
                ('price', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='resources', to='catalog.priceobservation')),
                ('hourly_amount', models.DecimalField(decimal_places=18, max_digits=28, null=True)),
                ('parts', models.JSONField(default=list)),
                ('surplus', models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict)),
                ('currency', models.CharField(blank=True, max_length=3)),
                ('lifetime_s', models.PositiveIntegerField()),
                ('reserved_amount', models.DecimalField(decimal_places=18, max_digits=28, null=True)),
                ('budget_amount', models.DecimalField(decimal_places=10, max_digits=20, null=True)),
                ('budget_currency', models.CharField(blank=True, max_length=3)),
                ('expires_at', models.DateTimeField(null=True)),
                ('called_at', models.DateTimeField(null=True)),
                ('launched_at', models.DateTimeField(null=True)),
                ('gone_at', models.DateTimeField(null=True)),
                ('seen_at', models.DateTimeField(null=True)),
                ('last_error', models.TextField(blank=True)),
                ('is_alarmed', models.BooleanField(default=False)),
            ],
            options={
                'ordering': ('-created_at',),
                'indexes': [models.Index(condition=models.Q(('state', 'gone'), _negated=True), fields=['account', 'state'], name='resource_alive')],
            },
        ),
        migrations.CreateModel(
            name='LedgerEntry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('resource', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='ledger', to='benchmarks.resource')),
                ('kind', models.CharField(choices=[('machine', 'machine'), ('disk', 'disk'), ('address', 'address'), ('traffic', 'traffic'), ('surplus', 'surplus')], default='machine', max_length=10)),
                ('period_start', models.DateTimeField()),
                ('seconds', models.DecimalField(decimal_places=3, max_digits=10)),
                ('amount', models.DecimalField(decimal_places=18, max_digits=28)),
                ('currency', models.CharField(max_length=3)),
            ],
            options={
                'ordering': ('resource_id', 'period_start', 'id'),
                'constraints': [models.UniqueConstraint(fields=('resource', 'kind', 'period_start'), name='ledger_once_a_period')],
            },
        ),
        migrations.CreateModel(
            name='Evidence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='evidence', to='benchmarks.run')),
                ('offer', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='imported_evidence', to='catalog.offer')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('n', models.PositiveIntegerField()),
                ('probe', models.CharField(max_length=20)),
                ('variant', models.CharField(blank=True, max_length=40)),
                ('repeat', models.PositiveIntegerField(default=0)),
                ('command', models.TextField()),
                ('tool_version', models.CharField(blank=True, max_length=100)),
                ('conditions', models.JSONField(default=dict)),
                ('series', models.JSONField(null=True)),
                ('exit_code', models.IntegerField(null=True)),
                ('error', models.TextField(blank=True)),
                ('raw_gzip', models.BinaryField()),
                ('object_key', models.CharField(blank=True, db_default='', default='', max_length=200)),
                ('size_bytes', models.PositiveBigIntegerField()),
                ('sha256', models.CharField(max_length=64)),
                ('file_hashes', models.JSONField(default=dict)),
            ],
            options={
                'verbose_name_plural': 'evidence',
                'ordering': ('run_id', 'n'),
                'indexes': [models.Index(models.F('created_at'), condition=models.Q(('object_key', '')), name='evidence_in_the_database')],
                'constraints': [models.UniqueConstraint(fields=('run', 'n'), name='evidence_number_once_a_run'), models.UniqueConstraint(condition=models.Q(('run', None)), fields=('offer', 'sha256'), name='text_imported_once'), models.CheckConstraint(condition=models.Q(models.Q(('offer__isnull', False), ('run', None)), models.Q(('offer', None), ('run__isnull', False)), _connector='OR'), name='evidence_of_a_run_or_an_offer')],
            },
        ),
        migrations.CreateModel(
            name='Sample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('offer', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='samples', to='catalog.offer')),
                ('host', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='samples', to='benchmarks.host')),
                ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='samples', to='benchmarks.run')),
                ('evidence', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='samples', to='benchmarks.evidence')),
                ('metric', models.CharField(max_length=40)),
                ('variant', models.CharField(max_length=40)),
                ('repeat', models.PositiveIntegerField(default=0)),
                ('value', models.FloatField()),
                ('unit', models.CharField(max_length=20)),
                ('parameters', models.JSONField(default=dict)),
                ('flags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), default=list, size=None)),
                ('source', models.CharField(choices=[('measured', 'Measured'), ('published', 'Published'), ('imported', 'Imported')], max_length=10)),
                ('source_note', models.CharField(blank=True, max_length=300)),
                ('published_sd_ratio', models.FloatField(null=True)),
                ('published_count', models.PositiveIntegerField(null=True)),
                ('published_low', models.FloatField(null=True)),
                ('published_high', models.FloatField(null=True)),
                ('licence', models.CharField(blank=True, max_length=80)),
                ('method_version', models.CharField(blank=True, max_length=80)),
                ('target', models.CharField(blank=True, db_default='', default='', max_length=120)),
                ('measured_at', models.DateTimeField()),
                ('excluded_reason', models.TextField(blank=True)),
            ],
            options={
                'ordering': ('id',),
                'indexes': [models.Index(fields=['metric', 'variant', 'offer'], name='sample_by_metric'), models.Index(fields=['-measured_at', 'id'], name='sample_newest')],
                'constraints': [models.UniqueConstraint(fields=('run', 'metric', 'variant', 'repeat'), name='sample_once_a_repeat'), models.UniqueConstraint(condition=models.Q(('source', 'published')), fields=('offer', 'metric', 'variant', 'source_note'), name='published_figure_once')],
            },
        ),
        migrations.CreateModel(
            name='StoredSummary',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('offer', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='summaries', to='catalog.offer')),
                ('metric', models.CharField(max_length=40)),
                ('variant', models.CharField(max_length=40)),
                ('value', models.FloatField()),
                ('ci95_low', models.FloatField()),
                ('ci95_high', models.FloatField()),
                ('n_instances', models.PositiveIntegerField(null=True)),
                ('n_repeats', models.PositiveIntegerField(null=True)),
                ('interval_basis', models.CharField(max_length=20)),
                ('is_unstable', models.BooleanField()),
                ('is_unfit', models.BooleanField()),
                ('flags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), size=None)),
                ('source', models.CharField(choices=[('measured', 'Measured'), ('published', 'Published'), ('imported', 'Imported')], max_length=10)),
                ('measured_at', models.DateTimeField()),
                ('method_version', models.CharField(blank=True, max_length=80)),
                ('target', models.CharField(blank=True, db_default='', default='', max_length=120)),
                ('licence', models.CharField(blank=True, max_length=80)),
                ('cpu_models', models.JSONField(default=dict)),
                ('result', models.CharField(blank=True, max_length=300)),
            ],
            options={
                'verbose_name_plural': 'stored summaries',
                'ordering': ('id',),
                'constraints': [models.UniqueConstraint(fields=('metric', 'offer'), name='summary_once_a_metric')],
            },
        ),
        migrations.RunSQL(MARK_SAMPLES),
        migrations.RunSQL(MARK_OFFERS),
        migrations.RunSQL(MARK_RUNS),
    ]
