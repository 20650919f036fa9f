from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "backend.notifications"
