"""What must outlive a process: orders by their keys, and jobs.

An order with an idempotency key is written down before it is paid for, and its reply before it is sent.  Whoever
finds it again, in any process and after any crash, and has the turn of that key, knows how far it got:

    no record             nothing was paid for: it may be run
    a record, no reply    it was about to pay; the ledger says whether it did
    a reply               the same bytes again

Keys belong to a principal.  A job is an order whose key is its own id.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Float,
    MetaData,
    RowMapping,
    Table,
    Text,
    UniqueConstraint,
    case,
    delete,
    func,
    insert,
    null,
    select,
    update,
)

from discreet.errors import LedgerError
from discreet.ledger import Anchor
from discreet.service.running.outcome import Order
from discreet.service.store import Store

if TYPE_CHECKING:
    from discreet.ledger import Ledger

metadata = MetaData()

orders = Table(
    "service_orders",
    metadata,
    Column("principal", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("digest", Text, nullable=False),  # of kind and body
    Column("paying", Text, nullable=False),  # the ledger's key under which it pays
    Column("since", BigInteger, nullable=False),  # the ledger's last entry before that
    Column("reply", Text),
)

jobs = Table(
    "service_jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("principal", Text, nullable=False),
    Column("key", Text, nullable=False),  # of idempotency; the id where none was given
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("progress", Text),
    Column("receipt", Text),
    Column("cost", Text),
    Column("problem", Text),
    Column("document", Text),
    Column("files", Text),
    Column("wish", Text),  # "cancel", where somebody wants it to end
    Column("created", Float, nullable=False),
    Column("updated", Float, nullable=False),
    UniqueConstraint("principal", "key"),
)

UNFINISHED = ("queued", "running")
DIGEST = "sha256"  # what is kept of an order that came to nothing, with its table: no job has a field of this name
LATEST = 1000  # orders and jobs whose receipts are looked for in the ledger when a service starts
BRIEF = 1000  # characters of an order that is shown in a list


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """An order that was seen before."""

    digest: str
    paying: str
    since: int
    reply: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A job as it is known to the world."""

    id: str
    principal: str
    key: str
    kind: str
    body: Mapping[str, object]
    state: str
    progress: Mapping[str, object] | None
    receipt: Mapping[str, object] | None
    cost: str | None
    problem: Mapping[str, object] | None
    document: Mapping[str, object] | None
    files: Mapping[str, str]
    wish: str | None
    created: float
    updated: float

    def to_dict(self) -> dict[str, object]:
        """As the API tells it."""
        names = ("id", "kind", "principal", "state", "progress", "receipt", "cost", "problem", "created", "updated")
        found = {name: getattr(self, name) for name in names}
        return found | {"order": dict(self.body), "files": sorted(self.files)}


def reduced(job: Job) -> dict[str, object]:
    """What is kept of the order of a job that came to nothing: enough to know it again."""
    told = {name: value for name, value in job.body.items() if name == "table"}
    return told | {DIGEST: digest(Order(kind=job.kind, principal=job.principal, body=job.body))}


def digest(order: Order) -> str:
    """What makes two requests under one key the same."""
    text = json.dumps([order.kind, dict(order.body)], sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()


class Records:
    """Orders and jobs in the service's store.

    >>> from discreet.service.store import open_store
    >>> records = Records(open_store(":memory:"))
    >>> order = Order(kind="ask", principal="ada", body={"question": "SELECT COUNT(*) FROM visits"}, key="k1")
    >>> records.promise(order, paying="4f1c", since=7)
    >>> records.known(order).since, records.known(order).reply
    (7, None)
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        store.create(metadata)

    def known(self, order: Order) -> Known | None:
        """What is written under an order's key."""
        with self._store.reading() as connection:
            row = connection.execute(select(orders).where(*_mine(order))).first()
        return None if row is None else Known(digest=row.digest, paying=row.paying, since=row.since, reply=row.reply)

    def promise(self, order: Order, *, paying: str, since: int) -> None:
        """Write down that an order is about to pay."""
        row = {"principal": order.principal, "key": _key(order), "digest": digest(order)}
        with self._store.writing() as connection:
            connection.execute(delete(orders).where(*_mine(order)))
            connection.execute(insert(orders), {**row, "paying": paying, "since": since})

    def reply(self, order: Order, text: str) -> None:
        """Keep the reply, before it is sent."""
        with self._store.writing() as connection:
            connection.execute(update(orders).where(*_mine(order)).values(reply=text))

    def bind(self, order: Order, text: str) -> None:
        """Keep the reply of an order that had nothing to pay: its key is its own from now on."""
        row = {"principal": order.principal, "key": _key(order), "digest": digest(order), "paying": "", "since": 0}
        with self._store.writing() as connection:
            connection.execute(delete(orders).where(*_mine(order)))
            connection.execute(insert(orders), {**row, "reply": text})

    def forget(self, order: Order) -> None:
        """An order that was refused was never there."""
        with self._store.writing() as connection:
            connection.execute(delete(orders).where(*_mine(order), orders.c.reply.is_(None)))

    def stands_on(self, ledger: Ledger) -> None:
        """Refuse a ledger that lacks an entry which these records name: it is an old copy, or another one.

        Receipts of the latest orders and jobs are looked at: a ledger that lacks an entry lacks all that came later.
        """
        latest = select(orders.c.reply).where(orders.c.reply.is_not(None)).order_by(orders.c.since.desc()).limit(LATEST)
        done = select(jobs.c.receipt).where(jobs.c.receipt.is_not(None)).order_by(jobs.c.created.desc()).limit(LATEST)
        with self._store.reading() as connection:
            since = connection.execute(select(func.max(orders.c.since))).scalar_one() or 0
            told = [json.loads(text) for text in connection.execute(done).scalars()]
            told += [
                json.loads(text).get("document", {}).get("receipt") for text in connection.execute(latest).scalars()
            ]
        last = ledger.anchor()
        named = [Anchor(receipt["id"], receipt["hash"]) for receipt in told if isinstance(receipt, dict)]
        missing = [anchor.id for anchor in named if not ledger.has(anchor)] + [since] * (since > last.id)
        if missing:
            raise LedgerError(
                f"the records of this service name entry {max(missing)}, and its ledger, which ends at entry {last.id},"
                " lacks it: an old copy was put in its place, or another ledger"
            )

    def add_job(self, number: str, order: Order, *, most: int) -> Job | None:
        """Write down a job that waits, or find the one of this key; None where so many of the principal's wait."""
        now, body, key = time.time(), json.dumps(dict(order.body)), order.key or number
        row = {"id": number, "principal": order.principal, "key": key, "kind": order.kind, "body": body}
        mine = jobs.c.principal == order.principal
        with self._store.writing() as connection:
            if connection.dialect.name == "postgresql":  # else two would count before either is there
                alone = func.hashtextextended(f"jobs of {order.principal}", 0)
                connection.execute(select(func.pg_advisory_xact_lock(alone)))
            found = connection.execute(select(jobs).where(mine, jobs.c.key == key)).mappings().first()
            if found is not None:
                return _job(found)
            unfinished = select(func.count()).select_from(jobs).where(mine, jobs.c.state.in_(UNFINISHED))
            if connection.execute(unfinished).scalar_one() >= most:
                return None
            connection.execute(insert(jobs), {**row, "state": "queued", "created": now, "updated": now})
            return _job(connection.execute(select(jobs).where(jobs.c.id == number)).mappings().one())

    def change_job(self, number: str, **changes: object) -> None:
        """What became of a job; dictionaries are kept as JSON."""
        row = {name: json.dumps(value) if isinstance(value, Mapping) else value for name, value in changes.items()}
        with self._store.writing() as connection:
            connection.execute(update(jobs).where(jobs.c.id == number).values(**row, updated=time.time()))

    def cancel_job(self, number: str) -> Job | None:
        """A job that waits is cancelled, and returned as it was; of one that runs it is noted that it should end."""
        one, now = jobs.c.id == number, time.time()
        with self._store.writing() as connection:
            found = connection.execute(select(jobs).where(one)).mappings().first()
            if found is not None and found["state"] == "queued":
                ended = {"state": "cancelled", "updated": now, "body": json.dumps(reduced(_job(found)))}
                waits = update(jobs).where(one, jobs.c.state == "queued").values(wish="cancel", **ended)
                if connection.execute(waits).rowcount == 1:  # it may have begun in another process
                    return _job(found)
            connection.execute(update(jobs).where(one, jobs.c.state.in_(UNFINISHED)).values(wish="cancel"))
        return None

    def begin_job(self, number: str) -> bool:
        """A job that waits runs from now on; False if somebody has ended it meanwhile."""
        one = update(jobs).where(jobs.c.id == number, jobs.c.state.in_(UNFINISHED))
        with self._store.writing() as connection:
            return connection.execute(one.values(state="running", updated=time.time())).rowcount == 1

    def unfinished(self, principal: str) -> set[str]:
        """The jobs of a principal that wait or run."""
        wanted = select(jobs.c.id).where(jobs.c.principal == principal, jobs.c.state.in_(UNFINISHED))
        with self._store.reading() as connection:
            return set(connection.execute(wanted).scalars())

    def job_of(self, principal: str, key: str) -> Job | None:
        """The job that was ordered under a key."""
        mine = (jobs.c.principal == principal, jobs.c.key == key)
        with self._store.reading() as connection:
            row = connection.execute(select(jobs).where(*mine)).mappings().first()
        return None if row is None else _job(row)

    def job(self, number: str) -> Job | None:
        """One job."""
        with self._store.reading() as connection:
            row = connection.execute(select(jobs).where(jobs.c.id == number)).mappings().first()
        return None if row is None else _job(row)

    def jobs(
        self, *, principal: str | None = None, unfinished: bool = False, most: int = 1000, brief: bool = False
    ) -> list[Job]:
        """The latest jobs, of one principal or of all; if `brief` without documents and long orders."""
        wanted = select(*(_BRIEFLY if brief else [jobs])).order_by(jobs.c.created.desc(), jobs.c.id).limit(most)
        if principal is not None:
            wanted = wanted.where(jobs.c.principal == principal)
        if unfinished:
            wanted = wanted.where(jobs.c.state.in_(UNFINISHED))
        with self._store.reading() as connection:
            return [_job(row) for row in connection.execute(wanted).mappings()]


_SHORT = case((func.length(jobs.c.body) <= BRIEF, jobs.c.body), else_="{}")
_WITHOUT = {"body": _SHORT.label("body"), "document": null().label("document")}
_BRIEFLY = [_WITHOUT.get(column.name, column) for column in jobs.columns]


def _key(order: Order) -> str:
    """Keys of questions are not keys of jobs."""
    return f"{order.kind} {order.key}"


def _mine(order: Order) -> tuple[ColumnElement[bool], ...]:
    return orders.c.principal == order.principal, orders.c.key == _key(order)


def _job(row: RowMapping) -> Job:
    kept = {str(name): value for name, value in row.items()}
    for name in ("body", "progress", "receipt", "problem", "document", "files"):
        text = kept[name]
        kept[name] = None if text is None else json.loads(str(text))
    kept["files"] = kept["files"] or {}
    return Job(**kept)
