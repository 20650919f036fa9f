"""When a campaign starts by itself."""

from collections.abc import Sequence
from typing import Any
from zoneinfo import available_timezones

from django import forms

from backend.benchmarks.calc.schedules import Recurrence
from backend.benchmarks.models import Campaign, Host, HostState
from backend.foundation.time_zones import AREAS, UTC
from backend.site import number_fields
from backend.site.forms import WriteForm, text
from backend.site.language import _, lazy

MOST_NAME = 100
# Hours first: the browser takes the first of a menu.
UNITS = (
    ("3600", lazy("hours")),
    ("86400", lazy("days")),
    ("604800", lazy("weeks")),
    ("60", lazy("minutes")),
)


WEEKDAYS = tuple(
    enumerate(
        (
            lazy("Monday"),
            lazy("Tuesday"),
            lazy("Wednesday"),
            lazy("Thursday"),
            lazy("Friday"),
            lazy("Saturday"),
            lazy("Sunday"),
        ),
        1,
    )
)
# The field that each way of starting cannot do without, and what is said where it is empty.
NEEDED = {
    "cron": ("cron", lazy("A cron line is needed.")),
    "every": ("every", lazy("A number is needed.")),
    "daily": ("at", lazy("A time is needed.")),
    "weekly": ("at", lazy("A time is needed.")),
    "monthly": ("at", lazy("A time is needed.")),
}


class ScheduleForm(WriteForm):
    """A day and time, an interval or a cron line in a time zone, and perhaps a window."""

    campaign = forms.ChoiceField(label=lazy("Campaign"), required=False)
    hosts = forms.MultipleChoiceField(
        label=lazy("Hosts of a new campaign"), required=False, widget=forms.CheckboxSelectMultiple
    )
    alert = forms.CharField(
        label=lazy("E-mail of who is notified of it"),
        required=False,
        max_length=500,
        help_text=lazy("Leave blank to notify only the recipients below."),
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    way = forms.ChoiceField(
        label=lazy("Starts"),
        choices=(
            ("daily", lazy("daily")),
            ("weekly", lazy("weekly")),
            ("monthly", lazy("monthly")),
            ("every", lazy("at an interval")),
            ("cron", lazy("by a cron line")),
        ),
        initial="daily",
        widget=forms.RadioSelect,
    )
    at = forms.TimeField(
        label="At",
        required=False,
        initial="02:00",
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
    )
    weekday = forms.ChoiceField(label="On", choices=WEEKDAYS, required=False)
    # Up to the 28th, which every month has: a later day would be left out in February.
    month_day = number_fields.IntegerField(
        label=lazy("On day of the month"), required=False, initial=1, min_value=1, max_value=28
    )
    cron = text(
        lazy("Cron line"),
        required=False,
        help_text=lazy(
            "minute, hour, day of month, month, day of week: 0 3 * * 1 is Mondays at 3:00"
        ),
        placeholder="0 3 * * 1",
    )
    every = number_fields.IntegerField(label=lazy("Every"), required=False, min_value=1)
    every_unit = forms.ChoiceField(label=lazy("Unit"), choices=UNITS, required=False)
    time_zone = text(
        lazy("Time zone"), help_text=lazy("For example Europe/Dublin."), list="time-zones"
    )
    window_from = forms.TimeField(
        label=lazy("Only from"),
        required=False,
        help_text=lazy("A start outside the window is skipped."),
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
    )
    window_to = forms.TimeField(
        label=lazy("to"),
        required=False,
        widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
    )

    pointers = {
        "/every_s": "every",
        "/window": "window_from",
        "/window/from": "window_from",
        "/window/to": "window_to",
        "/name": "hosts",
        "/channel": "alert",
        "/address": "alert",
    }

    def __init__(
        self,
        *args: Any,
        campaigns: Sequence[Campaign],
        hosts: Sequence[Host] = (),
        may_alert: bool = False,
        **given: Any,
    ) -> None:
        """`hosts` may be measured by a campaign that the form makes."""
        super().__init__(*args, **given)
        trusted = [host for host in hosts if host.state == HostState.TRUSTED]
        self.host_names = {str(host.pk): host.name for host in trusted}
        self.fields["campaign"].choices = [  # type: ignore[attr-defined]
            *([("", _("a new one with the hosts below"))] if trusted else ()),
            *((str(campaign.pk), campaign.name) for campaign in campaigns),
        ]
        if trusted:
            self.fields["hosts"].choices = list(self.host_names.items())  # type: ignore[attr-defined]
        else:
            del self.fields["hosts"]
        if not may_alert:
            del self.fields["alert"]
        # Without a script the browser's own zone is not known.
        self.initial.setdefault("time_zone", "UTC")

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if "campaign" not in self.errors and "hosts" not in self.errors:
            if not data.get("campaign") and not data.get("hosts"):
                self.add_error("campaign", _("A campaign is needed, or a host."))
            elif data.get("campaign") and data.get("hosts"):
                self.add_error("hosts", _("The campaign has its own hosts: choose one of the two."))
        # A field whose value could not be read has its error already; one for each is enough.
        if needed := NEEDED.get(data.get("way", "")):
            field, said = needed
            if data.get(field) in {None, ""} and field not in self.errors:
                self.add_error(field, said)
        begin, end = data.get("window_from"), data.get("window_to")
        if (begin is None) != (end is None) and not {"window_from", "window_to"} & set(self.errors):
            self.add_error("window_from" if begin is None else "window_to", _("Both are needed."))
        return data

    def named(self) -> str:
        """The name of the campaign of the hosts ticked."""
        names = ", ".join(self.host_names[host] for host in self.cleaned_data["hosts"])
        return names if len(names) <= MOST_NAME else f"{names[: MOST_NAME - 2]} …"

    def recurrence(self) -> Recurrence:
        """The times that are meant; raises InvalidDocument."""
        data = self.cleaned_data
        is_interval = data["way"] == "every"
        begin, end = data["window_from"], data["window_to"]
        return Recurrence.read(
            {
                "cron": None if is_interval else self._cron_line(),
                "every_s": int(data["every"]) * int(data["every_unit"] or 3600)
                if is_interval
                else None,
                "time_zone": data["time_zone"],
                "window": None if begin is None or end is None else {"from": begin, "to": end},
            }
        )

    def _cron_line(self) -> str:
        data = self.cleaned_data
        if data["way"] == "cron":
            return str(data["cron"])
        days = {
            "daily": "* * *",
            "weekly": f"* * {data['weekday'] or 1}",
            "monthly": f"{data['month_day'] or 1} * *",
        }[data["way"]]
        return f"{data['at'].minute} {data['at'].hour} {days}"


def time_zones() -> list[str]:
    """Zones offered for completion: those of places, and UTC."""
    regions = (zone for zone in available_timezones() if zone.partition("/")[0] in AREAS)
    return [UTC, *sorted(regions)]
