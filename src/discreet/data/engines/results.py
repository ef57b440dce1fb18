"""How results and failures leave an engine: integers by cell, and one constant sentence."""

from __future__ import annotations

import difflib
import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from discreet.data.aggregation import Aggregation, Sealed, SealedGroups, dtype
from discreet.errors import DiscreetError, SourceError

if TYPE_CHECKING:
    from discreet.data.aggregation import IntArray

LOG = logging.getLogger("discreet.operator")
Made = TypeVar("Made")


def constant_faults(work: Callable[[], Made], *, where: Callable[[], str] | None = None) -> Made:
    """Run `work`; whatever goes wrong in it is told in one constant sentence, free of engine text.

    `where` tells the operator the place of it, in names and numbers.
    """
    try:
        return work()
    except Exception as error:  # any exception may depend on private rows
        if _stopped(error):
            raise KeyboardInterrupt from None
        mark = logged("run", error, where=where)
    raise DiscreetError(f"the run failed; see the operator log, reference {mark}")


def reached(work: Callable[[], Made], sentence: str) -> Made:
    """Run `work` before any row is read; what goes wrong is told without the engine's words.

    They name hosts and files, and are for the operator, at the level of debugging.
    """
    try:
        return work()
    except DiscreetError:
        raise
    except Exception as error:
        if _stopped(error):
            raise KeyboardInterrupt from None
        mark = logged("connection", error)
        LOG.debug("connection %s: %s", mark, error)
    raise SourceError(f"{sentence}; see the operator log, reference {mark}")


def _stopped(error: Exception) -> bool:
    """Whether it was Ctrl-C, for which DuckDB raises an error of its own."""
    return type(error).__name__ == "InterruptException" or (
        isinstance(error, RuntimeError) and str(error) == "Query interrupted"
    )


def no_column(name: str, physical: Iterable[str]) -> SourceError:
    """The refusal of a column that a source does not have.

    Of what it has, at most the name nearest to the declared one is told: where a file lacks its header line, the
    "names" are somebody's row.
    """
    near = difflib.get_close_matches(name, list(physical), n=1)
    hint = f"; did you mean {near[0]!r}?" if near else " in the source"
    return SourceError(f"no column {name!r}{hint}", declared=name)


def logged(what: str, error: Exception, *, where: Callable[[], str] | None = None) -> str:
    """Write the kind of a failure to the operator's log, and not its text, which may quote a row; its reference."""
    mark = secrets.token_hex(4)
    LOG.error("%s %s failed: %s%s", what, mark, type(error).__name__, "" if where is None else _placed(where))
    return mark


def _placed(where: Callable[[], str]) -> str:
    try:
        return f"; {where()}"
    except Exception as error:
        return f"; its place cannot be told: {type(error).__name__}"


def cells(aggregation: Aggregation, groups: Iterable[Sequence[int]]) -> IntArray:
    """The rows (group, measures ...) of `reference.reference` in their places; absent groups are zero."""
    import numpy as np

    made = np.zeros((aggregation.cells, len(aggregation.measures)), dtype=dtype(aggregation))
    for group, *values in groups:
        made[group] = [int(value) for value in values]
    return made


def sealed(aggregation: Aggregation, found: list[tuple[Any, ...]]) -> Sealed | SealedGroups:
    """Rows (g, texts ..., measures ...) of the groups that are there, sealed."""
    import numpy as np

    texts = len(aggregation.texts)
    if not texts:
        return Sealed(cells(aggregation, found))
    groups: list[tuple[str | int | None, ...]] = [(*row[1 : texts + 1], int(row[0])) for row in found]
    values = np.array([[int(value) for value in row[texts + 1 :]] for row in found], dtype=dtype(aggregation))
    return SealedGroups(groups, values.reshape(len(found), len(aggregation.measures)))
