"""Fixtures of the tests that drive the whole: the browser."""

from tests.e2e.browser import browser

__all__ = ["browser"]
