import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("notifications", "0004_notices_of_the_audit_trail"),
    ]

    operations = [
        migrations.AlterField(
            model_name="subscription",
            name="kinds",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(
                    choices=[
                        ("run_failed", "a run failed or was lost"),
                        ("run_done", "a run has ended with results"),
                        ("campaign_done", "a campaign came to its end"),
                        ("regression", "a result left the band of its history"),
                        ("leak", "a rented machine does not go away, or a cloud does not answer"),
                        ("prices", "prices are not plausible and wait for a person"),
                        ("audit", "somebody did something that the audit trail records"),
                    ],
                    max_length=20,
                ),
                size=None,
            ),
        ),
    ]
