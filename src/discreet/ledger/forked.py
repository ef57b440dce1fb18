"""Two copies of a ledger: where they part, and what each has spent since.

Both chains are followed from their first entries, and every balance is replayed, so that nothing is believed that the
files merely say.  What people have lost is the sum: what both had spent when they parted, and what each spent after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from discreet.composition.price import FREE, Price
from discreet.errors import LedgerError
from discreet.ledger.account import Account
from discreet.ledger.amount import charge, write
from discreet.ledger.book import Book
from discreet.ledger.chain import Anchor, Entry, follow

if TYPE_CHECKING:
    from discreet.ledger.ledger import Ledger


@dataclass(frozen=True, kw_only=True, slots=True)
class Parting:
    """Where two ledgers part, and what was spent: up to there, by each of them after, and by all together.

    >>> from discreet.ledger import Ledger
    >>> with Ledger.open(":memory:") as one, Ledger.open(":memory:") as other:
    ...     parting(one, other).common is None
    True
    """

    common: Anchor | None  # the last entry that both have; None where not even the first is the same
    after: tuple[int, int]  # how many entries each has beyond it
    before: Mapping[Account, Price]  # spent up to it
    spent: tuple[Mapping[Account, Price], Mapping[Account, Price]]  # by each since

    @property
    def forked(self) -> bool:
        """Whether both went on, each its own way."""
        return self.common is None or min(self.after) > 0

    def together(self) -> dict[Account, Price]:
        """What people have lost, if both have answered."""
        first, second = self.spent
        accounts = sorted({*self.before, *first, *second})
        return {
            account: charge(charge(self.before.get(account, FREE), first.get(account, FREE)), second.get(account, FREE))
            for account in accounts
        }

    def to_dict(self) -> dict[str, object]:
        """For programs; amounts are exact, as text."""
        parts = {"before": self.before, "first": self.spent[0], "second": self.spent[1], "together": self.together()}
        return {
            "common": None if self.common is None else {"id": self.common.id, "hash": self.common.hash},
            "entries_after": list(self.after),
            "forked": self.forked,
            "spent": {
                name: [
                    {"unit": one.unit, "scope": one.scope, "name": one.name} | write(price)
                    for one, price in sorted(amounts.items())
                ]
                for name, amounts in parts.items()
            },
        }

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self.common is None:
            yield "these are two ledgers, and not two copies of one: not even their first entries are the same"
        else:
            yield f"both have entry {self.common.id}, hash {self.common.hash}"
            yield f"beyond it the first has {self.after[0]} entries, the second {self.after[1]}"
            yield "they part there: both went on" if self.forked else "one is an earlier copy of the other"
        for account, price in self.together().items():
            if account.scope == "unit":
                each = (one.get(account, FREE) for one in (self.before, *self.spent))
                before, first, second = map(_said, each)
                yield f"{account}: {before} before, {first} by the first, {second} by the second; {_said(price)} in all"


def _said(price: Price) -> str:
    epsilon = "no finite epsilon" if price.epsilon is None else f"epsilon {float(price.epsilon):g}"
    return f"{epsilon}, rho {float(price.rho):g}, delta {float(price.delta):g}"


def parting(first: Ledger, second: Ledger) -> Parting:
    """Follow both chains to where they part, and each to its end."""
    books, ends = (Book(), Book()), [0, 0]
    common: Anchor | None = None
    before: dict[Account, Price] = {}
    parted = False
    chains = (follow(first.entries()), follow(second.entries()))
    for pair in zip_longest(*chains):
        if not parted and (pair[0] is None or pair[1] is None or pair[0][0].hash != pair[1][0].hash):
            parted, before = True, _spent(books[0])
        for place, found in enumerate(pair):
            if found is not None:
                books[place].apply(found[1])
                ends[place] += parted
        if not parted:
            common = _first(pair).anchor
    if not parted:
        before = _spent(books[0])
    since = tuple(_less(_spent(book), before) for book in books)
    return Parting(common=common, after=(ends[0], ends[1]), before=before, spent=(since[0], since[1]))


def _first(pair: Sequence[tuple[Entry, dict[str, object]] | None]) -> Entry:
    found = pair[0]
    if found is None:
        raise LedgerError("the ledger has no entries; it was emptied")
    return found[0]


def _spent(book: Book) -> dict[Account, Price]:
    return {account: balance.spent for account, balance in book.balances.items()}


def _less(after: Mapping[Account, Price], before: Mapping[Account, Price]) -> dict[Account, Price]:
    """What was added; a lane that is closed by then is closed."""
    return {account: _difference(price, before.get(account, FREE)) for account, price in after.items()}


def _difference(after: Price, before: Price) -> Price:
    epsilon = None if after.epsilon is None or before.epsilon is None else after.epsilon - before.epsilon
    return replace(after, epsilon=epsilon, rho=after.rho - before.rho, delta=after.delta - before.delta)
