"""What the page tests share: rows, and static files straight from their folder."""

import pytest
from django.conf import LazySettings

from backend.rankings.pages.ranking import views as ranking_views
from backend.site import state
from tests.backend.conftest import demo, market, roomy_throttles
from tests.frontend.rows import Measured, measured_offer

__all__ = ["demo", "market", "roomy_throttles"]


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


@pytest.fixture(autouse=True)
def _reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader for whom pages begin as the API does; test_page_defaults has others."""
    monkeypatch.setattr(ranking_views, "page_defaults", lambda *_: state.API_DEFAULTS)


@pytest.fixture
def measured(db: None) -> Measured:
    return measured_offer()
