"""The calculator of memory: the bandwidth of modules, and what more or fewer of them change."""

from functools import partial
from typing import Any

from backend.calculators.calc.memory import MemoryDocument, Population, population, slowdowns
from backend.calculators.pages.fields import CalculatorForm, Given, first, number
from backend.site import figures
from backend.site.language import _, count_words, lazy, localize

_number = partial(number, MemoryDocument)


class MemoryForm(CalculatorForm):
    """How the memory of a server is populated."""

    sockets = _number("/sockets", lazy("Sockets"))
    modules = _number("/modules_per_socket", lazy("Modules, each socket"))
    channels = _number("/channels_per_socket", lazy("Channels, each socket"))
    rated = _number("/rated_mt_per_s", lazy("Made for, MT/s"), "DDR4-2400: 2400.")
    runs_at = _number(
        "/configured_mt_per_s", lazy("Runs at, MT/s"), placeholder=lazy("what it is made for")
    )

    def __init__(self, given: Given) -> None:
        super().__init__(first(given, self.base_fields))
        for name, field in self.fields.items():
            field.required = name != "runs_at"


def calculate(given: Given) -> dict[str, Any]:
    """The part of the page; without a summary where something is wrong."""
    form = MemoryForm(given)
    if not form.is_valid():
        return {"form": form}
    memory = MemoryDocument.read(form.document())
    peaks = population(memory)
    return {
        "form": form,
        "summary": _summary(peaks),
        "warnings": _warnings(memory, peaks),
        # For one socket and one module on each channel.
        "modules": [
            (modules, figures.size(round(peaks.socket_bytes_per_s / time_ratio)), time_ratio)
            for modules, time_ratio in slowdowns(memory).items()
        ],
    }


def _summary(peaks: Population) -> str:
    lost = _("nothing is lost")
    if peaks.lost_ratio:
        lost = _("{share} of the bandwidth is unused", share=figures.percent(peaks.lost_ratio))
    return _(
        "{peak}/s of {possible}/s: {lost}",
        peak=figures.size(peaks.peak_bytes_per_s),
        possible=figures.size(peaks.possible_bytes_per_s),
        lost=lost,
    )


def _warnings(memory: MemoryDocument, peaks: Population) -> list[str]:
    """Limits of the memory, in words."""
    warnings = []
    channels, used = memory.channels_per_socket, memory.used_channels_per_socket
    if memory.modules_per_socket == 1 and used < channels:
        warnings.append(_("One module per socket: memory runs on a single channel."))
    if used < channels:
        warnings.append(
            count_words(
                "{n} of {channels} channels of each socket is empty: that leaves {percent}% of "
                "the bandwidth.",
                "{n} of {channels} channels of each socket are empty: that leaves {percent}% "
                "of the bandwidth.",
                channels - used,
                channels=channels,
                percent=localize(f"{100 * (used / channels):.0f}"),
            )
        )
    speed, rated = memory.configured_mt_per_s, memory.rated_mt_per_s
    if speed is not None and speed < rated:
        warnings.append(
            _(
                "The modules run at {speed} MT/s and are made for {rated}: that leaves "
                "{percent}% of the bandwidth.",
                speed=speed,
                rated=rated,
                percent=localize(f"{100 * speed / rated:.0f}"),
            )
        )
    if peaks.is_uneven:
        warnings.append(
            _("Some channels have more modules than others: a part of memory is slower.")
        )
    return warnings
