"""Views of one owner have names of their own."""

from django.db import migrations, models


def rename_doubles(apps, schema_editor):
    """The oldest one keeps its name; the others get a number."""
    rows = apps.get_model("rankings", "SavedView").objects.order_by("created_at", "id")
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
    return (one.workspace_id, one.owner)


class Migration(migrations.Migration):
    dependencies = [("rankings", "0004_report_of_a_bill")]

    operations = [
        migrations.RunPython(rename_doubles, migrations.RunPython.noop),
        # Rows that were changed have triggers waiting, and an index would have to wait for them.
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", migrations.RunSQL.noop),
        migrations.AddConstraint(
            "savedview",
            models.UniqueConstraint(fields=("workspace", "owner", "name"), name="view_name_once"),
        ),
    ]
