"""Every channel by its slug; what lists channels or chooses one starts here."""

from backend.foundation.errors import InvalidValue
from backend.notifications.channels.channel import Channel
from backend.notifications.channels.email import Email
from backend.notifications.channels.webhook import Webhook

CHANNELS: dict[str, Channel] = {channel.slug: channel for channel in (Email(), Webhook())}


def channel_of(slug: str) -> Channel:
    """The channel of this slug; raises InvalidValue with the pointer /channel."""
    if slug not in CHANNELS:
        raise InvalidValue("/channel", f"{slug!r} is not one of {', '.join(CHANNELS)}")
    return CHANNELS[slug]


def channel_choices() -> list[tuple[str, str]]:
    """Slugs with their labels. A function, so that another channel needs no migration."""
    return [(channel.slug, channel.label) for channel in CHANNELS.values()]
