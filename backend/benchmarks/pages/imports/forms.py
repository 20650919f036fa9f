"""A result that was measured elsewhere."""

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from backend.benchmarks.services.archive_reading import MAX_PACKED_BYTES
from backend.foundation.reading.texts import MAX_CHARACTERS, decode_text
from backend.measure.readers import dd
from backend.measure.readers.importing import TOOLS
from backend.site import number_fields
from backend.site.forms import WriteForm
from backend.site.language import _, lazy
from backend.site.offer_field import offer_field

TOOL_WORDS = {
    "dd": "dd",
    "fio": lazy("fio (JSON)"),
    "iperf3": "iperf3 (JSON)",
    "bonnie": lazy("bonnie++ (CSV line)"),
    "sysbench": lazy("sysbench cpu or memory"),
    "stress-ng": lazy("stress-ng, with its command"),
    "openssl": lazy("openssl speed -mr -evp sha256"),
    "cmips": lazy("CMIPS (the original program)"),
    "yabs": lazy("YABS (JSON)"),
    "coremark": "CoreMark",
    "passmark": lazy("PassMark (totals)"),
    "stated": lazy("Times of jobs, and bounds (one a line)"),
}
CONDITION_WORDS = {
    "": lazy("not known"),
    "direct": lazy("direct (O_DIRECT)"),
    "fdatasync": lazy("to the disk (conv=fdatasync)"),
    "cached": lazy("buffered (memory may have helped)"),
    "unknown": lazy("unknown"),
}
CREDIT_WORDS = {
    "": lazy("not known"),
    "standard": lazy("standard: it is slowed to its share"),
    "unlimited": lazy("unlimited: it runs on, and that is charged"),
}
SOURCE_WORDS = {
    "": lazy("not known"),
    "random": lazy("random, or other real data"),
    "zero": lazy("zeros (/dev/zero)"),
    "unknown": lazy("unknown"),
}
MIB = 2**20
GIB = 2**30
# A character of UTF-8 takes up to four bytes; the limit that counts is that of the text.
MOST_BYTES = 4 * MAX_CHARACTERS


class ImportForm(WriteForm):
    """Tool, offer, text or file, and what is known of how the tool was run."""

    tool = forms.ChoiceField(
        label=lazy("Tool"), choices=[(tool, TOOL_WORDS.get(tool, tool)) for tool in TOOLS]
    )
    offer = offer_field(lazy("Offer"), help_text=lazy("The machine that was measured."))
    text = forms.CharField(
        label=lazy("Output of the tool"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false", "autocomplete": "off"}),
    )
    # allow_empty_file: Django's words for one would hide our own, which name both ways.
    file = forms.FileField(label=lazy("or a file with it"), required=False, allow_empty_file=True)
    direction = forms.ChoiceField(
        label=lazy("Direction"),
        required=False,
        choices=[("", lazy("not known")), *((direction, direction) for direction in dd.DIRECTIONS)],
        help_text=lazy("For dd only."),
    )
    conditions = forms.ChoiceField(
        label=lazy("Conditions"),
        required=False,
        choices=list(CONDITION_WORDS.items()),
        help_text=lazy("For dd only."),
    )
    source = forms.ChoiceField(
        label=lazy("Source of the data"),
        required=False,
        choices=list(SOURCE_WORDS.items()),
        help_text=lazy("For dd only."),
    )
    loopback = forms.BooleanField(
        label=lazy("Keep a test from a machine to itself, unranked"),
        required=False,
        help_text=lazy("For iperf3 only."),
    )
    credit_mode = forms.ChoiceField(
        label=lazy("Without CPU credits"),
        required=False,
        choices=list(CREDIT_WORDS.items()),
        help_text=lazy("For any tool, on a burstable machine."),
    )
    file_mib = number_fields.FloatField(
        label=lazy("File size, MiB"),
        required=False,
        min_value=0,
        help_text=lazy("For dd only."),
    )
    ram_gib = number_fields.FloatField(
        label=lazy("Memory, GiB"),
        units=number_fields.MEMORY_GIB,
        required=False,
        min_value=0,
        help_text=lazy("For dd, fio and bonnie++."),
    )

    pointers = {
        "/parameters/file_bytes": "file_mib",
        "/parameters/ram_bytes": "ram_gib",
        "/parameters/direction": "direction",
        "/parameters/conditions": "conditions",
        "/parameters/source": "source",
        "/parameters/loopback": "loopback",
        "/parameters/credit_mode": "credit_mode",
    }

    @property
    def is_stated(self) -> bool:
        """True if anything is said, or wrong, of how it was measured."""
        names = set(self.pointers.values())
        return any(self[name].errors or self[name].value() for name in names)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        upload = data.get("file")
        if upload:
            data["text"] = self._content(upload)
        else:
            # A browser sends every line of a text area with CR LF.
            data["text"] = (data.get("text") or "").replace("\r\n", "\n")
        if not data["text"].strip() and not self.errors:
            self.add_error("text", _("Paste the output, or choose a file."))
        return data

    def _content(self, upload: "UploadedFile[bytes]") -> str:
        # By the size that was sent, before any of it is read into memory.
        if (upload.size or 0) > MOST_BYTES:
            self.add_error("file", _("The file is larger than {most} MiB.", most=MOST_BYTES // MIB))
            return ""
        try:
            content: bytes = upload.read()
            return decode_text(content)
        except UnicodeDecodeError as error:
            self.add_error(
                "file",
                _("Not a text in UTF-8: byte {position} cannot be read.", position=error.start + 1),
            )
            return ""

    def parameters(self) -> dict[str, object] | None:
        """Stated parameters of how it was made; None for nothing."""
        data = self.cleaned_data
        stated = {
            "direction": data["direction"] or None,
            "conditions": data["conditions"] or None,
            "source": data["source"] or None,
            "loopback": data["loopback"],
            "credit_mode": data["credit_mode"] or None,
            "file_bytes": data["file_mib"] and round(data["file_mib"] * MIB),
            "ram_bytes": data["ram_gib"] and round(data["ram_gib"] * GIB),
        }
        # Zero and False count as not said: a file of no size was not measured.
        return {name: value for name, value in stated.items() if value} or None


class ArchiveForm(WriteForm):
    """A run that another Rackrate measured, as the file that it gave."""

    run_offer = offer_field(lazy("Offer"), help_text=lazy("The offer here that the run measured."))
    archive = forms.FileField(label=lazy("Archive of the run"))

    def content(self) -> bytes:
        """The file; the service judges it."""
        upload = self.cleaned_data["archive"]
        # One byte more than allowed, so that the service sees that there is more.
        content: bytes = upload.read(MAX_PACKED_BYTES + 1)
        return content
