"""The part of the world that a region is in by its name, for regions that the catalogue does not have."""

import re

# By the names of AWS, Azure and Google: the first that matches counts.
_NAMES = tuple(
    (group, re.compile(words, re.IGNORECASE))
    for group, words in (
        ("oceania", r"australia|newzealand|^ap-southeast-[246]\b|sydney|melbourne"),
        ("south-america", r"^sa-|southamerica|brazil|chile"),
        ("africa", r"africa|^af-"),
        (
            "asia",
            r"asia|^ap-|^cn-|china|hongkong|taiwan|japan|korea|india|indonesia|malaysia|^me-|^il-|uae|qatar|"
            r"israel|tokyo|mumbai|singapore|dubai",
        ),
        (
            "europe",
            r"europe|^eu\b|^eu-|^uk|france|germany|norway|sweden|switzerland|poland|italy|spain|austria|"
            r"belgium|denmark|finland|ireland|frankfurt|london|paris|zurich",
        ),
        (
            "north-america",
            r"^us|us\d?$|^ca-|^mx-|canada|mexico|northamerica|virginia|ohio|oregon|california",
        ),
    )
)


def group_by_name(region: str) -> str | None:
    """Its part of the world; None where the name does not say."""
    return next((group for group, words in _NAMES if words.search(region)), None)
