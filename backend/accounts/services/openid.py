"""Single sign-on by OpenID Connect: what is asked of the provider, and what it answers.

The authorization code flow with PKCE, state and nonce (OpenID Connect Core 1.0, section 3.1).
"""

import hmac
import secrets
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

from django.conf import settings

from backend.core import clock

if TYPE_CHECKING:
    # Loaded at the first sign-in: most web processes never need them.
    import httpx

# Of signatures: of none a secret that we share with the provider is the key.
ALGORITHMS = ("RS256", "ES256")
SCOPE = "openid email profile"
DISCOVERY = "/.well-known/openid-configuration"
AUTHENTICATION = "token_endpoint_auth_methods_supported"
TIMEOUT_S = 10
# How far the provider's clock may be from ours.
LEEWAY_S = 60
_KEY_TYPES = {"RSA", "EC"}
_SECRET_BYTES = 32


class SignInRefused(Exception):
    """The provider's answer lets nobody in; `reason` is a word of the audit trail."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def authorization_begin(*, return_address: str) -> tuple[str, dict[str, str]]:
    """Where the browser asks the provider, and what its session keeps until it comes back."""
    from authlib.oauth2.client import OAuth2Client

    kept = {name: secrets.token_urlsafe(_SECRET_BYTES) for name in ("state", "nonce", "verifier")}
    with _http() as http:
        endpoint = _discover(http)["authorization_endpoint"]
        client = OAuth2Client(
            session=None,
            client_id=settings.OIDC_CLIENT_ID,
            scope=SCOPE,
            redirect_uri=return_address,
            code_challenge_method="S256",
        )
        address, _ = client.create_authorization_url(
            endpoint, state=kept["state"], nonce=kept["nonce"], code_verifier=kept["verifier"]
        )
    return address, kept


def authorization_finish(
    *, answer: Mapping[str, str], kept: Mapping[str, str], return_address: str
) -> dict[str, Any]:
    """Claims about the person who came back; raises SignInRefused."""
    if not hmac.compare_digest(answer.get("state", "").encode(), kept["state"].encode()):
        raise SignInRefused("state")
    # RFC 9207: an answer that another provider was asked for.
    if answer.get("iss", settings.OIDC_ISSUER) != settings.OIDC_ISSUER:
        raise SignInRefused("claim_iss")
    if "error" in answer or not answer.get("code"):
        raise SignInRefused("provider_refused")
    form = {
        "grant_type": "authorization_code",
        "code": answer["code"],
        "redirect_uri": return_address,
        "code_verifier": kept["verifier"],
    }
    with _http() as http:
        provider = _discover(http)
        token = _token(http, provider, form)
        # Asked anew each time, so that a new key is known and a withdrawn one is not.
        claims = _claims(token, _document(http.get(provider["jwks_uri"])), kept["nonce"])
        if "email_verified" not in claims and "userinfo_endpoint" in provider:
            bearer = {"Authorization": f"Bearer {token['access_token']}"}
            further = _document(http.get(provider["userinfo_endpoint"], headers=bearer))
            # Of the same person (section 5.3.2); what is signed wins.
            if further["sub"] != claims["sub"]:
                raise SignInRefused("claim_sub")
            claims = {**further, **claims}
    return claims


@contextmanager
def _http() -> "Iterator[httpx.Client]":
    """Speaks with the provider; whatever goes wrong is SignInRefused."""
    import httpx

    try:
        # Nothing of ~/.netrc goes to the provider, and nothing to where it leads on.
        with httpx.Client(
            timeout=TIMEOUT_S, follow_redirects=False, trust_env=False, verify=_authorities()
        ) as http:
            yield http
    # The last three: a document that is none of the specification.
    except (httpx.HTTPError, httpx.InvalidURL, LookupError, TypeError, ValueError) as error:
        raise SignInRefused("provider_failed") from error


def _authorities() -> ssl.SSLContext:
    """Public ones, and those of this machine: a company's provider may have a certificate of its own."""
    import httpx

    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def _document(answer: "httpx.Response") -> dict[str, Any]:
    answer.raise_for_status()
    document = answer.json()
    if not isinstance(document, dict):
        raise TypeError
    return document


def _discover(http: "httpx.Client") -> dict[str, Any]:
    """The provider's own description (OpenID Connect Discovery 1.0, section 4)."""
    provider = _document(http.get(settings.OIDC_ISSUER.rstrip("/") + DISCOVERY))
    if provider["issuer"] != settings.OIDC_ISSUER:
        raise SignInRefused("claim_iss")
    is_secret = settings.OIDC_ISSUER.startswith("https://")
    used = ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")
    if is_secret and not all(
        provider[name].startswith("https://") for name in used if name in provider
    ):
        raise SignInRefused("provider_failed")
    return provider


def _token(http: "httpx.Client", provider: dict[str, Any], form: dict[str, str]) -> dict[str, Any]:
    """Exchange the code for tokens, with our secret as the provider takes it."""
    import httpx

    who, secret = settings.OIDC_CLIENT_ID, settings.OIDC_CLIENT_SECRET
    # Basic is what one takes that says nothing (Discovery 1.0, section 3).
    if "client_secret_basic" in provider.get(AUTHENTICATION, ["client_secret_basic"]):
        # Encoded before (RFC 6749, section 2.3.1): a secret may have a colon.
        basic = httpx.BasicAuth(quote_plus(who), quote_plus(secret))
        return _document(http.post(provider["token_endpoint"], data=form, auth=basic))
    form = {**form, "client_id": who, "client_secret": secret}
    return _document(http.post(provider["token_endpoint"], data=form))


def _claims(token: Mapping[str, Any], keys: Mapping[str, Any], nonce: str) -> dict[str, Any]:
    """Claims of the ID token, once it is checked (OpenID Connect Core 1.0, section 3.1.3.7)."""
    from authlib.oidc.core import CodeIDToken
    from joserfc import jwt
    from joserfc.errors import JoseError
    from joserfc.jwk import KeySet

    # A key of a kind that nobody here verifies with must not spoil the others.
    usable = [key for key in keys["keys"] if key.get("kty") in _KEY_TYPES]
    try:
        signed = jwt.decode(
            token["id_token"], KeySet.import_key_set({"keys": usable}), algorithms=ALGORITHMS
        )
    except (JoseError, ValueError) as error:
        raise SignInRefused("signature") from error
    claims = CodeIDToken(
        signed.claims,
        signed.header,
        {
            "iss": {"essential": True, "value": settings.OIDC_ISSUER},
            "aud": {"essential": True, "value": settings.OIDC_CLIENT_ID},
        },
        {
            "nonce": nonce,
            "client_id": settings.OIDC_CLIENT_ID,
            "access_token": token["access_token"],
        },
    )
    try:
        claims.validate(now=int(clock.now().timestamp()), leeway=LEEWAY_S)
    except JoseError as error:
        claim = getattr(error, "claim", "") or "expired"
        raise SignInRefused(f"claim_{claim}") from error
    return dict(claims)
