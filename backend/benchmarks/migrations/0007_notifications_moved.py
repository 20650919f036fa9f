"""Subscriptions and notices belong to the app notifications, whose 0001 took their tables over."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('benchmarks', '0006_workers'),
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
