"""What is left of a budget now, and what would be left after a price was paid: by the ledger's own rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.curator import Curator
    from discreet.curator.batch import Batch
    from discreet.curator.explain import Explanation
    from discreet.ledger import Balance
    from discreet.service.client import Client


def left(held: Curator | Client, found: Explanation | Batch, analyst: str | None) -> list[str]:
    """Lines for what `explain` found: of every capped account that would pay, now and afterwards."""
    from discreet.curator.batch import Batch
    from discreet.ledger import Budget
    from discreet.ledger.amount import settled
    from discreet.ledger.book import Book, touched

    asked, price = (
        ([found.name], found.cost) if isinstance(found, Batch) else (found.plan.query.tables, found.plan.price)
    )
    tables = [name for name in asked if not held.tables[name].public]
    unit = held.tables[tables[0]].unit or f"row of {tables[0]}"
    every = held.budget
    budget = every if isinstance(every, Budget) else every.get(unit)
    if budget is None or budget.unit != unit:
        return []
    who, before = _who(held, analyst), dict(budget.accounts())
    book = Book(dict(before))
    present = book.present(unit)
    paying = [one for one in touched(unit, tables, who, present) if one.scope != "unit" or one == present]
    capped = {one: before[one] for one in paying if one in before and before[one].cap is not None}
    now = {account: f"  left now of {account}: {_left(balance)}" for account, balance in capped.items()}
    if _paid(held, found, who):
        return [*now.values(), "  asked before: the same answer again is free"]
    try:
        after = book.charge(unit, tables, who, settled(price))
    except DiscreetError as error:
        return [*now.values(), f"  it would be refused: {str(error).removeprefix('budget exhausted: ')}"]
    return [f"{line}; afterwards: {_left(after[account])}" for account, line in now.items()]


def _left(balance: Balance) -> str:
    from discreet.composition.refusal import lanes_of, left

    assert balance.remaining is not None  # it has a cap
    return left(lanes_of(balance.cap, balance.remaining))


def _who(held: Curator | Client, analyst: str | None) -> str | None:
    """In whose name it would be charged."""
    from discreet.service.client import Client

    if not isinstance(held, Client):
        return analyst
    from discreet.service.client_wire import mine

    mine(analyst)
    return str(held.me.get("principal"))


def _paid(held: Curator | Client, found: Explanation | Batch, who: str | None) -> bool:
    """Whether a curator of this machine has the answer already."""
    from discreet.curator import Curator
    from discreet.curator.batch import Batch
    from discreet.curator.question import key_of

    if isinstance(found, Batch) or not isinstance(held, Curator):
        return False
    return held.ledger.recall(key_of(found.plan), analyst=who) is not None
