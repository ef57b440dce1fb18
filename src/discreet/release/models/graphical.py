"""A distribution as a graphical model: log-factors on small sets of columns, kept exactly in a junction tree.

Theorem.  Let p be proportional to exp(sum of the factors).  After message passing the tables of the cliques are their
exact marginals, so that any marginal inside a clique is a sum over one table; any other is a sum over the subtree
that joins its columns, with each clique first summed down to what the path needs; and drawing the root's cell, then
each clique's own columns given what it shares with its parent, draws rows of p.  Proof: docs/theory/models.md.

Everything here is post-processing of the factors: no privacy is spent and none is added.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.data.records import LARGEST, Records, countable
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.release.models.factor import Factor, Layout
from discreet.release.models.junction import JunctionTree, junction_size
from discreet.release.models.junction_messages import FORBIDDEN, POSSIBLE, Propagation
from discreet.release.models.product import known
from discreet.release.models.rows import check_rows, draw_cells, group_of, split_cells

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.queries.workload import Workload

REMEMBERED = 1 << 22  # cells of parts of cliques that are kept for the next marginal


class GraphicalModel:
    """Rows whose log-probability is a sum of `factors`, scaled to `total`; -inf forbids a cell.

    `limit` bounds the cells of the cliques together and of any table made on the way to a marginal.

    >>> import numpy as np
    >>> from discreet.data.columns import Boolean
    >>> domain = Domain({name: Boolean() for name in "abc"})
    >>> agree = np.log([[4.0, 1.0], [1.0, 4.0]])
    >>> model = GraphicalModel(domain, {("a", "b"): agree, ("b", "c"): agree}, total=100)
    >>> model.marginal(["a", "c"]).round(6).tolist(), model.size
    ([[34.0, 16.0], [16.0, 34.0]], 8)
    >>> model.sample(1000).marginal(["a", "b"]).tolist()
    [[400, 100], [100, 400]]
    """

    __slots__ = (
        "_parts",
        "_room",
        "_sizes",
        "_total",
        "beliefs",
        "domain",
        "factors",
        "limit",
        "log_partition",
        "tree",
    )

    def __init__(
        self,
        domain: Domain,
        factors: Mapping[tuple[str, ...], npt.ArrayLike],
        *,
        total: float,
        limit: int = LARGEST,
    ) -> None:
        import numpy as np

        self.domain, self.limit = countable(domain), limit
        if isinstance(total, bool) or not 0 < total < math.inf:
            raise ParameterError(f"need a finite total > 0, got total={total!r}")
        self._total = float(total)
        self._sizes = {name: declared.size for name, declared in self.domain.items()}
        self.factors: dict[tuple[str, ...], npt.NDArray[np.float64]] = {
            tuple(names): log_factor(self.domain, names, table) for names, table in factors.items()
        }
        fits(self.domain, self.factors, limit)
        self.tree = JunctionTree.over(self._sizes, self.factors)
        passing = Propagation(self._sizes, self.tree, list(self.factors))
        laid = zip(self.factors.items(), passing.layouts, strict=True)
        flat = [np.ascontiguousarray(Factor(key, table).ordered(layout.columns)) for (key, table), layout in laid]
        self.log_partition = passing.run([table.reshape(-1) for table in flat])
        require(self.log_partition > POSSIBLE, "factors that allow at least one row", factors=len(self.factors))
        self.beliefs = passing.tables  # of each clique, flat, in its own order of columns, summing to 1
        self._parts: list[dict[frozenset[str], Factor]] = [{} for _ in self.beliefs]
        self._room = REMEMBERED

    @property
    def total(self) -> float:
        """The number of rows it stands for."""
        return self._total

    @property
    def size(self) -> int:
        """The cells of all cliques; each takes eight bytes."""
        return sum(belief.size for belief in self.beliefs)

    def marginal(self, names: Sequence[str], /) -> npt.NDArray[np.float64]:
        """The table of the named columns, in counts: fast inside a clique, by elimination otherwise."""
        known(self.domain, names)
        cells = math.prod(self._sizes[name] for name in names)
        if cells > self.limit:
            raise UnsupportedError(f"a marginal of {cells} cells is over the limit of {self.limit}")
        wanted = frozenset(names)
        holding = [place for place, clique in enumerate(self.tree.cliques) if wanted <= set(clique)]
        if holding:
            found = self._part(min(holding, key=lambda place: self.beliefs[place].size), wanted)
        else:
            found = self._gathered(wanted)
        return found.ordered(names) * self._total

    def _part(self, place: int, wanted: Iterable[str]) -> Factor:
        """The marginal of some columns of one clique, from the smallest remembered part that holds them."""
        columns, remembered = frozenset(wanted), self._parts[place]
        if columns not in remembered:
            holding = [names for names in remembered if columns < names]
            nearest = min(holding, key=lambda names: remembered[names].table.size, default=None)
            clique, belief = self.tree.cliques[place], self.beliefs[place]
            if nearest is not None:
                clique, belief = remembered[nearest].columns, remembered[nearest].table.reshape(-1)
            layout = Layout.inside(self._sizes, clique, columns)
            found = Factor(layout.columns, layout.project(belief))
            if found.table.size > self._room:
                return found
            self._room -= found.table.size
            remembered[columns] = found
        return remembered[columns]

    def _gathered(self, wanted: frozenset[str]) -> Factor:
        """The joint of columns that lie in no single clique: from the leaves up, to the first that reaches them all."""
        arms: list[list[tuple[frozenset[str], Factor]]] = [[] for _ in self.beliefs]  # what is shared, and the joint
        for place in reversed(range(len(arms))):
            shared, own = frozenset(self.tree.separators[place]), wanted.intersection(self.tree.cliques[place])
            if not arms[place] and own <= shared:
                continue  # the parent has all that is wanted of it
            done = wanted <= own.union(*(arm.columns for _, arm in arms[place]))
            shared = frozenset() if done else shared
            edges = [edge for edge, _ in arms[place]]
            found = self._part(place, shared.union(own, *edges))
            for index, (edge, arm) in enumerate(arms[place]):
                given = _conditional(arm, self._part(place, edge))
                found = found.times(given, keep=shared.union(wanted, *edges[index + 1 :]), limit=self.limit)
            if done:
                return found
            arms[self.tree.parents[place]].append((shared, found))
        raise AssertionError("the root reaches every column")

    def answer(self, workload: Workload) -> npt.NDArray[np.float64]:
        """The answers of a workload, through marginals."""
        return workload.answer(self)

    def histogram(self) -> Histogram:
        """All cells, where they can be listed."""
        return Histogram(self.domain, self.marginal(list(self.domain)))

    def sample(self, rows: int, *, rng: RandomSource | None = None) -> Records:
        """Synthetic rows, clique by clique from the root: rounded at random and shuffled within each group."""
        check_rows(rows)
        random = source(rng)
        columns: dict[str, npt.NDArray[np.int64]] = {}
        for clique, shared, belief in zip(self.tree.cliques, self.tree.separators, self.beliefs, strict=True):
            sizes = [self._sizes[name] for name in shared]
            groups = group_of([columns[name] for name in shared], sizes, rows)
            own = clique[len(shared) :]
            drawn = draw_cells(belief.reshape(math.prod(sizes), -1), groups, random)
            columns |= dict(zip(own, split_cells(drawn, [self._sizes[name] for name in own]), strict=True))
        return Records(self.domain, [columns[name] for name in self.domain])

    def __repr__(self) -> str:
        return f"GraphicalModel(cliques={len(self.beliefs)}, cells={self.size})"


def log_factor(domain: Domain, names: Sequence[str], given: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The table of a log-factor, checked; -inf becomes FORBIDDEN."""
    import numpy as np

    require(not isinstance(names, str), "factors named by tuples of columns", factor=names)
    known(domain, names)
    shape = tuple(domain[name].size for name in names)
    table = np.asarray(given, dtype=np.float64)
    if table.size != math.prod(shape) or np.isnan(table).any() or (table > -FORBIDDEN).any():
        raise ParameterError(f"need a finite logarithm or -inf for each cell of {tuple(names)}")
    return np.maximum(table.reshape(shape), FORBIDDEN)


def fits(domain: Domain, sets: Iterable[Sequence[str]], limit: int) -> None:
    """Refuse a model whose cliques have more cells than the limit, before anything is built."""
    cells = junction_size(domain, sets)
    if cells > limit:
        raise UnsupportedError(f"a graphical model of {cells} cells is over the limit of {limit}; use fewer sets")


def _conditional(joint: Factor, given: Factor) -> Factor:
    """The joint divided by the marginal of some of its columns; zero where that is zero."""
    import numpy as np

    rest = [name for name in joint.columns if name not in given.columns]
    order = [*given.columns, *rest]
    weights = given.table.reshape(given.table.shape + (1,) * len(rest))
    table = joint.ordered(order)
    return Factor(tuple(order), np.divide(table, weights, out=np.zeros_like(table), where=weights > 0))
