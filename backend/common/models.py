"""Abstract models shared by the apps."""

import uuid

from django.db import models


class Identified(models.Model):
    """A row addressed from outside by a UUID, with its creation time."""

    # Not a number that counts up: it would tell strangers how many rows there are, and invite to
    # try the next one.
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True
