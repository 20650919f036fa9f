"""The policies of docs/policies, as the form of a new account shows them."""

from django.conf import settings


def policies(provider: str) -> list[tuple[str, str]]:
    """(name of the file, its text) of those that an account at the provider needs."""
    # The files that the documentation links, so that page and document cannot differ.
    files = (settings.BASE_DIR / "docs" / "policies").glob(f"{provider}-*")
    return [(file.name, file.read_text()) for file in sorted(files)]
