"""discreet.service.oidc: tokens of an identity provider are believed for their signature and for nothing else."""

from __future__ import annotations

import io
import json
import time
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from jwt.algorithms import ECAlgorithm, OKPAlgorithm

from discreet.service import oidc
from discreet.service.oidc import Provider
from discreet.service.settings import Oidc, Settings
from tests.service.conftest import hospital, opened

ISSUER, AUDIENCE = "https://id.example.org/", "discreet"
KEY, STRANGER = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()


@pytest.fixture
def jwks(tmp_path):
    """The provider's published keys."""
    keys = [json.loads(ECAlgorithm.to_jwk(KEY.public_key())) | {"kid": "one", "alg": "ES256"}]
    keys.append(json.loads(OKPAlgorithm.to_jwk(ED.public_key())) | {"kid": "two", "alg": "EdDSA"})
    place = tmp_path / "keys.json"
    place.write_text(json.dumps({"keys": keys}))
    return str(place)


@pytest.fixture
def settings(jwks):
    roles = {"researchers": "analyst", "owners": "steward", "inspectors": "auditor"}
    return Oidc(issuer=ISSUER, audience=AUDIENCE, jwks=jwks, roles=roles)


def signed(key=KEY, *, kid="one", algorithm="ES256", **changes):
    now = int(time.time())
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "ada",
        "iat": now,
        "exp": now + 600,
        "role": "researchers",
    } | changes
    kept = {name: value for name, value in claims.items() if value is not ...}
    return jwt.encode(kept, key, algorithm=algorithm, headers={"kid": kid})


def test_a_signed_token_is_somebody(settings):
    found = Provider(settings).token(signed())

    assert (found.principal, found.role, found.datasets, found.kind) == ("oidc:ada", "analyst", None, "oidc")
    assert Provider(settings).token(signed(ED, kid="two", algorithm="EdDSA")).principal == "oidc:ada"


def test_the_first_role_of_steward_analyst_auditor_is_taken(settings):
    provider = Provider(settings)

    assert provider.token(signed(role=["inspectors", "researchers"])).role == "analyst"
    assert provider.token(signed(role=["cooks", "owners"])).role == "steward"


WRONG = {
    "another key": lambda: signed(STRANGER),
    "another key, its own id": lambda: signed(STRANGER, kid="three"),
    "another issuer": lambda: signed(iss="https://evil.example.org/"),
    "another audience": lambda: signed(aud="payroll"),
    "expired": lambda: signed(exp=int(time.time()) - 60),
    "of the future": lambda: signed(iat=int(time.time()) + 3600, nbf=int(time.time()) + 3600),
    "no end": lambda: signed(exp=...),
    "no issuer": lambda: signed(iss=...),
    "no audience": lambda: signed(aud=...),
    "no name": lambda: signed(sub=...),
    "a name that no log takes": lambda: signed(sub="ada\nsteward"),
    "no role": lambda: signed(role=...),
    "a role that is not in the map": lambda: signed(role="steward"),
    "a role that is no text": lambda: signed(role={"researchers": True}),
    "torn": lambda: signed()[:-4],
    "no token": lambda: "a.b.c",
    "empty": lambda: "",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_not_to_be_believed_is_nobody(settings, wrong):
    assert Provider(settings).token(WRONG[wrong]()) is None


@pytest.mark.parametrize("end", [1e18, 1e300, 10**400, float("inf")], ids=["1e18", "1e300", "10^400", "inf"])
def test_an_end_that_no_calendar_has_is_no_failure(tmp_path, settings, end):
    file = hospital(tmp_path)
    with opened(file, Settings(store=str(tmp_path / "service.db"), oidc=settings)) as served:
        reply = served("GET", "/v1/me", as_=signed(exp=end))

    assert reply.status_code in (200, 401)
    assert reply.status_code == 401 or reply.json()["expires"] < "3000"


def test_an_unsigned_token_and_one_signed_with_the_public_key_as_a_secret_are_nobodys(settings):
    point = KEY.public_key().public_numbers()
    public = point.x.to_bytes(32, "big") + point.y.to_bytes(32, "big")
    none = signed(None, algorithm="none")
    shared = signed(public, algorithm="HS256")

    assert [Provider(settings).token(text) for text in (none, shared)] == [None, None]


def test_a_claim_that_is_missing_opens_no_dataset(jwks):
    settings = Oidc(issuer=ISSUER, audience=AUDIENCE, jwks=jwks, roles={"researchers": "analyst"}, datasets="tables")
    provider = Provider(settings)

    assert provider.token(signed()) is None
    assert provider.token(signed(tables=["visits"])).datasets == ("visits",)
    assert provider.token(signed(tables="visits")).datasets == ("visits",)
    assert provider.token(signed(tables=[])).datasets == ()


def test_over_http_both_kinds_of_token_are_taken_and_a_session_ends_with_the_signed_one(tmp_path, settings):
    file = hospital(tmp_path)
    with opened(file, Settings(store=str(tmp_path / "service.db"), oidc=settings)) as served:
        session = served("POST", "/v1/session", as_=signed()).json()
        me = served("GET", "/v1/me", as_=session["secret"]).json()

        assert served("GET", "/v1/me", as_=signed()).json()["principal"] == "oidc:ada"
        assert served("GET", "/v1/me", as_="auditor").json()["role"] == "auditor"
        assert served("GET", "/v1/tokens", as_=signed()).status_code == 403
        assert served("GET", "/v1/me", as_=signed(STRANGER)).status_code == 401
        assert me["role"] == "analyst"
        assert me["expires"] <= time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 601))


def test_a_name_of_the_provider_is_never_that_of_a_token_of_our_own(tmp_path, settings):
    with opened(hospital(tmp_path), Settings(store=str(tmp_path / "service.db"), oidc=settings)) as served:
        body = {"principal": "oidc:ada", "role": "analyst", "days": 1}

        assert served("GET", "/v1/me", as_=signed()).json()["principal"] == "oidc:ada"
        assert served("GET", "/v1/me", as_="ada").json()["principal"] == "ada"
        assert served("POST", "/v1/tokens", json=body).json()["type"] == "urn:discreet:problem:parameter"


class Published:
    """A provider's address, as urllib opens it; its keys are there, or it is out."""

    def __init__(self, jwks, monkeypatch):
        self.asked, self.out, self.now, self._keys = 0, False, 1000.0, Path(jwks).read_bytes()
        monkeypatch.setattr(urllib.request.OpenerDirector, "open", self.open)
        monkeypatch.setattr(oidc.time, "monotonic", lambda: self.now)

    def open(self, *given, **more):
        self.asked += 1
        if self.out:
            raise urllib.error.URLError("nobody is there")
        return io.BytesIO(self._keys)


@pytest.fixture
def remote(settings, jwks, monkeypatch):
    found = Published(jwks, monkeypatch)
    return found, Provider(replace(settings, jwks="https://id.example.org/keys"))


def test_an_outage_is_met_once_in_a_while_and_not_by_every_request(remote):
    published, provider = remote
    published.out = True
    first = [provider.token(signed()) for _ in range(5)]
    asked = published.asked
    published.now += oidc.AGAIN + 1
    published.out = False
    found = provider.token(signed())

    assert (first, asked) == ([None] * 5, 1)
    assert found.principal == "oidc:ada"


def test_made_up_keys_are_not_looked_for_at_every_request_and_known_ones_are_believed_meanwhile(remote):
    published, provider = remote
    assert provider.token(signed()).principal == "oidc:ada"
    published.out = True
    published.now += oidc.AGAIN + 1
    asked = published.asked
    strangers = [provider.token(signed(STRANGER, kid=f"k{i}")) for i in range(5)]

    assert strangers == [None] * 5
    assert published.asked <= asked + 1
    assert provider.token(signed()).principal == "oidc:ada"


def test_without_a_provider_signed_tokens_are_nobodys(served):
    assert served("GET", "/v1/me", as_=signed()).status_code == 401
