"""The statements of a ledger, built once: they are what a transaction says to the database."""

from __future__ import annotations

from sqlalchemy import and_, bindparam, func, insert, or_, select, update

from discreet.ledger.schema import answers, balances, entries, head

_account = balances.c
_largest = select(func.max(entries.c.id)).scalar_subquery()

_kept = select(entries.c.hash).where(entries.c.id == bindparam("seen")).scalar_subquery()

LOCK = (
    select(head.c.slot).where(head.c.slot == 1).with_for_update()
)  # by itself: a statement that waited reads old rows
LAST = (  # the head, with what stands at its number, the largest number there is, and an entry seen before
    select(
        head.c.id,
        head.c.hash,
        head.c.format,
        head.c.witness,
        entries.c.hash.label("found"),
        _largest.label("largest"),
        _kept.label("kept"),
    )
    .join_from(head, entries, entries.c.id == head.c.id)
    .where(head.c.slot == 1)
)
HEAD = select(head.c.id, head.c.hash).where(head.c.slot == 1)
HOLD = update(head).values(witness=bindparam("state"))
FORMAT = select(head.c.format)
CONVERT = update(head).values(format=bindparam("written"))
ENTRY = select(entries).where(entries.c.id == bindparam("number"))
PAGE = select(entries).where(entries.c.id >= bindparam("start")).order_by(entries.c.id).limit(500)

_under = select(entries).order_by(entries.c.id.desc()).limit(1).where(entries.c.key == bindparam("under"))
LATEST = _under.where(entries.c.analyst == bindparam("owner"))
LATEST_OF_NOBODY = _under.where(entries.c.analyst.is_(None))

_unit = and_(_account.unit == bindparam("of"), _account.scope == "unit")
_table = and_(_account.scope == "table", _account.name.in_(bindparam("tables", expanding=True)))
_analyst = and_(_account.unit == bindparam("of"), _account.scope == "analyst", _account.name == bindparam("owner"))
_period = and_(_account.unit == bindparam("of"), _account.scope == "period", _account.state.is_(None))
CONCERNED = select(balances).where(or_(_unit, _period, _table, _analyst)).with_for_update()
BALANCES = select(balances)

APPEND = insert(entries)
ADVANCE = update(head).values(id=bindparam("number"), hash=bindparam("digest"))
NEW_BALANCE = insert(balances)
_here = and_(
    _account.unit == bindparam("in_unit"),
    _account.scope == bindparam("in_scope"),
    _account.name == bindparam("of_name"),
)
_values = {name: bindparam(f"new_{name}") for name in ("cap", "rho_cap", "epsilon", "rho", "delta", "state")}
BALANCE = update(balances).where(_here).values(**_values)

ANSWER = select(answers).where(answers.c.spend == bindparam("number"))
RECORDED = select(answers.c.record).where(answers.c.spend == bindparam("number"))
ANSWERED = select(func.count()).select_from(answers)
KEEP = insert(answers)
