"""Settings of the processes that tests start to rent machines: production's, and a faked provider."""

from backend.config.settings import *  # noqa: F403
from backend.providers.registry import register

register("tests.fakes.fake")
