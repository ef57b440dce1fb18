"""The walk of a model: settle it on public facts, spend, read, fit; a failure after the spend is still paid for.

Theorem.  Let at most k rows of every unit be read, chosen by that unit's rows alone.  An estimator that keeps
epsilon / k, or rho / k^2, for one row added or removed then keeps epsilon, or rho, for one unit added or removed, and
whatever is predicted with the fitted model costs nothing more.  Proof: docs/theory/estimators.md.

An (epsilon, delta) budget is spent on the largest rho that implies it, because the ledger adds up rho; a model to which
it is worth most as it is, such as a neural network trained on random batches, is charged epsilon and delta instead.
Before anything is charged the model is fitted to no rows at all, which refuses bad settings for free.

A network with a checkpoint that stopped before its model was stored goes on, under the charge that its file names, if
that is the last one of this order, and under no other.  Proof that nothing is drawn beyond the charge: what a run shows
is in the file before; what it drew afterwards died with it, unseen; one run at a time goes on, from that file alone
(the turn, and the file's lock), with the settings that were paid for (the order's key, and the file's); and the file
goes after the model is stored, from when on the ledger answers the order.  A run that had ended goes on by no step at
all, to the same model.  So all that was ever shown is a function of the steps of one run:
docs/theory/private_gradients.md, Theorem 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from discreet.composition.price import Price, price
from discreet.curator.plan import PLANNER, lane_of, spending_of
from discreet.curator.release_run import guarded, private
from discreet.data.canonical import digest_or_none
from discreet.errors import ParameterError
from discreet.hazmat.entropy import RandomSource
from discreet.ledger.request import Receipt, receipt_of
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.privacy.number import Number, exact
from discreet.release.group import for_one_row
from discreet.release.reading import Read, Reading

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.curator.declared import Declared
    from discreet.learning.estimator import PrivateEstimator

Model = TypeVar("Model", bound="PrivateEstimator")


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """Which model of which columns, from which table, at which price: public facts only."""

    name: str
    reading: Reading
    target: str | None
    model: PrivateEstimator
    promise: Guarantee  # for one unit
    row: Guarantee  # for one row
    cost: Price

    def key(self) -> str | None:
        """What makes two of them the same, however they are watched; None where a parameter is a caller's function."""
        table = self.reading.table
        return digest_or_none(
            "fit",
            self.model,
            [self.reading.domain, self.target],
            self.cost,
            [self.name, table.unit, table.version, table.rows_per_unit],
            PLANNER,
        )

    def text(self) -> str:
        """What was asked, of whom and how, for the ledger."""
        table = self.reading.table
        who = "row" if table.unit is None else f"{table.unit} with at most {table.rows_per_unit} rows"
        of = f" OF {self.target}" if self.target is not None else ""
        promise = f"{self.promise!r} for one {who} added or removed"
        return f"FIT {type(self.model).__name__}{of} FROM {self.name}; {promise}; {', '.join(self.reading.domain)}"[
            :5000
        ]

    def fitted(self, model: Model, data: Read, rng: RandomSource | None) -> Model:
        """A copy of the model, fitted, with the promise it keeps for one unit."""
        from discreet.learning.on_table import fit_read

        return fit_read(model, data, self.reading, self.target, (self.promise, self.row), rng)

    def __str__(self) -> str:
        table = self.reading.table
        text = [self.text(), f"  price: {self.promise}", f"  one row may cost {self.row}"]
        if table.unit is not None:
            text.append(f"  removed before fitting: rows of one {table.unit} beyond {table.rows_per_unit}")
        return "\n".join([*text, "  nothing was read, nothing was spent"])


def fit(
    curator: Curator,
    model: Model,
    *,
    table: str,
    target: str | None,
    columns: Sequence[str] | None,
    epsilon: Number | None,
    budget: Guarantee | None,
    analyst: str | None,
    fresh: bool,
) -> Model:
    """One fitted model, or the same one again."""
    from discreet.learning.stored import from_bytes, to_bytes

    order = settle(curator, model, table=table, target=target, columns=columns, epsilon=epsilon, budget=budget)
    key = order.key()
    with curator._turn(key, analyst=analyst):
        stored, receipt = None if fresh else curator._recall(key, analyst=analyst), None
        if stored is None:
            _rehearse(order)
            order.reading.ready()  # a missing file or column is free
            receipt = _owed(curator, order, analyst, fresh=fresh)
        goes_on = receipt is not None
        if receipt is not None:
            curator.ledger.resume(receipt)
        else:
            receipt, stored = curator._charge(
                order.cost, [table], text=order.text(), key=key, analyst=analyst, fresh=fresh
            )
        fitted = _copy(model)
        if stored is not None:
            from_bytes(stored, fitted)
        else:
            fitted._paid_by(receipt.hash, goes_on=goes_on)
            guarded(lambda: order.reading.through(lambda data: order.fitted(fitted, data, curator._rng)))
            curator._keep(receipt, to_bytes(fitted), ends=getattr(model, "checkpoint", None) is not None)
        fitted._ended(receipt.hash)
    fitted.receipt = receipt  # type: ignore[attr-defined]
    return fitted


def settle(
    curator: Declared,
    model: PrivateEstimator,
    *,
    table: str,
    target: str | None,
    columns: Sequence[str] | None,
    epsilon: Number | None,
    budget: Guarantee | None,
) -> Order:
    """What a fit would cost, and of which columns it would be."""
    from discreet.learning.estimator import PrivateEstimator
    from discreet.learning.on_table import columns_for, may_leave, tables_of

    if not isinstance(model, PrivateEstimator):
        raise ParameterError(f"need a model of discreet.learning, got {type(model).__name__}")
    may_leave(model)
    held = private(curator, table)
    if model.supervised and target is None:
        raise ParameterError("need target=..., the name of a column, for a supervised model")
    if not model.supervised and target is not None:
        raise ParameterError(f"need no target for {type(model).__name__}, got {target!r}")
    domain = columns_for(held, model, columns, target)
    reading = curator._reading(domain, table, sets=tables_of(model, domain, target), rounds=model.by_rounds)
    promise, row, cost = _lane(model, spending_of(epsilon, budget), held.rows_per_unit)
    return Order(table, reading, target, model, promise, row, cost)


def _lane(model: PrivateEstimator, spending: PureDP | ApproxDP | ZCDP, rows: int) -> tuple[Guarantee, Guarantee, Price]:
    """The promise for one unit, for one row, and the price."""
    if model.approximate and rows == 1 and isinstance(spending, ApproxDP) and exact(spending.delta) > 0:
        promise: Guarantee = spending.under(AddRemove)
        return promise, promise, price(spending)
    unit, cost = lane_of(spending)
    return unit, for_one_row(unit, rows), cost


def _owed(curator: Curator, order: Order, analyst: str | None, *, fresh: bool) -> Receipt | None:
    """The charge that paid for a stopped run whose model was never stored; None where no run waits.

    The file of another order, or one beside a wish for a fresh model, is refused before anything is paid or read.
    """
    charge, key = order.model._waits(order.row.under(AddRemove)), order.key()
    if charge is None:
        return None
    if key is None:
        raise ParameterError("a checkpoint needs settings that are written in full, and one of these is a function")
    last = None
    for entry in curator.ledger.entries():
        record = entry.record
        if record["kind"] == "spend" and (record["key"], record["analyst"]) == (key, analyst):
            last = entry
    if fresh or last is None or last.hash != charge:
        raise ParameterError("the stopped run at this checkpoint was paid for by another order; take another file")
    return receipt_of(last)


def _rehearse(order: Order) -> None:
    """Fit a copy to no rows: what the declaration and the settings do not allow is refused before it is paid for."""
    from discreet.learning.stored import to_bytes

    to_bytes(
        order.fitted(order.model._rehearsal(), order.reading.empty(), None)
    )  # a model that cannot be kept is refused as well


def _copy(model: Model) -> Model:
    """One with the same parameters, not fitted; whoever watches is not copied."""
    from sklearn.base import clone

    made: Model = clone(model)  # type: ignore[assignment]
    return made.set_params(**{name: getattr(model, name) for name in model.watching})
