"""UpCloud."""

import re

from backend.foundation.texts import text as _
from backend.providers.base import TOKEN, AuthMethod, ProviderRecord, SecretField, Shape
from backend.providers.price_feeds import FeedKind

RECORD = ProviderRecord(
    slug="upcloud",
    name="UpCloud",
    short_name="UpCloud",
    homepage="https://upcloud.com/",
    colour="#cc79a7",
    shape=Shape.DOWN,
    is_hollow=True,
    # A subaccount for the API alone stands for a token.
    auth_methods={
        TOKEN: AuthMethod(
            secret=(
                SecretField("username", _("Name of a subaccount")),
                SecretField("password", _("Its password")),
            )
        )
    },
    rents_machines=True,
    region=re.compile(r"[a-z]{2}-[a-z]{3}[0-9]"),
    example_region="de-fra1",
    calls_per_s=1,
    calls_at_once=60,
    lines={
        "STARTER": _("Starter plan"),
        "PREMIUM": _("Premium plan"),
        "CLOUDNATIVE": _("Cloud Native plan"),
        "DEV": _("Developer plan"),
        "HICPU": _("High CPU plan"),
        "HIMEM": _("High Memory plan"),
        "[0-9]+xCPU": _("General Purpose plan"),
    },
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning=_("prices of plans"),
            needs_account=True,
            documents={
                "prices": re.compile(r'"prices"\s*:\s*\{'),
                "plans": re.compile(r'"plans"\s*:\s*\{'),
                "account": re.compile(r'"account"\s*:\s*\{'),
            },
        ),
    ),
)
