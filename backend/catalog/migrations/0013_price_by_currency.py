"""Which currencies prices are in is found without reading them all."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0012_all_marks_weighed_once")]
    operations = [
        migrations.AddIndex(
            model_name="priceobservation",
            index=models.Index(fields=["currency"], name="price_by_currency"),
        ),
    ]
