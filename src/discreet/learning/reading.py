"""Frames, arrays and labels as columns that a declaration can read.  Errors never quote a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.data.columns import Boolean, Categorical, Column
from discreet.data.domain import Domain, missing
from discreet.errors import DomainError, ParameterError, require

if TYPE_CHECKING:
    import pyarrow

TARGET = "target"  # the name of labels that have none
CLASSES = 1000  # of a target, at most


def as_table(X: object, domain: Domain) -> pyarrow.Table:
    """The declared columns of a frame, or of an array whose columns come in the order of the domain.

    >>> from discreet.data.columns import Integer
    >>> as_table([[1, 2], [3, 4]], Domain({"a": Integer(0, 9), "b": Integer(0, 9)})).num_rows
    2
    """
    import numpy as np
    import pyarrow

    if isinstance(X, pyarrow.Table) or hasattr(X, "columns"):
        held = list(X.column_names if isinstance(X, pyarrow.Table) else X.columns)  # type: ignore[attr-defined]
        for name in domain:
            if name not in held:
                raise DomainError(missing(name, [str(other) for other in held], what="column"))
        columns = {name: X[name] for name in domain}  # type: ignore[index]
    else:
        values = np.asarray(X)
        if values.ndim != 2 or values.shape[1] != len(domain):
            raise ParameterError(f"need a frame, or an array with the {len(domain)} columns of the domain in order")
        columns = {name: values[:, place] for place, name in enumerate(domain)}
    try:
        return pyarrow.table({name: _arrow(column) for name, column in columns.items()})
    except (pyarrow.ArrowException, TypeError, ValueError):  # their text may quote a private value
        pass
    raise ParameterError("need columns of one type each: convert those that mix types first")


def _arrow(column: Any) -> Any:  # noqa: ANN401 - a column of any frame
    import pyarrow

    if isinstance(column, pyarrow.Array | pyarrow.ChunkedArray):
        return column
    if hasattr(column, "to_arrow"):  # Polars
        return column.to_arrow()
    return pyarrow.array(column, from_pandas=True)


def places(values: Any, labels: Sequence[object]) -> pyarrow.Array:  # noqa: ANN401 - an array of any kind
    """The place of each value among the labels; NULL for others.

    >>> import numpy as np
    >>> places(np.array(["b", "x"]), ["a", "b"]).to_pylist()
    [1, None]
    """
    import numpy as np
    import pyarrow

    found = np.full(len(values), -1, dtype=np.int64)
    for place, label in enumerate(labels):
        found[np.asarray(values == label, dtype=bool)] = place
    return pyarrow.array(found, mask=found < 0)


def name_of(y: object) -> str:
    """The name of labels: that of their column, or `TARGET`."""
    name = getattr(y, "name", None)
    return name if isinstance(name, str) else TARGET


def free_name(name: str, domain: Domain) -> str:
    """The same if the domain declares it, and is then no feature; else one that no feature has."""
    if name in domain:
        return name
    taken = {other.lower() for other in domain}
    name = TARGET
    while name in taken:
        name = f"{name}_"
    return name


def labels_of(column: Column) -> list[Any]:
    """The values of a target with few of them.

    >>> labels_of(Categorical(["a", "b"])), labels_of(Boolean())
    (['a', 'b'], [False, True])
    """
    low, high = column.codes
    require(2 <= high - low + 1 <= CLASSES, f"a target of 2 to {CLASSES} classes", classes=high - low + 1)
    return [column.decode(code) for code in range(low, high + 1)]


def declared_classes(classes: Sequence[object]) -> Column:
    """A declaration of these labels.

    >>> declared_classes([False, True]), declared_classes((0, 1, 2))
    (Boolean(nullable=False), Categorical(values=(0, 1, 2), nullable=False))
    """
    listed = [label.item() if hasattr(label, "item") else label for label in classes]  # type: ignore[attr-defined]
    if len(listed) == 2 and listed[0] is False and listed[1] is True:
        return Boolean()
    return Categorical(listed)  # type: ignore[arg-type]


def without(domain: Domain, name: str | None) -> Domain:
    """All columns but one."""
    if name is None or name not in domain:
        return domain
    rest = [other for other in domain if other != name]
    require(bool(rest), "at least one column besides the target", target=name)
    return domain.project(rest)
