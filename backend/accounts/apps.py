from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "backend.accounts"

    def ready(self) -> None:
        # Its receivers are connected by being imported.
        from backend.accounts.services import sign_ins  # noqa: F401
