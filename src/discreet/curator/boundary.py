"""The boundary of a curator: what an error takes along, and what it says of a charge.

An error's traceback holds the frames that it came through, and those hold whatever they were working on, rows too.  So
what a public method raises leaves it without them: the error itself, from the frame of the method, and nothing behind
it.  (What went wrong inside is in the operator's log, by kind and reference.)

An order that was charged and then stopped, by Ctrl-C for example, has spent: the error says so in a note, with the
entry of the ledger.  The error stays what it is: a KeyboardInterrupt stops the program as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from discreet.errors import BudgetExhausted, DiscreetError, ParameterError, UnsupportedError

if TYPE_CHECKING:
    from discreet.composition.price import Price
    from discreet.ledger import Receipt

Given = ParamSpec("Given")
Made = TypeVar("Made")

_charge: ContextVar[str | None] = ContextVar("charge", default=None)  # what is to be said of an order that stops now


def boundary(method: Callable[Given, Made]) -> Callable[Given, Made]:
    """Let errors out of a public method without the frames in which rows were read, and with what was charged."""

    @wraps(method)
    def bounded(*args: Given.args, **kwargs: Given.kwargs) -> Made:
        before = _charge.set(None)
        try:
            return method(*args, **kwargs)
        except BaseException as error:
            bare = _bare(error)
        finally:
            _charge.reset(before)
        raise bare

    return bounded


def _bare(error: BaseException) -> BaseException:
    """The same error with no frame and no other error behind it, and with a note of the charge."""
    said = _charge.get()
    if said is not None and not isinstance(error, DiscreetError):  # a run that failed says one constant sentence
        error.add_note(said)
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


@contextmanager
def paying(cost: Price) -> Iterator[None]:
    """Around the charge itself: whoever stops it does not know whether it was written, unless it was refused."""
    _charge.set(f"{_said(cost)} may have been charged for this order: the last entries of the ledger tell")
    try:
        yield
    except (BudgetExhausted, ParameterError, UnsupportedError):
        _charge.set(None)
        raise
    _charge.set(None)


def paid(receipt: Receipt, cost: Price) -> None:
    """From now on, until the answer is kept: what stops the order does not give back the charge."""
    _charge.set(
        f"{_said(cost)} was charged for this order, as entry {receipt.id} of the ledger, and no answer was kept: the"
        " charge stands, and the same order is charged again (a run with a checkpoint goes on under this charge)"
    )


def kept() -> None:
    """The answer is kept: the same order is answered free."""
    _charge.set(None)


def _said(cost: Price) -> str:
    amount = f"rho {float(cost.rho):g}" if cost.epsilon is None else f"epsilon {float(cost.epsilon):g}"
    return f"{amount} and delta {float(cost.delta):g}" if cost.delta else amount
