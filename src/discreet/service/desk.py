"""The curator as a worker process has it: declarations, plans and the ledger, and never a private row.

The file is looked at again when a request comes and a moment has passed: a table that was registered, by this process
or another, is there for all of them without a restart.  A file that cannot be read leaves things as they were.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.curator import config
from discreet.curator.curator import Curator
from discreet.curator.explain import Explanation
from discreet.curator.explain import explain as explained
from discreet.curator.plan import Plan
from discreet.curator.question import key_of, passes_of
from discreet.curator.question import read as read_question
from discreet.errors import DiscreetError, UnsupportedError
from discreet.ledger import Budget, Ledger
from discreet.service.log import LOG, failure
from discreet.service.wire import Ask, Explain, dumped

if TYPE_CHECKING:
    from discreet.data.table import Table
    from discreet.service.access import Principal

MOMENT = 0.2  # seconds between looks at the file
KEPT = 2_000  # explanations
KEPT_BYTES = 64_000_000  # of all of them, as they are sent
KEPT_QUESTION = 4_096  # characters of a question whose explanation is kept
PLANNED = 100  # aggregates of one question
ANSWERED = 100_000  # numbers of one answer: declared groups times aggregates
SEARCHED = 10  # of one whose epsilon is searched for, in some fifty plans


class Desk:
    """What a worker answers from without reading rows."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self._lock = threading.RLock()
        self._explanations: OrderedDict[tuple[object, ...], tuple[Explanation, dict[str, object]]] = OrderedDict()
        self._sizes: dict[tuple[object, ...], int] = {}  # bytes of each
        self._size = 0
        self._seen: tuple[int, int, int] | None = None
        self._looked = 0.0
        self._curator: Curator | None = None
        self._version = ""
        self._opened()

    @property
    def curator(self) -> Curator:
        """The curator of the file as it stands."""
        with self._lock:
            if self._curator is None or time.monotonic() - self._looked >= MOMENT:
                self._opened()
            assert self._curator is not None
            return self._curator

    @property
    def version(self) -> str:
        """What the declarations hash to: another file, another version."""
        self.curator  # noqa: B018 - looks at the file
        return self._version

    def _opened(self) -> None:
        """Open the file if it has changed."""
        self._looked = time.monotonic()
        try:
            state = self.path.stat()
            seen = (state.st_mtime_ns, state.st_size, state.st_ino)
            if seen != self._seen or self._curator is None:
                self._open()
                self._seen = seen
        except (DiscreetError, OSError) as error:
            if self._curator is None:
                raise
            LOG.error("the curator's file cannot be read", extra={"fields": {"file": "unreadable"} | failure(error)})

    def _open(self) -> None:
        text = self.path.read_bytes()
        settings = config.read(self.path)
        cap, declared = config.budget(settings.get("budget")), config.tables(settings, self.path.parent)
        ledger = self._curator.ledger if self._curator is not None else self._ledger(settings)
        self._curator = Curator(declared, budget=cap, ledger=ledger)
        self._version = hashlib.sha256(text).hexdigest()[:16]
        self._explanations.clear()
        self._sizes.clear()
        self._size = 0

    def _ledger(self, settings: dict[str, object]) -> Ledger:
        return config.opened(settings, self.path.parent, verify=False)

    def look(self) -> None:
        """Look at the file now, whatever the clock says."""
        with self._lock:
            self._opened()

    def recover(self) -> None:
        """Open the ledger anew if it is closed: after a failure its store refuses everything."""
        try:
            self.curator.ledger.anchor()
        except (DiscreetError, OSError):
            self.forget()

    def forget(self) -> None:
        """Let go of the ledger; the next request opens it anew."""
        with self._lock:
            if self._curator is not None:
                self._curator.close()
            self._curator = None

    def tables(self, principal: Principal) -> dict[str, Table]:
        """The tables that are there, for them."""
        return {name: table for name, table in self.curator.tables.items() if principal.sees(name)}

    def units(self, principal: Principal) -> dict[str, list[str]]:
        """The privacy units of those tables, each with its private tables."""
        found: dict[str, list[str]] = {}
        for name, table in self.tables(principal).items():
            if not table.public:
                found.setdefault(unit_of(name, table), []).append(name)
        return found

    def explain(self, body: Explain, principal: Principal) -> tuple[Explanation, dict[str, object]]:
        """The explanation of a question, kept while the declarations stand; nothing in it depends on budgets.

        It is kept for one principal: how soon it comes tells nobody what another has asked.
        """
        key = self._key(body, principal)
        found = self._kept(key)
        if found is None:
            made = self._explained(body, principal)
            found = made, made.to_dict() | {"text": str(made)}
            if len(body.question) <= KEPT_QUESTION:
                self._keep(key, found)
        return found

    def plan(self, body: Ask, principal: Principal) -> Plan:
        """The plan of a question: what it will read and cost, or the refusal, from public facts."""
        same = Explain(**body.model_dump(exclude={"fresh", "whole_counts"}, exclude_none=True))
        found = self._kept(self._key(same, principal))
        return (self._explained(same, principal, compared=False) if found is None else found[0]).plan

    def _explained(self, body: Explain, principal: Principal, *, compared: bool = True) -> Explanation:
        query = read_question(body.question, self.tables(principal))
        _bounded(len(query.aggregates), searched=body.error is not None)
        asked = {"beta": body.beta, "compared": compared, **body.wanted(), **body.bounds()}
        made = explained(query, query.source.table(), **asked)
        _narrow(made.plan)
        passes_of(made.plan)  # what could not be asked is not explained either
        return self.curator._informed(made)

    def _key(self, body: Explain, principal: Principal) -> tuple[object, ...]:
        return self.version, principal.name, principal.datasets, json.dumps(body.document(), sort_keys=True)

    def _kept(self, key: tuple[object, ...]) -> tuple[Explanation, dict[str, object]] | None:
        with self._lock:
            found = self._explanations.get(key)
            if found is not None:
                self._explanations.move_to_end(key)
            return found

    def _keep(self, key: tuple[object, ...], found: tuple[Explanation, dict[str, object]]) -> None:
        """Keep an explanation, and let the ones go that were longest not asked for."""
        size = len(dumped(found[1]))
        with self._lock:
            self._size += size - self._sizes.get(key, 0)
            self._explanations[key], self._sizes[key] = found, size
            while len(self._explanations) > KEPT or self._size > KEPT_BYTES:
                oldest, _ = self._explanations.popitem(last=False)
                self._size -= self._sizes.pop(oldest)

    def answered(self, step: Plan, principal: Principal) -> bool:
        """Whether this principal has the answer of this plan already: it is given again, free."""
        return self.curator.ledger.recall(key_of(step), analyst=principal.name) is not None

    def charged(self, step: Plan) -> tuple[str, list[str]]:
        """The unit and the private tables that a plan is charged to."""
        tables = self.curator.tables
        names = [name for name in step.query.tables if not tables[name].public]
        return unit_of(names[0], tables[names[0]]), names

    def budget(self, unit: str) -> Budget:
        """Caps and totals of a unit, as the ledger has them now."""
        return self.curator.ledger.budget(unit)

    def close(self) -> None:
        """Close the ledger."""
        with self._lock:
            if self._curator is not None:
                self._curator.close()


def _bounded(aggregates: int, *, searched: bool) -> None:
    """Refuse what would keep a process from the others for long: plans grow with the square of their aggregates."""
    most = SEARCHED if searched else PLANNED
    if aggregates > most:
        instead = "; give epsilon or budget instead of error" if searched else "; ask in several questions"
        raise UnsupportedError(f"a service plans at most {most} aggregates at once, got {aggregates}{instead}")


def _narrow(step: Plan) -> None:
    """Refuse an answer that would take the processes long to write and send; a large one is a release."""
    numbers = step.cells * len(step.query.aggregates)
    if numbers > ANSWERED:
        raise UnsupportedError(
            f"a service answers at most {ANSWERED:,} numbers at once, got {numbers:,}; group more coarsely, or order a"
            " release"
        )


def unit_of(name: str, table: Table) -> str:
    """What is protected: the people named by a column, or the rows of one table."""
    return f"row of {name}" if table.unit is None else table.unit
