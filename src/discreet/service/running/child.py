"""The process that reads private rows, forked from the nursery.

It takes one order at a time from its standard input and tells on its standard output how the order goes:

    ready                            it may be given an order
    paying, charged {receipt}        around the spend; before "paying" nothing was spent and nothing was read
    progress {done, total, label}    of long work, from what was released
    refused {problem}                free, from public facts
    withheld {receipt, late}         anything that went wrong after "paying"
    done {document, files}           the output of a mechanism, stored in the ledger
    log {text}                       a line for the operator, with kinds of errors and never their words

Everything else that it or a library prints goes nowhere.  It is killed when its time is over.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from discreet.data.engines.results import LOG, logged
from discreet.errors import BudgetExhausted, DiscreetError, DomainError, ParameterError, SourceError, UnsupportedError
from discreet.release.once import to_disk
from discreet.service.problems import Problem, problem_of
from discreet.service.running.announced import Announced, Overrun, PaidBefore, written
from discreet.service.running.frames import Message, read, write
from discreet.service.running.limits import allow, confine
from discreet.service.running.outcome import Order
from discreet.service.running.records import Records, digest
from discreet.service.running.schedule import tick
from discreet.service.running.work import KINDS, Desk

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.ledger import Ledger

Tell = Callable[[Message], None]


class Child:
    """A curator that was opened, and is opened again when its file has changed."""

    def __init__(self, path: Path, *, memory: int, store: str, tell: Tell) -> None:
        self._path, self._memory, self._place, self._tell = path, memory, store, tell
        self._seen: tuple[int, ...] | None = None
        self._curator: Curator | None = None
        self._records: Records | None = None

    def curator(self) -> Curator:
        """The curator of the file as it is now."""
        from discreet.curator.curator import Curator

        found = self._path.stat()
        seen = (found.st_mtime_ns, found.st_size, found.st_ino)
        if self._curator is None or seen != self._seen:
            opened = Curator.open(self._path, verify=False)
            for name, table in opened.tables.items():
                opened.tables[name] = on_one_thread(table, self._memory)
            if self._curator is not None:
                self._curator.close()
            self._curator, self._seen = opened, seen
        return self._curator

    def records(self) -> Records:
        """Orders and jobs."""
        if self._records is None:
            from discreet.service.store import open_store

            self._records = Records(open_store(self._place))
        return self._records

    def serve(self, asked: Message) -> None:
        """Run one order, and say how it ended."""
        order = Order(**{name: asked["order"][name] for name in ("kind", "principal", "body", "key")})
        ledger: Announced | None = None
        try:
            curator = self.curator()
            ledger = self._announced(cast("Ledger", curator.ledger), asked)
            curator.ledger = cast("Ledger", ledger)
            try:
                self._once(order, curator, ledger, asked)
            finally:
                curator.ledger = ledger.inner
        except PaidBefore:
            self._tell({"event": "withheld"})
        except Exception as error:
            if not isinstance(error, Problem | ParameterError | DomainError | UnsupportedError | BudgetExhausted):
                self._forget()
            if ledger is None or not ledger.touched:
                self._tell({"event": "refused", "problem": refusal_of(error)})
                return
            said = {} if ledger.receipt is None else {"receipt": written(ledger.receipt)}
            self._tell({"event": "withheld", "late": isinstance(error, Overrun), **said})

    def _forget(self) -> None:
        """Open everything anew for the next order: a ledger that has failed stays closed until then."""
        if self._curator is not None:
            self._curator.close()
        self._curator = self._records = None

    def _announced(self, ledger: Ledger, asked: Message) -> Announced:
        """The ledger of one order, with the moments at which its answer may be stored."""
        table = asked["order"]["body"].get("table")
        made = Announced(ledger, self._tell, only=None if table is None else str(table))
        if asked.get("store_at") is not None:
            made.moment = partial(float, asked["store_at"])
        elif asked.get("tick") is not None:
            start, seconds = time.monotonic(), float(asked["tick"])
            made.moment, made.exact = lambda: tick(time.monotonic(), start=start, seconds=seconds), False
        return made

    def _once(self, order: Order, curator: Curator, ledger: Announced, asked: Message) -> None:
        """Run an order; under a key once, whoever else has it and however the last attempt ended."""
        folder = asked.get("folder")
        desk = Desk(
            curator=curator,
            principal=order.principal,
            folder=None if folder is None else Path(folder),
            tell=self._tell,
        )
        with ExitStack() as held:
            if order.key is not None:
                held.enter_context(ledger.turn(f"order {order.key}", analyst=order.principal))
                known = self.records().known(order)
                if known is not None and known.digest != digest(order):
                    raise Problem("conflict", "this idempotency key was used for another request; nothing was spent")
                if known is not None and known.reply is not None:
                    self._tell({"event": "done", "replayed": True, **json.loads(known.reply)})
                    return
                if known is not None:
                    ledger.paid = _paid(ledger, order.principal, known.paying, known.since)
                    if ledger.touched:  # a run that goes on under that charge does not spend, and reads all the same
                        self._tell({"event": "paying"})
                ledger.promised = lambda key: self._promise(order, ledger, key)
            ledger.held = held if order.kind == "ask" else None  # what jobs make is in files, which nobody waits for
            try:
                document, files = KINDS[order.kind](desk, order.body)
                to_disk(map(Path, files.values()))  # the records will speak of them
                reply = {"document": document, "files": files}
                text = json.dumps(reply)
                ledger.settle()
            except Exception:
                if order.key is not None and not ledger.touched and not ledger.paid:
                    self.records().forget(order)
                raise
            if order.key is not None and (ledger.receipt is not None or ledger.paid):
                self.records().reply(order, text)
            elif order.key is not None and order.kind == "ask":  # it was free, and binds its key all the same
                self.records().bind(order, text)
        self._tell({"event": "done", "replayed": ledger.receipt is None, **reply})

    def _promise(self, order: Order, ledger: Announced, key: str) -> None:
        self.records().promise(order, paying=key, since=ledger.anchor().id)


def _paid(ledger: Announced, principal: str, key: str, since: int) -> dict[str, bool]:
    """Whether an order has paid since an entry of the ledger, and whether its answer is stored."""
    spent: int | None = None
    stored = False
    for entry in ledger.entries(start=since + 1):
        record = entry.record
        if record["kind"] == "spend" and (record["analyst"], record["key"]) == (principal, key):
            spent, stored = entry.id, False
        stored = stored or (record["kind"] == "answer" and record["of"] == spent)
    if spent is None or (not stored and spent in ledger.unread()):  # nothing was read under it: it is drawn now
        return {}
    return {key: stored}


def refusal_of(error: Exception) -> Message:
    """What is told of an order that was refused.

    Paths of the server and columns that nobody declared are told to nobody: of a source that is not as declared
    there is one sentence for every kind of order, and the operator's log has the declared name that was not found.
    """
    if isinstance(error, SourceError):
        mark = secrets.token_hex(4)
        LOG.error("source %s is not as declared: %s", mark, error.declared or "it cannot be opened")
        told = "a table cannot be read as it is declared; nothing was spent; see the operator log, reference"
        return problem_of(Problem("domain", f"{told} {mark}"))
    if isinstance(error, DiscreetError | Problem):
        return problem_of(error)
    said = f"the order could not be run; nothing was spent; see the operator log, reference {logged('order', error)}"
    return problem_of(Problem("unavailable", said))


def on_one_thread(table: Any, memory: int) -> Any:  # noqa: ANN401 - a Table
    """A table whose embedded engine keeps to one core and to part of the child's memory."""
    from discreet.data.engines.choose import engine_for
    from discreet.data.engines.duckdb import DuckDB

    if table.engine is not None or not isinstance(engine_for(table.source), DuckDB):
        return table
    return replace(table, engine=DuckDB(memory=f"{max(128, memory // 2)}MB", threads=1))


class _Forwarded(logging.Handler):
    """Lines for the operator go to the parent, which has the log."""

    def __init__(self, tell: Tell) -> None:
        super().__init__(logging.ERROR)
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        """Tell the parent; if it is gone there is no operator either."""
        self._tell({"event": "log", "text": record.getMessage()})


def main(path: Path, settings: Message) -> None:
    """Serve orders until the parent has none or goes away."""
    asks, tells = os.dup(0), os.dup(1)
    with open(os.devnull, "r+b", buffering=0) as nowhere:
        for handle in (0, 1, 2):
            os.dup2(nowhere.fileno(), handle)
    tell = partial(write, tells)
    operator = logging.getLogger("discreet.operator")
    operator.handlers[:] = [_Forwarded(tell)]
    operator.propagate = False
    child = Child(path, memory=int(settings["memory"]), store=str(settings["store"]), tell=tell)
    try:
        child.records()
        child.curator()
    except Exception as error:
        logged("opening", error)
        raise
    confine(int(settings["memory"]))
    tell({"event": "ready"})
    while (asked := read(asks)) is not None:
        allow(asked.get("seconds"))
        child.serve(asked)
