"""Vectors of `design` back in the units of the columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.learning.design import Design, ordered

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


def in_units(design: Design, vectors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Numbers in their own units (days and moments in steps since 1970); entries of categories as they are.

    >>> import numpy as np
    >>> from discreet.data.columns import Boolean, Integer
    >>> from discreet.data.domain import Domain
    >>> in_units(Design(Domain({"age": Integer(0, 100), "icu": Boolean()})), np.array([[0.0, 1.0]])).tolist()
    [[50.0, 1.0]]
    """
    made = vectors.astype(float).copy()
    names = {name: place for place, name in enumerate(design.names)}
    for name, column in design.domain.items():
        if ordered(column) and name in names:
            low, high = column.codes
            place = names[name]
            made[:, place] = (low + (made[:, place] + 1) / 2 * (high - low)) * _step(column)
    return made


def _step(column: object) -> float:
    from discreet.data.columns import Integer, Real

    return float(column.step) if isinstance(column, Integer | Real) else 1.0
