"""Whether a history is linearizable: every operation took effect at one moment between its begin and its end.

Theorem.  The chain is an order of all operations that wrote.  A history is linearizable by
an order that agrees with the chain iff (a) each entry is one operation's, and each operation that
says it wrote has its entry; (b) no operation ended before another began that stands earlier in the chain;
(c) each entry was allowed by the state before it; and (d) the operations that wrote nothing can be put between the
entries, each where the state is what it saw, after all that ended before it began and before all that began
after it ended.  For (d) it is enough to put them, in the order of their begins, at the first place that fits.

Proof.  The conditions are the definition, with the order of the writers given.  Let a solution of (d) have places
q, and let p be those of the greedy choice.  By induction on the begins p <= q: what bounds an operation from below is
the writers that ended before it began, the same for both, and observers that ended before it began; these
began earlier, so that their p <= q.  So q is a place that fits under the bound of p, and p is the first.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction

NEVER = 1 << 62


@dataclass
class Model:
    """A ledger of one unit, as simple as can be."""

    cap: Fraction
    spent: Fraction = Fraction(0)
    tables: dict[str, Fraction] = field(default_factory=dict)
    analysts: dict[str, list[Fraction | None]] = field(default_factory=dict)  # cap, spent

    def allows(self, operation: dict) -> bool:
        price = Fraction(operation["price"])
        most, spent = self.analysts.get(operation["analyst"], [None, Fraction(0)])
        return self.spent + price <= self.cap and (most is None or spent + price <= most)

    def take(self, operation: dict) -> None:
        account = self.analysts.setdefault(operation["analyst"], [None, Fraction(0)])
        if operation["kind"] == "cap":
            account[0] = Fraction(operation["cap"])
            return
        price = Fraction(operation["price"])
        self.spent += price
        account[1] += price
        for table in operation["tables"]:
            self.tables[table] = self.tables.get(table, Fraction(0)) + price

    def shown(self) -> list[object]:
        analysts = {
            name: [cap if cap is None else str(cap), str(spent)] for name, (cap, spent) in self.analysts.items()
        }
        return [str(self.spent), {name: str(spent) for name, spent in self.tables.items()}, analysts]


def anomalies(operations: Iterable[dict], chain: Iterable[dict], *, cap: Fraction) -> Iterator[str]:
    """Everything that no order of the operations explains; `chain` are the records of the entries, in their order."""
    operations, chain = list(operations), list(chain)
    wrote: dict[tuple[str, str], dict] = {}
    for operation in operations:
        if operation["kind"] in ("spend", "cap"):
            wrote[operation["kind"], operation["key" if operation["kind"] == "spend" else "cap"]] = operation
    model, order, states = Model(cap), [], []
    states.append(deepcopy(model))
    for record in chain:
        operation = wrote.pop((record["kind"], record["key"] if record["kind"] == "spend" else record["cap"]), None)
        if operation is None:
            yield f"entry {record['id']} is nobody's, or was written twice"
            continue
        if operation["kind"] == "spend":
            if "end" in operation and operation["found"] != record["id"]:
                yield f"the spend of entry {record['id']} says {operation['found']}"
            if not model.allows(operation):
                yield f"entry {record['id']} was not allowed by what came before it"
        model.take(operation)
        order.append(operation)
        states.append(deepcopy(model))
    for operation in wrote.values():
        if operation["kind"] == "cap" and "end" in operation:
            yield f"the cap {operation['cap']} was lost"
        elif operation.get("found") is not None:
            yield f"the spend of entry {operation['found']} was lost"
    latest = 0
    for operation in order:
        if operation.get("end", NEVER) < latest:
            yield f"{operation['kind']} at {operation['begin']} ended before one began that stands earlier"
        latest = max(latest, operation["begin"])
    yield from _misplaced(_observers(operations), order, states)


def _observers(operations: list[dict]) -> list[dict]:
    """What ended and wrote nothing: reads, and spends that were refused."""
    return [
        operation
        for operation in operations
        if "end" in operation
        and (operation["kind"] == "read" or (operation["kind"] == "spend" and not operation["found"]))
    ]


def _misplaced(observers: list[dict], order: list[dict], states: list[Model]) -> Iterator[str]:
    """The observers that fit nowhere.  Place p is after p entries."""
    ended: list[int] = []  # the latest begin among the first p entries: increasing, for the upper ends of windows
    for operation in order:
        ended.append(max(operation["begin"], ended[-1] if ended else 0))
    finished = sorted((operation.get("end", NEVER), place) for place, operation in enumerate(order, start=1))
    waiting: list[tuple[int, int]] = []
    low = at = 0
    for observer in sorted(observers, key=lambda operation: operation["begin"]):
        while at < len(finished) and finished[at][0] < observer["begin"]:
            low, at = max(low, finished[at][1]), at + 1
        while waiting and waiting[0][0] < observer["begin"]:
            low = max(low, heapq.heappop(waiting)[1])
        high = bisect_left(ended, observer["end"])
        place = next((place for place in range(low, high + 1) if _fits(observer, states[place])), None)
        if place is None:
            yield f"{observer['kind']} at {observer['begin']} saw what never was between its begin and its end"
        else:
            heapq.heappush(waiting, (observer["end"], place))


def _fits(observer: dict, state: Model) -> bool:
    return observer["found"] == state.shown() if observer["kind"] == "read" else not state.allows(observer)
