"""Django's cache in Redis, with one client for all that a thread asks."""

from typing import Any

from django.core.cache.backends import redis
from django.utils.functional import cached_property


class _OneClient(redis.RedisCacheClient):
    # Django makes a client for each command, which takes as long as the command itself, and every
    # request is counted by two.
    def get_client(self, key: Any = None, *, write: bool = False) -> Any:
        return self._one

    @cached_property
    def _one(self) -> Any:
        return super().get_client(write=True)


class RedisCache(redis.RedisCache):
    """As Django's, with one server, from which is read what is written to it."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._class = _OneClient
