from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("benchmarks", "0031_indexes_of_lists"),
    ]

    operations = [
        migrations.AddField(
            model_name="host",
            name="agent_socket",
            field=models.CharField(blank=True, db_default="", default="", max_length=255),
        ),
    ]
