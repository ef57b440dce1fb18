"""Models as descriptions and tables of numbers, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from discreet.data.arrays import to_numpy
from discreet.data.domain import Domain
from discreet.errors import ParameterError, UnsupportedError
from discreet.release.models.dense import DenseModel
from discreet.release.models.graphical import GraphicalModel
from discreet.release.models.product import ProductModel

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.release.models.base import Model

LISTED = 1 << 24  # cells up to which a model of another kind is stored cell by cell


def describe(model: Model) -> tuple[dict[str, Any], list[npt.NDArray[Any]]]:
    """What the model is, JSON-ready, and its tables.

    >>> from discreet.data.columns import Boolean
    >>> import numpy as np
    >>> describe(DenseModel(Domain({"icu": Boolean()}), np.array([1.0, 2.0])))[0]["kind"]
    'dense'
    """
    about: dict[str, Any] = {"domain": model.domain.to_dict()}
    match model:
        case DenseModel():
            return about | {"kind": "dense"}, [to_numpy(model.cells)]
        case ProductModel():
            sets = [list(names) for names in model.blocks]
            return about | {"kind": "product", "sets": sets, "total": model.total}, list(model.blocks.values())
        case GraphicalModel():
            sets = [list(names) for names in model.factors]
            return about | {"kind": "graphical", "sets": sets, "total": model.total}, list(model.factors.values())
    if model.domain.size > LISTED:
        raise UnsupportedError(f"a {type(model).__name__} of more than {LISTED} cells is not stored")
    return about | {"kind": "dense"}, [to_numpy(model.histogram().counts)]


def rebuild(about: dict[str, Any], tables: Sequence[npt.NDArray[np.float64]]) -> Model:
    """Read back what `describe` gave."""
    domain = Domain.from_dict(about["domain"])
    match about:
        case {"kind": "dense"} if len(tables) == 1:
            return DenseModel(domain, tables[0])
        case {"kind": "product", "sets": sets, "total": total}:
            return ProductModel(domain, dict(zip(map(tuple, sets), tables, strict=True)), total=total)
        case {"kind": "graphical", "sets": sets, "total": total}:
            return GraphicalModel(domain, dict(zip(map(tuple, sets), tables, strict=True)), total=total)
    raise ParameterError("this is not a stored release: its model is of no known kind")
