"""Subscriptions and notices belong to the app notifications, whose 0001 took their tables over."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0007_evidence_file_hashes'),
        ('notifications', '0001_initial'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.DeleteModel(name='Notice'),
                migrations.DeleteModel(name='Subscription'),
            ],
        ),
    ]
