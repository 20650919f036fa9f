"""Short names of rows in addresses, made of the names that people give."""

from collections.abc import Collection

from django.utils.text import slugify

MOST = 80
MOST_OF_OFFER = 120
# Of the characters of a slug these are left for the number of a name that is taken.
NUMBER_LENGTH = 8


def slug_base(name: str, fallback: str) -> str:
    """Beginning of a name's slug."""
    base = slugify(name.replace("_", "-"))[: MOST - NUMBER_LENGTH]
    return base.strip("-") or fallback


def free_slug(base: str, used: Collection[str]) -> str:
    """The base, or with the first number behind it that nobody uses."""
    numbered = (f"{base}-{n}" for n in range(2, len(used) + 3))
    return base if base not in used else next(slug for slug in numbered if slug not in used)


def offer_slug(provider: str, name: str, region: str = "") -> str:
    """As in aws-m5-large-eu-west-1; signs of a name part its words, so R1.1 is not R11."""
    parts = "-".join(filter(None, (provider, name, region)))
    return slugify(parts.replace(".", "-").replace("_", "-"))[:MOST_OF_OFFER]
