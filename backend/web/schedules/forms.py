"""When a campaign starts by itself."""

from collections.abc import Sequence
from typing import Any
from zoneinfo import available_timezones

from django import forms

from backend.benchmarks.models import Campaign
from backend.benchmarks.selectors.schedules import Recurrence, StartWindow
from backend.web.shared.forms import WriteForm, text

UNITS = (("3600", "hours"), ("86400", "days"), ("604800", "weeks"), ("60", "minutes"))


class ScheduleForm(WriteForm):
    """A cron line or an interval in a time zone, and perhaps a window."""

    campaign = forms.ChoiceField(label="Campaign")
    way = forms.ChoiceField(
        label="Starts",
        choices=(("cron", "by a cron line"), ("every", "at an interval")),
        initial="cron",
        widget=forms.RadioSelect,
    )
    cron = text(
        "Cron line",
        required=False,
        help_text="minute, hour, day of month, month, day of week: 0 3 * * 1 is Mondays at 3:00",
        placeholder="0 3 * * 1",
    )
    every = forms.IntegerField(label="Every", required=False, min_value=1)
    every_unit = forms.ChoiceField(label="Unit", choices=UNITS, required=False)
    time_zone = text("Time zone", help_text="As in Europe/Dublin.", list="time-zones")
    window_from = forms.TimeField(
        label="Only from",
        required=False,
        help_text="A start outside the window is left out.",
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
    )
    window_to = forms.TimeField(
        label="to", required=False, widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )

    pointers = {
        "/every_s": "every",
        "/window": "window_from",
        "/window/from": "window_from",
        "/window/to": "window_to",
    }

    def __init__(self, *args: Any, campaigns: Sequence[Campaign], **given: Any) -> None:
        super().__init__(*args, **given)
        self.fields["campaign"].choices = [  # type: ignore[attr-defined]
            (str(campaign.pk), campaign.name) for campaign in campaigns
        ]
        self.initial.setdefault("time_zone", "UTC")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        # A field whose value could not be read has its error already; one for each is enough.
        if data.get("way") == "cron" and not data.get("cron") and "cron" not in self.errors:
            self.add_error("cron", "A cron line is needed.")
        if data.get("way") == "every" and not data.get("every") and "every" not in self.errors:
            self.add_error("every", "A number is needed.")
        begin, end = data.get("window_from"), data.get("window_to")
        if (begin is None) != (end is None) and not {"window_from", "window_to"} & set(self.errors):
            self.add_error("window_from" if begin is None else "window_to", "Both are needed.")
        return data

    def recurrence(self) -> Recurrence:
        """The times typed, for the services."""
        data = self.cleaned_data
        is_cron = data["way"] == "cron"
        begin, end = data["window_from"], data["window_to"]
        return Recurrence(
            cron=data["cron"] if is_cron else None,
            every_s=None if is_cron else int(data["every"]) * int(data["every_unit"] or 3600),
            time_zone=data["time_zone"],
            window=None if begin is None or end is None else StartWindow(begin, end),
        )


def time_zones() -> list[str]:
    """Zones offered for completion: those of places, and UTC."""
    continents = ("Africa/", "America/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Pacific/")
    return ["UTC", *sorted(zone for zone in available_timezones() if zone.startswith(continents))]
