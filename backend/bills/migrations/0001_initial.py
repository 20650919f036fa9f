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
            name='Bill',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='bills', to='accounts.workspace')),
                ('slug', models.SlugField(max_length=80)),
                ('name', models.CharField(max_length=100)),
                ('formats', models.CharField(max_length=40)),
                ('sha256', models.CharField(max_length=64)),
                ('currency', models.CharField(max_length=3)),
                ('total', models.DecimalField(decimal_places=15, max_digits=38)),
                ('line_count', models.PositiveBigIntegerField()),
                ('unreadable_count', models.PositiveBigIntegerField()),
                ('estate', models.JSONField()),
                ('created_by', models.CharField(max_length=150)),
            ],
            options={
                'ordering': ('-created_at',),
                'constraints': [models.UniqueConstraint(fields=('workspace', 'slug'), name='bill_slug_once'), models.UniqueConstraint(fields=('workspace', 'sha256'), name='bill_file_once')],
            },
        ),
        migrations.CreateModel(
            name='BillUpload',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='bill_uploads', to='accounts.workspace')),
                ('name', models.CharField(max_length=100)),
                ('file_name', models.CharField(max_length=200)),
                ('format', models.CharField(blank=True, max_length=10)),
                ('price_is', models.CharField(blank=True, max_length=5)),
                ('size_bytes', models.PositiveBigIntegerField()),
                ('state', models.CharField(choices=[('queued', 'waits or is being read'), ('done', 'read'), ('failed', 'refused'), ('asks', 'waits for an answer')], default='queued', max_length=10)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('progress_ratio', models.FloatField(default=0)),
                ('failure', models.TextField(blank=True)),
                ('bill', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='uploads', to='bills.bill')),
                ('created_by', models.CharField(max_length=150)),
            ],
            options={
                'ordering': ('created_at',),
                'indexes': [models.Index(condition=models.Q(('state', 'queued')), fields=['created_at'], name='bill_upload_queued')],
            },
        ),
        migrations.CreateModel(
            name='BillUploadPart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('upload', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='bills.billupload')),
                ('number', models.PositiveIntegerField()),
                ('content', models.BinaryField()),
            ],
            options={
                'ordering': ('number',),
                'constraints': [models.UniqueConstraint(fields=('upload', 'number'), name='bill_upload_part_once')],
            },
        ),
    ]
