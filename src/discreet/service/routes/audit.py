"""The last audit: what the strongest attacks found of each mechanism, as the job that ran them stored it."""

from __future__ import annotations

import json

from fastapi import APIRouter
from starlette.requests import Request

from discreet.service.problems import Problem
from discreet.service.running.records import jobs
from discreet.service.tokens import stamp

router = APIRouter(tags=["audit"])


@router.get("/v1/audit")
def audit(request: Request) -> dict[str, object]:
    """The table of the last audit that was done; `POST /v1/jobs` orders another."""
    wanted = jobs.select().where(jobs.c.kind == "audit", jobs.c.state == "done")
    with request.app.state.store.reading() as connection:
        row = connection.execute(wanted.order_by(jobs.c.updated.desc()).limit(1)).one_or_none()
    if row is None:
        raise Problem("missing", "no audit has been stored", remedy="order one: POST /v1/jobs with kind audit")
    return {"job": row.id, "made": stamp(row.updated)} | json.loads(row.document)
