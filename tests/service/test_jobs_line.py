"""Whose jobs run, and when: on real records, with children that are made up."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest

from discreet.service.problems import Problem
from discreet.service.routes.jobs import Drawn
from discreet.service.running.heard import Heard
from discreet.service.running.jobs import LONGEST, Jobs
from discreet.service.running.outcome import Order
from discreet.service.running.process import Nursery
from discreet.service.running.records import UNFINISHED, Job, Records
from discreet.service.running.turns import Turns
from discreet.service.settings import Settings
from discreet.service.store import open_store
from discreet.service.tokens import issue, listed, revoke
from tests.scale import counts

CYCLES = counts(quick=60, full=1000)
DONE = {"event": "done", "document": {"receipt": {"id": 1}}, "files": {}}
REFUSED = {"event": "refused", "problem": {"status": 400, "title": "no"}}
Acts = Callable[[Order, Path], Awaitable[dict[str, object]]]


def order(principal: str, *, table: str = "visits", key: str | None = None) -> Order:
    return Order(kind="fit", principal=principal, body={"table": table, "model": "M", "epsilon": 1}, key=key)


def made(folder: Path, acts: Acts, *, children: int = 2) -> Jobs:
    """Jobs whose children do as they are told."""
    chosen = Settings(children=children, slot=0.02, margin=0.01, store=str(folder / "service.db"))
    jobs = Jobs(folder / "curator.toml", chosen, cast("Nursery", None))

    async def one(order, folder, *, watch):
        heard = Heard()
        heard.add(await acts(order, folder))
        return heard

    jobs._one = one
    return jobs


async def over(jobs: Jobs, *numbers: str) -> list[Job]:
    """The jobs when they have come to an end."""
    while True:
        found = [job for number in numbers if (job := jobs.records.job(number)) is not None]
        if all(job.state not in UNFINISHED for job in found) and not jobs._tasks:
            return found
        await asyncio.sleep(0.01)


async def does(order: Order, folder: Path) -> dict[str, object]:
    return DONE


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [
        (None, None, "done"),  # of an identity provider
        ({}, None, "cancelled"),
        ({}, {}, "done"),  # another token of the same principal
        ({"datasets": ["visits"]}, {"datasets": ["payroll"]}, "cancelled"),
        ({"datasets": ["visits"]}, {"datasets": ["payroll", "visits"]}, "done"),
    ],
)
def test_a_job_that_waits_ends_free_with_the_token_it_was_ordered_with(tmp_path, before, after, state):
    ran: list[str] = []

    async def notes(order: Order, folder: Path) -> dict[str, object]:
        ran.append(order.principal)
        return DONE

    async def ordered() -> Job:
        jobs = made(tmp_path, notes)
        if before is not None:
            issue(jobs._store, principal="ada", role="analyst", days=1, **before)
        job = await jobs.submit(order("ada"))  # nothing is dispatched before the start
        for token in listed(jobs._store):
            revoke(jobs._store, token.id)
        if after is not None:
            issue(jobs._store, principal="ada", role="analyst", days=1, **after)
        jobs._queue.clear()
        jobs._unlock(job.id)
        await jobs.start()
        (found,) = await over(jobs, job.id)
        await jobs.stop()
        return found

    job = asyncio.run(ordered())

    assert job.state == state
    assert ran == ["ada"] * (state == "done")


def test_tokens_that_ended_before_the_order_do_not_matter(tmp_path):
    """A principal who had a token once and now comes from an identity provider."""

    async def ordered() -> Job:
        jobs = made(tmp_path, does)
        revoke(jobs._store, issue(jobs._store, principal="ada", role="analyst", days=1)[4:12])
        await jobs.start()
        (found,) = await over(jobs, (await jobs.submit(order("ada"))).id)
        await jobs.stop()
        return found

    assert asyncio.run(ordered()).state == "done"


async def drawn(jobs: Jobs, by: str) -> Path:
    """One file of rows from a model of ada's."""
    job = jobs.records.job("j1") or jobs.records.add_job("j1", order("ada"), most=10**6)
    assert job is not None
    (jobs.folder / job.id).mkdir(parents=True, exist_ok=True)
    return (await jobs.draw(job, rows=3, seed=None, form="csv", by=by))[0]


@pytest.mark.parametrize("end", [DONE, REFUSED, {"event": "withheld"}, None])
def test_a_half_drawn_file_never_stays(tmp_path, end):
    async def half(order: Order, folder: Path) -> dict[str, object]:
        (folder / str(order.body["name"])).write_bytes(b"half")
        if end is None:
            raise OSError
        return end

    async def once() -> list[Path]:
        jobs = made(tmp_path, half)
        with suppress(OSError):
            await drawn(jobs, "ada")
        left = list(jobs.folder.glob("*/drawn-*"))
        await jobs.stop()
        return left

    assert len(asyncio.run(once())) == (end is DONE)  # which the caller deletes


def test_who_draws_much_does_not_keep_the_others_waiting(tmp_path):
    """The twin is the line that was here: all ten of eve's, then ada's."""
    turns: list[str] = []
    at_once = [0, 0]

    async def slowly(order: Order, folder: Path) -> dict[str, object]:
        at_once[0] += 1
        at_once[1] = max(at_once)
        await asyncio.sleep(0.001)
        at_once[0] -= 1
        return DONE

    async def noted(jobs: Jobs, by: str) -> None:
        await drawn(jobs, by)
        turns.append(by)

    async def all_of_them() -> None:
        jobs = made(tmp_path, slowly)
        await drawn(jobs, "ada")
        await asyncio.gather(*(noted(jobs, by) for by in [*["eve"] * 10, "ada"]))
        await jobs.stop()

    asyncio.run(all_of_them())

    assert turns.index("ada") <= 2
    assert at_once == [0, 1]


def test_who_goes_away_gives_the_place_back():
    async def left() -> str:
        turns = Turns(most=8)

        async def wait() -> str:
            async with turns.turn("ada"):
                return "had its turn"

        async with turns.turn("eve"):
            gone, stays = (asyncio.ensure_future(wait()) for _ in range(2))
            await asyncio.sleep(0)
            gone.cancel()
        return await asyncio.wait_for(stays, 60)

    assert asyncio.run(left()) == "had its turn"


def test_a_full_line_of_draws_turns_the_greediest_away():
    async def full() -> list[object]:
        turns = Turns(most=1)

        async def wait(name: str) -> str:
            async with turns.turn(name):
                return name

        async with turns.turn("bob"):
            waits = [asyncio.ensure_future(wait(name)) for name in ("eve", "eve")]
            await asyncio.sleep(0)
        return list(await asyncio.gather(*waits, return_exceptions=True))

    first, second = asyncio.run(full())

    assert first == "eve"
    assert isinstance(second, Problem)
    assert second.status == 429


def test_what_was_drawn_for_nobody_is_swept_at_the_start(tmp_path):
    async def started() -> list[str]:
        jobs = made(tmp_path, does)
        (jobs.folder / "j1").mkdir(parents=True)
        for name, age in (("drawn-old", 3600), ("drawn-now", 0), ("synthetic.model", 3600)):
            (jobs.folder / "j1" / name).touch()
            os.utime(jobs.folder / "j1" / name, (time.time() - age, time.time() - age))
        await jobs.start()
        await jobs.stop()
        return sorted(place.name for place in (jobs.folder / "j1").iterdir())

    assert asyncio.run(started()) == ["drawn-now", "synthetic.model"]


def test_a_file_is_gone_when_whoever_wanted_it_went_away(tmp_path):
    place = tmp_path / "drawn-1"
    place.write_bytes(b"rows")

    async def send(message: object) -> None:
        raise OSError("the connection is gone")

    async def silent() -> dict[str, object]:
        await asyncio.Event().wait()
        return {}

    async def sent() -> None:
        await Drawn(place)({"type": "http", "method": "GET", "headers": []}, silent, send)

    with pytest.raises(OSError, match="gone"):
        asyncio.run(sent())
    assert not place.exists()


def test_one_principal_never_has_all_the_places_of_jobs(tmp_path):
    running: Counter[str] = Counter()
    most: Counter[str] = Counter()
    met = asyncio.Event()

    async def counted(order: Order, folder: Path) -> dict[str, object]:
        running[order.principal] += 1
        most[order.principal] = max(most[order.principal], running[order.principal])
        most["all"] = max(most["all"], running.total())
        if running.total() == 2:
            met.set()
        await asyncio.wait_for(met.wait(), 60)  # two of them meet, however busy the machine is
        await asyncio.sleep(0.02)
        running[order.principal] -= 1
        return DONE

    async def all_of_them() -> None:
        jobs = made(tmp_path, counted, children=4)
        await jobs.start()
        names = ["eve", "eve", "eve", "eve", "ada"]
        await over(jobs, *[(await jobs.submit(order(name))).id for name in names])
        await jobs.stop()

    asyncio.run(all_of_them())

    assert most == {"eve": 1, "ada": 1, "all": 2}
    assert LONGEST <= 3600


def test_nobody_passes_the_bound_by_ordering_at_once_on_a_server(fresh_postgres_url):
    """Without a lock two count the jobs that wait before either has written its own."""
    together = threading.Barrier(8)
    with open_store(fresh_postgres_url) as store:
        records = Records(store)

        def adds(number: int) -> Job | None:
            together.wait(timeout=60)
            return records.add_job(f"j{number}", order("ada"), most=1)

        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(adds, range(8)))

    assert sum(job is not None for job in found) == 1


def test_a_job_that_cannot_be_written_down_leaves_nothing(tmp_path):
    async def fails() -> tuple[list[Path], dict[str, int]]:
        jobs = made(tmp_path, does)
        jobs.records.add_job = _broken
        with pytest.raises(OSError, match="full"):
            await jobs.submit(order("ada"))
        left = list(jobs.folder.iterdir()), dict(jobs._locks)
        await jobs.stop()
        return left

    assert asyncio.run(fails()) == ([], {})


def _broken(*_: object, **__: object) -> Job:
    raise OSError("the disk is full")


def test_of_a_refused_job_only_the_refusal_is_kept(tmp_path):
    """Its folder and its order go; the same key is the same job still, and another order under it a conflict."""

    async def refuses(order: Order, folder: Path) -> dict[str, object]:
        (folder / "half a model").write_bytes(b"half")
        return REFUSED

    async def refused() -> tuple[Job, Job, list[Path]]:
        jobs = made(tmp_path, refuses)
        await jobs.start()
        (job,) = await over(jobs, (await jobs.submit(order("ada", key="k"))).id)
        again = await jobs.submit(order("ada", key="k"))
        with pytest.raises(Problem) as other:
            await jobs.submit(order("ada", table="payroll", key="k"))
        assert other.value.status == 409
        left = list(jobs.folder.iterdir())
        await jobs.stop()
        return job, again, left

    job, again, left = asyncio.run(refused())

    assert job.state == "refused"
    assert job.problem == REFUSED["problem"]
    assert set(job.body) == {"table", "sha256"}
    assert again.id == job.id
    assert left == []


def test_the_receipt_of_an_earlier_attempt_is_not_lost(tmp_path):
    async def withholds(order: Order, folder: Path) -> dict[str, object]:
        return {"event": "withheld"}

    async def taken_up() -> Job:
        jobs = made(tmp_path, withholds)
        job = await jobs.submit(order("ada"))
        jobs.records.change_job(job.id, state="running", receipt={"id": 7})
        jobs._queue.clear()
        jobs._unlock(job.id)
        await jobs.start()
        (found,) = await over(jobs, job.id)
        await jobs.stop()
        return found

    job = asyncio.run(taken_up())

    assert (job.state, job.receipt) == ("withheld", {"id": 7})


def _held(jobs: Jobs) -> tuple[int, int, int, int]:
    """What waiting orders hold: handles of this process, locks, places in the line, folders."""
    handles = len(list(Path("/proc/self/fd").iterdir()))
    return handles, len(jobs._locks), len(jobs._queue), len(list(jobs.folder.iterdir()))


@pytest.mark.parametrize("elsewhere", [False, True], ids=["by the process that has it", "by another process"])
def test_ordering_and_cancelling_without_end_holds_nothing(tmp_path, elsewhere):
    """Behind a long job; whoever cancels in another process leaves one order behind until the next is made."""

    async def cycles() -> tuple[tuple[int, ...], tuple[int, ...], list[Job]]:
        ends = asyncio.Event()

        async def long(order: Order, folder: Path) -> dict[str, object]:
            await ends.wait()
            return DONE

        jobs, other = made(tmp_path, long), made(tmp_path, long)
        await jobs.start()
        first = await jobs.submit(order("eve"))
        numbers = []
        for _ in range(CYCLES):
            numbers.append((await jobs.submit(order("eve"))).id)
            await (other if elsewhere else jobs).cancel(numbers[-1])
            if len(numbers) == CYCLES // 4:
                before = _held(jobs)
        after = _held(jobs)
        ends.set()
        found = await over(jobs, first.id, *numbers)
        await asyncio.gather(jobs.stop(), other.stop())
        return before, after, found

    before, after, found = asyncio.run(cycles())

    assert after[1:] == before[1:] == ((2, 1, 2) if elsewhere else (1, 0, 1))
    assert after[0] <= before[0] + 3  # connections to the database come and go
    assert [job.state for job in found] == ["done"] + ["cancelled"] * CYCLES
    assert all(set(job.body) == {"table", "sha256"} for job in found[1:])


def test_a_cancelled_order_is_known_again_by_its_key(tmp_path):
    async def again() -> tuple[Job, Job]:
        jobs = made(tmp_path, does)  # nothing is dispatched before the start
        first = await jobs.submit(order("ada", key="k"))
        await jobs.cancel(first.id)
        same = await jobs.submit(order("ada", key="k"))
        with pytest.raises(Problem) as other:
            await jobs.submit(order("ada", table="payroll", key="k"))
        assert other.value.status == 409
        await jobs.stop()
        return first, same

    first, same = asyncio.run(again())

    assert (same.id, same.state) == (first.id, "cancelled")


def test_a_job_that_was_done_elsewhere_keeps_its_files(tmp_path):
    """A process that starts finds it unfinished, and has its lock a moment after the other was done with it."""

    async def late() -> list[str]:
        jobs = made(tmp_path, does)
        job = await jobs.submit(order("ada"))
        (jobs.folder / job.id / "model").touch()
        jobs.records.change_job(job.id, state="done")
        await jobs._clear_away("ada")
        await jobs.start()
        await jobs.stop()
        return sorted(place.name for place in (jobs.folder / job.id).iterdir())

    assert asyncio.run(late()) == ["lock", "model"]


def test_a_job_that_was_cancelled_at_the_moment_of_its_turn_does_not_run(tmp_path):
    ran: list[str] = []

    async def notes(order: Order, folder: Path) -> dict[str, object]:
        ran.append(order.principal)
        return DONE

    async def raced() -> tuple[list[Job], list[Path]]:
        jobs = made(tmp_path, notes)
        begin = jobs.records.begin_job

        def after_another(number: str) -> bool:
            jobs.records.cancel_job(number)
            return begin(number)

        jobs.records.begin_job = after_another
        await jobs.start()
        found = await over(jobs, (await jobs.submit(order("ada"))).id)
        left = list(jobs.folder.iterdir())
        await jobs.stop()
        return found, left

    (job,), left = asyncio.run(raced())

    assert (job.state, ran, left) == ("cancelled", [], [])
