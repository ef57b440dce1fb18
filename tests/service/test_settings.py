"""discreet.service.settings: [service] of curator.toml, checked before anything listens."""

from __future__ import annotations

import pytest

from discreet.errors import ParameterError
from discreet.privacy import ApproxDP, PureDP
from discreet.service.serve import serve
from discreet.service.settings import Oidc, Settings
from tests.service.conftest import hospital

OIDC = {"issuer": "https://id.example.org/", "audience": "discreet", "jwks": "keys.json", "roles": {"a": "analyst"}}


def test_what_the_file_does_not_say_has_its_default_and_the_store_lies_beside_the_ledger(tmp_path):
    found = Settings.read(hospital(tmp_path))

    assert (found.host, found.port, found.slot, found.approval) == ("127.0.0.1", 8000, 2.0, None)
    assert found.store == str(tmp_path / "service.db")


def test_everything_can_be_said_in_the_file(tmp_path):
    said = """
[service]
port = 9000
store = "kept/records.db"
log = "service.log"
tls_certificate = "server.pem"
tls_key = "/etc/server.key"

[service.approval]
epsilon = "0.5"
delta = "1e-8"

[service.slots]
visits = 2.5

[service.oidc]
issuer = "https://id.example.org/"
audience = "discreet"
jwks = "keys.json"
roles = { researchers = "analyst" }
"""
    found = Settings.read(hospital(tmp_path, service=said))

    assert (found.port, found.store, found.log) == (
        9000,
        str(tmp_path / "kept/records.db"),
        str(tmp_path / "service.log"),
    )
    assert (found.tls_certificate, found.tls_key) == (str(tmp_path / "server.pem"), "/etc/server.key")
    assert found.approval == ApproxDP("0.5", "1e-8")
    assert (found.slot_of(["visits"]), found.slot_of(["payroll"]), found.slot_of(["visits", "payroll"])) == (
        2.5,
        2,
        2.5,
    )
    assert found.oidc is not None
    assert found.oidc.jwks == str(tmp_path / "keys.json")


def test_a_ledger_in_postgresql_keeps_the_records_too(tmp_path):
    file = hospital(tmp_path)
    file.write_text(file.read_text().replace('ledger = "ledger.db"', 'ledger = "postgresql://here/curator"'))

    assert Settings.read(file).store == "postgresql://here/curator"


@pytest.mark.parametrize(
    "said",
    [
        "slots = 3",
        "prot = 9000",
        "port = 70000",
        "port = true",
        "port = 8000.0",
        "workers = 0",
        "children = -1",
        "slot = 0",
        "slot = nan",
        "slot = inf",
        "slot = true",
        "slot = 0.05",
        "margin = -0.1",
        "memory = 1",
        "rate = 0",
        "body = 10",
        'tls_key = "server.key"',
        "behind_proxy = true",
        'approval = { epsilon = "0.5", rho = "1" }',
        'approval = { epsilon = "-1" }',
        'oidc = { issuer = "here" }',
        'oidc = { issuer = "here", audience = "me", jwks = "k", roles = { a = "king" } }',
        'oidc = { issuer = "here", audience = "me", jwks = "k", roles = {}, secret = "s" }',
    ],
)
def test_a_setting_that_is_unknown_or_outside_its_domain_is_refused(tmp_path, said):
    file = hospital(tmp_path, service=f"\n[service]\n{said}\n")

    with pytest.raises(ParameterError):
        Settings.read(file)


def test_an_identity_provider_needs_all_of_its_settings():
    assert Oidc(**OIDC).principal == "sub"
    with pytest.raises(ParameterError, match="audience"):
        Oidc(**OIDC | {"audience": ""})


@pytest.mark.parametrize("jwks", ["http://id.example.org/keys", "file:///etc/keys.json", "ftp://id.example.org/keys"])
def test_keys_come_over_tls_or_from_a_file(jwks):
    with pytest.raises(ParameterError, match="https"):
        Oidc(**OIDC | {"jwks": jwks})
    assert Oidc(**OIDC | {"jwks": "https://id.example.org/keys"}).jwks.startswith("https")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "private.example.org"])
def test_plain_http_off_loopback_is_refused(tmp_path, host):
    with pytest.raises(ParameterError, match="plain HTTP"):
        Settings(host=host).may_listen()
    with pytest.raises(ParameterError, match="plain HTTP"):
        serve(hospital(tmp_path), host=host, port=0)

    Settings(host=host, tls_certificate="server.pem", tls_key="server.key").may_listen()
    Settings(host=host, behind_proxy=True).may_listen()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_this_machine_may_speak_plainly(host):
    Settings(host=host, approval=PureDP(1)).may_listen()
