"""What the page tests share: rows, and static files straight from their folder."""

import pytest
from django.conf import LazySettings

from tests.frontend.rows import Measured, measured_offer


@pytest.fixture(autouse=True)
def _pages(settings: LazySettings) -> None:
    """Pages for everybody, over plain HTTP, without the manifest that collectstatic makes."""
    settings.PUBLIC_READ = True
    settings.SECURE_SSL_REDIRECT = False
    settings.STATIC_ROOT = settings.STATICFILES_DIRS[0]
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


@pytest.fixture
def measured(db: None) -> Measured:
    return measured_offer()
