"""People and the links that sign them in."""

from django.db.models import QuerySet

from backend.accounts.models import SignInLink
from backend.accounts.selectors.tokens import token_digest
from backend.common import clock


def sign_in_links(secret: str) -> QuerySet[SignInLink]:
    """The link in force that this secret opens, or none; the person must be active.

    The digest is under a key, so nothing useful leaks through the time of the lookup.
    """
    return SignInLink.objects.filter(
        digest=token_digest(secret), expires_at__gt=clock.now(), user__is_active=True
    )
