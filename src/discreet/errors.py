"""Every error the library raises.

    DiscreetError
    ├── ParameterError (ValueError)   a number outside its domain
    ├── DomainError                   data or a query outside the declared domain
    │   └── SourceError               where the rows are is not as it was declared
    ├── UnsupportedError              a combination no theorem here covers
    ├── BudgetExhausted               the filter refused; nothing was run
    ├── LedgerError                   the record is missing, torn or out of order
    ├── ServiceError                  a service refused, withheld or was not reached
    └── EntropyError                  the operating system gave no randomness; nothing was drawn

Messages are built from public facts only: parameters, schema, budgets.
They never carry a data value, a true answer or a row count.
"""

from __future__ import annotations


class DiscreetError(Exception):
    """Root of the tree: `except DiscreetError` catches everything we raise."""


class ParameterError(DiscreetError, ValueError):
    """A parameter lies outside its domain.

    >>> from discreet.mechanisms import Laplace
    >>> Laplace(epsilon=0, sensitivity=1)
    Traceback (most recent call last):
    discreet.errors.ParameterError: need epsilon > 0, got epsilon=0
    """


class DomainError(DiscreetError):
    """Data or a query lies outside the declared domain.

    >>> from discreet.data import Domain, Integer
    >>> Domain({"age": Integer(0, 119)})["agee"]
    Traceback (most recent call last):
    discreet.errors.DomainError: no column 'agee'; did you mean 'age'?
    """


class SourceError(DomainError):
    """Where the rows of a table are is not as it was declared: no such file or column, or none that can be read.

    The message may name places of this machine.  It is for whoever holds the data: a service says one constant
    sentence instead, and writes `declared`, what of the declaration was not found, to the operator's log.

    >>> import discreet as dc
    >>> table = dc.Table("nowhere.parquet", domain=dc.Domain({"age": dc.Integer(0, 119)}), unit=None)
    >>> curator = dc.Curator({"visits": table}, budget=dc.PureDP(1), ledger=":memory:")
    >>> curator.ask("SELECT COUNT(*) FROM visits", epsilon=0.1)
    Traceback (most recent call last):
    discreet.errors.SourceError: no file 'nowhere.parquet'
    """

    def __init__(self, message: str, *, declared: str | None = None) -> None:
        super().__init__(message)
        self.declared = declared


class UnsupportedError(DiscreetError):
    """No theorem here covers this combination; the message says what to do instead.

    >>> from discreet.data import Domain, Integer, Table
    >>> from discreet.queries import parse
    >>> visits = Table("visits.parquet", domain=Domain({"age": Integer(0, 119)}), unit=None)
    >>> parse("SELECT * FROM visits", {"visits": visits})
    Traceback (most recent call last):
    discreet.errors.UnsupportedError: SELECT * would return rows; name the aggregates you want
    """


class BudgetExhausted(DiscreetError):
    """The privacy filter refused the spend.  Nothing was run and nothing was spent.

    >>> from discreet.composition import PrivacyFilter
    >>> from discreet.mechanisms import Laplace
    >>> from discreet.privacy import PureDP
    >>> PrivacyFilter(PureDP(1)).spend(Laplace(epsilon=2, sensitivity=1).event())
    Traceback (most recent call last):
    discreet.errors.BudgetExhausted: budget exhausted: requested PureDP(epsilon=2.0), remaining PureDP(epsilon=1.0)
    """

    def __init__(self, *, requested: object, remaining: object, said: str | None = None) -> None:
        super().__init__(said or f"budget exhausted: requested {requested}, remaining {remaining}")
        self.requested = requested
        self.remaining = remaining


class LedgerError(DiscreetError):
    """The record is missing, torn or out of order.

    >>> from discreet.ledger import Anchor
    >>> Anchor.read("yesterday")
    Traceback (most recent call last):
    discreet.errors.LedgerError: need an anchor {"hash": ..., "id": ...}
    """


class ServiceError(DiscreetError):
    """A service refused, withheld an answer, or could not be reached; `kind` says which in one word.

    `charged` is True where budget was spent all the same, False where none was, None where nobody can know.

    >>> from discreet.service import Client
    >>> Client("http://127.0.0.1:1", token="a token")
    Traceback (most recent call last):
    discreet.errors.ServiceError: no reply from http://127.0.0.1:1: ConnectError
    """

    def __init__(self, message: str, *, kind: str, status: int | None = None, charged: bool | None = False) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.charged = charged


class EntropyError(DiscreetError):
    """The operating system's generator failed, or was to be copied.  Nothing was drawn.

    >>> import copy
    >>> from discreet.hazmat.entropy import SystemRandom
    >>> copy.copy(SystemRandom())
    Traceback (most recent call last):
    discreet.errors.EntropyError: a random source cannot be pickled or copied: its copy would repeat the same noise
    """


def require(condition: bool, rule: str, **received: object) -> None:  # noqa: FBT001 - reads as a sentence
    """Raise `ParameterError` unless `condition`, naming every value involved.

    >>> require(0 < 2.0 < 1, "0 < beta < 1", beta=2.0)
    Traceback (most recent call last):
    discreet.errors.ParameterError: need 0 < beta < 1, got beta=2.0
    """
    if not condition:
        got = ", ".join(f"{name}={shown(value)}" for name, value in received.items())
        raise ParameterError(f"need {rule}, got {got}")


def shown(value: object) -> str:
    """The value as Python writes it, which it does not for numbers of more than 4,300 digits.

    >>> shown(0.1), shown(10**5000)
    ('0.1', 'a number of very many digits')
    """
    try:
        return repr(value)
    except ValueError:
        return "a number of very many digits"
