from django.apps import AppConfig


class CommonConfig(AppConfig):
    name = "backend.common"

    def ready(self) -> None:
        from backend.common import (
            checks,  # noqa: F401  (importing registers them)
            clock,
        )

        clock.start()
