import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Scenario',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='scenarios', to='accounts.workspace')),
                ('slug', models.SlugField(max_length=80)),
                ('name', models.CharField(max_length=100)),
                ('document', models.JSONField()),
                ('template', models.CharField(blank=True, max_length=40)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('created_by', models.CharField(max_length=150)),
                ('frozen_at', models.DateTimeField(null=True)),
                ('resolved', models.JSONField(null=True)),
                ('result', models.JSONField(null=True)),
                ('data_version', models.BigIntegerField(null=True)),
                ('note', models.TextField(blank=True)),
            ],
            options={
                'ordering': ('name', 'slug'),
                'constraints': [models.UniqueConstraint(fields=('workspace', 'slug'), name='scenario_slug_once')],
            },
        ),
        migrations.CreateModel(
            name='ScenarioJob',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scenario_jobs', to='accounts.workspace')),
                ('created_by', models.CharField(max_length=150)),
                ('name', models.CharField(max_length=100)),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('done', 'Done'), ('failed', 'Failed'), ('cancelled', 'Cancelled')], default='queued', max_length=10)),
                ('document', models.TextField(blank=True)),
                ('assumptions', models.TextField()),
                ('data_version', models.BigIntegerField()),
                ('options_count', models.PositiveIntegerField()),
                ('result', models.TextField(null=True)),
                ('reason', models.CharField(blank=True, max_length=20)),
                ('failure', models.TextField(blank=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('woken_at', models.DateTimeField()),
            ],
            options={
                'ordering': ('created_at',),
                'indexes': [models.Index(condition=models.Q(('state__in', ('queued', 'running'))), fields=['woken_at'], name='scenario_job_open')],
            },
        ),
        migrations.CreateModel(
            name='ScenarioJobPiece',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pieces', to='scenarios.scenariojob')),
                ('first', models.PositiveIntegerField()),
                ('count', models.PositiveIntegerField()),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('lease_token', models.PositiveIntegerField(default=0)),
                ('lease_until', models.DateTimeField(null=True)),
                ('figures', models.TextField(null=True)),
            ],
            options={
                'ordering': ('first',),
                'constraints': [models.UniqueConstraint(fields=('job', 'first'), name='scenario_job_piece_once')],
            },
        ),
    ]
