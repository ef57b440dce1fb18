"""When things may be seen: at moments that are known before any private row is read.

    start                 an order is handed to a child
    start + slot - margin the child stores its answer, neither before nor after; what is not ready then never will be
    start + slot          the reply leaves, answer or withheld, and the child may be given another order

Theorem.  Let the start, the slot and the margin be functions of public facts.  Then the moments at which an
order's entries are made in the ledger, its reply leaves, and the next order starts, are functions of public facts
and of one bit: whether the child was ready in time.  Proof: an answer that is early waits, both for its entry and
for its reply; one that is late is given up at the same moments.  The bit is the stated residual channel: each
overrun is withheld, charged and counted.

A job has no slot, as nobody knows how long a model takes: what it did is made known at ticks, whole multiples of
the slot after its start.  In which tick it ends may depend on the rows; docs/limitations.md says so.

Times are of the clock that all processes of one machine share and nobody sets (`time.monotonic`).
"""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass

from discreet.errors import require


@dataclass(frozen=True, kw_only=True, slots=True)
class Slot:
    """The time that one question has.

    >>> slot = Slot(start=10.0, seconds=1.0, margin=0.25)
    >>> slot.store_at, slot.kill_at, slot.send_at
    (10.75, 10.875, 11.0)
    """

    start: float
    seconds: float
    margin: float

    def __post_init__(self) -> None:
        require(0 < self.margin < self.seconds, "0 < margin < slot", margin=self.margin, slot=self.seconds)

    @property
    def store_at(self) -> float:
        """When an answer that is ready is stored."""
        return self.start + self.seconds - self.margin

    @property
    def kill_at(self) -> float:
        """When a child that has not stored is ended; half of the margin is for storing."""
        return self.start + self.seconds - self.margin / 2

    @property
    def send_at(self) -> float:
        """When the reply leaves."""
        return self.start + self.seconds


def tick(now: float, *, start: float, seconds: float) -> float:
    """The first moment from now on that is a whole number of ticks after the start.

    >>> tick(12.1, start=10.0, seconds=1.0), tick(12.0, start=10.0, seconds=1.0)
    (13.0, 12.0)
    """
    return start + math.ceil((now - start) / seconds) * seconds


async def until(moment: float) -> None:
    """Sleep to a moment and not a microsecond less: some clocks of event loops are rounded to milliseconds."""
    while (left := moment - time.monotonic()) > 0:
        await asyncio.sleep(left)
