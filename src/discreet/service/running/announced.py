"""A ledger that tells the parent before it spends and after it has spent, and pays once for an order.

Theorem.  Let a child say "paying" before it spends and "charged" afterwards, and read no private row before a
spend returned.  A child of which no "paying" was heard has spent nothing and read nothing: its order may be
refused, free, whatever became of it.  Of any other child at most one thing is told: answer or withheld.
Proof: messages through a pipe arrive in order, and survive the one who sent them.

An order that comes again under its key (after a crash of anybody) does not pay a second time: where its first
attempt has paid and stored, what was stored is found; where it has paid and not stored, the order is withheld.
An answer enters the ledger at the moment it was told to, as the order of entries is there for all to see; its reply
is made before, however large it is, so that what was stored is hardly ever told to be withheld.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.composition.price import Item, Price
from discreet.errors import DiscreetError, LedgerError
from discreet.ledger import Budget, Ledger, Receipt
from discreet.ledger.chain import Anchor, Entry

if TYPE_CHECKING:
    from discreet.service.running.frames import Message

LATE = 0.02  # seconds after its moment in which an answer may still be stored: a process may be woken late


class Overrun(DiscreetError):
    """The answer was not ready when it had to be stored."""


class PaidBefore(DiscreetError):
    """An earlier attempt at this order was charged and stored nothing."""


@dataclass(slots=True)
class Announced:
    """A ledger, as a curator uses it."""

    inner: Ledger
    tell: Callable[[Message], None]
    moment: Callable[[], float] | None = None  # when an answer may be stored
    exact: bool = True  # whether it may be stored at that moment only
    only: str | None = None  # the table that may be charged, where the order names one
    promised: Callable[[str], None] | None = None  # told the ledger's key before a spend, durably
    paid: dict[str, bool] = field(default_factory=dict)  # by the ledger's key: paid in an earlier attempt; and stored?
    paying: bool = False
    receipt: Receipt | None = None  # of what this order has spent
    held: ExitStack | None = None  # where an answer is stored when its reply is made: turns last until this is closed
    made: tuple[Receipt, bytes, bool] | None = None  # an answer that waits for its reply

    def spend(self, item: Price | Item, *, fresh: bool = False, key: str | None = None, **request: Any) -> Receipt:  # noqa: ANN401 - as a ledger takes it
        """Spend, before and after which the parent hears of it."""
        if self.only is not None and not set(request["tables"]) <= {self.only}:
            raise DiscreetError("an order is charged to the table it names, and to no other")
        earlier = None if key is None else self.paid.get(key)
        if earlier is False:
            raise PaidBefore("this order was charged before, and its answer was withheld; nothing more was spent")
        if key is not None and self.promised is not None and earlier is None:
            known = None if fresh else self.inner.recall(key, analyst=request.get("analyst"))
            if known is None:  # else nothing will be paid
                self.promised(key)
        self.tell({"event": "paying"})
        self.paying = True
        try:
            receipt = self.inner.spend(item, fresh=fresh and earlier is None, key=key, **request)
        except LedgerError:
            self.inner.anchor()  # raises where nobody knows whether it was spent: the order then counts as charged
            self.paying = False
            raise
        except DiscreetError:  # refused by the caps, or not a request at all
            self.paying = False
            raise
        if receipt.replayed:
            self.paying = False
        else:
            self.receipt = receipt
            self.tell({"event": "charged", "receipt": written(receipt)})
        return receipt

    def resume(self, receipt: Receipt) -> None:
        """As the ledger's; the parent has heard that rows may be read."""
        self.inner.resume(receipt)

    def store(self, receipt: Receipt, answer: bytes, *, ends: bool = False) -> None:
        """Store, or keep until `settle`."""
        self.made = (receipt, answer, ends)
        if self.held is None:
            self.settle()

    def settle(self) -> None:
        """Wait for the moment, and store; what comes late is given up."""
        if self.made is None:
            return
        (receipt, answer, ends), self.made = self.made, None
        if self.moment is not None:
            moment = self.moment()
            left = moment - time.monotonic()
            if left < -LATE and self.exact:
                raise Overrun("the answer was not ready in time")
            time.sleep(max(0.0, left))
        self.inner.store(receipt, answer, ends=ends)

    @property
    def touched(self) -> bool:
        """Whether private rows may have been read since a spend, of this attempt or of an earlier one."""
        return self.paying or self.receipt is not None or False in self.paid.values()

    def turn(self, key: str, *, analyst: str | None = None) -> AbstractContextManager[None]:
        """As the ledger's; it lasts until the answer is stored."""
        if self.held is None:
            return self.inner.turn(key, analyst=analyst)
        self.held.enter_context(self.inner.turn(key, analyst=analyst))
        return nullcontext()

    def recall(self, key: str, *, analyst: str | None = None) -> bytes | None:
        """As the ledger's."""
        return self.inner.recall(key, analyst=analyst)

    def unread(self) -> frozenset[int]:
        """As the ledger's."""
        return self.inner.unread()

    def entries(self, *, start: int = 0) -> Iterator[Entry]:
        """As the ledger's."""
        return self.inner.entries(start=start)

    def budget(self, unit: str) -> Budget:
        """As the ledger's."""
        return self.inner.budget(unit)

    def anchor(self) -> Anchor:
        """As the ledger's."""
        return self.inner.anchor()

    def close(self) -> None:
        """As the ledger's."""
        self.inner.close()


def written(receipt: Receipt) -> Message:
    """A receipt for the world."""
    return {"id": receipt.id, "hash": receipt.hash, "replayed": receipt.replayed}
