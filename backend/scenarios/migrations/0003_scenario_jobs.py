import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0015_external_identities'),
        ('scenarios', '0002_doubled_offers'),
    ]

    operations = [
        migrations.CreateModel(
            name='ScenarioJob',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
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
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='scenario_jobs', to='accounts.workspace')),
            ],
            options={
                'ordering': ('created_at',),
            },
        ),
        migrations.CreateModel(
            name='ScenarioJobPiece',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first', models.PositiveIntegerField()),
                ('count', models.PositiveIntegerField()),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('lease_token', models.PositiveIntegerField(default=0)),
                ('lease_until', models.DateTimeField(null=True)),
                ('figures', models.TextField(null=True)),
                ('job', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='pieces', to='scenarios.scenariojob')),
            ],
            options={
                'ordering': ('first',),
            },
        ),
        migrations.AddIndex(
            model_name='scenariojob',
            index=models.Index(condition=models.Q(('state__in', ('queued', 'running'))), fields=['woken_at'], name='scenario_job_open'),
        ),
        migrations.AddConstraint(
            model_name='scenariojobpiece',
            constraint=models.UniqueConstraint(fields=('job', 'first'), name='scenario_job_piece_once'),
        ),
    ]
