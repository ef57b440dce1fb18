"""Bearer tokens of an identity provider: signed JWTs, checked against its published keys.

Only signatures by a key pair are taken, never a shared secret or none; issuer, audience and times are required.  A
claim gives the role through the map of [service.oidc]; who has no role there is nobody here.  A name is a principal
under the prefix `oidc:`, which no token of our own can have: the provider's names and ours never meet.

Keys are fetched at most once in `AGAIN` seconds, whether that went well or not: neither an outage of the provider nor
tokens with made-up keys keep the threads from those who come with tokens of our own.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.service.settings import Oidc
from discreet.service.tokens import FOREIGN, MOST_DAYS, ROLES, Token, checked_principal

if TYPE_CHECKING:
    from jwt import PyJWK, PyJWKClient

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA"]
LEEWAY = 30  # seconds by which clocks may differ
AGAIN = 30.0  # seconds between two looks for the keys
FETCH = 3.0  # seconds that one look may take


class Provider:
    """One identity provider."""

    def __init__(self, settings: Oidc) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._remote = _published(settings.jwks) if "://" in settings.jwks else None

    def token(self, bearer: str) -> Token | None:
        """What a bearer token says, as one of our own; None if it is not to be believed."""
        import jwt

        try:
            claims = jwt.decode(
                bearer,
                self._key(bearer),
                algorithms=ALGORITHMS,
                audience=self.settings.audience,
                issuer=self.settings.issuer,
                leeway=LEEWAY,
                options={"require": ["exp", "iat", "iss", "aud"]},
            )
            return self._read(claims)
        except (jwt.PyJWTError, ParameterError, KeyError, OSError, OverflowError, TypeError, ValueError):
            return None

    def _key(self, bearer: str) -> PyJWK:
        """The provider's key that a token names."""
        import jwt

        if self._remote is not None:
            with self._lock:
                return self._remote.get_signing_key_from_jwt(bearer)
        keys = jwt.PyJWKSet.from_dict(json.loads(Path(self.settings.jwks).read_text(encoding="utf-8")))
        wanted = jwt.get_unverified_header(bearer).get("kid")
        return keys[wanted] if wanted is not None else keys.keys[0]

    def _read(self, claims: dict[str, object]) -> Token | None:
        given = claims.get(self.settings.claim)
        words = given if isinstance(given, list) else [given]
        roles = {self.settings.roles[word] for word in words if isinstance(word, str) and word in self.settings.roles}
        if not roles:
            return None
        role = next(role for role in ROLES if role in roles)
        name = checked_principal(FOREIGN + str(claims[self.settings.principal]))
        datasets = None
        if role == "analyst" and self.settings.datasets is not None:
            seen = claims[self.settings.datasets]  # a claim that is missing opens nothing
            datasets = tuple(map(str, seen)) if isinstance(seen, list) else (str(seen),)
        issued = float(str(claims["iat"]))
        expires = min(float(str(claims["exp"])), time.time() + MOST_DAYS * 86_400)  # as with tokens of our own
        return Token(
            id="oidc", kind="oidc", principal=name, role=role, datasets=datasets, created=issued, expires=expires
        )


def _published(address: str) -> PyJWKClient:
    """The keys at an address; they are kept for ten minutes, so that one that is withdrawn is soon believed no more."""
    from jwt import PyJWKClient, PyJWKClientError

    class Seldom(PyJWKClient):
        again = 0.0

        def fetch_data(self) -> object:
            if time.monotonic() < self.again:
                raise PyJWKClientError("the keys were looked for a moment ago")
            try:
                return super().fetch_data()
            finally:
                self.again = time.monotonic() + AGAIN

    return Seldom(address, lifespan=600, timeout=FETCH)
