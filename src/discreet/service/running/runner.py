"""The runner of one server process: warm children, a fair line before them, and replies at the end of their slots.

    queue     principals take turns; one of them never has all the children, and a full line turns the greediest away
    child     one order at a time; it is not given the next before its slot has ended
    slot      an answer that was charged for leaves at its end, and so does word that it is withheld
    overrun   a child that is not done in time is killed; charged, withheld and counted

Several server processes have a runner each.  What they share is in the ledger and in the service's store: turns,
charges, stored answers and keys, so that an order is run once whoever gets it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from discreet.data.engines.results import logged
from discreet.errors import DiscreetError, require
from discreet.service import metrics
from discreet.service.running.frames import Message
from discreet.service.running.heard import Heard, refusal
from discreet.service.running.jobs import Jobs
from discreet.service.running.outcome import Order, Outcome
from discreet.service.running.process import Nursery, Process, command
from discreet.service.running.queue import Queue
from discreet.service.running.records import digest
from discreet.service.running.schedule import Slot, until
from discreet.service.settings import Settings

BREAK = 1.0  # seconds before a child that did not come up is tried again


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """An order in the line, and who waits for it."""

    order: Order
    question: tuple[str, str]  # who asks what, whatever else they want of it
    outcome: asyncio.Future[Outcome]


class Runner:
    """Runs orders in children.

    `argv` is how the nursery is started, for tests that need children which fail.
    """

    def __init__(self, path: str | Path, settings: Settings, *, argv: Sequence[str] | None = None) -> None:
        require(settings.store != ":memory:", "a store that children can open", store=settings.store)
        self.settings = settings
        place = Path(path).absolute()
        self._nursery = Nursery(argv or command(place), memory=settings.memory, store=settings.store)
        self.jobs = Jobs(place, settings, self._nursery)
        self._queue: Queue[_Waiting] = Queue(most=settings.queue, each=max(1, settings.children - 1))
        self._idle: list[Process] = []
        self._all: set[Process] = set()
        self._live: dict[tuple[str, str], tuple[str, asyncio.Task[Outcome]]] = {}
        self._asked: set[tuple[str, str]] = set()  # questions that a child is at
        self._serving: set[asyncio.Task[None]] = set()
        self._tasks: set[asyncio.Task[None]] = set()  # children that come and go
        self._open = False

    async def start(self) -> None:
        """Start the children; orders may be given at once, and wait for them."""
        self._open = True
        for _ in range(self.settings.children):
            self._go(self._add_child())
        await self.jobs.start()

    async def stop(self) -> None:
        """Turn away who waits, let what runs come to the end of its slot, and end every child."""
        self._open = False
        for waiting in self._queue.clear():
            _settle(waiting.outcome, refusal("unavailable", "the service is stopping; nothing was spent"))
        metrics.line(0)
        await self.jobs.stop()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await self._nursery.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(child.kill() for child in self._all))
        self._all.clear()

    @property
    def ready(self) -> bool:
        """Whether there is a child."""
        return any(child.alive for child in self._all)

    @property
    def waiting(self) -> int:
        """How many orders wait for a child."""
        return len(self._queue)

    async def ask(self, order: Order) -> Outcome:
        """Run an order and wait for its outcome, until the moment it may be told.

        Whoever asks the same under the same key meanwhile gets the same outcome.  If the one who asks goes away
        the order goes on: what it has spent is spent.
        """
        name, body = (order.principal, order.key or f" {digest(order)}"), digest(order)
        live = self._live.get(name)
        if live is not None and live[0] != body:
            return refusal("conflict", "this idempotency key is in use for another request; nothing was spent")
        if live is None or (order.key is None and order.body.get("fresh")):
            task = asyncio.ensure_future(self._outcome(order))
            live = (body, task)
            self._live[name] = live
            task.add_done_callback(lambda _: self._live.pop(name, None))
        return await asyncio.shield(live[1])

    async def submit(self, order: Order) -> str:
        """Order something that takes long; returns the number of the job."""
        return (await self.jobs.submit(order)).id

    async def _outcome(self, order: Order) -> Outcome:
        """Wait in line; every order that is not with a child is in it, so that its bound is one for all of them."""
        if not self._open:
            return refusal("unavailable", "the service is stopping; nothing was spent")
        waiting = _Waiting(order, _question(order), asyncio.get_running_loop().create_future())
        left = self._queue.put(order.principal, waiting, free=len(self._idle))
        if left is not None:
            metrics.turned_away()
            seconds = round(self.settings.slot) + 1
            _settle(
                left.outcome,
                refusal("too-many-requests", "too many orders wait; nothing was spent", retry_after=seconds),
            )
        self._dispatch()
        return await waiting.outcome

    def _dispatch(self) -> None:
        """Give free children to those who are next.

        One after another where a principal asks the same: the second would wait for the first in its own slot.
        """
        for child in [child for child in self._idle if not child.alive]:
            self._idle.remove(child)
            self._lose(child)
        while self._idle and (waiting := self._queue.take(lambda one: one.question not in self._asked)) is not None:
            self._asked.add(waiting.question)
            self._go(self._serve(self._idle.pop(0), waiting), among=self._serving)
        metrics.line(len(self._queue))

    async def _serve(self, child: Process, waiting: _Waiting) -> None:
        """One order in one child, to the end of its slot."""
        order, heard = waiting.order, Heard()
        seconds = self.settings.slot_of(order.tables)
        slot = Slot(start=time.monotonic(), seconds=seconds, margin=self.settings.margin)
        alive = False
        try:
            alive = await self._run(child, order, slot, heard)
            if not heard.at_once:
                await until(slot.send_at)
        except Exception as error:
            logged("order", error)
            child.end()
        finally:
            _settle(waiting.outcome, heard.outcome())
            self._asked.discard(waiting.question)
            self._queue.done(order.principal)
        if not alive:
            self._lose(child)  # not before the slot is over: who is next must not see when it died
        elif self._open:
            self._idle.append(child)
        self._dispatch()

    async def _run(self, child: Process, order: Order, slot: Slot, heard: Heard) -> bool:
        """Whether the child may be used again."""
        run = asyncio.ensure_future(child.run(message(order, slot), hear=heard.add))
        await asyncio.wait({run}, timeout=max(0.0, slot.kill_at - time.monotonic()))
        late = not run.done()
        if late:
            child.end()
        alive = await run and child.alive
        if late or heard.last.get("late"):
            metrics.overrun()
        return alive

    def _lose(self, child: Process) -> None:
        """Bury a child, and start another."""
        self._all.discard(child)
        self._go(child.kill())
        if self._open:
            self._go(self._add_child())

    async def _add_child(self) -> None:
        """Start a child; while none comes up, nobody has to wait for it."""
        while self._open:
            try:
                child = await self._nursery.child()
            except (DiscreetError, OSError, TimeoutError) as error:
                logged("start of a child", error)
                for waiting in () if self._all else self._queue.clear():
                    _settle(waiting.outcome, refusal("unavailable", "no child could be started; nothing was spent"))
                metrics.line(len(self._queue))
                await asyncio.sleep(BREAK)
                continue
            self._all.add(child)
            self._idle.append(child)
            self._dispatch()
            return

    def _go(self, work: Coroutine[object, object, None], *, among: set[asyncio.Task[None]] | None = None) -> None:
        """Do it in the background."""
        tasks = self._tasks if among is None else among
        task = asyncio.ensure_future(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)


def message(order: Order, slot: Slot) -> Message:
    """What a child is told of an order, and when it may store the answer."""
    wanted = {"kind": order.kind, "principal": order.principal, "body": dict(order.body), "key": order.key}
    return {"order": wanted, "store_at": slot.store_at, "seconds": slot.seconds}


def _question(order: Order) -> tuple[str, str]:
    """Who asks what, whatever else they want of it."""
    asked = {name: value for name, value in order.body.items() if name not in ("fresh", "beta", "whole_counts")}
    return order.principal, digest(replace(order, body=asked))


def _settle(outcome: asyncio.Future[Outcome], found: Outcome) -> None:
    if not outcome.done():
        outcome.set_result(found)
