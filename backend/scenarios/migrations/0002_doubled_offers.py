"""Joins offers that an earlier version made twice: its tables and its price lists wrote the slug of a
name with a dot or underscore in two ways, as in aws-c6alarge-us-east-1 and aws-c6a-large-us-east-1.

Here, above all apps that name offers. Backwards nothing is done: which figures were whose is not
known any more.
"""

import json

from django.db import IntegrityError, migrations, transaction

DEFAULT_WORKSPACE = "default"
REFERRING = (
    ("catalog", "PriceObservation"),
    ("catalog", "HardwareModel"),
    ("benchmarks", "Host"),
    ("benchmarks", "Run"),
    ("benchmarks", "Resource"),
    ("benchmarks", "Evidence"),
    ("benchmarks", "Sample"),
)


def join_doubles(apps, schema_editor):
    offers = apps.get_model("catalog", "Offer").objects
    known = {}
    for offer in offers.filter(workspace=None):
        known[key_of(None, offer)] = offer
    for offer in offers.exclude(workspace=None).select_related("workspace").order_by("created_at"):
        own = key_of(offer.workspace_id, offer)
        # What everybody sees is written by the default workspace alone; its own offers are read by
        # the same people.
        shared = known.get(key_of(None, offer)) if offer.workspace.slug == DEFAULT_WORKSPACE else None
        kept = shared or known.setdefault(own, offer)
        if kept is not offer:
            try:
                with transaction.atomic():
                    join(apps, offer, kept)
            # Both have the same price of one moment, or the same text: a person has to choose.
            except IntegrityError:
                continue


def key_of(workspace_id, offer):
    return workspace_id, offer.provider_id, offer.region_id, offer.name.casefold()


def join(apps, double, kept):
    if kept.workspace_id is None:
        # A person decides whether a price that was stated of the double counts for everybody.
        prices = apps.get_model("catalog", "PriceObservation").objects.filter(offer=double)
        prices.filter(is_published=True).update(
            is_published=False, anomaly=f"it was stated of {double.slug}, which was the same offer"
        )
    for app, model in REFERRING:
        apps.get_model(app, model).objects.filter(offer=double).update(offer=kept)
    for campaign in double.campaigns.all():
        campaign.offers.add(kept)
    rename(apps.get_model("scenarios", "Scenario").objects.filter(frozen_at=None), "document", double, kept)
    rename(apps.get_model("rankings", "SavedView").objects.all(), "params", double, kept)
    double.delete()


def rename(rows, field, double, kept):
    before, after = json.dumps(double.slug), json.dumps(kept.slug)
    for row in rows.filter(workspace_id=double.workspace_id):
        written = json.dumps(getattr(row, field))
        if before in written:
            setattr(row, field, json.loads(written.replace(before, after)))
            row.save(update_fields=[field])


class Migration(migrations.Migration):
    dependencies = [
        ("scenarios", "0001_initial"),
        ("rankings", "0005_view_names"),
        ("benchmarks", "0033_traffic_of_rented_machines"),
        ("catalog", "0011_table_mappings"),
    ]

    operations = [migrations.RunPython(join_doubles, migrations.RunPython.noop)]
