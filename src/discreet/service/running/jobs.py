"""Long orders: written down, run one after another, watched, ended, and taken up again after a restart.

    queued -> running -> done        its files are there
                      -> withheld    it was charged, and failed afterwards
                      -> refused     free, from public facts
           -> cancelled              at once; what it was charged stays charged

Of an order that came to nothing, refused or cancelled before its turn, a digest is kept and no file: nobody fills the
disk, the line or the table of open files with what was never run.

A job belongs to the server process that holds the lock of its folder.  A process that starts takes up every
unfinished job whose lock is free: under the same charge where a checkpoint says how to go on, or where the result
was stored; otherwise a job that was charged is withheld, and is paid for again only if somebody orders it again.
What a job did is made known at ticks (`schedule.py`).
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from discreet.data.engines.results import logged
from discreet.errors import DiscreetError
from discreet.service import approvals, metrics
from discreet.service.problems import Problem, problem_of
from discreet.service.running.heard import Heard
from discreet.service.running.outcome import Answered, Order, Outcome, Refused, Withheld
from discreet.service.running.process import Nursery, Process
from discreet.service.running.queue import Queue
from discreet.service.running.records import DIGEST, UNFINISHED, Job, Records, digest, reduced
from discreet.service.running.schedule import tick, until
from discreet.service.running.turns import Turns
from discreet.service.settings import Settings
from discreet.service.store import open_store
from discreet.service.tokens import listed

EACH = 16  # unfinished jobs of one principal
LONGEST = 3600.0  # seconds of one job
DRAWING = 600.0  # seconds of drawing rows once
PUBLIC = ("audit", "draw")  # read no private row: nothing is charged, and their time may show
ASKERS = ("steward", "analyst")  # roles that order jobs
KINDS = ("release", "synthesis", "fit", "audit")
Watch = Callable[[Process, "asyncio.Future[bool]", Heard], Awaitable[None]]


class Jobs:
    """The jobs of one server process."""

    def __init__(self, path: Path, settings: Settings, nursery: Nursery) -> None:
        self._store = open_store(settings)
        self.records = Records(self._store)
        self.folder = path.parent / f"{path.stem}-jobs"
        self._settings, self._nursery = settings, nursery
        self._queue: Queue[Job] = Queue(most=10**9, each=1)
        self._free = max(1, settings.children // 2)
        self._drawing = Turns(most=settings.queue)
        self._running: dict[str, Process] = {}
        self._cancelled: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._locks: dict[str, int] = {}
        self._open = False

    async def start(self) -> None:
        """Take up what another process has left, and clear away what it had drawn for nobody."""
        self._open = True
        await asyncio.to_thread(_sweep, self.folder)
        for job in await asyncio.to_thread(self.records.jobs, unfinished=True, most=10_000):
            if (self.folder / job.id).is_dir() and self._lock(job.id):
                self._queue.put(job.principal, job)
        self._dispatch()

    async def stop(self) -> None:
        """End every child; unfinished jobs are taken up by the next process."""
        self._open = False
        self._queue.clear()
        for child in list(self._running.values()):
            child.end()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for number in list(self._locks):
            self._unlock(number)
        self._store.close()

    async def submit(self, order: Order) -> Job:
        """Write an order down and run it when its turn has come; the same key gives the same job again."""
        if order.kind not in KINDS:
            raise Problem("parameter", f"need a kind among {', '.join(KINDS)}")
        number = secrets.token_hex(8)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        (self.folder / number).mkdir(mode=0o700)
        self._lock(number)
        job: Job | None = None
        try:
            job = await asyncio.to_thread(self.records.add_job, number, order, most=EACH)
        finally:
            if job is None or job.id != number:
                self._unlock(number)
                shutil.rmtree(self.folder / number)
        if job is None:
            seconds = {"Retry-After": "60"}
            raise Problem("too-many-requests", f"at most {EACH} unfinished jobs; nothing was spent", headers=seconds)
        if job.id != number:
            if (job.body.get(DIGEST) or digest(_order(job))) != digest(order):
                raise Problem("conflict", "this idempotency key was used for another request; nothing was spent")
            return job
        await self._clear_away(order.principal)
        self._queue.put(order.principal, job)
        self._dispatch()
        return job

    async def cancel(self, number: str) -> None:
        """End a job, wherever it runs; one that is over stays as it is."""
        waited = await asyncio.to_thread(self._end, number)
        if waited is not None:
            await self._clear_away(waited.principal)
        elif number in self._locks:
            self._cancelled.add(number)
            if number in self._running:
                self._running[number].end()

    def _end(self, number: str) -> Job | None:
        """Cancel a job whose turn has not come, free, and return it; wish that another ends."""
        waited = self.records.cancel_job(number)
        if waited is not None:
            metrics.ended(kind=waited.kind, outcome="cancelled")
            self.unpaid(_as_ordered(waited))
        return waited

    def unpaid(self, order: Order) -> None:
        """An order came to nothing, free: an approval that it used is there again."""
        self._approved(order, charged=False)

    def _approved(self, order: Order, *, charged: bool) -> None:
        asked = {"kind": order.kind, **order.body}
        approvals.settled(self._store, order.principal, order.kind, asked, key=str(order.key), charged=charged)

    async def _clear_away(self, principal: str) -> None:
        """Let go of what a principal has cancelled, here or in another process, before its turn came."""
        before = {job.id for job in self._queue.of(principal)}
        wanted = await asyncio.to_thread(self.records.unfinished, principal)
        for job in self._queue.remove(principal, lambda job: job.id in before - wanted):
            await asyncio.to_thread(self._let_go, job)
            self._unlock(job.id)

    def _let_go(self, job: Job) -> None:
        """Delete what there is of a job that was cancelled; where another process has done it, it stays."""
        found = self.records.job(job.id)
        if found is not None and found.state == "cancelled" and found.receipt is None:
            shutil.rmtree(self.folder / job.id, ignore_errors=True)

    async def draw(
        self, job: Job, *, rows: int | None, seed: int | None, form: str, by: str | None = None
    ) -> tuple[Path, Outcome]:
        """Rows from the model of a job that is done, as a file that the caller deletes; there is none but of an answer.

        One file is drawn at a time, for principals in turn.
        """
        name = f"drawn-{secrets.token_hex(8)}"
        place = self.folder / job.id / name
        body = {"order": dict(job.body), "rows": rows, "seed": seed, "format": form, "name": name}
        order = Order(kind="draw", principal=job.principal, body=body)
        found: Outcome = Withheld()
        try:
            async with self._drawing.turn(by or job.principal):
                found = (await self._one(order, self.folder / job.id, watch=_ended)).outcome()
        finally:
            if not isinstance(found, Answered):
                place.unlink(missing_ok=True)
        return place, found

    def _dispatch(self) -> None:
        while self._open and self._free and (job := self._queue.take()) is not None:
            self._free -= 1
            task = asyncio.ensure_future(self._run(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, job: Job) -> None:
        """One job, from its child's start to its record's last change."""
        try:
            if not await asyncio.to_thread(self._begun, job):
                await asyncio.to_thread(self._let_go, job)
                return
            start = time.monotonic()
            heard = await self._one(_order(job), self.folder / job.id, watch=partial(self._watch, job))
            if not self._open:
                return  # the next process takes it up
            if not isinstance(heard.outcome(), Refused) and job.kind not in PUBLIC and job.id not in self._cancelled:
                await until(tick(time.monotonic(), start=start, seconds=self._settings.slot))
            await self._finish(job, heard)
        except Exception as error:
            logged("job", error)
        finally:
            self._free += 1
            self._queue.done(job.principal)
            self._running.pop(job.id, None)
            self._cancelled.discard(job.id)
            self._unlock(job.id)
            self._dispatch()

    def _begun(self, job: Job) -> bool:
        """Whether a job runs now: nobody has ended it, and who ordered it still may."""
        now = self.records.job(job.id)
        if now is None or now.state not in UNFINISHED:
            return False
        wish = now.wish == "cancel"  # of one that ran in a process that is gone
        if not wish and self._allowed(job):
            return self.records.begin_job(job.id)
        if self._end(job.id) is None:
            self.records.change_job(job.id, state="cancelled")
        return False

    def _allowed(self, job: Job) -> bool:
        """Whether who ordered a job still may: not where every token they had has ended or lost the table since.

        Who came from an identity provider had none here.
        """
        mine = listed(self._store, principal=job.principal)
        had = any(one.created <= job.created < min(one.expires, one.revoked or one.expires) for one in mine)
        now, table = time.time(), job.body.get("table")
        lives = [one for one in mine if one.revoked is None and now < one.expires and one.role in ASKERS]
        return not had or any(table is None or one.datasets is None or table in one.datasets for one in lives)

    async def _one(self, order: Order, folder: Path, *, watch: Watch) -> Heard:
        """An order in a child of its own, which ends with it."""
        heard = Heard()
        try:
            child = await self._nursery.child()
        except (DiscreetError, OSError, TimeoutError) as error:
            logged("start of a child", error)
            return heard
        wanted = {"kind": order.kind, "principal": order.principal, "body": dict(order.body), "key": order.key}
        message = {"order": wanted, "folder": str(folder), "seconds": LONGEST}
        message |= {} if order.kind in PUBLIC else {"tick": self._settings.slot}
        run = asyncio.ensure_future(child.run(message, hear=heard.add))
        try:
            await watch(child, run, heard)
            await run
        finally:
            await child.kill()
        return heard

    async def _watch(self, job: Job, child: Process, run: asyncio.Future[bool], heard: Heard) -> None:
        """Make progress known at every tick, and hear of wishes."""
        self._running[job.id] = child
        until_now: tuple[object, ...] = ()
        started = time.monotonic()
        while True:
            await asyncio.wait({run}, timeout=0 if job.id in self._cancelled else self._settings.slot)
            if run.done() or not self._open:
                return
            row = await asyncio.to_thread(self.records.job, job.id)
            if row is not None and row.wish == "cancel":
                self._cancelled.add(job.id)
            if job.id in self._cancelled or time.monotonic() - started > LONGEST:
                child.end()
                return
            if (heard.progress, heard.receipt) != until_now:
                until_now = (heard.progress, heard.receipt)
                await self._change(job, progress=heard.progress, receipt=heard.receipt or job.receipt)

    async def _finish(self, job: Job, heard: Heard) -> None:
        """Write down how it ended."""
        found = heard.outcome()
        ended = job.id in self._cancelled and not isinstance(found, Answered)
        metrics.ended(kind=job.kind, outcome="cancelled" if ended else type(found).__name__.lower())
        if job.kind not in PUBLIC:
            await asyncio.to_thread(self._approved, _as_ordered(job), charged=not isinstance(found, Refused))
        if ended:
            await self._change(job, state="cancelled", receipt=heard.receipt or job.receipt)
            return
        match found:
            case Answered(document=document, files=files):
                known = {name: document.get(name) for name in ("receipt", "cost")}
                await self._change(job, state="done", document=document, files=files, progress=heard.progress, **known)
            case Withheld(receipt=receipt):
                receipt = receipt or job.receipt  # of an earlier attempt
                problem = problem_of(Problem("withheld", "the result was withheld; what was charged stays charged"))
                await self._change(job, state="withheld", receipt=receipt, problem=problem)
            case Refused(problem=problem):
                await self._change(job, state="refused", problem=problem, body=reduced(job))
                await asyncio.to_thread(shutil.rmtree, self.folder / job.id, ignore_errors=True)

    async def _change(self, job: Job, **changes: object) -> None:
        await asyncio.to_thread(self.records.change_job, job.id, **changes)

    def _lock(self, number: str) -> bool:
        """Whether the job is this process's now."""
        try:
            handle = os.open(self.folder / number / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileNotFoundError:  # it has come to an end elsewhere
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return False
        self._locks[number] = handle
        return True

    def _unlock(self, number: str) -> None:
        with suppress(KeyError):
            os.close(self._locks.pop(number))


def _as_ordered(job: Job) -> Order:
    """The order of a job as it came, under the key it came with."""
    return Order(kind=job.kind, principal=job.principal, body=job.body, key=job.key)


def _order(job: Job) -> Order:
    """The order of a job; its key is its own, so that it pays once."""
    return Order(kind=job.kind, principal=job.principal, body=job.body, key=f"job {job.id}")


async def _ended(child: Process, run: asyncio.Future[bool], _heard: Heard) -> None:
    """Until it is over, or has taken too long."""
    await asyncio.wait({run}, timeout=DRAWING)
    if not run.done():
        child.end()


def _sweep(folder: Path) -> None:
    """Delete what was drawn and never sent; nobody draws for so long."""
    for place in folder.glob("*/drawn-*"):
        with suppress(FileNotFoundError):
            if time.time() - place.stat().st_mtime > DRAWING:
                place.unlink()
