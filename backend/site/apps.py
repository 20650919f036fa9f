from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "backend.site"
