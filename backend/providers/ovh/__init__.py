"""OVHcloud."""

import datetime as dt
import re

from backend.foundation.texts import text as _
from backend.providers.base import (
    TOKEN,
    AuthMethod,
    ProviderRecord,
    SecretField,
    Setting,
    Shape,
)
from backend.providers.price_feeds import FeedKind
from backend.providers.rentals import BY_HOUR, Increment

RECORD = ProviderRecord(
    slug="ovh",
    name="OVHcloud",
    short_name="OVH",
    homepage="https://www.ovhcloud.com/",
    colour="#cc79a7",
    shape=Shape.DOWN,
    is_hollow=False,
    # A token is what this is: limited to paths and to a time, and ended at api.ovh.com.
    auth_methods={
        TOKEN: AuthMethod(
            secret=(
                SecretField("application_key", _("Application key")),
                SecretField("application_secret", _("Application secret")),
                SecretField("consumer_key", _("Consumer key")),
            )
        )
    },
    settings={
        "project": Setting(
            _("Public Cloud project"),
            r"[0-9a-f]{32}",
            _("32 hexadecimal digits are needed"),
            is_identity=True,
        ),
        "api": Setting(
            _("API"), r"eu|ca", _("eu or ca is needed"), _("Leave blank for eu."), is_identity=True
        ),
    },
    required_settings=("project",),
    rents_machines=True,
    region=re.compile(r"[A-Z]{2,4}([0-9]{1,2}|-[A-Z0-9-]{1,20})?"),
    example_region="GRA11",
    family=re.compile(r"[a-z]+[0-9]+"),
    # By the second since July 2026, at least a minute, but in the United States, whose API is another
    # one (github.com/ovh/public-cloud-roadmap/issues/562, read in November 2026).
    increment=Increment(60, 1, valid_from=dt.date(2026, 7, 1), before=BY_HOUR),
    calls_per_s=1,
    calls_at_once=60,
    lines={
        "b[0-9]": _("Public Cloud, general purpose"),
        "c[0-9]": _("Public Cloud, compute optimized"),
        "r[0-9]": _("Public Cloud, memory optimized"),
        "i[0-9]": _("Public Cloud, fast storage"),
        "d2": _("Public Cloud, Discovery"),
        "bm-": _("Public Cloud, metal instance"),
        "[0-9]+rise": _("Rise server"),
        "[0-9]+sys": _("So you Start server"),
        "[0-9]+sk": _("Kimsufi server"),
    },
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning=_("catalogue of Public Cloud"),
            documents={"cloud": re.compile(r'"planCode"\s*:\s*"project')},
        ),
        FeedKind(
            kind="dedicated",
            meaning=_("catalogues of dedicated servers"),
            documents={"servers": re.compile(r'"dedicated_datacenter"')},
        ),
    ),
)
