"""Questions above a price wait for a steward.

The first request above the threshold is kept, waiting, and nothing is charged.  Once a steward has approved it the
same principal repeats the same request, and that uses the approval up: one approval is one charge.  Whether approval
is needed depends on the price, the threshold and what this principal has paid for before, all of them public.  So
many requests of one principal wait at once and no more, so that nobody buries what the others ask for.

An approval in use belongs to the key of one order, which pays once however often it is sent.  When the last request
under that key has been refused, free, the approval is there again for any; while one is under way, or where nobody
knows how it ended, it is not, as the other may be charged.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from discreet.composition.filter import accepts
from discreet.composition.price import Price
from discreet.errors import ParameterError
from discreet.ledger.account import capped
from discreet.ledger.request import checked_text
from discreet.service.problems import Problem, amounts
from discreet.service.tokens import stamp

if TYPE_CHECKING:
    from sqlalchemy import Row

    from discreet.privacy.guarantee import Guarantee
    from discreet.service.store import Store

WAITING = 16  # requests of one principal at once
LISTED = 500
DECISIONS = {"approve": "approved", "refuse": "refused"}


def needed(cost: Price, threshold: Guarantee | None) -> bool:
    """Whether a price is above the threshold.

    >>> from fractions import Fraction
    >>> from discreet.privacy.guarantee import PureDP
    >>> half, one = (Price(Fraction(n, 2), Fraction(n * n, 8), Fraction(0)) for n in (1, 2))
    >>> needed(half, PureDP(0.5)), needed(one, PureDP(0.5)), needed(one, None)
    (False, True, False)
    """
    if threshold is None:
        return False
    limit = capped(threshold)
    return not accepts(cost, threshold, limit.rho_cap)


def granted(
    store: Store, principal: str, kind: str, body: Mapping[str, object], cost: Price, *, key: str
) -> Mapping[str, object] | None:
    """Use an approval of this very request for the order of a key, and return None; or return where it stands.

    Whoever was given None says with `settled` how the order ended.
    """
    from sqlalchemy import func, insert, select, update

    from discreet.service.store import approvals, uses

    digest = request_digest(kind, body)
    with store.writing() as connection:
        mine = (approvals.c.principal == principal) & (approvals.c.digest == digest)
        rows = connection.execute(approvals.select().where(mine).order_by(approvals.c.created)).all()
        for row in rows:
            joined = update(uses).where(uses.c.approval == row.id, uses.c.key == key)
            if connection.execute(joined.values(holders=uses.c.holders + 1)).rowcount == 1:
                return None  # the same order once more
        for row in rows:
            once = update(approvals).where(approvals.c.id == row.id, approvals.c.state == "approved")
            if connection.execute(once.values(state="used")).rowcount == 1:  # of several at once, one has used it up
                connection.execute(insert(uses), {"approval": row.id, "key": key, "holders": 1, "charged": 0})
                return None
        waiting = [row for row in rows if row.state == "waiting"]
        if waiting:
            return {"approval": waiting[0].id, "state": "waiting"}
        of_theirs = (approvals.c.principal == principal) & (approvals.c.state == "waiting")
        if connection.execute(select(func.count()).select_from(approvals).where(of_theirs)).scalar_one() >= WAITING:
            raise Problem(
                "too-many-requests",
                f"at most {WAITING} requests of one principal wait for a steward",
                remedy="wait until a steward has decided; nothing was spent",
                headers={"Retry-After": "60"},
            )
        number = secrets.token_hex(8)
        record = {
            "id": number,
            "principal": principal,
            "digest": digest,
            "kind": kind,
            "body": json.dumps(body),
            "price": json.dumps(amounts(cost)),
            "state": "waiting",
            "created": time.time(),
        }
        connection.execute(insert(approvals), record)
    return {"approval": number, "state": "waiting"}


def settled(store: Store, principal: str, kind: str, body: Mapping[str, object], *, key: str, charged: bool) -> None:
    """Say how the order of a key ended: an approval that nobody was charged under is there again."""
    from sqlalchemy import delete, select, update

    from discreet.service.store import approvals, uses

    digest = request_digest(kind, body)
    mine = (approvals.c.principal == principal) & (approvals.c.digest == digest)
    with store.writing() as connection:
        of_mine = uses.c.approval.in_(select(approvals.c.id).where(mine)) & (uses.c.key == key)
        ended = {"holders": uses.c.holders - 1} | ({"charged": 1} if charged else {})
        connection.execute(update(uses).where(of_mine).values(**ended))
        free = of_mine & (uses.c.holders <= 0) & (uses.c.charged == 0)
        for number in connection.execute(select(uses.c.approval).where(free)).scalars().all():
            if connection.execute(delete(uses).where(free, uses.c.approval == number)).rowcount == 1:
                connection.execute(update(approvals).where(approvals.c.id == number).values(state="approved"))


def decide(store: Store, number: str, *, decision: str, reason: str, steward: str) -> dict[str, object]:
    """Approve or refuse what is waiting; a decision stands."""
    from sqlalchemy import update

    from discreet.service.store import approvals

    if decision not in DECISIONS:
        raise ParameterError("need a decision of approve or refuse")
    checked_text("reason", reason)
    one = approvals.c.id == number
    with store.writing() as connection:
        row = connection.execute(approvals.select().where(one)).one_or_none()
        if row is None:
            raise Problem("missing", "no approval has this id")
        values = {"state": DECISIONS[decision], "decided": time.time(), "steward": steward, "reason": reason}
        first = update(approvals).where(one, approvals.c.state == "waiting").values(**values)
        decided = connection.execute(first).rowcount == 1
        row = connection.execute(approvals.select().where(one)).one()
        if not decided:
            raise Problem("conflict", f"this request is {row.state} already")
    return _record(row)


def listed(store: Store, principal: str | None) -> list[dict[str, object]]:
    """Requests for approval, the waiting ones first and then the newest: of one principal, or of all."""
    from sqlalchemy import case

    from discreet.service.store import approvals

    first = case((approvals.c.state == "waiting", 0), else_=1)
    wanted = approvals.select().order_by(first, approvals.c.created.desc()).limit(LISTED)
    with store.reading() as connection:
        rows = connection.execute(
            wanted if principal is None else wanted.where(approvals.c.principal == principal)
        ).all()
    return [_record(row) for row in rows]


def request_digest(kind: str, body: Mapping[str, object]) -> str:
    """What makes two requests the same."""
    return hashlib.sha256(json.dumps([kind, body], sort_keys=True).encode()).hexdigest()


def _record(row: Row) -> dict[str, object]:
    return {
        "id": row.id,
        "principal": row.principal,
        "kind": row.kind,
        "body": json.loads(row.body),
        "price": json.loads(row.price),
        "state": row.state,
        "created": stamp(row.created),
        "decided": None if row.decided is None else stamp(row.decided),
        "steward": row.steward,
        "reason": row.reason,
    }
