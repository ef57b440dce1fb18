"""Tokens: 256 random bits, kept as a digest, expiring, revocable.

    dct_<id>_<secret>     id: 8 hexadecimal digits, by which the digest is found
                          secret: 43 characters of base64url, 256 bits of the operating system's generator

Only SHA-256 of the whole token is kept: of 256 random bits it tells nothing, so no slow hash is needed.  Digests are
compared in constant time, also where no token has the id.  A session of the console is a token of its own, the child
of the one that signed in: it ends after `SESSION_HOURS`, with its parent, or when `SESSIONS` younger ones are there.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from discreet.errors import DomainError, require

if TYPE_CHECKING:
    from sqlalchemy import Row

    from discreet.service.store import Store

ROLES = ("steward", "analyst", "auditor")
FOREIGN = "oidc:"  # what the names of an identity provider begin with, and no other
SESSION_HOURS = 8
SESSIONS = 16  # of one token that live at once: one more ends the oldest
MOST_DAYS = 3650
_FORM = re.compile(r"dct_([0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_NOBODY = hashlib.sha256(b"nobody").hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """What is known of a token; its secret is not."""

    id: str
    kind: str  # token, session or oidc
    principal: str
    role: str
    datasets: tuple[str, ...] | None  # None: all of them
    created: float
    expires: float  # seconds since 1970
    revoked: float | None = None
    parent: str | None = None

    def to_dict(self) -> dict[str, object]:
        """For a list of tokens, JSON-ready."""
        return {
            "id": self.id,
            "kind": self.kind,
            "principal": self.principal,
            "role": self.role,
            "datasets": None if self.datasets is None else list(self.datasets),
            "created": stamp(self.created),
            "expires": stamp(self.expires),
            "revoked": None if self.revoked is None else stamp(self.revoked),
            "parent": self.parent,
        }


def stamp(seconds: float) -> str:
    """A time for people.

    >>> stamp(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def issue(store: Store, *, principal: str, role: str, days: int, datasets: Iterable[str] | None = None) -> str:
    """Make a token and return it: it is shown this once.

    >>> from discreet.service.store import open_store
    >>> with open_store(":memory:") as store:
    ...     secret = issue(store, principal="ada", role="analyst", days=30)
    ...     found = find(store, secret)
    >>> secret[:4], len(secret), found.principal, found.role
    ('dct_', 56, 'ada', 'analyst')
    """
    checked_principal(principal)
    require(not principal.startswith(FOREIGN), f"a principal without {FOREIGN} before the name", kind="oidc")
    require(role in ROLES, f"a role of {', '.join(ROLES)}", role=role)
    require(type(days) is int and 1 <= days <= MOST_DAYS, f"1 <= days <= {MOST_DAYS}", days=days)
    chosen = None if datasets is None else tuple(datasets)
    require(chosen is None or role == "analyst", "datasets for analysts only: the others see all", role=role)
    return _made(store, "token", principal, role, chosen, time.time() + days * 86_400, None)


def open_session(store: Store, parent: Token) -> str:
    """A session of whoever holds a token: its secret, for a cookie.  A session opens no other."""
    require(parent.kind != "session", "a token to open a session with", kind=parent.kind)
    ends = min(time.time() + SESSION_HOURS * 3600, parent.expires)
    of = parent.id if parent.kind == "token" else None
    secret = _made(store, "session", parent.principal, parent.role, parent.datasets, ends, of)
    _purge(store, parent.principal, of)
    return secret


def _purge(store: Store, principal: str, parent: str | None) -> None:
    """Delete every session that has ended, and the oldest of a token that has too many."""
    from sqlalchemy import delete, select

    from discreet.service.store import tokens

    session, now = tokens.c.kind == "session", time.time()
    ended = session & ((tokens.c.expires <= now) | tokens.c.revoked.is_not(None))
    theirs = session & (tokens.c.principal == principal) & tokens.c.parent.is_not_distinct_from(parent)
    newest = select(tokens.c.id).where(theirs).order_by(tokens.c.created.desc(), tokens.c.id).limit(SESSIONS)
    with store.writing() as connection:
        connection.execute(delete(tokens).where(ended))
        kept = connection.execute(newest).scalars().all()
        connection.execute(delete(tokens).where(theirs, tokens.c.id.not_in(kept)))


def _made(
    store: Store,
    kind: str,
    principal: str,
    role: str,
    datasets: tuple[str, ...] | None,
    expires: float,
    parent: str | None,
) -> str:
    from sqlalchemy import insert

    from discreet.service.store import tokens

    number = secrets.token_hex(4)
    secret = f"dct_{number}_{secrets.token_urlsafe(32)}"
    record = {
        "id": number,
        "kind": kind,
        "principal": principal,
        "role": role,
        "datasets": None if datasets is None else json.dumps(datasets),
        "created": time.time(),
        "expires": expires,
        "parent": parent,
        "digest": digest(secret),
    }
    with store.writing() as connection:
        connection.execute(insert(tokens), record)
    return secret


def find(store: Store, secret: str) -> Token | None:
    """The token of this secret, if it is one of ours, is not revoked and has not expired; nor has its parent."""
    from discreet.service.store import tokens

    form = _FORM.fullmatch(secret)
    if form is None:
        return None
    with store.reading() as connection:
        row = connection.execute(tokens.select().where(tokens.c.id == form[1])).one_or_none()
        parent = None
        if row is not None and row.parent is not None:
            parent = connection.execute(tokens.select().where(tokens.c.id == row.parent)).one_or_none()
    right = hmac.compare_digest(digest(secret), _NOBODY if row is None else row.digest)
    if not right or row is None or not _lives(row):
        return None
    if row.parent is not None and (parent is None or not _lives(parent)):
        return None
    return _token(row)


def _lives(row: Row) -> bool:
    return row.revoked is None and time.time() < row.expires


def revoke(store: Store, number: str) -> None:
    """End a token, and the sessions it opened, at once.

    >>> from discreet.service.store import open_store
    >>> with open_store(":memory:") as store:
    ...     secret = issue(store, principal="ada", role="analyst", days=30)
    ...     revoke(store, secret[4:12])
    ...     find(store, secret) is None
    True
    """
    from sqlalchemy import update

    from discreet.service.store import tokens

    with store.writing() as connection:
        ended = update(tokens).where((tokens.c.id == number) | (tokens.c.parent == number), tokens.c.revoked.is_(None))
        known = connection.execute(tokens.select().where(tokens.c.id == number)).one_or_none()
        connection.execute(ended.values(revoked=time.time()))
    if known is None:
        raise DomainError("no token has this id")


def listed(store: Store, *, sessions: bool = False, principal: str | None = None) -> list[Token]:
    """Every token, of one principal or of all, the newest first; sessions too if they are wanted."""
    from discreet.service.store import tokens

    wanted = tokens.select().order_by(tokens.c.created.desc(), tokens.c.id)
    wanted = wanted if sessions else wanted.where(tokens.c.kind == "token")
    wanted = wanted if principal is None else wanted.where(tokens.c.principal == principal)
    with store.reading() as connection:
        return [_token(row) for row in connection.execute(wanted).all()]


def digest(secret: str) -> str:
    """What is kept of a token."""
    return hashlib.sha256(secret.encode()).hexdigest()


def checked_principal(name: str) -> str:
    """A name that can stand in a ledger and a log."""
    right = isinstance(name, str) and 0 < len(name) <= 100 and name.isprintable() and name.strip() == name
    require(right, "a printable name of 1 to 100 characters for the principal", kind=type(name).__name__)
    return name


def _token(row: Row) -> Token:
    return Token(
        id=row.id,
        kind=row.kind,
        principal=row.principal,
        role=row.role,
        datasets=None if row.datasets is None else tuple(json.loads(row.datasets)),
        created=row.created,
        expires=row.expires,
        revoked=row.revoked,
        parent=row.parent,
    )
