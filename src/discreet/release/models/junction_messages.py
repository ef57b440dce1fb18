"""Message passing: the marginals of all cliques from the logarithms of the factors, in two passes over the tree.

Theorem (Shafer, Shenoy 1990; Jensen, Lauritzen, Olesen 1990).  From the leaves up, let each clique add to the factors
it holds the messages of its children, and send to its parent the logarithm of the sum of the exponentials over its
own columns; the root's message is log Z.  From the root down, multiply each row of a clique (one for each cell of
what it shares with its parent) so that it sums to the parent's marginal.  Then every clique holds its own marginal.

A row is lowered by its largest entry before it is exponentiated, so nothing overflows and no row underflows as a
whole; each cell is exponentiated once.  Forbidden cells have the logarithm FORBIDDEN instead of -inf, which gives
them exactly zero and needs no care with NaNs.  Proof: docs/theory/models.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.release.models.factor import Layout
from discreet.release.models.junction import JunctionTree

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Table = npt.NDArray[np.float64]

FORBIDDEN = -1e200  # the logarithm of a structural zero: sums of any number of them stay finite
POSSIBLE = -1e199  # below this log Z every row is forbidden


class Propagation:
    """A junction tree with its tables and the places of its factors, made once and run many times.

    >>> import numpy as np
    >>> tree = JunctionTree.over({"a": 2, "b": 2}, [("a", "b")])
    >>> passing = Propagation({"a": 2, "b": 2}, tree, [("b",)])
    >>> round(float(np.exp(passing.run([np.log([1.0, 3.0])]))), 9)
    8.0
    >>> passing.marginal(0).tolist()
    [0.25, 0.75]
    """

    def __init__(self, sizes: Mapping[str, int], tree: JunctionTree, factors: Sequence[Sequence[str]]) -> None:
        import numpy as np

        self.sizes, self.tree = sizes, tree
        self.shapes = [tuple(sizes[name] for name in clique) for clique in tree.cliques]
        self.tables = [np.empty(math.prod(shape)) for shape in self.shapes]  # one flat table for each clique
        rows = [math.prod(sizes[name] for name in separator) for separator in tree.separators]
        self.tops, self.sums, self.shared = ([np.empty(count) for count in rows] for _ in range(3))
        self.homes = [self._home(columns) for columns in factors]
        self.layouts = [
            Layout.inside(sizes, tree.cliques[home], columns) for home, columns in zip(self.homes, factors, strict=True)
        ]
        self.above = [  # where what a clique shares with its parent lies in the parent
            Layout.inside(sizes, tree.cliques[parent], separator)
            for parent, separator in zip(tree.parents, tree.separators, strict=True)
        ]
        self.inside: list[list[int]] = [[] for _ in tree.cliques]
        for factor, home in enumerate(self.homes):
            self.inside[home].append(factor)

    def _home(self, columns: Sequence[str]) -> int:
        """The smallest clique that holds some columns."""
        wanted = set(columns)
        fits = [place for place, clique in enumerate(self.tree.cliques) if wanted <= set(clique)]
        return min(fits, key=lambda place: self.tables[place].size)

    def run(self, factors: Sequence[Table]) -> float:
        """Make all tables marginals of the distribution with these log-factors, each flat in the order of its layout.

        Returns log Z.
        """
        import numpy as np

        from discreet.release.models.factor_kernels import lower_rows, scale_rows, sum_rows

        for table in self.tables:
            table.fill(0.0)
        constant = 0.0
        for place in reversed(range(len(self.tables))):
            table, tops, sums = self.tables[place], self.tops[place], self.sums[place]
            for factor in self.inside[place]:
                self.layouts[factor].spread(factors[factor], table)
            lower_rows(table, tops)
            np.exp(table, out=table)
            sum_rows(table, sums)
            tops += np.log(sums)
            if self.tree.separators[place]:
                self.above[place].spread(tops, self.tables[self.tree.parents[place]])
            else:
                constant += float(tops[0])
        for place, table in enumerate(self.tables):
            shared = self.shared[place]
            if self.tree.separators[place]:
                self.above[place].project(self.tables[self.tree.parents[place]], shared)
            else:
                shared.fill(1.0)
            scale_rows(table, shared / self.sums[place])
        return constant

    def marginal(self, factor: int, out: Table | None = None) -> Table:
        """The marginal of a factor's columns, flat in the order of its layout, after a run."""
        return self.layouts[factor].project(self.tables[self.homes[factor]], out).reshape(-1)
