"""discreet.service.tokens: 256 bits, kept as a digest, compared in constant time, expiring, revocable."""

from __future__ import annotations

import ast
import hmac
import inspect
import sqlite3
from dataclasses import replace

import pytest
from sqlalchemy import event

from discreet.errors import DomainError, ParameterError
from discreet.service import tokens
from discreet.service.store import open_store
from discreet.service.tokens import find, issue, listed, open_session, revoke

DAY = 86_400


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "service.db") as found:
        yield found


@pytest.fixture
def clock(monkeypatch):
    """The time as the tokens see it, to be moved."""
    now = [1_800_000_000.0]
    monkeypatch.setattr(tokens.time, "time", lambda: now[0])
    return now


def test_a_secret_has_256_bits_of_the_systems_generator(store, monkeypatch):
    drawn = []
    real = tokens.secrets.token_urlsafe
    monkeypatch.setattr(tokens.secrets, "token_urlsafe", lambda size: drawn.append(size) or real(size))
    secrets = {issue(store, principal="ada", role="analyst", days=1) for _ in range(20)}

    assert drawn == [32] * 20
    assert len({secret[13:] for secret in secrets}) == 20
    assert all(tokens._FORM.fullmatch(secret) and len(secret) == 56 for secret in secrets)


def test_only_a_digest_is_kept_in_a_file_for_its_owner_alone(store, tmp_path):
    secret = issue(store, principal="ada", role="analyst", days=1)
    session = open_session(store, find(store, secret))
    with sqlite3.connect(tmp_path / "service.db") as raw:
        rows = raw.execute("SELECT * FROM service_tokens").fetchall()
    raw.close()

    assert not any(part in str(rows) for token in (secret, session) for part in (token, token[13:]))
    assert tokens.digest(secret) in str(rows)
    for file in tmp_path.iterdir():
        assert file.stat().st_mode & 0o077 == 0
        assert secret[13:].encode() not in file.read_bytes()


def _wrong(secret: str) -> list[str]:
    """Tokens that are not ours: of an unknown id, of a known one with another secret, torn, and other texts."""
    other = "A" if secret[-1] != "A" else "B"
    return [
        f"dct_00000000_{secret[13:]}",
        secret[:-1] + other,
        secret[:13] + other * 43,
    ]


def test_every_comparison_is_of_digests_and_in_constant_time(store, monkeypatch):
    secret = issue(store, principal="ada", role="analyst", days=1)
    compared = []

    def watched(one, other):
        compared.append((one, other))
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(tokens, "hmac", type("hmac", (), {"compare_digest": staticmethod(watched)}))
    for sent in [secret, *_wrong(secret)]:
        compared.clear()
        found = find(store, sent)

        assert (found is not None) == (sent == secret)
        assert [len(one) for pair in compared for one in pair] == [64, 64]  # once, also where there is no such id


def _equalities(source: str) -> list[str]:
    """Where a digest or a secret is compared by ==, which stops at the first difference."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops):
            text = ast.unparse(node)
            found += [text] if "digest" in text or "secret" in text else []
    return found


def test_no_secret_is_compared_by_equality():
    twin = inspect.getsource(tokens).replace(
        "hmac.compare_digest(digest(secret), _NOBODY if row is None else row.digest)", "digest(secret) == row.digest"
    )

    assert _equalities(inspect.getsource(tokens)) == []
    assert _equalities(twin) == ["digest(secret) == row.digest"]


def test_a_token_ends_when_it_expires(store, clock):
    secret = issue(store, principal="ada", role="analyst", days=2)
    clock[0] += 2 * DAY - 1
    before = find(store, secret)
    clock[0] += 1

    assert before is not None
    assert find(store, secret) is None


def test_a_revoked_token_ends_at_once_and_is_still_listed(store):
    secret = issue(store, principal="ada", role="analyst", days=1)
    kept = issue(store, principal="bob", role="auditor", days=1)
    revoke(store, secret[4:12])

    assert find(store, secret) is None
    assert find(store, kept) is not None
    assert {token.principal: token.revoked is not None for token in listed(store)} == {"ada": True, "bob": False}
    with pytest.raises(DomainError, match="no token"):
        revoke(store, "ffffffff")


def test_a_foreign_token_is_nobodys(store, tmp_path):
    with open_store(tmp_path / "other.db") as other:
        foreign = issue(other, principal="ada", role="steward", days=1)

    assert find(store, foreign) is None
    for text in ["", "dct_", "dct_x", foreign + "\n", f" {foreign}", foreign.upper(), "\u0660" * 56, "a" * 100_000]:
        assert find(store, text) is None


def test_a_session_is_a_token_of_its_own_that_ends_with_its_parent(store, clock):
    parent = issue(store, principal="ada", role="analyst", days=1, datasets=["visits"])
    first = open_session(store, find(store, parent))
    found = find(store, first)

    assert first != parent
    assert (found.kind, found.principal, found.role, found.datasets) == ("session", "ada", "analyst", ("visits",))
    assert found.expires == clock[0] + 8 * 3600
    assert found.parent == parent[4:12]
    with pytest.raises(ParameterError):  # nothing of a session is left when it has ended
        open_session(store, found)
    clock[0] += 8 * 3600
    assert find(store, first) is None
    late = open_session(store, find(store, parent))
    assert find(store, late).expires == clock[0] + 8 * 3600
    revoke(store, parent[4:12])
    assert find(store, late) is None


def test_a_session_does_not_outlive_a_short_token(store, clock):
    parent = issue(store, principal="ada", role="steward", days=1)
    clock[0] += DAY - 60
    session = open_session(store, find(store, parent))
    clock[0] += 60

    assert find(store, session) is None


def test_a_session_whose_parent_is_gone_is_nobodys(store):
    parent = issue(store, principal="ada", role="steward", days=1)
    session = open_session(store, find(store, parent))
    with store.writing() as connection:
        connection.exec_driver_sql("DELETE FROM service_tokens WHERE kind = 'token'")

    assert find(store, session) is None


def test_sessions_of_a_token_are_so_many_and_the_oldest_gives_way(store, clock):
    parents = [find(store, issue(store, principal=name, role="analyst", days=2)) for name in ("ada", "bob")]
    kept = open_session(store, parents[1])
    opened = []
    for _ in range(5 * tokens.SESSIONS):
        clock[0] += 1
        opened.append(open_session(store, parents[0]))
    live = [secret for secret in opened if find(store, secret) is not None]

    assert live == opened[-tokens.SESSIONS :]
    assert find(store, kept) is not None
    assert _sessions(store) == tokens.SESSIONS + 1
    clock[0] += tokens.SESSION_HOURS * 3600
    open_session(store, parents[1])
    assert _sessions(store) == 1  # what has expired, whoever's it was, is gone


def test_sessions_of_an_identity_provider_are_counted_by_their_principal(store, clock):
    own = issue(store, principal="ada", role="analyst", days=2)
    foreign = replace(find(store, own), kind="oidc", id="nothing of ours")
    first = open_session(store, find(store, own))
    for _ in range(2 * tokens.SESSIONS):
        clock[0] += 1
        open_session(store, foreign)

    assert _sessions(store) == tokens.SESSIONS + 1
    assert find(store, first) is not None


def _sessions(store):
    return sum(token.kind == "session" for token in listed(store, sessions=True))


def test_a_list_of_tokens_reads_no_session(store):
    """They are many, and every job looks for the tokens of who ordered it."""
    secret = issue(store, principal="ada", role="analyst", days=1)
    issue(store, principal="bob", role="analyst", days=1)
    for _ in range(3):
        open_session(store, find(store, secret))
    read = []

    @event.listens_for(store.engine, "after_cursor_execute")
    def _(connection, cursor, statement, *_):
        read.append(statement)

    found = [token.principal for token in listed(store, principal="ada")]

    assert found == ["ada"]
    assert any("service_tokens.kind = " in statement and "principal = " in statement for statement in read)


@pytest.mark.parametrize(
    "wrong",
    [
        {"principal": ""},
        {"principal": " ada"},
        {"principal": "ada\n"},
        {"principal": "a" * 101},
        {"principal": 7},
        {"role": "king"},
        {"role": "Steward"},
        {"days": 0},
        {"days": True},
        {"days": 1.0},
        {"days": 3651},
        {"role": "auditor", "datasets": ["visits"]},
    ],
)
def test_what_is_no_token_is_not_issued(store, wrong):
    with pytest.raises(ParameterError):
        issue(store, **{"principal": "ada", "role": "analyst", "days": 1} | wrong)

    assert listed(store) == []
