"""Who is next: principals take turns, and nobody fills the line for the others.

Theorem.  Let p principals have orders waiting, none of them with as many orders running as one may have.  Then
between two dispatches of one of them there is at most one of each other.  When the line is full an order of the
principal with most of them is turned away, so that a principal with fewer than its share is never.
Proof: principals stand in a ring; whoever was served goes to its end.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import Generic, TypeVar

from discreet.errors import require

Item = TypeVar("Item")


class Queue(Generic[Item]):
    """Orders that wait, by principal.

    >>> queue = Queue(most=3, each=2)
    >>> for name, item in [("ada", 1), ("ada", 2), ("ada", 3), ("bob", 4)]:
    ...     queue.put(name, item)
    3
    >>> queue.take(), queue.take(), queue.take(), queue.take()
    (1, 4, 2, None)
    """

    def __init__(self, *, most: int, each: int) -> None:
        require(most >= 0 and each >= 1, "most >= 0 and each >= 1", most=most, each=each)
        self._most, self._each = most, each
        self._ring: OrderedDict[str, deque[Item]] = OrderedDict()
        self._running: Counter[str] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._ring.values()))

    def put(self, principal: str, item: Item, *, free: int = 0) -> Item | None:
        """Add an order; returns one that has to leave, which may be this one, where the line is full.

        So many orders as there are free children do not wait.
        """
        self._ring.setdefault(principal, deque()).append(item)
        if len(self) <= self._most + free:
            return None
        longest = max(self._ring, key=lambda name: (len(self._ring[name]), name == principal))
        return self._drop(longest)

    def take(self, may: Callable[[Item], bool] = lambda _: True) -> Item | None:
        """The next order that may run; None if nobody may.  Of one principal those that `may` come first."""
        for name, waiting in self._ring.items():
            if self._running[name] >= self._each:
                continue
            place = next((place for place, item in enumerate(waiting) if may(item)), None)
            if place is not None:
                found = waiting[place]
                del waiting[place]
                if waiting:
                    self._ring.move_to_end(name)
                else:
                    del self._ring[name]
                self._running[name] += 1
                return found
        return None

    def of(self, principal: str) -> list[Item]:
        """The orders of a principal that wait."""
        return list(self._ring.get(principal, ()))

    def remove(self, principal: str, gone: Callable[[Item], bool]) -> list[Item]:
        """Take orders of a principal out of the line that nobody wants any more.

        >>> queue = Queue(most=3, each=1)
        >>> queue.put("ada", 1), queue.put("ada", 2)
        (None, None)
        >>> queue.remove("ada", lambda item: item == 1), len(queue)
        ([1], 1)
        """
        waiting = self._ring.get(principal, deque())
        found = [item for item in waiting if gone(item)]
        for item in found:
            waiting.remove(item)
        if not waiting:
            self._ring.pop(principal, None)
        return found

    def done(self, principal: str) -> None:
        """An order of this principal runs no more."""
        self._running[principal] -= 1
        if self._running[principal] <= 0:
            del self._running[principal]

    def clear(self) -> list[Item]:
        """Turn everybody away."""
        found = [item for waiting in self._ring.values() for item in waiting]
        self._ring.clear()
        return found

    def _drop(self, name: str) -> Item:
        waiting = self._ring[name]
        found = waiting.pop()
        if not waiting:
            del self._ring[name]
        return found
