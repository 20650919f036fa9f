import backend.notifications.channels
import django.contrib.postgres.fields
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
            name='Subscription',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='subscriptions', to='accounts.workspace')),
                ('channel', models.CharField(choices=backend.notifications.channels.channel_choices, max_length=20)),
                ('address', models.CharField(max_length=500)),
                ('sealed_secret', models.BinaryField(null=True)),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('run_failed', 'a run failed or was lost'), ('run_done', 'a run has ended with results'), ('campaign_done', 'a campaign came to its end'), ('regression', 'a result is outside its normal range'), ('leak', 'a rented machine does not go away, or a cloud does not answer'), ('prices', 'prices are not plausible and wait for a person'), ('audit', 'any audit-log event')], max_length=20), size=None)),
                ('campaign', models.UUIDField(null=True)),
                ('is_enabled', models.BooleanField(default=True)),
            ],
            options={
                'ordering': ('created_at',),
            },
        ),
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('subscription', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='notices', to='notifications.subscription')),
                ('key', models.CharField(max_length=150)),
                ('document', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('next_due_at', models.DateTimeField(null=True)),
                ('attempt', models.PositiveIntegerField(default=0)),
                ('sent_at', models.DateTimeField(null=True)),
                ('last_error', models.TextField(blank=True)),
            ],
            options={
                'ordering': ('id',),
                'indexes': [models.Index(condition=models.Q(('sent_at', None)), fields=['next_due_at'], name='notice_due_open')],
                'constraints': [models.UniqueConstraint(fields=('subscription', 'key'), name='notice_once')],
            },
        ),
    ]
