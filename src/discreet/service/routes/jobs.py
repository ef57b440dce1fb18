"""Long orders: releases, synthetic data, models and audits; what became of them, and what they made."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Depends, Query
from pydantic import Field, StrictBool
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from discreet.composition.price import Price, price
from discreet.curator.delta import doubts
from discreet.errors import ParameterError
from discreet.privacy.guarantee import Guarantee, PureDP
from discreet.service import accounts, approvals, quotes
from discreet.service.access import Principal, current
from discreet.service.desk import unit_of
from discreet.service.problems import Problem, amounts, problem_of, response_of
from discreet.service.routes.questions import Key, refusal, running, withheld
from discreet.service.running.outcome import Order, Refused, Withheld
from discreet.service.running.records import Job
from discreet.service.running.work import MOST_ROWS
from discreet.service.wire import ARROW, CSV, JSON, PARQUET, Bound, Name, Priced, answer_bytes, dumped

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from discreet.data.table import Table

LISTED = 1_000_000  # bytes of a list of jobs
router = APIRouter(tags=["jobs"])
Who = Annotated[Principal, Depends(current)]
Columns = Annotated[list[Name], Field(min_length=1, max_length=1000)]
_FIELDS = {
    "release": {"table", "workload", "mechanism", "fresh"},
    "synthesis": {"table", "columns", "method", "rows", "settings", "fresh"},
    "fit": {"table", "target", "columns", "model", "parameters", "fresh"},
    "audit": {"only", "quick"},
}
_NEEDED = {"release": {"table", "workload"}, "synthesis": {"table"}, "fit": {"table", "model"}, "audit": set[str]()}
_MEDIA = {"csv": CSV, "parquet": PARQUET, "arrow": ARROW}


class JobOrder(Priced):
    """An order for a job, in the words of its kind.

    release: table, workload ({"marginals": k, "columns": [...]}, {"thresholds": column} or {"counts": [columns]}),
    mechanism.  synthesis: table, columns, method, rows, settings.  fit: table, target, columns, model, parameters.
    audit: only, quick; it has no price.
    """

    kind: Literal["release", "synthesis", "fit", "audit"]
    table: Name | None = None
    workload: dict[str, object] | None = None
    mechanism: Name | None = None
    columns: Columns | None = None
    method: Name | None = None
    rows: Bound | None = None
    settings: dict[str, object] | None = None
    target: Name | None = None
    model: Name | None = None
    parameters: dict[str, object] | None = None
    fresh: StrictBool | None = None
    only: Columns | None = None
    quick: StrictBool | None = None

    def order(self) -> dict[str, object]:
        """The order without its kind, if it says what this kind needs and nothing else."""
        given = {name: value for name, value in self.document().items() if name != "kind"}
        allowed = _FIELDS[self.kind] | (set() if self.kind == "audit" else {"epsilon", "budget"})
        other, missing = sorted(set(given) - allowed), sorted(_NEEDED[self.kind] - set(given))
        if other or missing:
            said = f"{', '.join(other)} not to be there" if other else ", ".join(missing)
            raise ParameterError(f"need {said} in an order for {self.kind}")
        return given


@router.post("/v1/jobs", status_code=202)
async def submit(request: Request, who: Who, body: JobOrder, key: Key = None) -> Response:
    """Order a job; 202 with the job, or with an approval that a steward has to give first."""
    use = key or f" {secrets.token_hex(16)}"  # no key begins with a space
    order = Order(kind=body.kind, principal=who.name, body=body.order(), key=use)
    waits = await run_in_threadpool(_waits, request, who, body, order)
    if waits is not None:
        return Response(dumped(waits), 202, media_type=JSON)
    jobs = running(request).jobs
    try:
        job = await jobs.submit(order)
    except (Problem, OSError):
        await run_in_threadpool(jobs.unpaid, order)
        raise
    return Response(dumped(job.to_dict()), 202, media_type=JSON)


@router.post("/v1/jobs/explain")
def explain(request: Request, who: Who, body: JobOrder) -> Response:
    """What an order would cost, and the accounts before and after; nothing is read, nothing is spent."""
    desk, order, name = request.app.state.desk, body.order(), str(body.table)
    tables = desk.tables(who)
    if body.kind != "audit" and name not in tables:
        raise Problem("missing", "no dataset of this name")
    cost = quotes.cost_of(desk.curator, body.kind, order)
    forecast = accounts.forecast(desk.budget(unit_of(name, tables[name])), [name], who.name, cost)
    waits = {"needs_approval": approvals.needed(_cost(body), request.app.state.settings.approval)}
    made = {"kind": body.kind, "price": amounts(cost), "doubts": _doubts(body, tables.get(name))}
    return Response(dumped(made | forecast | waits), media_type=JSON)


def _doubts(body: JobOrder, table: Table | None) -> list[str]:
    """What to know of the delta of the price that an order names, before it is paid."""
    budget = body.price().get("budget")
    return list(doubts(budget, None if table is None else table.n)) if isinstance(budget, Guarantee) else []


def _cost(body: JobOrder) -> Price:
    """The price that an order names."""
    paid = body.price()
    budget = paid.get("budget") or PureDP(paid["epsilon"])  # type: ignore[arg-type]
    assert isinstance(budget, Guarantee)
    return price(budget)


def _waits(request: Request, who: Principal, body: JobOrder, order: Order) -> object:
    """Refuse what may not be ordered; or where a request for approval stands, or None if none is needed."""
    if body.kind == "audit":
        if who.role != "steward":
            raise Problem("forbidden", "an audit is ordered by a steward")
        return None
    if body.table not in request.app.state.desk.tables(who):
        raise Problem("missing", "no dataset of this name")
    cost = _cost(body)
    if not approvals.needed(cost, request.app.state.settings.approval):
        return None
    assert order.key is not None
    if running(request).jobs.records.job_of(who.name, order.key) is not None:
        return None  # that job again, or a conflict
    asked = {"kind": order.kind, **order.body}
    return approvals.granted(request.app.state.store, who.name, order.kind, asked, cost, key=order.key)


@router.get("/v1/jobs")
def listed(request: Request, who: Who, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> dict[str, object]:
    """The latest jobs, as many as fit into a megabyte: one's own, or all of them for a steward.

    The order of one is left out where it is long; it is shown with the job itself.
    """
    records = running(request).jobs.records
    found = records.jobs(principal=None if who.role == "steward" else who.name, most=limit, brief=True)
    shown, size = [], 0
    for job in (job.to_dict() for job in found):
        size += len(dumped(job)) + 2
        if size > LISTED:
            break
        shown.append(job)
    return {"jobs": shown}


@router.get("/v1/jobs/{id}")
def shown(request: Request, who: Who, id: str) -> dict[str, object]:
    """What became of a job."""
    return _owned(request, who, id).to_dict()


@router.get("/v1/jobs/{id}/result")
def result(request: Request, who: Who, id: str, file: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    """What a job made: a JSON document, or the file of a name."""
    job = _owned(request, who, id)
    over = _over(job)
    if over is not None:
        return over
    if file is None:
        return Response(answer_bytes(job.document or {}), media_type=JSON)  # a release shows its first numbers
    place = job.files.get(file)
    if place is None or not Path(place).is_file():
        raise Problem("missing", "this job has no file of that name")
    kind = "text/html" if file.endswith(".html") else "application/octet-stream"
    return FileResponse(place, filename=file, media_type=kind)


@router.get("/v1/jobs/{id}/synthetic")
async def synthetic(
    request: Request,
    who: Who,
    id: str,
    rows: Annotated[int | None, Query(ge=1, le=MOST_ROWS)] = None,
    seed: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
    format: Annotated[Literal["csv", "parquet", "arrow"], Query()] = "csv",
) -> Response:
    """Rows drawn from the model of a job that made one, at most 1,000,000 at once; drawing is free."""
    job = await run_in_threadpool(_owned, request, who, id)
    if job.kind != "synthesis":
        raise Problem("missing", "this job makes no rows")
    over = _over(job)
    if over is not None:
        return over
    place, found = await running(request).jobs.draw(job, rows=rows, seed=seed, form=format, by=who.name)
    if isinstance(found, Refused):
        return refusal(found)
    if isinstance(found, Withheld):
        return withheld()
    table = str(job.body["table"])
    return Drawn(place, filename=f"{table}.{format}", media_type=_MEDIA[format])


class Drawn(FileResponse):
    """A file that is gone when it was sent, or when whoever wanted it went away."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it, and delete it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            Path(self.path).unlink(missing_ok=True)


@router.delete("/v1/jobs/{id}")
async def cancel(request: Request, who: Who, id: str) -> dict[str, object]:
    """End a job; what it was charged stays charged."""
    job = await run_in_threadpool(_owned, request, who, id)
    await running(request).jobs.cancel(job.id)
    await asyncio.sleep(0)
    return (await run_in_threadpool(_owned, request, who, id)).to_dict()


def _owned(request: Request, who: Principal, number: str) -> Job:
    """A job that is there for whoever asks."""
    job = running(request).jobs.records.job(number)
    if job is None or not who.owns(job.principal):
        raise Problem("missing", "no job has this id")
    return job


def _over(job: Job) -> Response | None:
    """The reply where there is nothing to be had of a job."""
    match job.state:
        case "done":
            return None
        case "withheld":
            return withheld()
        case "refused":
            assert isinstance(job.problem, Mapping)
            return response_of(job.problem)
        case state:
            return response_of(problem_of(Problem("conflict", f"the job is {state}", remedy="look at it again later")))
