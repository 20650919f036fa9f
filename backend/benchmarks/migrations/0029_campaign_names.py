"""Campaigns have names of their own."""

from django.db import migrations, models


def rename_doubles(apps, schema_editor):
    """The oldest one keeps its name; the others get a number."""
    rows = apps.get_model("benchmarks", "Campaign").objects.order_by("created_at", "id")
    used = {(_owner(one), one.name) for one in rows}
    seen = set()
    for one in rows:
        name, n = one.name, 2
        while (_owner(one), name) in seen or (name != one.name and (_owner(one), name) in used):
            name, n = f"{one.name[:90]} ({n})", n + 1
        seen.add((_owner(one), name))
        if name != one.name:
            one.name = name
            one.save(update_fields=["name"])


def _owner(one):
    return (one.workspace_id,)


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0028_run_labels")]

    operations = [
        migrations.RunPython(rename_doubles, migrations.RunPython.noop),
        # Rows that were changed have triggers waiting, and an index would have to wait for them.
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.AddConstraint(
            "campaign",
            models.UniqueConstraint(fields=("workspace", "name"), name="campaign_name_once"),
        ),
    ]
