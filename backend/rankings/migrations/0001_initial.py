import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('accounts', '__first__'),
    ]

    operations = [
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='views', to='accounts.workspace')),
                ('slug', models.SlugField(max_length=80)),
                ('name', models.CharField(max_length=100)),
                ('params', models.JSONField()),
                ('visibility', models.CharField(choices=[('private', 'private'), ('shared', 'shared')], default='shared', max_length=7)),
                ('owner', models.CharField(max_length=150)),
                ('updated_at', models.DateTimeField(auto_now=True)),
            ],
            options={
                'ordering': ('name', 'slug'),
                'constraints': [models.UniqueConstraint(fields=('workspace', 'slug'), name='view_slug_once'), models.UniqueConstraint(fields=('workspace', 'owner', 'name'), name='view_name_once')],
            },
        ),
        migrations.CreateModel(
            name='FeedKey',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('view', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='feed_keys', to='rankings.savedview')),
                ('name', models.CharField(max_length=100)),
                ('lookup', models.CharField(max_length=8, unique=True)),
                ('digest', models.BinaryField(max_length=32)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(null=True)),
                ('last_used_at', models.DateTimeField(null=True)),
                ('created_by', models.CharField(max_length=150)),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='feed_keys', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ('created_at',),
            },
        ),
        migrations.CreateModel(
            name='Report',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='reports', to='accounts.workspace')),
                ('kind', models.CharField(choices=[('ranking', 'ranking'), ('comparison', 'comparison'), ('scenario', 'scenario'), ('hardware', 'own hardware'), ('bill', 'bill'), ('prices', 'price changes')], default='ranking', max_length=10)),
                ('slug', models.SlugField(max_length=80)),
                ('title', models.CharField(max_length=150)),
                ('note', models.TextField(blank=True)),
                ('params', models.JSONField()),
                ('document', models.JSONField()),
                ('data_version', models.BigIntegerField()),
                ('created_by', models.CharField(max_length=150)),
            ],
            options={
                'ordering': ('-created_at',),
                'constraints': [models.UniqueConstraint(fields=('workspace', 'slug'), name='report_slug_once')],
            },
        ),
    ]
