"""The report for an auditor: what is promised, what was spent, by whom, and whether the record is whole.

Everything in it follows from one snapshot of the ledger, which is verified first.  It
holds the questions and their prices, and no answer.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import LedgerError
from discreet.ledger.account import Account, Balance
from discreet.ledger.amount import write, write_cap
from discreet.ledger.book import FIRST, Book, touched
from discreet.ledger.budget import Budget, budget_of
from discreet.ledger.chain import Anchor, Entry
from discreet.ledger.request import now
from discreet.ledger.verify import verify
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import exact

if TYPE_CHECKING:
    from discreet.ledger.transaction import Transaction

POINTS = 400  # of a timeline, at most
EXAMPLE_DELTA = Fraction(1, 10**6)  # at which a zCDP promise is put into words


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """What an auditor is given: `to_html()` is one page to read or print, `to_json()` the same for programs.

    >>> from discreet.ledger import Ledger
    >>> with Ledger.open(":memory:") as ledger:
    ...     ledger.register(unit="patient", cap=PureDP(1))
    ...     report = ledger.report()
    >>> report.verified, report.anchor.id, len(report.entries)
    (True, 1, 2)
    """

    made: str
    ledger: str
    testing: bool
    anchor: Anchor
    verified: bool
    finding: str
    budgets: Sequence[Budget]
    promises: Mapping[str, str]
    spends: Mapping[Account, int]  # how many, by account
    timelines: Mapping[str, Sequence[tuple[int, float]]] = field(repr=False)  # by unit: entry, share of the cap
    entries: Sequence[Entry] = field(repr=False)

    def to_dict(self) -> dict[str, object]:
        """The report as JSON values; amounts are exact, as text."""
        return {
            "made": self.made,
            "ledger": self.ledger,
            "testing": self.testing,
            "anchor": {"id": self.anchor.id, "hash": self.anchor.hash},
            "verified": self.verified,
            "finding": self.finding,
            "units": [
                {"unit": budget.unit, "promise": self.promises[budget.unit], "accounts": self._accounts(budget)}
                for budget in self.budgets
            ],
            "timelines": {unit: [list(point) for point in points] for unit, points in self.timelines.items()},
            "entries": [{"body": entry.record, "hash": entry.hash} for entry in self.entries],
        }

    def _accounts(self, budget: Budget) -> list[dict[str, object]]:
        return [
            {
                "scope": account.scope,
                "name": account.name,
                "cap": None if balance.cap is None else write_cap(balance.cap),
                "rho_cap": None if balance.rho_cap is None else str(balance.rho_cap),
                "spent": write(balance.spent),
                "state": balance.state,
                "spends": self.spends.get(account, 0),
            }
            for account, balance in budget.accounts()
        ]

    def to_json(self) -> str:
        """The report as text for programs."""
        return json.dumps(self.to_dict(), indent=2)

    def to_html(self) -> str:
        """The report as one page, without scripts and without anything to load."""
        from discreet.ledger.page import page

        return page(self)


def report(transaction: Transaction, *, anchor: Anchor | None) -> Report:
    """Verify and replay one snapshot."""
    entries = _entries(transaction)
    try:
        last, finding = verify(transaction, anchor=anchor), ""
    except LedgerError as error:
        last, finding = entries[-1].anchor if entries else Anchor(0, ""), str(error)
    found = transaction.all_balances()
    budgets = [budget_of(found, account.unit) for account in sorted(found) if account.scope == "unit"]
    genesis = entries[0].record if entries else {}
    spends, timelines = ({}, {}) if finding else _replayed(entries)
    return Report(
        made=now(),
        ledger=str(genesis.get("ledger")),
        testing=genesis.get("testing") is True,
        anchor=last,
        verified=not finding,
        finding=finding or _verified(len(entries), anchor),
        budgets=budgets,
        promises={budget.unit: promise(budget) for budget in budgets},
        spends=spends,
        timelines=timelines,
        entries=entries,
    )


def _verified(count: int, anchor: Anchor | None) -> str:
    whole = f"{count} entries form one unbroken chain, and every balance is the sum of its entries"
    if anchor is None:
        return f"{whole}; without an anchor kept elsewhere, a rollback to an old copy could not be seen"
    return f"{whole}; it contains entry {anchor.id}, the anchor that was kept elsewhere"


def _entries(transaction: Transaction) -> list[Entry]:
    entries: list[Entry] = []
    while page := transaction.page(entries[-1].id + 1 if entries else 0):
        entries += [entry for entry, *_ in page]
    return entries


def _replayed(entries: Sequence[Entry]) -> tuple[dict[Account, int], dict[str, list[tuple[int, float]]]]:
    """How often each account was charged, and how full each unit's cap was after each entry."""
    book, spends, timelines = Book(), Counter[Account](), dict[str, list[tuple[int, float]]]()
    for entry in entries:
        record = entry.record
        book.apply(record)
        match record:
            case {"kind": "spend", "unit": str(unit), "tables": list(tables), "analyst": str() | None as analyst}:
                present = book.present(unit)
                period = present if present.scope == "period" else None
                spends.update(touched(unit, map(str, tables), analyst, period))
            case {"kind": "renewal", "unit": str(unit)}:
                spends.setdefault(Account(unit, "period", FIRST), spends[Account(unit, "unit", unit)])
            case _:
                pass
        unit = record.get("unit")
        if isinstance(unit, str):
            timelines.setdefault(unit, []).append((entry.id, used(book.balances[book.present(unit)])))
    return dict(spends), {unit: _thinned(points) for unit, points in timelines.items()}


def _thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    step = -(-len(points) // POINTS)
    return points[::step] + ([points[-1]] if (len(points) - 1) % step else [])


def used(balance: Balance) -> float:
    """The share of a cap that is spent: in the lane that has most room, or of the deltas if that is more.

    >>> from discreet.composition.price import Price
    >>> used(Balance(PureDP(2), spent=Price(Fraction(1, 2), Fraction(1, 8), Fraction(0))))
    0.25
    """
    spent = balance.spent
    match balance.cap:
        case PureDP():
            return _share(spent.epsilon, exact(balance.cap.epsilon))
        case ZCDP():
            return _share(spent.rho, exact(balance.cap.rho))
        case ApproxDP():
            lanes = (
                _share(spent.epsilon, exact(balance.cap.epsilon)),
                _share(spent.rho, balance.rho_cap or Fraction(0)),
            )
            return max(min(lanes), _share(spent.delta, exact(balance.cap.delta) / 2))
        case _:
            return 0.0


def _share(spent: Fraction | None, cap: Fraction) -> float:
    if spent is None:
        return math.inf
    return float(spent / cap) if cap else (math.inf if spent else 0.0)


def promise(budget: Budget) -> str:
    """What is promised to one unit, as a sentence.

    >>> promise(Budget(unit="patient", balance=Balance(ApproxDP(1, 1e-6))))
    'Whoever sees everything that is ever released, and knows everything else: whether one patient is in the data or
    not changes the probability of whatever they see by a factor of at most 2.719, plus at most 1e-06.'
    """
    cap = budget.balance.cap
    assert cap is not None
    extent = f"released in the {len(budget.periods)} periods so far" if budget.periods else "that is ever released"
    sentence = (
        f"Whoever sees everything {extent}, and knows everything else: {_change(budget.unit, cap)} changes"
        f" the probability of whatever they see by {_factor(cap)}."
    )
    if budget.period is not None and budget.present.cap is not None:
        within = _factor(budget.present.cap)
        sentence += f" In the present period, {budget.period}, by {within}. Each new period adds to the first figure."
    return sentence


def _change(unit: str, cap: Guarantee) -> str:
    if (cap.neighbours or AddRemove) is AddRemove:
        return f"whether one {unit} is in the data or not"
    return f"to exchange the data of one {unit} for other data"


def _factor(cap: Guarantee) -> str:
    match cap:
        case ZCDP():
            return f"{_factor(cap.to_approx(EXAMPLE_DELTA))} (in full: {float(exact(cap.rho)):g}-zCDP)"
        case PureDP() | ApproxDP():
            epsilon = float(exact(cap.epsilon))
            factor = f"{math.ceil(math.exp(epsilon) * 1000 + 1e-6) / 1000:g}" if epsilon < 5 else f"e^{epsilon:g}"
            delta = exact(cap.delta) if isinstance(cap, ApproxDP) else Fraction(0)
            return f"a factor of at most {factor}" + (f", plus at most {float(delta):g}" if delta else "")
        case _:
            raise AssertionError("a cap is one of three currencies")
