"""Offers say what they sustain once their CPU credits are used up."""

from django.db import migrations, models

from backend.catalog.selectors.cpu_credits import credit_figures


def fill_by_name(apps, schema_editor):
    offers = apps.get_model("catalog", "Offer").objects
    for provider, name in offers.values_list("provider__slug", "name").order_by().distinct():
        if figures := credit_figures(provider, name):
            offers.filter(provider__slug=provider, name=name).update(**figures)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0013_price_by_currency")]

    operations = [
        migrations.AddField(
            model_name="offer",
            name="cpu_baseline_ratio",
            field=models.DecimalField(blank=True, decimal_places=6, max_digits=7, null=True),
        ),
        migrations.AddField(
            model_name="offer",
            name="cpu_credit_price_usd_per_vcpu_hour",
            field=models.DecimalField(blank=True, decimal_places=6, max_digits=9, null=True),
        ),
        migrations.AddField(
            model_name="offer",
            name="cpu_credit_default",
            field=models.CharField(
                blank=True,
                choices=[("standard", "standard"), ("unlimited", "unlimited")],
                default="",
                max_length=10,
            ),
            preserve_default=False,
        ),
        migrations.RunPython(fill_by_name, migrations.RunPython.noop),
    ]
