from django.db import migrations, models

# The rest of the summary is written anew with the next answer; this part is compared with it.
RENAME_KEY = """
UPDATE catalog_pricefeed SET summary = (summary - '{old}')
    || jsonb_build_object('{new}', summary -> '{old}') WHERE summary ? '{old}'
"""


class Migration(migrations.Migration):

    dependencies = [
        ('catalog', '0004_stored_prices'),
    ]

    # The columns keep their names.
    operations = [
        migrations.AlterField(
            model_name='priceobservation',
            name='doubt',
            field=models.TextField(blank=True, db_column='doubt'),
        ),
        migrations.RenameField('priceobservation', 'doubt', 'anomaly'),
        migrations.AlterField(
            model_name='currentprice',
            name='is_doubted',
            field=models.BooleanField(db_column='is_doubted'),
        ),
        migrations.RenameField('currentprice', 'is_doubted', 'is_questioned'),
        migrations.RunSQL(
            RENAME_KEY.format(old='torn', new='incomplete'),
            RENAME_KEY.format(old='incomplete', new='torn'),
        ),
    ]
