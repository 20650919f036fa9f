"""Reports of bills."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rankings", "0003_report_kind")]

    operations = [
        migrations.AlterField(
            model_name="report",
            name="kind",
            field=models.CharField(
                choices=[
                    ("ranking", "ranking"),
                    ("comparison", "comparison"),
                    ("scenario", "scenario"),
                    ("hardware", "own hardware"),
                    ("bill", "bill"),
                ],
                default="ranking",
                max_length=10,
            ),
        ),
    ]
