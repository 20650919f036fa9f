from django.apps import AppConfig


class WorkersConfig(AppConfig):
    """Owns the commands that need the engine; the web process loads nothing else of it."""

    name = "workers"
