"""Rows of a graphical model when some of their columns are given: children drawn to fit their parents.

Theorem.  Let p be the distribution of the model, with cliques C and the columns S that each shares with its parent in
the junction tree.  Given values e of some columns, let a clique have the weights

    T_C(x) = p(x_C | x_S) * product over its children D of M_D(x_S(D)),    M_D(x_S(D)) = sum over the rest of T_D(x),

with every given column held at e.  Drawing the free columns of the root with probability proportional to T, then those
of each clique proportional to T given what it shares with its parent, draws rows of p(. | e).
Proof: docs/theory/synthesis.md.

Where the model holds e for impossible, the clique concerned forgets what is given.  All of it is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.data.records import Records
from discreet.errors import require
from discreet.hazmat.entropy import RandomSource, source
from discreet.release.models.graphical import GraphicalModel
from discreet.release.models.rows import group_of, split_cells

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Integers = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

ROOM = 1 << 22  # weights that are held at a time


def sample_given(
    model: GraphicalModel, given: Mapping[str, Integers], owners: Integers, *, rng: RandomSource | None = None
) -> Records:
    """One row for each of the `owners`, whose given columns are those at that place of `given`.

    >>> import numpy as np
    >>> from discreet.data.columns import Boolean
    >>> from discreet.data.domain import Domain
    >>> same = np.log([[1.0, 1e-9], [1e-9, 1.0]])
    >>> model = GraphicalModel(Domain({"a": Boolean(), "b": Boolean()}), {("a", "b"): same}, total=10)
    >>> sample_given(model, {"a": np.array([0, 1])}, np.array([1, 1, 0])).column("b").tolist()
    [1, 1, 0]
    """
    import numpy as np

    require(bool(given) and set(given) < set(model.domain), "some but not all columns given", given=list(given))
    random = source(rng)
    cliques = [_Clique.of(model, place, given) for place in range(len(model.beliefs))]
    each = max(1, ROOM // max(1, sum(clique.cells for clique in cliques)))
    order = np.argsort(owners, kind="stable")
    columns = {name: np.empty(len(owners), dtype=np.int64) for name in model.domain}
    for name, values in given.items():
        columns[name] = np.asarray(values, dtype=np.int64)[owners]
    for start in range(0, len(next(iter(given.values()))), each):
        here = {name: np.asarray(values[start : start + each], dtype=np.int64) for name, values in given.items()}
        low, high = np.searchsorted(owners[order], [start, start + each])
        rows = order[low:high]
        if not len(rows):
            continue
        weights = _upward(cliques, here)
        drawn = {name: column[rows] for name, column in columns.items() if name in given}
        for clique, weight in zip(cliques, weights, strict=True):
            drawn |= clique.draw(weight, owners[rows] - start, drawn, random)
        for name in set(drawn) - set(given):
            columns[name][rows] = drawn[name]
    return Records(model.domain, [columns[name] for name in model.domain])


@dataclass(frozen=True, slots=True, eq=False)
class _Clique:
    """A clique with its given columns in front: `table` is (given cells, free shared cells, free own cells)."""

    parent: int
    given: dict[str, int]  # with their sizes
    shared: dict[str, int]  # free, with the parent
    own: dict[str, int]  # free, not in the parent
    table: Floats
    alone: Floats  # (free shared cells, free own cells): the clique when nothing is given

    @classmethod
    def of(cls, model: GraphicalModel, place: int, given: Mapping[str, Integers]) -> _Clique:
        import numpy as np

        names, separator = model.tree.cliques[place], model.tree.separators[place]
        sizes = {name: model.domain[name].size for name in names}
        belief = model.beliefs[place].reshape(tuple(sizes.values()))
        total = belief.sum(axis=tuple(range(len(separator), len(names))), keepdims=True)
        ratio = np.divide(belief, total, out=np.zeros_like(belief), where=total > 0)
        held = {name: size for name, size in sizes.items() if name in given}
        shared = {name: sizes[name] for name in separator if name not in given}
        own = {name: size for name, size in sizes.items() if name not in separator and name not in given}
        order = [names.index(name) for name in (*held, *shared, *own)]
        shape = (math.prod(held.values()), math.prod(shared.values()), math.prod(own.values()))
        alone = np.transpose(belief, order).reshape(shape).sum(axis=0)
        return cls(model.tree.parents[place], held, shared, own, np.transpose(ratio, order).reshape(shape), alone)

    @property
    def cells(self) -> int:
        """The free cells."""
        return self.alone.size

    def weights(self, given: Mapping[str, Integers]) -> Floats:
        """p(free own, given own | free shared, given shared) for every owner: (owners, shared, own)."""
        count = len(next(iter(given.values())))
        return self.table[group_of([given[name] for name in self.given], list(self.given.values()), count)]

    def draw(
        self, weights: Floats, owners: Integers, drawn: Mapping[str, Integers], rng: RandomSource
    ) -> dict[str, Integers]:
        """The free own columns of all rows."""
        import numpy as np

        if not self.own:
            return {}
        places = group_of([drawn[name] for name in self.shared], list(self.shared.values()), len(owners))
        cumulated = np.cumsum(weights[owners, places], axis=1)  # (rows, own)
        lost = ~(cumulated[:, -1] > 0)
        cumulated[lost] = np.cumsum(self.alone[places[lost]], axis=1)
        uniform = (rng.words(len(owners)) >> np.uint64(11)) * 2.0**-53
        chosen = (cumulated > (uniform * cumulated[:, -1])[:, None]).argmax(axis=1)
        return dict(zip(self.own, split_cells(chosen, list(self.own.values())), strict=True))


def _upward(cliques: list[_Clique], given: Mapping[str, Integers]) -> list[Floats]:
    """T of the theorem for every clique and owner, from the leaves up; messages are scaled to a largest entry of 1."""
    made = [clique.weights(given) for clique in cliques]
    for place in reversed(range(len(cliques))):
        clique = cliques[place]
        lost = ~(made[place].sum(axis=(1, 2)) > 0)
        made[place][lost] = clique.alone
        if clique.parent < 0 or not clique.shared:
            continue
        message = made[place].sum(axis=2)  # (owners, shared)
        message /= message.max(axis=1, keepdims=True)
        above = cliques[clique.parent]
        free = {**above.shared, **above.own}
        spread = message.reshape((len(message), *(clique.shared.get(name, 1) for name in free)))
        full = made[clique.parent].reshape((len(message), *free.values()))
        full *= spread
    return made
