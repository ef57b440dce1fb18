"""Whether the service lives, can read its ledger, and what it has counted."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from discreet._version import __version__
from discreet.errors import DiscreetError
from discreet.service import metrics
from discreet.service.desk import Desk
from discreet.service.problems import Problem

router = APIRouter(tags=["health"])


@router.get("/v1/health")
async def health() -> dict[str, str]:
    """The process lives."""
    return {"status": "ok", "version": __version__}


@router.get("/v1/ready")
async def ready(request: Request) -> dict[str, str]:
    """The ledger can be read and there is a child to answer; no detail is given of why not."""
    runner = request.app.state.runner
    if runner is None or not runner.ready:
        raise Problem("unavailable", "the service is not ready")
    await run_in_threadpool(_readable, request.app.state.desk)
    return {"status": "ready"}


def _readable(desk: Desk) -> None:
    try:
        desk.curator.ledger.anchor()
    except (DiscreetError, OSError):
        desk.forget()
        raise Problem("unavailable", "the service is not ready") from None


@router.get("/metrics")
def counters() -> Response:
    """Counters for Prometheus, without a private value."""
    page, media_type = metrics.exposition()
    return Response(page, media_type=media_type)
