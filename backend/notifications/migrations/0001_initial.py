"""Subscriptions and notices come from the app benchmarks with their rows, which 0008 there forgets."""

import django.contrib.postgres.fields
import django.db.models.deletion
import uuid
from django.db import migrations, models


def renamed(old: str, new: str) -> str:
    """SQL that moves both tables from one app to another: with the names that Django derives from
    a table's (constraints, indexes, the sequence), and with their content types, on which
    permissions hang."""
    return f"""
ALTER TABLE {old}_subscription RENAME TO {new}_subscription;
ALTER TABLE {old}_notice RENAME TO {new}_notice;
DO $$
DECLARE item record;
BEGIN
    FOR item IN
        SELECT conrelid::regclass AS owner, conname AS name FROM pg_constraint
        WHERE conrelid IN ('{new}_subscription'::regclass, '{new}_notice'::regclass)
            AND starts_with(conname, '{old}_')
    LOOP
        EXECUTE format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I',
            item.owner, item.name, left(replace(item.name, '{old}_', '{new}_'), 63));
    END LOOP;
    FOR item IN
        SELECT oid::regclass AS owner, relname AS name FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('i', 'S')
            AND (starts_with(relname, '{old}_subscription_')
                OR starts_with(relname, '{old}_notice_'))
    LOOP
        EXECUTE format('ALTER TABLE %s RENAME TO %I',
            item.owner, left(replace(item.name, '{old}_', '{new}_'), 63));
    END LOOP;
END $$;
UPDATE django_content_type SET app_label = '{new}'
WHERE app_label = '{old}' AND model IN ('subscription', 'notice');
"""


MODELS = [
    migrations.CreateModel(
        name='Subscription',
        fields=[
            ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
            ('created_at', models.DateTimeField(auto_now_add=True)),
            ('channel', models.CharField(choices=[('email', 'e-mail'), ('webhook', 'webhook')], max_length=8)),
            ('address', models.CharField(max_length=500)),
            ('sealed_secret', models.BinaryField(null=True)),
            ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('run_failed', 'a run failed or was lost'), ('campaign_done', 'a campaign came to its end'), ('regression', 'a result left the band of its history'), ('leak', 'a rented machine does not go away, or a cloud does not answer'), ('prices', 'prices are not plausible and wait for a person')], max_length=20), size=None)),
            ('is_enabled', models.BooleanField(default=True)),
            ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='subscriptions', to='accounts.workspace')),
        ],
        options={
            'ordering': ('created_at',),
        },
    ),
    migrations.CreateModel(
        name='Notice',
        fields=[
            ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ('key', models.CharField(max_length=150)),
            ('document', models.JSONField()),
            ('created_at', models.DateTimeField(auto_now_add=True)),
            ('next_due_at', models.DateTimeField(null=True)),
            ('attempt', models.PositiveIntegerField(default=0)),
            ('sent_at', models.DateTimeField(null=True)),
            ('last_error', models.TextField(blank=True)),
            ('subscription', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='notifications.subscription')),
        ],
        options={
            'ordering': ('id',),
            'indexes': [models.Index(condition=models.Q(('sent_at', None)), fields=['next_due_at'], name='notice_due_open')],
            'constraints': [models.UniqueConstraint(fields=('subscription', 'key'), name='notice_once')],
        },
    ),
]


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('benchmarks', '0007_evidence_file_hashes'),
        ('contenttypes', '0002_remove_content_type_name'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunSQL(
                    renamed('benchmarks', 'notifications'), renamed('notifications', 'benchmarks')
                ),
            ],
            state_operations=MODELS,
        ),
    ]
