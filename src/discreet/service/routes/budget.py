"""Caps, spent and remaining amounts, as whoever asks may see them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import Request

from discreet.service import accounts
from discreet.service.access import Principal, current

router = APIRouter(tags=["budget"])
Who = Annotated[Principal, Depends(current)]


@router.get("/v1/budget")
def budget(request: Request, who: Who) -> dict[str, object]:
    """The accounts of each unit, and one's own allotments; an analyst sees no other analyst's."""
    desk = request.app.state.desk
    found = {
        unit: [accounts.record(*one) for one in accounts.seen(desk.budget(unit), who, tables)]
        for unit, tables in desk.units(who).items()
    }
    return {"units": found, "allotment": accounts.own(desk, who)}
