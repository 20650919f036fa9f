"""Feeds, and accounts at the providers, for the tests of the fetchers."""

import json

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from backend.accounts.models import CloudAccount
from backend.catalog.models import PriceFeed, PriceObservation
from backend.catalog.services.feeds import feed_enable
from backend.core import clock
from backend.rentals.services.cloud_accounts import account_create
from tests import factories
from workers.pricelists import fetching

TOKEN = "canary-token-7f3a9c"
KEY = "canary-api-key-51d2e8"
RATES = """<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01"
 xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref"><Cube>
<Cube time="2026-10-30"><Cube currency="USD" rate="1.1172"/><Cube currency="JPY" rate="175.68"/></Cube>
<Cube time="2026-10-29"><Cube currency="USD" rate="1.1150"/></Cube></Cube></gesmes:Envelope>"""


def account(
    provider: str,
    access: str = "token",
    secret: dict[str, str] | None = None,
    **settings: object,
) -> CloudAccount:
    """An account that only reads prices; its secret is TOKEN, unless another is given."""
    return account_create(
        workspace=factories.workspace(),
        name=f"{provider} account",
        provider=provider,
        access=access,
        settings=settings,
        secret={"token": TOKEN} if secret is None else secret,
        max_machines=1,
        budget=None,
        actor="tester",
    )


def aws_account() -> CloudAccount:
    secret = {"access_key_id": "AKIACANARY0000000000", "secret_access_key": TOKEN}
    return account("aws", "static_key", secret)


def gcp_account(**secret: str) -> CloudAccount:
    secret = {"service_account_json": service_account(), **secret}
    return account("gcp", "static_key", secret, project="bench-project")


def service_account() -> str:
    """The key file of a service account."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return json.dumps(
        {
            "type": "service_account",
            "project_id": "bench-project",
            "private_key_id": "0123456789abcdef",
            "private_key": pem.decode(),
            "client_email": "prices@bench-project.iam.gserviceaccount.com",
            "token_uri": "https://oauth2.googleapis.com/token",
        }
    )


def enable(provider: str, kind: str = "on_demand", region: str = "") -> PriceFeed:
    return feed_enable(
        workspace=factories.workspace(),
        provider=provider,
        kind=kind,
        region=region,
        actor="tester",
    )


def due_again(feed: PriceFeed) -> PriceFeed:
    PriceFeed.objects.filter(pk=feed.pk).update(next_due_at=clock.now())
    return feed


def fetched(feed: PriceFeed) -> PriceFeed:
    """The feed after it was read because it is due."""
    assert fetching.fetch_due() == 1
    feed.refresh_from_db()
    return feed


def published(**conditions: object) -> dict[tuple[str, ...], PriceObservation]:
    """Published observations by offer, region and zone, as far as they are told apart."""
    rows = PriceObservation.objects.filter(is_published=True, **conditions)
    return {
        tuple(filter(None, (row.offer.name, row.offer.region.code, row.zone))): row
        for row in rows.select_related("offer__region")
    }
