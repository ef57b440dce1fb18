"""Orders run at once, in this process and without slots: for tests of what routes do around them."""

from __future__ import annotations

from discreet.errors import DiscreetError
from discreet.service.running.child import refusal_of
from discreet.service.running.outcome import Answered, Refused
from discreet.service.running.work import KINDS, Desk

COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


class Inline:
    """A runner that runs an order at once, in this process; `outcome` is what it says instead, if that is set."""

    ready = True

    def __init__(self, app):
        self.app, self.orders, self.outcome = app, [], None

    async def ask(self, order):
        self.orders.append(order)
        if self.outcome is not None:
            return self.outcome
        curator = self.app.state.desk.curator
        desk = Desk(curator=curator, principal=order.principal, folder=None, tell=lambda _: None)
        try:
            document, files = KINDS[order.kind](desk, order.body)
        except DiscreetError as error:
            return Refused(problem=refusal_of(error))
        return Answered(document=document, files=files)


def ask(served, *, as_="ada", headers=None, **more):
    """One question; about the wards of the hospital unless another is given."""
    body = {"question": COUNT, "epsilon": 0.1} | more
    return served("POST", "/v1/ask", as_=as_, json=body, headers=headers or {})
