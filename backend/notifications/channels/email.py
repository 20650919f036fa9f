"""Notices by e-mail, through the mail server of the settings."""

import hashlib
import smtplib

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.validators import validate_email

from backend.foundation.errors import InvalidValue
from backend.foundation.texts import text as _
from backend.notifications.channels.channel import Channel, Message, NotDelivered


class Email(Channel):
    slug = "email"
    label = _("e-mail")
    address_hint = "an e-mail address"

    def missing_setting(self) -> str:
        return "" if settings.EMAIL_HOST else "EMAIL_URL"

    def check_address(self, address: str) -> None:
        if missing := self.missing_setting():
            raise InvalidValue("/channel", f"e-mail is not set up on this server ({missing})")
        try:
            validate_email(address)
        except ValidationError:
            raise InvalidValue("/address", f"{address[:80]!r} is not an e-mail address") from None

    def send(self, message: Message) -> None:
        document = message.document
        sender_host = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2].rstrip(">")
        unique = hashlib.sha256(f"{message.notice_id}:{message.key}".encode()).hexdigest()[:32]
        mail = EmailMessage(
            # A line break in a subject would begin another header.
            subject=" ".join(f"[Rackrate] {document['title']}".split())[:200],
            body=f"{document['detail']}\n\n{document['url']}\n",
            to=[message.address],
            headers={
                # The same at every attempt: a message that comes twice can be seen to be one.
                "Message-ID": f"<{unique}@{sender_host}>",
                # RFC 3834: automatic replies, as of people on holiday, do not answer such a
                # message.
                "Auto-Submitted": "auto-generated",
            },
        )
        try:
            mail.send()
        # A server that cannot be reached raises OSError, and one that refuses SMTPException.
        except (smtplib.SMTPException, OSError) as error:
            raise NotDelivered(f"{type(error).__name__}: {error}") from error
