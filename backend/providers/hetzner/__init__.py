"""Hetzner: its cloud, and the prices of its dedicated servers."""

import re

from backend.foundation.texts import text as _
from backend.providers.base import TOKEN, AuthMethod, ProviderRecord, SecretField, Shape
from backend.providers.price_feeds import HOUR_S, FeedKind

RECORD = ProviderRecord(
    slug="hetzner",
    name="Hetzner",
    short_name="Hetzner",
    homepage="https://www.hetzner.com/",
    colour="#d55e00",
    shape=Shape.DIAMOND,
    is_hollow=False,
    auth_methods={
        TOKEN: AuthMethod(
            secret=(SecretField("token", _("API token")),),
            # Of its web service, for the prices of servers to order alone.
            optional=(
                (
                    SecretField("robot_user", _("Robot: user of the web service")),
                    SecretField("robot_password", _("Robot: its password")),
                ),
            ),
        )
    },
    rents_machines=True,
    region=re.compile(r"[a-z]{3}[0-9]{0,2}"),
    example_region="fsn1",
    family=re.compile(r"[a-z]+"),
    single=re.compile(r"auction\b", re.IGNORECASE),
    # A project has 3,600 calls an hour, of which one comes back each second
    # (docs.hetzner.cloud, Rate Limiting, read 2026-11-22); half of them may end machines.
    calls_per_s=0.5,
    calls_at_once=1800,
    lines={
        "ccx": _("cloud, dedicated vCPUs"),
        "cpx": _("cloud, shared AMD vCPUs"),
        "cax": _("cloud, shared Arm vCPUs"),
        "cx": _("cloud, shared vCPUs"),
        "auction": _("server auction"),
        "AX": _("dedicated server, AMD"),
        "EX": _("dedicated server, Intel"),
        "RX": _("dedicated server, Arm"),
        "SX": _("storage server"),
        "DX": _("Dell server"),
        "GEX": _("dedicated server with GPU"),
    },
    feeds=(
        FeedKind(
            kind="on_demand",
            meaning=_("server types"),
            needs_account=True,
            documents={
                # First, since the answer with the prices of addresses lists server types, too.
                "pricing": re.compile(r'"pricing"\s*:\s*\{'),
                "server_types": re.compile(r'"server_types"\s*:\s*\['),
            },
        ),
        FeedKind(
            kind="auction",
            meaning=_("server auction"),
            every_s=6 * HOUR_S,
            is_market=True,
            documents={"auction": re.compile(r'"server"\s*:\s*\[')},
        ),
        FeedKind(
            kind="robot_market",
            meaning=_("server auction, from Robot"),
            every_s=6 * HOUR_S,
            needs_account=True,
            is_alternative=True,
            replaces="auction",
            is_market=True,
            # Before the servers to order, which are products, too.
            documents={"market": re.compile(r'"cpu_benchmark"\s*:')},
        ),
        FeedKind(
            kind="robot",
            meaning=_("dedicated servers"),
            needs_account=True,
            is_alternative=True,
            documents={"products": re.compile(r'"product"\s*:\s*\{')},
        ),
    ),
)
