"""Notices as signed JSON to an https address."""

import json

from django.conf import settings

from backend.core import clock
from backend.foundation.texts import text as _
from backend.foundation.webhooks import DELIVERY_HEADER, SIGNATURE_HEADER, endpoint, signature
from backend.notifications.channels.channel import Channel, Message


class Webhook(Channel):
    slug = "webhook"
    label = _("webhook")
    address_hint = "an https URL"
    is_signed = True

    def check_address(self, address: str) -> None:
        endpoint(address, is_private_allowed=settings.WEBHOOK_ALLOW_PRIVATE)

    def send(self, message: Message) -> None:
        # The HTTP client is loaded where something is sent, and not by the web process.
        from backend.notifications.channels.posting import post_json

        body = json.dumps({"id": message.key, **message.document}, sort_keys=True).encode()
        at_unix_s = int(clock.now().timestamp())
        headers = {
            DELIVERY_HEADER: message.key,
            SIGNATURE_HEADER: signature(message.secret, body, at_unix_s),
        }
        post_json(message.address, body, headers)
