"""The style sheet of the providers' colours and shapes, made of their records.

Pages link it as a static file like any other: `collectstatic` asks the finder below for it. The
charts read the shapes from its custom properties, too.
"""

import atexit
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

from backend.providers.base import ProviderRecord
from backend.providers.registry import PROVIDERS

PATH = "css/providers.css"
# Colours are used a second time for hollow points, which a swatch shows by hatching.
HATCHING = (
    "background-image:repeating-linear-gradient(-45deg,transparent 0 2px,var(--card) 2px 3.5px)"
)


def provider_styles(records: Iterable[ProviderRecord]) -> str:
    """Custom properties of every provider with a colour, for both themes, and their swatches."""
    # The others share the colour of the style sheet for providers without one.
    coloured = [record for record in records if record.colour]
    light = "".join(map(_properties, coloured))
    dark = "".join(
        f"--provider-{record.slug}:{record.dark_colour};"
        for record in coloured
        if record.dark_colour
    )
    return "\n".join(
        [
            f":root{{{light}}}",
            f':root[data-theme="dark"]{{{dark}}}',
            # Twice, for the theme that was chosen and for that of the system: CSS cannot join the
            # two conditions.
            f"@media (prefers-color-scheme:dark){{:root:not([data-theme]){{{dark}}}}}",
            *map(_swatch, coloured),
            "",
        ]
    )


def _properties(record: ProviderRecord) -> str:
    name = f"--provider-{record.slug}"
    hollow = f"{name}-hollow:1;" if record.is_hollow else ""
    return f"{name}:{record.colour};{name}-shape:{record.shape};{hollow}"


def _swatch(record: ProviderRecord) -> str:
    hatching = f";{HATCHING}" if record.is_hollow else ""
    # Of an element of its own, or of a cell that names the provider: there are hundreds of those.
    name = f"provider-{record.slug}"
    return f".swatch.{name},.by.{name}::before{{background-color:var(--{name}){hatching}}}"


class ProviderStyles(BaseFinder):
    """Finds the style sheet, which is written to a folder of this process first."""

    def __init__(self, *_: Any, **__: Any) -> None:
        # A folder of the process: in containers the program's own files cannot be written.
        folder = Path(tempfile.mkdtemp(prefix="provider-styles-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        (folder / PATH).parent.mkdir()
        (folder / PATH).write_text(provider_styles(PROVIDERS.values()))
        self._storage = FileSystemStorage(location=folder)

    def find(self, path: str, find_all: bool = False, **_: Any) -> Any:
        """The file, as a list when all are asked for."""
        matches = [self._storage.path(PATH)] if path == PATH else []
        return matches if find_all else next(iter(matches), [])

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Any]]:
        """(path, storage) of the one file."""
        yield PATH, self._storage
