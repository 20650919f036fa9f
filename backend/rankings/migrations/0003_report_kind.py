"""Reports say what was frozen; those of earlier days are rankings."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rankings", "0002_one_stress_ng")]

    operations = [
        migrations.AddField(
            model_name="report",
            name="kind",
            field=models.CharField(
                choices=[
                    ("ranking", "ranking"),
                    ("comparison", "comparison"),
                    ("scenario", "scenario"),
                    ("hardware", "own hardware"),
                ],
                default="ranking",
                max_length=10,
            ),
        ),
    ]
