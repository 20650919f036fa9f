"""A word for each architecture of offers, whatever a machine, a list or a person calls it."""

from types import MappingProxyType

NAMES = MappingProxyType(
    {"amd64": "x86_64", "x64": "x86_64", "x86-64": "x86_64", "aarch64": "arm64", "arm": "arm64"}
)


def architecture(name: str) -> str:
    """`x86_64` and `arm64` for their other names; anything else in small letters."""
    spelled = name.strip().lower()
    return NAMES.get(spelled, spelled)
