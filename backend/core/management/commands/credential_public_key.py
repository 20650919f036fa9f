"""Print the key that seals credentials."""

from base64 import b64encode
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = (
        "Print the public key that belongs to CREDENTIAL_KEY: with it as CREDENTIAL_PUBLIC_KEY a process"
        " seals what people enter and opens nothing. It is no secret."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.CREDENTIAL_PUBLIC_KEY:
            raise CommandError("CREDENTIAL_KEY is not set (see .env.example)")
        self.stdout.write(b64encode(settings.CREDENTIAL_PUBLIC_KEY).decode())
