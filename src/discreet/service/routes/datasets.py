"""Datasets: their public declarations, rows made up from these alone, and registering another."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import Field, StrictBool, StrictStr
from starlette.requests import Request
from starlette.responses import Response

from discreet.curator.mock import mock as made_up
from discreet.data.table import Table
from discreet.service import registering
from discreet.service.access import Principal, current
from discreet.service.problems import Problem
from discreet.service.wire import ARROW, CSV, JSON, PARQUET, Bound, Closed, Name, accepted, dumped, table_bytes

router = APIRouter(tags=["datasets"])
Who = Annotated[Principal, Depends(current)]
MOST_ROWS = 10_000  # made up in one reply: more would hold the process up, and anybody can make them at home


class Declaration(Closed):
    """A table to be registered, in the words of curator.toml."""

    name: Name
    source: Annotated[StrictStr, Field(min_length=1, max_length=2000)]
    columns: dict[str, dict[str, object]]
    unit: Name | None = None
    rows_per_unit: Bound | None = None
    groups_per_unit: Bound | None = None
    n: Bound | None = None
    version: Bound | None = None
    public: StrictBool | None = None


@router.get("/v1/datasets")
def datasets(request: Request, who: Who) -> dict[str, object]:
    """The datasets that are there, for whoever asks."""
    return {"datasets": [_public(name, table) for name, table in request.app.state.desk.tables(who).items()]}


@router.get("/v1/datasets/{name}")
def dataset(request: Request, who: Who, name: str) -> dict[str, object]:
    """One dataset with its columns."""
    table = _seen(request, who, name)
    return _public(name, table) | {"columns": table.domain.to_dict()}


@router.get("/v1/datasets/{name}/mock")
def mock(
    request: Request,
    who: Who,
    name: str,
    rows: Annotated[int, Query(ge=0, le=MOST_ROWS)] = 100,
    seed: Annotated[int, Query(ge=0, lt=2**63)] = 0,
) -> Response:
    """Made-up rows from the declaration alone, free: JSON, an Arrow stream, Parquet or CSV."""
    form = accepted(request.headers.get("accept"), (JSON, ARROW, PARQUET, CSV))
    if form is None:
        raise Problem("not-acceptable", f"rows come as {JSON}, {ARROW}, {PARQUET} or {CSV}")
    found = made_up(_seen(request, who, name), rows, seed=seed)
    body = dumped({"rows": found.to_pylist()}) if form == JSON else table_bytes(found, form)
    return Response(body, media_type=form)


@router.post("/v1/datasets", status_code=201)
def register(request: Request, who: Who, body: Declaration) -> dict[str, object]:
    """Append a table to the curator's file; every worker process notices."""
    entry = body.model_dump(mode="json", exclude_none=True, exclude={"name"})
    registering.register(request.app.state.path, body.name, entry)
    request.app.state.desk.look()
    return dataset(request, who, body.name)


def _seen(request: Request, who: Principal, name: str) -> Table:
    table = request.app.state.desk.tables(who).get(name)
    if table is None:
        raise Problem("missing", "no dataset of this name")
    return table


def _public(name: str, table: Table) -> dict[str, object]:
    return {
        "name": name,
        "unit": table.unit,
        "rows_per_unit": table.rows_per_unit,
        "groups_per_unit": table.groups_per_unit,
        "n": table.n,
        "version": table.version,
        "public": table.public,
    }
