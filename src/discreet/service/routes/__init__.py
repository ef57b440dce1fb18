"""The routes of the API, a module for each kind of thing: parse, call one method, render."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import APIRouter


def routers() -> list[APIRouter]:
    """Every router of /v1, and /metrics."""
    from discreet.service.routes import (
        approvals,
        audit,
        budget,
        caps,
        datasets,
        health,
        jobs,
        ledger,
        me,
        questions,
        tokens,
    )

    modules = (health, me, datasets, questions, jobs, budget, ledger, caps, tokens, approvals, audit)
    return [module.router for module in modules]
