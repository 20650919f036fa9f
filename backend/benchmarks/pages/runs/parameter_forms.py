"""The advanced parameters of a run or campaign as fields, made from what a profile knows."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms

from backend.foundation.errors import InvalidValue
from backend.measure.probes import CHOICES
from backend.measure.profiles import (
    MATRIX_DEPTHS,
    MATRIX_JOBS,
    PARAMETERS,
    PROFILES,
    Profile,
    RunParameter,
)
from backend.site import figures, number_fields
from backend.site.forms import WriteForm
from backend.site.language import _, lazy

# Units that people type in, with what one of them is in the parameter's own unit.
SHOWN_UNITS: Mapping[str, tuple[str, int]] = {
    "bytes": ("MiB", 2**20),
    "bits/s": ("Mbit/s", 10**6),
}
PROFILE_WORDS = {
    "quick": lazy("quick (up to 90 s)"),
    "standard": lazy("standard (up to 15 min)"),
    "full": lazy("full (about an hour)"),
    "general": lazy("general performance (up to 90 s)"),
}
PREFIX = "parameter_"
LISTS = ("matrix_depths", "matrix_jobs")


def unit_of_field(parameter: RunParameter) -> tuple[str, int]:
    """Unit in which a parameter is typed, and its size."""
    return SHOWN_UNITS.get(parameter.unit, (parameter.unit, 1))


def profile_default(profile: Profile, name: str) -> str:
    """Default of a profile when nothing is typed, in the unit that is shown."""
    if name == "repeats":
        few, many = profile.min_repeats, profile.max_repeats
        return f"{few}" if few == many else _("{few} to {many}", few=few, many=many)
    size = unit_of_field(PARAMETERS[name])[1]
    return figures.quantity(profile.values[name] / size) if name in profile.values else ""


def parameters_typed(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Stored parameters as they are typed in the fields of a ParameterForm."""
    typed: dict[str, Any] = {}
    for name, value in parameters.items():
        if name in PARAMETERS:
            size = unit_of_field(PARAMETERS[name])[1]
            typed[f"{PREFIX}{name}"] = value if size == 1 else value / size
        elif name in LISTS:
            typed[name] = ", ".join(map(str, value))
        else:
            typed[name] = "\n".join(value) if name == "directories" else value
    return typed


class ParameterField(number_fields.FloatField):
    """A number of PARAMETERS within its range, in the unit that is shown."""

    def __init__(self, name: str, parameter: RunParameter) -> None:
        unit, self.size = unit_of_field(parameter)
        # Bytes are whole, mebibytes need not be: 0.5 MiB is typed and 524,288 stored.
        self.is_whole = parameter.is_whole and self.size == 1
        defaults = {key: profile_default(profile, name) for key, profile in PROFILES.items()}
        low, high = parameter.low / self.size, parameter.high / self.size
        # For the page's script, which shows the defaults of the profile that is chosen.
        attributes = {f"data-{key}": text for key, text in defaults.items()}
        super().__init__(
            label=f"{parameter.label}, {unit}" if unit else parameter.label,
            required=False,
            min_value=low,
            max_value=high,
            help_text=figures.bounds(low, high),
            widget=forms.TextInput(
                attrs={
                    "inputmode": "numeric" if self.is_whole else "decimal",
                    "placeholder": defaults["quick"],
                    **attributes,
                }
            ),
        )
        self.parameter = parameter

    def clean(self, value: Any) -> float | int | None:
        """The value in the parameter's own unit; None when nothing was typed."""
        typed: float | None = super().clean(value)
        if typed is None:
            return None
        if self.is_whole and typed != int(typed):
            raise forms.ValidationError(_("Enter a whole number."))
        own = typed * self.size
        return round(own) if self.parameter.is_whole else own


def _counts(text: str) -> list[int]:
    try:
        return [int(word) for word in text.replace(",", " ").split()]
    except ValueError:
        raise forms.ValidationError(_("Enter whole numbers, separated by commas.")) from None


# What a probe measures; one without words shows its name.
PROBE_WORDS = {
    "cmips": lazy("CPU: integer kernel (CMIPS)"),
    "stress_ng": lazy("CPU: stress-ng div16"),
    "openssl": lazy("CPU: SHA-256 by OpenSSL"),
    "sysbench": lazy("CPU: prime numbers by sysbench"),
    "general": lazy("General performance: Redis and OpenSSL"),
    "redis": lazy("Redis: writes, server and client"),
    "web": lazy("Web: static files, server and client"),
    "memory": lazy("Memory: bandwidth and latency"),
    "dd": lazy("Disk: sequential, by dd"),
    "small_files": lazy("Disk: small files and flushes"),
    "fio": lazy("Disk: sequential and random, by fio"),
    "fio_matrix": lazy("Disk: queue depths and jobs, by fio"),
    "fio_steady": lazy("Disk: once it is steady, by fio (long; writes much)"),
    "local_disk": lazy("Disk: local NVMe of a rented machine, by fio"),
    "sustained": lazy("CPU: sustained load"),
    "network": lazy("Network: to another host"),
}


class ParameterForm(WriteForm):
    """Profile, probes and everything that PARAMETERS holds."""

    profile = forms.ChoiceField(label=lazy("Profile"), choices=list(PROFILE_WORDS.items()))
    probes = forms.MultipleChoiceField(
        label=lazy("Probes"),
        required=False,
        choices=[(name, PROBE_WORDS.get(name, name.replace("_", " "))) for name in CHOICES],
        widget=forms.CheckboxSelectMultiple,
        help_text=lazy("Leave unticked to run everything in the profile."),
    )
    directory = forms.CharField(
        label=lazy("Directory of the disk tests"),
        required=False,
        help_text=lazy(
            "A mounted disk, NFS or iSCSI share. Leave blank for the temporary directory."
        ),
        widget=forms.TextInput(attrs={"placeholder": "/mnt/disk", "autocomplete": "off"}),
    )
    directories = forms.CharField(
        label=lazy("Directories measured at the same time"),
        required=False,
        help_text=lazy("Two or more, one a line, each on a disk of its own."),
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    device = forms.CharField(
        label=lazy("Device read at its start and end"),
        required=False,
        help_text=lazy("It is only read, never written."),
        widget=forms.TextInput(attrs={"placeholder": "/dev/sdb", "autocomplete": "off"}),
    )
    matrix_depths = forms.CharField(
        label=lazy("Queue depths of the fio matrix"),
        required=False,
        widget=forms.TextInput(attrs={"placeholder": ", ".join(map(str, MATRIX_DEPTHS))}),
    )
    matrix_jobs = forms.CharField(
        label=lazy("Jobs of the fio matrix"),
        required=False,
        widget=forms.TextInput(attrs={"placeholder": ", ".join(map(str, MATRIX_JOBS))}),
    )

    pointers = {
        **{f"/parameters/{name}": f"{PREFIX}{name}" for name in PARAMETERS},
        **{
            f"/parameters/{name}": name
            for name in ("directory", "directories", "device", "peer", "peer_address", *LISTS)
        },
    }

    def __init__(self, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        for name, parameter in PARAMETERS.items():
            self.fields[f"{PREFIX}{name}"] = ParameterField(name, parameter)
        # Without scripts the form comes back with the placeholders of the profile that was sent.
        chosen = self["profile"].value()
        if chosen in PROFILES:
            for name in PARAMETERS:
                widget = self.fields[f"{PREFIX}{name}"].widget
                widget.attrs["placeholder"] = profile_default(PROFILES[chosen], name)

    def clean_matrix_depths(self) -> list[int]:
        return _counts(self.cleaned_data["matrix_depths"])

    def clean_matrix_jobs(self) -> list[int]:
        return _counts(self.cleaned_data["matrix_jobs"])

    def clean_directories(self) -> list[str]:
        return [
            line.strip() for line in self.cleaned_data["directories"].splitlines() if line.strip()
        ]

    @property
    def numbers(self) -> Iterable[forms.BoundField]:
        return [self[f"{PREFIX}{name}"] for name in PARAMETERS]

    @property
    def target_fields(self) -> Iterable[forms.BoundField]:
        """The fields that say where and at which depths is measured."""
        return [self[name] for name in ("directory", "directories", "device", *LISTS)]

    @property
    def is_advanced(self) -> bool:
        """True if anything was typed below, or is wrong there."""
        names = [field.name for field in (*self.numbers, *self.target_fields)]
        return any(self[name].value() or self[name].errors for name in names)

    def probe_choice(self) -> list[str] | None:
        """The probes ticked; None = all of the profile."""
        return self.cleaned_data["probes"] or None

    def run_parameters(self) -> dict[str, object]:
        """The document's `parameters`: only what was typed."""
        data = self.cleaned_data
        numbers = {name: data.get(f"{PREFIX}{name}") for name in PARAMETERS}
        names = ("directory", "directories", "device", *LISTS, "peer", "peer_address")
        others = {name: data.get(name) for name in names}
        return {
            name: value for name, value in (numbers | others).items() if value not in (None, "", [])
        }

    def refuse(self, error: InvalidValue) -> None:
        if error.field.startswith("/probes"):
            # The document names the place in the list, and the form has one field for all.
            error = InvalidValue("/probes", error.detail)
        super().refuse(error)
