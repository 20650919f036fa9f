"""Schedules in time zones of no region: each in the region that the database of zones links it to."""

from typing import Any

from django.db import migrations

from backend.domain.time_zones import AREAS, UTC

REGIONS = {
    "CET": "Europe/Brussels",
    "CST6CDT": "America/Chicago",
    "EET": "Europe/Athens",
    "EST": "America/Panama",
    "EST5EDT": "America/New_York",
    "HST": "Pacific/Honolulu",
    "MET": "Europe/Brussels",
    "MST": "America/Phoenix",
    "MST7MDT": "America/Denver",
    "PST8PDT": "America/Los_Angeles",
    "WET": "Europe/Lisbon",
    "Eire": "Europe/Dublin",
    "GB": "Europe/London",
    "Japan": "Asia/Tokyo",
    "Singapore": "Asia/Singapore",
    "US/Central": "America/Chicago",
    "US/Eastern": "America/New_York",
    "US/Mountain": "America/Denver",
    "US/Pacific": "America/Los_Angeles",
    **dict.fromkeys(
        ("GMT", "UCT", "Zulu", "Universal", "Etc/UTC", "Etc/GMT", "Etc/UCT", "Etc/Zulu"), UTC
    ),
}


def to_regions(apps: Any, schema_editor: Any) -> None:
    """One of a zone that has no such region starts nothing until a person states one."""
    for schedule in apps.get_model("benchmarks", "Schedule").objects.all():
        zone = schedule.time_zone
        if zone == UTC or zone.partition("/")[0] in AREAS:
            continue
        schedule.time_zone = REGIONS.get(zone, UTC)
        if zone not in REGIONS:
            schedule.is_enabled, schedule.next_at = False, None
            schedule.last_outcome = f"disabled: {zone} is no region"
        schedule.save()


class Migration(migrations.Migration):
    dependencies = [("benchmarks", "0033_traffic_of_rented_machines")]

    # Backwards nothing is done: every earlier version reads regions, too.
    operations = [migrations.RunPython(to_regions, migrations.RunPython.noop)]
