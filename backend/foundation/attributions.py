"""Who is named beside published figures, as the licence of the figures asks."""

from collections.abc import Iterable
from dataclasses import dataclass

SPARE_CORES = "Spare Cores database"
SPARE_CORES_LICENCE = f"CC BY-SA 4.0, {SPARE_CORES}"
INSPECTOR_LICENCE = "CC BY-SA 4.0, Spare Cores Inspector Data"
SPEC_TERMS = "SPEC fair use; SPEC and SPECrate are trademarks of SPEC"


@dataclass(frozen=True)
class Attribution:
    """Whose figures they are, under which licence, and what was changed."""

    figures: str
    source: str
    source_url: str
    licence: str
    licence_url: str
    changes: str

    @property
    def text(self) -> str:
        """All of it in one line, with the addresses written out."""
        return (
            f"{self.figures}: {self.source} ({self.source_url}), {self.licence}"
            f" ({self.licence_url}). {self.changes}"
        )


# By the licence that is stored with a figure.
ATTRIBUTIONS = {
    SPARE_CORES_LICENCE: Attribution(
        "Imported figures",
        "Spare Cores",
        "https://sparecores.com/",
        "CC BY-SA 4.0",
        "https://creativecommons.org/licenses/by-sa/4.0/",
        "Converted to the units used here.",
    ),
    INSPECTOR_LICENCE: Attribution(
        "Published benchmark figures",
        "Spare Cores Inspector Data",
        "https://github.com/SpareCores/sc-inspector-data",
        "CC BY-SA 4.0",
        "https://creativecommons.org/licenses/by-sa/4.0/",
        "Reduced to the median, lowest and highest of each server's runs; units scaled; means of"
        " ratios added.",
    ),
    SPEC_TERMS: Attribution(
        "SPECrate figures",
        "SPEC CPU2017 results",
        "https://www.spec.org/cpu2017/results/",
        "SPEC fair use",
        "https://www.spec.org/fairuse.html",
        "Medians by processor, and what is calculated from them, are derived. SPEC and SPECrate"
        " are registered trademarks of the Standard Performance Evaluation Corporation.",
    ),
}


def attributions(licences: Iterable[str | None]) -> list[Attribution]:
    """Attributions that the licences among figures ask for, each once; one may name several, as of
    a mix."""
    present = set(filter(None, licences))
    return [
        attribution
        for licence, attribution in ATTRIBUTIONS.items()
        if any(licence in words for words in present)
    ]
