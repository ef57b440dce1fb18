"""Tokens: issue, list, revoke.  A secret is shown once, when it is issued, and never kept."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import Field, StrictInt
from starlette.requests import Request
from starlette.responses import Response

from discreet.data.domain import missing
from discreet.errors import DomainError
from discreet.privacy.guarantee import Guarantee
from discreet.service import tokens
from discreet.service.access import Principal, current
from discreet.service.desk import Desk
from discreet.service.problems import Problem, conflicts
from discreet.service.tokens import MOST_DAYS
from discreet.service.wire import BudgetBody, Closed, Name

router = APIRouter(tags=["tokens"])
Who = Annotated[Principal, Depends(current)]


class Wanted(Closed):
    """A token to be issued; `allotment` caps the principal in every unit they may ask about, now or later."""

    principal: Name
    role: Literal["steward", "analyst", "auditor"]
    days: Annotated[StrictInt, Field(ge=1, le=MOST_DAYS)]
    datasets: Annotated[list[Name], Field(max_length=1000)] | None = None
    allotment: BudgetBody | None = None


@router.get("/v1/tokens")
def listed(request: Request) -> dict[str, object]:
    """Every token, without its secret."""
    return {"tokens": [token.to_dict() for token in tokens.listed(request.app.state.store)]}


@router.post("/v1/tokens", status_code=201)
def issue(request: Request, who: Who, body: Wanted) -> dict[str, object]:
    """A new token; its secret is in this reply and nowhere else."""
    desk, store = request.app.state.desk, request.app.state.store
    for name in body.datasets or []:
        if name not in desk.curator.tables:
            raise DomainError(missing(name, list(desk.curator.tables), what="dataset"))
    chosen = None if body.datasets is None else tuple(body.datasets)
    cap = None if body.allotment is None else body.allotment.guarantee()
    # Issued first, because that is what refuses a wrong request: the ledger takes nothing back.
    secret = tokens.issue(store, principal=body.principal, role=body.role, days=body.days, datasets=chosen)
    found = tokens.find(store, secret)
    assert found is not None
    if cap is not None:
        try:
            _allot(desk, Principal(body.principal, body.role, chosen), cap)
        except BaseException:
            tokens.revoke(store, found.id)  # nobody has seen its secret, and nobody will
            raise
    return found.to_dict() | {"token": secret}


def _allot(desk: Desk, who: Principal, cap: Guarantee) -> None:
    """Cap a principal in every unit they may ask about, or in none; units that come later inherit the cap."""
    ledger = desk.curator.ledger
    units = set(desk.units(who)) | (set(ledger.units()) if who.datasets is None else set())
    with conflicts():
        ledger.allot(who.name, cap, unit=sorted(units))


@router.delete("/v1/tokens/{id}", status_code=204)
def revoke(request: Request, id: str) -> Response:
    """End a token, and the sessions it opened."""
    try:
        tokens.revoke(request.app.state.store, id)
    except DomainError:
        raise Problem("missing", "no token has this id") from None
    return Response(status_code=204)
