from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_installations'),
    ]

    operations = [
        migrations.AddField(
            model_name='cloudaccount',
            name='preflight',
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name='cloudaccount',
            name='preflight_at',
            field=models.DateTimeField(null=True),
        ),
    ]
