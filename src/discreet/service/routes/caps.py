"""What a steward promises: caps of units, of tables inside them, and allotments of analysts."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from starlette.requests import Request

from discreet.errors import ParameterError, UnsupportedError
from discreet.ledger.request import checked_text
from discreet.service import accounts, registering
from discreet.service.access import Principal, current
from discreet.service.desk import Desk, unit_of
from discreet.service.problems import Problem, conflicts
from discreet.service.tokens import checked_principal
from discreet.service.wire import BudgetBody, Closed, Name, Reason

router = APIRouter(tags=["caps"])
Who = Annotated[Principal, Depends(current)]


class Cap(Closed):
    """A cap: of a unit (raised, with a reason), of a table, or of an analyst."""

    scope: Literal["unit", "table", "analyst"]
    name: Name
    unit: Name | None = None
    budget: BudgetBody
    reason: Reason


@router.post("/v1/caps")
def cap(request: Request, who: Who, body: Cap) -> dict[str, object]:
    """Set a cap, and show the accounts of its unit.  A unit's is only ever raised; what is spent stays spent."""
    desk = request.app.state.desk
    checked_text("reason", body.reason)
    with conflicts():
        unit = _set(desk, body)
    desk.look()
    return {"unit": unit, "accounts": [accounts.record(*one) for one in desk.budget(unit).accounts()]}


def _set(desk: Desk, body: Cap) -> str:
    """Set the cap; the unit it is in."""
    ledger, guarantee, units = desk.curator.ledger, body.budget.guarantee(), sorted(desk.curator.ledger.units())
    if body.scope == "table":
        table = desk.curator.tables.get(body.name)
        if table is None or table.public:
            raise Problem("missing", "no private dataset of this name")
        unit = unit_of(body.name, table)
        ledger.sub_cap(body.name, guarantee, unit=unit, reason=body.reason)
        return unit
    unit = body.unit or (body.name if body.scope == "unit" else units[0] if len(units) == 1 else None)
    if unit is None:
        raise ParameterError("need the unit of an allotment, as there is more than one")
    if unit not in units:
        raise Problem("missing", "no unit of this name")
    if body.scope == "analyst":
        ledger.allot(checked_principal(body.name), guarantee, unit=unit, reason=body.reason)
        return unit
    if len(units) > 1:
        raise UnsupportedError(
            "one [budget] holds for all units of a curator's file; give the units files of their own"
        )

    def promise() -> None:
        if desk.budget(unit).present.cap != guarantee:  # else only the file is behind: an earlier attempt did not end
            ledger.top_up(unit, guarantee, reason=body.reason)

    registering.state_budget(desk.path, guarantee, promise)
    return unit
