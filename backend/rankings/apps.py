from django.apps import AppConfig


class RankingsConfig(AppConfig):
    name = "backend.rankings"
