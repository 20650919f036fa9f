"""An OpenID provider on a loopback port: OpenID Connect Core 1.0 (sections named below), its
Discovery 1.0, and PKCE (RFC 7636). What it says wrongly is set from outside."""

import base64
import hashlib
import secrets
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote_plus, urlencode

from joserfc import jwt
from joserfc.jwk import ECKey, RSAKey

from tests.fakes.rest import Answer, Asked, RestServer

CLIENT, SECRET = "rackrate:web", "s3cret:/+ %"


class OpenIdProvider(RestServer):
    """One person signs in at a time, without being asked: `person` has the claims of theirs."""

    def __init__(self, return_address: str) -> None:
        super().__init__()
        self.return_address = return_address
        self.person: dict[str, Any] = {}
        self.wrong: dict[str, Any] = {}
        """Claims of the ID token that are other than the specification says; None: left out."""
        self.discovery: dict[str, Any] = {}
        self.is_told_by_user_info = False
        self.user_info: dict[str, Any] = {}
        self.algorithm = "RS256"
        self.published: list[RSAKey | ECKey] = []
        self.calls: list[str] = []
        self._codes: dict[str, Mapping[str, str]] = {}
        self._tokens: dict[str, dict[str, Any]] = {}
        self.key_change()

    def key_change(self, algorithm: str = "RS256", *, is_published: bool = True) -> None:
        """Sign with a new key from now on; the former one is withdrawn (section 10.1.1)."""
        given = {"kid": secrets.token_hex(8), "use": "sig", "alg": algorithm}
        self.algorithm = algorithm
        self.key: RSAKey | ECKey = (
            RSAKey.generate_key(2048, given)
            if algorithm.startswith("RS")
            else ECKey.generate_key("P-256", given)
        )
        if is_published:
            self.published = [self.key]

    def answer(self, asked: Asked) -> Answer:
        self.calls.append(asked.path)
        answers = {
            "/.well-known/openid-configuration": self._configuration,
            "/authorize": self._authorize,
            "/token": self._token,
            "/keys": self._keys,
            "/userinfo": self._user_info,
        }
        known = answers.get(asked.path)
        return known(asked) if known else Answer({}, 404)

    def _configuration(self, _: Asked) -> Answer:
        """Discovery, sections 3 and 4."""
        return Answer(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
                "userinfo_endpoint": f"{self.url}/userinfo",
                "response_types_supported": ["code"],
                "subject_types_supported": ["public"],
                "id_token_signing_alg_values_supported": ["RS256", "ES256"],
                "code_challenge_methods_supported": ["S256"],
                **self.discovery,
            }
        )

    def _keys(self, _: Asked) -> Answer:
        # One of another kind, as a provider that signs other things may have.
        strange = {"kty": "AKP", "kid": "strange", "alg": "ML-DSA-44", "pub": "AA"}
        return Answer({"keys": [strange, *(key.as_dict(private=False) for key in self.published)]})

    def _authorize(self, asked: Asked) -> Answer:
        """Sections 3.1.2.1, 3.1.2.2, 3.1.2.5 and 3.1.2.6; RFC 7636, section 4.3."""
        query = asked.query
        # To an address that is not registered nothing leads, not even an error.
        if query.get("client_id") != CLIENT or query.get("redirect_uri") != self.return_address:
            return Answer({"error": "invalid_request"}, 400)
        is_right = (
            query.get("response_type") == "code"
            and "openid" in query.get("scope", "").split()
            and query.get("code_challenge_method") == "S256"
            and bool(query.get("code_challenge"))
        )
        code = secrets.token_urlsafe(16)
        self._codes[code] = query
        told = {"code": code} if is_right else {"error": "invalid_request"}
        if "state" in query:
            told["state"] = query["state"]
        return Answer({}, 302, {"Location": f"{self.return_address}?{urlencode(told)}"})

    def _token(self, asked: Asked) -> Answer:
        """Sections 3.1.3.1 to 3.1.3.4; RFC 7636, section 4.6."""
        if not self._is_client(asked):
            return Answer({"error": "invalid_client"}, 401)
        form = asked.body
        # A code works once.
        request = self._codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        if (
            request is None
            or form.get("grant_type") != "authorization_code"
            or form.get("redirect_uri") != request["redirect_uri"]
            or _base64url(digest) != request["code_challenge"]
        ):
            return Answer({"error": "invalid_grant"}, 400)
        access = secrets.token_urlsafe(16)
        self._tokens[access] = {**self.person, **self.user_info}
        return Answer(
            {
                "access_token": access,
                "token_type": "Bearer",
                "expires_in": 300,
                "id_token": self._id_token(request.get("nonce"), access),
            },
            headers={"Cache-Control": "no-store"},
        )

    def _is_client(self, asked: Asked) -> bool:
        """Section 9: client_secret_basic, or client_secret_post where that alone is offered."""
        if "token_endpoint_auth_methods_supported" in self.discovery:
            form = asked.body
            return (form.get("client_id"), form.get("client_secret")) == (CLIENT, SECRET)
        kind, _, encoded = asked.headers.get("authorization", "").partition(" ")
        name, _, secret = base64.b64decode(encoded).decode().partition(":")
        return kind == "Basic" and (unquote_plus(name), unquote_plus(secret)) == (CLIENT, SECRET)

    def _id_token(self, nonce: str | None, access: str) -> str:
        """Sections 2 and 3.1.3.6; claims about the person as in 5.4 where UserInfo tells them."""
        now = int(time.time())
        about = {"sub": self.person["sub"]} if self.is_told_by_user_info else self.person
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "exp": now + 300,
            "iat": now,
            "nonce": nonce,
            "at_hash": _base64url(hashlib.sha256(access.encode()).digest()[:16]),
            **about,
            **self.wrong,
        }
        told = {name: value for name, value in claims.items() if value is not None}
        header = {"alg": self.algorithm, "kid": self.key.kid}
        return jwt.encode(header, told, self.key, algorithms=[self.algorithm])

    def _user_info(self, asked: Asked) -> Answer:
        """Section 5.3."""
        access = asked.headers.get("authorization", "").removeprefix("Bearer ")
        told = self._tokens.get(access)
        return Answer({"error": "invalid_token"}, 401) if told is None else Answer(told)


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
