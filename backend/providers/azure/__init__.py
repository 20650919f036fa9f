"""Microsoft Azure: prices only."""

import re

from backend.domain.credits import STANDARD
from backend.domain.price_feeds import FeedKind
from backend.domain.rentals import BY_SECOND
from backend.domain.texts import text as _
from backend.providers.base import MachineKind, ProviderRecord, Shape

RECORD = ProviderRecord(
    slug="azure",
    name="Microsoft Azure",
    short_name="Azure",
    homepage="https://azure.microsoft.com/",
    kind=MachineKind.CLOUD,
    colour="#0072b2",
    dark_colour="#3d9bd6",
    shape=Shape.UP,
    is_hollow=False,
    family=re.compile(r"(?:Standard|Basic)_[A-Z]+(?=[0-9])"),
    # B1s, B2ms, B2s_v2, B4as_v2, B2pls_v2: credits, "B-series burstable" in Microsoft's list of sizes.
    burstable=re.compile(r"(?:Standard|Basic)_B[0-9]"),
    # Without credits they run at their base performance; nothing beyond it can be bought
    # (learn.microsoft.com/azure/virtual-machines/b-series-cpu-credit-model, read 2026-11-23).
    credit_modes=(STANDARD,),
    increment=BY_SECOND,
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning=_("retail prices: on demand, spot, reserved, savings"),
            is_regional=True,
            documents={"items": re.compile(r'"Items"\s*:\s*\[|\A\s*\[')},
        ),
    ),
)
