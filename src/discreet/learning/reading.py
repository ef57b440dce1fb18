"""Frames, arrays and labels as columns that a declaration can read.  Errors never quote a value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.data.columns import Boolean, Categorical, Column
from discreet.data.domain import Domain, missing
from discreet.errors import DomainError, ParameterError, require
from discreet.learning.reading_values import texts

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow

TARGET = "target"  # the name of labels that have none
CLASSES = 1000  # of a target, at most
NUMBERS = "biuf"  # kinds of NumPy types
TYPED = NUMBERS + "M"


def as_table(X: object, domain: Domain) -> pyarrow.Table:
    """The declared columns of a frame, or of an array or list whose columns come in the order of the domain.

    A type that the schema tells is used; values without one (of lists, of columns of objects, text and categories of
    pandas) are read one by one.

    >>> from discreet.data.columns import Integer
    >>> as_table([[1, 2], [3, 4]], Domain({"a": Integer(0, 9), "b": Integer(0, 9)})).num_rows
    2
    """
    import pyarrow

    arrow = isinstance(
        X, pyarrow.Table | pyarrow.RecordBatch
    )  # their `columns` are the values, which no error may show
    if arrow or hasattr(X, "columns"):
        held = list(X.column_names if arrow else X.columns)  # type: ignore[attr-defined]
        for name in domain:
            if name not in held:
                raise DomainError(missing(name, [str(other) for other in held], what="column"))
        columns = {name: X[name] for name in domain}  # type: ignore[index]
    else:
        values = _array(X, len(domain))
        columns = {name: values[:, place] for place, name in enumerate(domain)}
    return pyarrow.table({name: as_column(column, domain[name]) for name, column in columns.items()})


def _array(X: Any, width: int) -> npt.NDArray[Any]:  # noqa: ANN401 - an array, or a list of rows
    """An array of that many columns: of objects, if X is none itself."""
    import numpy as np

    refused = f"need a frame, or an array with the {width} columns of the domain in order"
    if hasattr(X, "__array__"):
        values = np.asarray(X)
        if values.ndim != 2 or values.shape[1] != width:
            raise ParameterError(refused)
        return values
    if not isinstance(X, Sequence) or isinstance(X, str | bytes):
        raise ParameterError(refused)
    made = np.empty((len(X), width), dtype=object)
    for place, row in enumerate(X):
        if not hasattr(row, "__len__") or isinstance(row, str | bytes | dict | set) or len(row) != width:
            raise ParameterError(refused)
        for entry, value in enumerate(row):
            made[place, entry] = value
    return made


def as_column(column: Any, declared: Column) -> Any:  # noqa: ANN401 - a column of any frame, an array or a list
    """A column of Arrow that the declaration reads, by its own type if it has one and else value by value.

    >>> from discreet.data.columns import Integer
    >>> as_column([1, "2", None], Integer(0, 9)).to_pylist()
    ['1', '2', None]
    """
    import pyarrow

    if isinstance(column, pyarrow.Array | pyarrow.ChunkedArray):
        return column
    kind = getattr(getattr(column, "dtype", None), "kind", None)  # of NumPy and pandas
    try:
        if hasattr(column, "to_arrow"):  # Polars
            return column.to_arrow()
        if kind is not None and (kind in TYPED or _masked(column)):
            return pyarrow.array(column, from_pandas=True)
    except (pyarrow.ArrowException, TypeError, ValueError):  # their text may quote a private value
        raise ParameterError("need columns of types that Arrow has: convert the others first") from None
    return texts(_objects(column), declared)


def _masked(column: Any) -> bool:  # noqa: ANN401 - a column of pandas or NumPy
    """Whether it has a type of pandas that is neither text nor a category: a nullable one, one of Arrow, a moment."""
    import pandas as pd

    kind = column.dtype
    plain = isinstance(kind, pd.StringDtype | pd.CategoricalDtype)
    return pd.api.types.is_extension_array_dtype(kind) and not plain


def _objects(values: Any) -> npt.NDArray[Any]:  # noqa: ANN401 - a column without a type of its own
    """The values as they are, in an array of one dimension."""
    import numpy as np

    if hasattr(values, "__array__"):
        found = values.to_numpy(dtype=object) if hasattr(values, "to_numpy") else np.asarray(values).astype(object)
        require(found.ndim == 1, "values in one column", dimensions=found.ndim)
        return found
    made = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        made[place] = value
    return made


def labels_in(y: Any) -> npt.NDArray[Any]:  # noqa: ANN401 - labels of any kind
    """Labels as an array: of their own type if that is one of NumPy's numbers, and else of objects.

    >>> labels_in([0, "x", None]).tolist()
    [0, 'x', None]
    """
    import numpy as np

    if hasattr(y, "to_pylist") or hasattr(y, "to_list"):  # Arrow, Polars and pandas
        if isinstance(getattr(y, "dtype", None), np.dtype) and y.dtype.kind in NUMBERS:
            return y.to_numpy()
        return _objects(y.to_pylist() if hasattr(y, "to_pylist") else y.to_list())
    if hasattr(y, "__array__"):
        values = np.asarray(y)
        require(values.ndim == 1, "labels in one column", dimensions=values.ndim)
        return values if values.dtype.kind in NUMBERS else values.astype(object)
    if not isinstance(y, Sequence) or isinstance(y, str | bytes):
        raise ParameterError("need labels in one column")
    return _objects(y)


def truth_values(y: object) -> bool:
    """Whether the schema, not the values, says that labels are true or false.

    >>> import numpy as np
    >>> truth_values(np.array([True])), truth_values([True])
    (True, False)
    """
    return str(getattr(y, "dtype", getattr(y, "type", ""))).lower() in ("bool", "boolean", "bool[pyarrow]")


def places(values: Any, labels: Sequence[object]) -> pyarrow.Array:  # noqa: ANN401 - an array of any kind
    """The place of each value among the labels; NULL for others.

    >>> import numpy as np
    >>> places(np.array(["b", "x"]), ["a", "b"]).to_pylist()
    [1, None]
    """
    import numpy as np
    import pyarrow

    if values.dtype.kind in NUMBERS:
        found = np.full(len(values), -1, dtype=np.int64)
        for place, label in enumerate(labels):
            found[np.asarray(values == label, dtype=bool)] = place
    else:
        listed = {label: place for place, label in enumerate(labels)}
        found = np.fromiter((_place(value, listed) for value in values), dtype=np.int64, count=len(values))
    return pyarrow.array(found, mask=found < 0)


def _place(value: Any, listed: dict[object, int]) -> int:  # noqa: ANN401 - a label of any kind
    try:
        return listed.get(value, -1)
    except Exception:  # an array has no hash, and an object may answer by an error of its own
        return -1


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
