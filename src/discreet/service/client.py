"""The curator at the other end of a wire: the same methods, the same answers, the same errors.

Plans are made here from the public declarations, released numbers come from the service, and every view of them
(other error bars, pictures, differences, rows of a model) is computed here again, free.  What a service cannot do is
refused here: it runs no code of an analyst, and keeps no session open.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self, TypeVar
from uuid import uuid4

from discreet.curator.declared import Declared
from discreet.curator.plan import plan
from discreet.curator.question import passes_of
from discreet.errors import ParameterError, ServiceError, UnsupportedError, require
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.number import Number
from discreet.queries.builder import Builder
from discreet.queries.query import Query
from discreet.queries.workload import Workload
from discreet.service import client_jobs as jobs
from discreet.service.client_answers import agreed, answer_of
from discreet.service.client_connection import Connection
from discreet.service.client_ledger import ServedLedger
from discreet.service.client_wire import (
    counted,
    declarations,
    error_body,
    mine,
    price_body,
    receipt,
    same_version,
    unlabelled,
)

if TYPE_CHECKING:
    from discreet.curator.answer import Answer
    from discreet.curator.batch import Batch, Choice
    from discreet.curator.explain import Explanation
    from discreet.curator.plan import Plan
    from discreet.learning.estimator import PrivateEstimator
    from discreet.ledger import Budget
    from discreet.release.release import Release
    from discreet.synthesis.synthesizer import Method
    from discreet.synthesis.synthetic import Synthetic

Model = TypeVar("Model", bound="PrivateEstimator")


class Client(Declared):
    """A service, asked as a `Curator` is asked.

    `url` and `token` are those of the steward's letter; `DISCREET_URL` and `DISCREET_TOKEN` where they are left out.
    `certificate` is a file of authorities to trust, where the service's is not signed by one of the system's.
    `progress` shows the progress of long work on standard error; by itself where somebody watches.

    >>> Client("http://private.example.org", token="dct_...")
    Traceback (most recent call last):
    discreet.errors.ParameterError: need https:// for a service elsewhere: the token would be readable on the way
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        certificate: str | Path | None = None,
        timeout: float = 120.0,
        progress: bool | None = None,
    ) -> None:
        where, secret = url or os.environ.get("DISCREET_URL"), token or os.environ.get("DISCREET_TOKEN")
        if not where or not secret:
            raise ParameterError("need url= and token=, or DISCREET_URL and DISCREET_TOKEN in the environment")
        self.connection = Connection(where, secret, certificate=certificate, timeout=timeout)
        self._progress, self._engine = progress, None
        try:
            same_version(self.connection.get("/v1/health").get("version"))
            self.tables = declarations(self.connection)
        except BaseException:
            self.close()
            raise

    def refresh(self) -> None:
        """Read the declarations again: tables may have been added, or have new versions."""
        self.tables = declarations(self.connection)

    @property
    def me(self) -> dict[str, object]:
        """Who the service takes the token for: principal, role, expiry, tables, allotment."""
        return self.connection.get("/v1/me")

    def explain(
        self,
        question: str | Query | Builder | Workload,
        *,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        error: Number | None = None,
        beta: float = 0.05,
        rows_per_unit: int | None = None,
        groups_per_unit: int | None = None,
        table: str | None = None,
    ) -> Explanation | Batch:
        """What an answer would look like and cost, from the declaration; the service must agree on the price.

        A workload is explained here alone.
        """
        bounds, within = {"rows_per_unit": rows_per_unit, "groups_per_unit": groups_per_unit}, error_body(error)
        asked = {"epsilon": epsilon, "budget": unlabelled(budget), "error": within, "beta": beta, **bounds}
        found = super().explain(question, table=table, **asked)
        if isinstance(question, Workload):
            return found
        query = found.plan.query  # type: ignore[union-attr]
        price = {"error": within} if within is not None else price_body(epsilon, budget)
        return agreed(found, self.connection.post("/v1/explain", self._body(query, price, beta, bounds)))  # type: ignore[arg-type]

    def ask(
        self,
        question: str | Query | Builder,
        *,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        beta: float = 0.05,
        analyst: str | None = None,
        fresh: bool = False,
        whole_counts: bool = False,
        rows_per_unit: int | None = None,
        groups_per_unit: int | None = None,
    ) -> Answer:
        """Plan here, let the service spend, read and draw, and build the answer from what it released.

        Where no reply comes the question is sent again under the same key: it is paid for once.
        """
        mine(analyst)
        require(1e-300 <= beta < 1, "0 < beta < 1, not below 1e-300", beta=beta)
        price = price_body(epsilon, budget)
        bounds = {"rows_per_unit": rows_per_unit, "groups_per_unit": groups_per_unit}

        def planned() -> Plan:
            query = self.query(question)
            step = plan(query, query.source.table(), epsilon=epsilon, budget=unlabelled(budget), **bounds)
            passes_of(step)  # what could not be asked is not sent
            return step

        step = planned()
        body = self._body(step.query, price, beta, bounds)
        body |= {name: True for name, wanted in (("fresh", fresh), ("whole_counts", whole_counts)) if wanted}
        told = jobs.awaited(self.connection.post("/v1/ask", body, key=uuid4().hex))
        try:
            return answer_of(step, told, beta=beta, whole_counts=whole_counts)
        except ServiceError as error:
            if error.kind != "mismatch":
                raise
        self.refresh()  # it is paid for: perhaps the declaration was changed since it was read
        return answer_of(planned(), told, beta=beta, whole_counts=whole_counts)

    def _body(
        self, query: Query, price: dict[str, object], beta: float, bounds: dict[str, int | None]
    ) -> dict[str, object]:
        given = {name: value for name, value in bounds.items() if value is not None}
        return {"question": str(query), "beta": float(beta), **price, **given}

    def release(
        self,
        workload: Workload,
        *,
        table: str,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        mechanism: Choice = "auto",
        n: int | None = None,
        analyst: str | None = None,
        fresh: bool = False,
    ) -> Release:
        """Answer a whole workload: a job at the service.  `mechanism` is the name of a registered one, or "auto"."""
        from discreet.curator.batch import batch
        from discreet.curator.release_run import private
        from discreet.release.reading import sets_of
        from discreet.release.stored import from_bytes
        from discreet.service.client_orders import same_release, workload_body

        mine(analyst)
        if not isinstance(mechanism, str):
            raise UnsupportedError("no code crosses to a service: name a registered mechanism, or use a Curator")
        if n is not None:
            raise UnsupportedError("a service forecasts with the declared number of rows: leave n out")
        asked = {"kind": "release", "table": table, "workload": workload_body(workload), "mechanism": mechanism}
        private(self, table)
        reading = self._reading(workload.domain, table, sets=sets_of(workload))
        step = batch(workload, table, reading, epsilon=epsilon, budget=unlabelled(budget), mechanism=mechanism)
        asked |= price_body(epsilon, budget) | ({"fresh": True} if fresh else {})
        job, data = self._made(asked, "marginals.release")
        made = same_release(from_bytes(data), step)
        return replace(made, receipt=receipt(job.get("receipt"), step.cost))

    def synthesize(
        self,
        *,
        table: str,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        columns: Sequence[str] | None = None,
        workload: Workload | None = None,
        method: Method = "adaptive",
        rows: int | None = None,
        analyst: str | None = None,
        fresh: bool = False,
        **settings: object,
    ) -> Synthetic:
        """Fit a model of a table to draw rows from: a job at the service, which keeps its own checkpoints.

        `progress` is as a curator takes it: True or False for a bar, or a function of rounds done and planned.
        """
        from discreet.curator.synthesis_run import ordered
        from discreet.service.client_orders import progress_of, settings_body
        from discreet.synthesis.stored import from_bytes

        mine(analyst)
        counted("rows", rows)
        progress = progress_of(settings.pop("progress", None))
        if settings.pop("checkpoint", None) is not None:
            raise UnsupportedError("a service keeps the checkpoints of its jobs itself: leave checkpoint out")
        if workload is not None:
            raise UnsupportedError("a service chooses its own tables to measure: leave workload out, or name columns")
        given = {"columns": columns, "method": method}
        order = ordered(self, table=table, epsilon=epsilon, budget=unlabelled(budget), settings=settings, **given)
        asked = {"kind": "synthesis", "table": table, "method": method, "settings": settings_body(settings)}
        asked |= {} if columns is None else {"columns": list(columns)}
        asked |= price_body(epsilon, budget) | ({"fresh": True} if fresh else {})
        job, data = self._made(asked, "synthetic.model", progress=progress)
        return replace(
            from_bytes(data, order.synthesizer), wanted=rows, receipt=receipt(job.get("receipt"), order.cost)
        )

    def fit(
        self,
        model: Model,
        *,
        table: str,
        target: str | None = None,
        columns: Sequence[str] | None = None,
        epsilon: Number | None = None,
        budget: Guarantee | None = None,
        analyst: str | None = None,
        fresh: bool = False,
    ) -> Model:
        """Fit a model of `discreet.learning` at the service, by its name and parameters; returns a fitted copy."""
        from discreet.curator.fit_run import settle
        from discreet.learning.stored import from_bytes
        from discreet.service.client_orders import copy_of, model_body, same_model

        mine(analyst)
        asked = {"target": target, "columns": columns, "epsilon": epsilon, "budget": unlabelled(budget)}
        order = settle(self, model, table=table, **asked)
        body: dict[str, object] = {"kind": "fit", "table": table, **model_body(model), **price_body(epsilon, budget)}
        body |= {} if target is None else {"target": target}
        body |= {} if columns is None else {"columns": list(columns)}
        job, data = self._made(body | ({"fresh": True} if fresh else {}), "fitted.model")
        fitted = same_model(from_bytes(data.partition(b"\n")[2], copy_of(model)), order)  # parameters, then the rest
        fitted.receipt = receipt(job.get("receipt"), order.cost)  # type: ignore[attr-defined]
        return fitted

    def _made(
        self, order: dict[str, object], file: str, *, progress: bool | jobs.Told | None = None
    ) -> tuple[dict[str, object], bytes]:
        """Order a job, wait for it, and fetch the file that it made."""
        watched = self._progress if progress is None else progress
        job = jobs.run(self.connection, order, key=uuid4().hex, progress=watched)
        return job, jobs.result(self.connection, job, file)

    @property
    def budget(self) -> Budget | dict[str, Budget]:
        """Caps, spent and remaining amounts in every lane: of the one unit, or by unit."""
        from discreet.curator.balance import budgets_of

        found = budgets_of(self.balances())
        return next(iter(found.values())) if len(found) == 1 else found

    def balances(self) -> list[dict[str, object]]:
        """The accounts of every unit, one record each, as the service tells them."""
        units = self.connection.get("/v1/budget").get("units")
        if not isinstance(units, dict):
            raise ServiceError("the reply holds no balances that this client can read", kind="unreadable")
        return [record for records in units.values() for record in records]

    @property
    def ledger(self) -> ServedLedger:
        """The service's ledger, to read: `entries`, `anchor`, `verify`, `report`, as far as the token's role may."""
        return ServedLedger(self.connection)

    def session(self, **asked: object) -> NoReturn:
        """Refused: a session keeps a histogram of private rows in memory between questions."""
        raise UnsupportedError("a session stays with the rows: open it on a Curator, or ask question by question")

    def oracle(self, **asked: object) -> NoReturn:
        """Refused: an oracle evaluates functions of an analyst on private rows."""
        raise UnsupportedError("an oracle stays with the rows: open it on a Curator, or fit a model by its name")

    def synthesize_linked(self, **asked: object) -> NoReturn:
        """Refused: a service makes rows of one table at a time."""
        raise UnsupportedError("a service makes rows of one table at a time: make linked ones on a Curator")

    def close(self) -> None:
        """Close the connections."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.connection.url!r})"
