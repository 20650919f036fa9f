from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "backend.notifications"

    def ready(self) -> None:
        # Its receiver is connected by being imported.
        from backend.notifications.services import audit_notices  # noqa: F401
