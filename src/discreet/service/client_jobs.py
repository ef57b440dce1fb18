"""Long work at a service: order it, watch it, fetch what it made.

Once an order was taken the job goes on without whoever ordered it.  So an error on the way to its result never says
that nothing was charged: it names the job, and says that it was paid for where that is known.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING
from urllib.parse import quote

from discreet.errors import ServiceError
from discreet.service.client_connection import problem_error

if TYPE_CHECKING:
    from rich.progress import Progress

    from discreet.service.client_connection import Connection

OVER = ("done", "withheld", "refused", "cancelled")
SLOWEST = 2.0  # seconds between two looks, at most
BYTES = "application/octet-stream"
LATER = "order the same again later, without fresh=True; what was paid for and kept is given free"
Told = Callable[[int, int], object]  # how many rounds are done, and of how many


def run(
    connection: Connection,
    order: Mapping[str, object],
    *,
    key: str,
    progress: bool | Told | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> dict[str, object]:
    """Order a job and wait for its end; a refusal and a withheld result raise.

    A function as `progress` is told instead of the bar how many rounds are done, and of how many.
    """
    job = awaited(connection.post("/v1/jobs", order, key=key))
    number, pause = quote(str(job["id"]), safe=""), 0.05
    tell = _once(progress) if callable(progress) else None
    shown = sys.stderr.isatty() if progress is None else progress is True
    with _bar() if shown else nullcontext() as bar:
        task = bar.add_task(str(order["kind"]), total=None) if bar is not None else None
        while job.get("state") not in OVER:
            wait(pause)
            pause = min(SLOWEST, pause * 1.5)
            with _paid_for(job):
                job = connection.get(f"/v1/jobs/{number}")
            if tell is not None:
                tell(job.get("progress"))
            if bar is not None and task is not None:
                _move(bar, task, job.get("progress"))
    return ended(job)


def awaited(told: dict[str, object]) -> dict[str, object]:
    """The reply to an order, unless a steward has to approve it first."""
    if "approval" in told:
        raise ServiceError(
            f"a steward has to approve this first (approval {told['approval']}); then ask the same again",
            kind="approval",
            status=202,
        )
    return told


def ended(job: dict[str, object]) -> dict[str, object]:
    """A job that is done; anything else is raised."""
    problem = job.get("problem")
    match job.get("state"):
        case "done":
            return job
        case "refused" if isinstance(problem, dict):
            kind = str(problem.get("type", "")).rpartition(":")[2]
            raise problem_error(problem, kind, None)
        case "cancelled":
            said = f"job {job.get('id')} was cancelled; what it had cost stays spent"
            raise ServiceError(said, kind="cancelled", charged=_charged(job))
        case _:
            said = "the result was withheld and stays paid for; see the operator log"
            raise ServiceError(f"{said}, job {job.get('id')}", kind="withheld", charged=True)


def result(connection: Connection, job: Mapping[str, object], file: str) -> bytes:
    """A file that a job made."""
    with _paid_for(job):
        return connection.fetch(f"/v1/jobs/{quote(str(job['id']), safe='')}/result", BYTES, file=file)


@contextmanager
def _paid_for(job: Mapping[str, object]) -> Iterator[None]:
    """Where a job is asked after in vain: say which, and that it may be paid for."""
    try:
        yield
    except ServiceError as error:
        said = f"{error}; job {job['id']} was ordered, and goes on without this client: {LATER}"
        raise ServiceError(said, kind=error.kind, status=error.status, charged=_charged(job)) from error


def _charged(job: Mapping[str, object]) -> bool | None:
    """True where the job has a receipt of its own; one that it shares with an earlier order says nothing of it."""
    match job.get("receipt"):
        case {"id": int(), **rest} if rest.get("replayed") is not True:
            return True
        case _:
            return None


def _once(tell: Told) -> Callable[[object], None]:
    """Tell of progress when there is any."""
    last = None

    def told(progress: object) -> None:
        nonlocal last
        match progress:
            case {"done": int(done), "total": int(total)} if (done, total) != last:
                last = (done, total)
                tell(done, total)
            case _:
                pass

    return told


def _bar() -> AbstractContextManager[Progress | None]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), console=Console(stderr=True), transient=True
    )


def _move(bar: Progress, task: object, told: object) -> None:
    if isinstance(told, dict):
        done, total, label = told.get("done"), told.get("total"), told.get("label")
        bar.update(task, completed=done or 0, total=total or None, description=str(label or "working"))  # type: ignore[arg-type]
