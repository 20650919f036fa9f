from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0034_time_zones_of_regions")]

    operations = [
        migrations.AddField(
            model_name="loginkey",
            name="earlier_public_key",
            field=models.TextField(blank=True, default=""),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="loginkey",
            name="sealed_earlier_key",
            field=models.BinaryField(editable=False, null=True),
        ),
    ]
